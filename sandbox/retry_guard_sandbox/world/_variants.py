"""The contract variants: the YAML that a user would write, and the tools that fit it.

`native`: what each service offers. `keys_everywhere` changes one thing: every write that is not
idempotent accepts a key. The others are lies: the contracts of one of these two, in front of a
service that does not keep what they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal

from retry_guard import Contract, load_contracts
from retry_guard_sandbox.services import SERVICES, TOOLS, Facts, Tool

VARIANTS = ("native", "keys_everywhere")
"""The variants in which services keep what their contracts say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """The contracts of a variant, and what is true instead. `tools`: whom it makes a liar of."""

    contracts: Literal["native", "keys_everywhere"]
    facts: Facts
    tools: tuple[str, ...]


_WRITES = tuple(tool.name for tool in TOOLS.values() if tool.effect == "write")

LIES: Mapping[str, Lie] = MappingProxyType(
    {
        # 3 s are stated. After a time-out, bound and lag, a lost answer's effect is still unseen.
        "lag_understated": Lie(
            contracts="native",
            facts=Facts(lags={"trigger_deploy": 60.0}),
            tools=("trigger_deploy",),
        ),
        # 15 s are stated.
        "bound_understated": Lie(
            contracts="native",
            facts=Facts(bounds={"trigger_deploy": 46.0}),
            tools=("trigger_deploy",),
        ),
        "key_ignored": Lie(
            contracts="keys_everywhere", facts=Facts(honours_keys=False), tools=_WRITES
        ),
        # A day is stated. A client's time-out outlasts this.
        "key_forgotten": Lie(
            contracts="keys_everywhere", facts=Facts(retention=5.0), tools=_WRITES
        ),
    }
)
"""The lying variants, by name. They are cells of their own, and in no grid by default."""

ALL_VARIANTS = (*VARIANTS, *LIES)


@dataclass(frozen=True, slots=True)
class Variant:
    """A service under one of the variants: contracts and tools, both by tool; and what is true."""

    contracts: dict[str, Contract]
    tools: dict[str, Tool]
    facts: Facts


@cache
def variant(name: str, service: str, *, stored_500: bool = False) -> Variant:
    """Return a service's contracts, as they are packaged, and its tools as a model sees them.

    `stored_500`: the service remembers the error that it answered under a key, and says so.
    """
    lie = LIES.get(name)
    contracts = _packaged(lie.contracts if lie else name, service)
    if stored_500:
        contracts = {tool: _storing(contract) for tool, contract in contracts.items()}
    tools = {
        tool.name: replace(
            tool, keyed=contracts[tool.name].key is not None, stores_errors=stored_500
        )
        for tool in SERVICES[service].tools
    }
    facts = replace(lie.facts if lie else Facts(), stores_errors=stored_500)
    return Variant(contracts, tools, facts)


def _packaged(name: str, service: str) -> dict[str, Contract]:
    file = resources.files("retry_guard_sandbox") / "contracts" / name / f"{service}.yaml"
    with resources.as_file(file) as path:
        return {contract.tool: contract for contract in load_contracts(path)}


def _storing(contract: Contract) -> Contract:
    """Return the contract of a tool whose service stores errors."""
    if contract.key is None:
        return contract
    key = contract.key.model_dump(exclude_unset=True) | {"errors": "stored"}
    return contract.model_copy(update={"key": key})
