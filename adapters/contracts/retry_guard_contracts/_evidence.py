"""What a read-back shows: is the effect there, and is it this action's?

Absence is only said of a list that has the declared shape and is not known to be cut. Presence
is this action's (`ours`) only by a mark that nobody else has:

- the marker: the key, or an argument that the contract says no other write bears;
- a `unique` match: it can exist once, so it is there, whoever made it;
- nobody else writes there, it was created after the first send beyond the skew of the clocks,
  and the ledger ties it to no other action.

What was created before the first send, beyond the skew, and what the ledger ties to another
action, is another's. Everything in between is `foreign`: seen, not attributable.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from retry_guard_contracts._document import FailedReadError, document
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._matching import (
    UnreadableError,
    effect_id,
    has_control,
    is_cut,
    items_of,
    likeness,
    shaped,
    wanted,
)
from retry_guard_contracts._normal import instant
from retry_guard_contracts._parts import Fixed, ReadBack
from retry_guard_contracts._paths import find, parse_path
from retry_guard_contracts._schema import Contract

Seen = Literal["absent", "ours", "several", "foreign", "unbelieved", "failed"]
Whose = Literal["ours", "foreign", "other", "undecided"]
Age = Literal["before", "unclear", "after", "unreadable"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a read showed.

    `unbelieved`: a known item is missing, the list is cut, or its shape is not as declared.
    `failed`: the read itself reports an error. `value`, `effect_id`: of what is `ours`: the
    result in the tool's own shape, and the service's name for the effect.
    """

    seen: Seen
    value: Any = None
    effect_id: str | None = None


class _Case(NamedTuple):
    contract: Contract
    read: ReadBack
    arguments: Mapping[str, Any]
    key: str | None
    first_send: float
    tied: Callable[[str], bool]


def read_arguments(
    contract: Contract, arguments: Mapping[str, Any], key: str | None = None
) -> dict[str, Any]:
    """Return the arguments of the contract's read-back, for a write's arguments and key.

    What the write omitted, and has no default, the read omits too.

    Raises:
        ArgumentError: the contract has no read-back, or the record lacks what it needs.
    """
    if contract.read_back is None:
        raise ArgumentError(f"{contract.tool}: its contract has no read_back; add one")
    made: dict[str, Any] = {}
    for name, source in contract.read_back.args.items():
        try:
            value = wanted(contract, source, arguments, key)
        except UnreadableError:
            msg = f"arguments.{source}: was kept as a hash only, so the read cannot name it"
            raise ArgumentError(msg) from None
        if value is not None or isinstance(source, Fixed):
            made[name] = value
    return made


def judge(
    contract: Contract,
    *,
    arguments: Mapping[str, Any],
    result: object,
    first_send: float,
    tied: Callable[[str], bool],
    key: str | None = None,
) -> Sight:
    """Return what the result of the contract's read-back shows of one action.

    `arguments`: those of the write, as recorded. `key`: under which it was sent. `first_send`:
    epoch seconds. `tied`: whether the ledger ties an effect, by its id, to another action; what
    it raises goes through, and nothing else is raised.
    """
    read = contract.read_back
    if read is None:
        return Sight("unbelieved")
    case = _Case(contract, read, arguments, key, first_send, tied)
    try:
        listing = document(result)
    except FailedReadError:
        return Sight("failed")
    except Exception:  # noqa: BLE001 - a result that cannot be looked into shows nothing
        return Sight("unbelieved")
    try:
        items = items_of(read, listing)
        if not has_control(read, items):
            return Sight("unbelieved")
        return _verdict(case, items, cut=is_cut(read, listing))
    except UnreadableError:
        return Sight("unbelieved")


def effect_of(contract: Contract, result: object) -> str | None:
    """Return the service's name for an effect, from the tool's own result; None: not in it.

    It is looked for where `read_back.result` puts `read_back.id`, else at `read_back.id` itself.
    """
    read = contract.read_back
    if read is None or read.id is None:
        return None
    fields = [field for field, source in (read.result or {}).items() if source == read.id]
    try:
        return effect_id(find(document(result), parse_path((fields or [read.id])[0])))
    except Exception:  # noqa: BLE001 - after the effect nothing may stand in the way of the result
        return None


def _verdict(case: _Case, items: list[object], *, cut: bool) -> Sight:
    judged = [(item, _whose(case, item)) for item in items]
    ours = [item for item, whose in judged if whose == "ours"]
    others = {whose for _, whose in judged}
    if len(ours) > 1 and not case.read.unique:
        return Sight("several")
    if ours:
        return Sight("ours", shaped(case.read, ours[0]), _id(case, ours[0]))
    if "undecided" in others:
        return Sight("unbelieved")
    if "foreign" in others:
        return Sight("foreign")
    return Sight("unbelieved" if cut else "absent")


def _whose(case: _Case, item: object) -> Whose:
    mark = case.read.marker
    if mark is not None and wanted(case.contract, mark, case.arguments, case.key) is not None:
        return _whose_by_marker(case, item, mark)
    like = _like(case, item, marker=None)
    if like == "differs":
        return "other"
    if case.read.unique:
        return "ours" if like == "equal" else "undecided"
    name, age = _id(case, item), _age(case, item)
    if age == "before" or (name is not None and case.tied(name)):
        return "other"
    if like == "undecided" or age == "unreadable" or (name is None and case.read.id is not None):
        return "undecided"
    return "ours" if case.read.exclusive and age == "after" else "foreign"


def _whose_by_marker(case: _Case, item: object, mark: str) -> Whose:
    """The key settles it alone; any other marker needs that the rest is equal too."""
    marked, rest = _like(case, item, marker=True), _like(case, item, marker=False)
    if marked != "equal":
        return "other" if "differs" in (marked, rest) else "undecided"
    name, keyed = _id(case, item), case.contract.key and case.contract.key.param == mark
    if name is not None and case.tied(name):
        return "foreign" if keyed else "other"
    if keyed:
        return "ours"
    if rest == "undecided":
        return "undecided"
    return "foreign" if rest == "differs" or _age(case, item) == "before" else "ours"


def _like(case: _Case, item: object, *, marker: bool | None) -> str:
    """Compare the marker's field, or the others; None: the others, as there is no marker."""
    mark = case.read.marker
    match = {
        path: source
        for path, source in case.read.match.items()
        if (source == mark and mark is not None) is bool(marker)
    }
    return likeness(case.contract, match, item, case.arguments, case.key)


def _id(case: _Case, item: object) -> str | None:
    return None if case.read.id is None else effect_id(find(item, parse_path(case.read.id)))


def _age(case: _Case, item: object) -> Age:
    """When the item was created, as far as both clocks and the spelling of the time can tell."""
    if case.read.created is None:
        return "unclear"
    moment = instant(find(item, parse_path(case.read.created)))
    if moment is None:
        return "unreadable"
    skew = case.read.skew or 0.0
    earliest = float(moment.seconds)
    if earliest + float(moment.resolution) + skew <= case.first_send:
        return "before"
    return "after" if earliest - skew >= case.first_send else "unclear"
