"""What a contract of a route can speak of."""

import re
from collections.abc import Iterable

from retry_guard import Contract, UsageError


def check_contract(contract: Contract, names: list[str]) -> None:
    """Raise `UsageError` for a contract that speaks of what no request has.

    `names`: those in the braces of its route. An argument that no request has would be the same
    in every one, so that two different actions would count as one.
    """
    if len(set(names)) != len(names):
        raise UsageError(f"{contract.tool!r} has two segments of one name: rename one")
    if contract.twins == "count":
        raise UsageError(f"{contract.tool!r}: `twins: count` needs an ordinal, and no request has")
    for path in _sources(contract):
        if path.startswith("header:") or _is_there(path, names):
            continue
        places = ", ".join(["query.NAME", "body.NAME", *(f"path.{name}" for name in names)])
        msg = f"{contract.tool!r}: no request has {path!r}: write one of {places}"
        raise UsageError(msg)


def _is_there(path: str, names: list[str]) -> bool:
    root, *rest = re.split(r"[.\[]", path)
    return root in ("query", "body") or (root == "path" and rest[:1] != [] and rest[0] in names)


def _sources(contract: Contract) -> Iterable[str]:
    """Yield each place in a call that the contract names."""
    if contract.key is not None:
        yield contract.key.param
    if contract.batch is not None:
        yield contract.batch.items
    yield from (*(contract.identity or ()), *contract.defaults)
    yield from (*contract.volatile, *contract.sealed)
    if contract.read_back is not None:
        yield from contract.read_back.argument_paths
