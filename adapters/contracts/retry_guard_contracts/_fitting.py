"""What a contract states that does not fit together, one line for each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retry_guard_contracts._fields import Fixed
from retry_guard_contracts._paths import overlap

if TYPE_CHECKING:
    from retry_guard_contracts._schema import Contract


def problems(contract: "Contract") -> Iterator[str]:
    """Yield what is wrong, and what to do."""
    yield from _key_problems(contract)
    yield from _read_problems(contract)
    yield from _field_problems(contract)
    yield from _batch_problems(contract)
    yield from _item_problems(contract)
    yield from _confirm_problems(contract)


def _key_problems(contract: "Contract") -> Iterator[str]:
    if contract.key is None:
        return
    if contract.effect == "read":
        yield "key: a read needs none; remove it, or state the effect as write"
    for path in contract.identity or {}:
        if not contract.key.carried and overlap(path, contract.key.param):
            yield f"identity: {path} is the key, which never names an effect; remove it there"


def _read_problems(contract: "Contract") -> Iterator[str]:
    if contract.read_back is None:
        return
    if contract.effect == "read":
        yield "read_back: a read needs none; remove it, or state the effect as write"
    if contract.read_back.tool == contract.tool:
        yield "read_back.tool: is the tool itself; name the tool that reads what it wrote"
    carried = contract.key.param if contract.key and contract.key.carried else None
    for path in contract.read_back.argument_paths:
        if path.startswith(("header:", "meta:")):
            if path != carried:
                yield f"read_back: {path} is not where the key travels; use key.param"
        elif any(overlap(path, secret) for secret in contract.sealed):
            yield f"read_back: {path} is secret, so no record has it; use another argument"


def _field_problems(contract: "Contract") -> Iterator[str]:
    for path in contract.identity or {}:
        for other in contract.volatile:
            if overlap(path, other):
                yield f"volatile: {other} also names the effect (identity); keep one of them"
        for other in contract.identity or {}:
            if other != path and overlap(path, other):
                yield f"identity: {other} and {path} overlap; keep one of them"


def _batch_problems(contract: "Contract") -> Iterator[str]:
    batch = contract.batch
    if batch is None:
        return
    if contract.effect == "read":
        yield "batch: a read needs none; remove it, or state the effect as write"
    if batch.key is not None and contract.key is None:
        yield "batch.key: the tool takes no key; state key, or remove it here"
    if contract.key and not contract.key.carried and overlap(batch.items, contract.key.param):
        yield f"batch.items: {batch.items} is the key; name the list of items"
    for path in contract.secret:
        if path == batch.items:
            yield f"batch.items: {path} is secret, so no record has its items; seal fields of them"


def _item_problems(contract: "Contract") -> Iterator[str]:
    batch, read = contract.batch, contract.read_back
    if batch is None or read is None:
        return
    sources = (source for source in read.match.values() if isinstance(source, str))
    if not any(batch.of_one(source) for source in sources):
        yield f"read_back.match: says nothing of an item; take a field from {batch.items}[].NAME"
    for field, source in (read.result or {}).items():
        lists = field.count("[]")
        if lists > 1 or (lists == 0 and not isinstance(source, Fixed)):
            yield f"read_back.result: {field} needs one [], as there is one for each item"


def _confirm_problems(contract: "Contract") -> Iterator[str]:
    rule = contract.confirm
    if rule is None:
        return
    if contract.effect != "write":
        yield "confirm: only a write is done once for a token; state effect: write, or remove it"
    if rule.preview == contract.tool:
        yield "confirm.preview: is the tool itself; leave it out, a call without token previews"
    if contract.read_back is not None and rule.preview == contract.read_back.tool:
        yield "confirm.preview: is the read-back; a preview shows no effect, so name another tool"
    if contract.batch is not None:
        yield "confirm: what is missing of a batch has no token of its own; remove batch or confirm"
    fields = {"key.param": [contract.key.param] if contract.key else []}
    fields |= {name: list(getattr(contract, name) or ()) for name in _NEVER_TOKENS}
    for name, paths in fields.items():
        for path in paths:
            if not path.startswith(("header:", "meta:")) and overlap(path, rule.param):
                yield f"{name}: {path} is the token, which never counts and is never stored"


_NEVER_TOKENS = ("identity", "defaults", "volatile", "secret")
