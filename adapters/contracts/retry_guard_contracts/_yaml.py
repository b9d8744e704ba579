"""Contracts from YAML, with the line of whatever is wrong.

Plain scalars mean what they look like: `true`, `false`, `null`, decimal numbers, else text. What
YAML would quietly turn into something else (`no`, `on`, `010`, `1:30`, a date) is refused, as
are anchors, tags and keys that are given twice.
"""

from pathlib import Path
from typing import cast

from pydantic import ValidationError

from retry_guard_contracts._errors import ContractError
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._yaml_errors import lines_of
from retry_guard_contracts._yaml_nodes import Place, Tree, read_tree


def load_contracts(path: Path) -> list[Contract]:
    """Return the contracts in a file.

    Raises:
        ContractError: it cannot be read, or something in it is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ContractError(f"{path}: cannot be read: {reason}; name a contracts file") from None
    except UnicodeDecodeError:
        raise ContractError(f"{path}: is not UTF-8; save it as UTF-8 text") from None
    return parse_contracts(text, str(path))


def parse_contracts(text: str, source: str = "contracts") -> list[Contract]:
    """Return the contracts in YAML text. `source` names it in errors.

    Raises:
        ContractError: something in it is wrong; one line for each problem.
    """
    tree = read_tree(text, source)
    if tree.problems:
        raise ContractError(*tree.problems)
    listed = _listed(tree)
    contracts: list[Contract] = []
    problems: list[str] = []
    for at, stated in enumerate(listed):
        try:
            contracts.append(Contract.model_validate(stated))
        except ValidationError as error:
            problems += lines_of(error, tree, ("contracts", at))
    problems = problems or list(_twice(contracts, tree))
    if problems:
        raise ContractError(*problems)
    return contracts


def _listed(tree: Tree) -> list[object]:
    data = tree.data
    if data is None:
        raise ContractError(f"{tree.source}:1: is empty; write `contracts:` and a list of them")
    if not isinstance(data, dict) or "contracts" not in data:
        raise ContractError(tree.line((), "must hold `contracts:` and a list of them"))
    held = cast("dict[str, object]", data)
    for name in held:
        if name != "contracts":
            raise ContractError(tree.line((name,), "unknown field; the only one here is contracts"))
    listed = held["contracts"]
    if not isinstance(listed, list):
        raise ContractError(tree.line(("contracts",), "must be a list; put `- tool: NAME` in it"))
    return cast("list[object]", listed)


def _twice(contracts: list[Contract], tree: Tree) -> list[str]:
    first: dict[tuple[str | None, str], Place] = {}
    problems: list[str] = []
    for at, contract in enumerate(contracts):
        name, place = (contract.server, contract.tool), ("contracts", at, "tool")
        if name in first:
            line = tree.line_number(first[name])
            text = f"{contract.tool} has a contract in line {line} already; keep one of them"
            problems.append(tree.line(place, text))
        first.setdefault(name, place)
    return problems
