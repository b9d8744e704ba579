"""The contract variants: the YAML that a user would write, and the tools that fit it.

`native`: what each service offers. `keys_everywhere` changes one thing: every write that is not
idempotent accepts a key.
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from retry_guard import Contract, load_contracts
from retry_guard_sandbox.services import SERVICES, Tool

VARIANTS = ("native", "keys_everywhere")


@dataclass(frozen=True, slots=True)
class Variant:
    """A service under one of the variants: contracts and tools, both by tool."""

    contracts: dict[str, Contract]
    tools: dict[str, Tool]


@cache
def variant(name: str, service: str) -> Variant:
    """Return a service's contracts, as they are packaged, and its tools as a model sees them."""
    file = resources.files("retry_guard_sandbox") / "contracts" / name / f"{service}.yaml"
    with resources.as_file(file) as path:
        contracts = {contract.tool: contract for contract in load_contracts(path)}
    tools = {
        tool.name: replace(tool, keyed=contracts[tool.name].key is not None)
        for tool in SERVICES[service].tools
    }
    return Variant(contracts, tools)
