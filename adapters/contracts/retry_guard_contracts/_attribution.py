"""Whose is an item that a read shows?"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from retry_guard_contracts._instants import instant
from retry_guard_contracts._matching import effect_id, likeness, wanted
from retry_guard_contracts._parts import ReadBack
from retry_guard_contracts._paths import find, parse_path
from retry_guard_contracts._schema import Contract

Whose = Literal["ours", "foreign", "other", "undecided"]
Age = Literal["before", "unclear", "after", "unreadable"]


class Case(NamedTuple):
    """What is known of the action. `tied`: does an effect belong to another action?"""

    contract: Contract
    read: ReadBack
    arguments: Mapping[str, Any]
    key: str | None
    first_send: float
    tied: Callable[[str], bool]


def whose(case: Case, item: object) -> Whose:
    """Return whose an item is; `other`: certainly not this action's."""
    mark = case.read.marker
    if mark is not None and wanted(case.contract, mark, case.arguments, case.key) is not None:
        return _whose_by_marker(case, item, mark)
    like = _like(case, item, marker=None)
    if like == "differs":
        return "other"
    if case.read.unique:
        return "ours" if like == "equal" else "undecided"
    name, age = named(case, item), _age(case, item)
    if age == "before" or (name is not None and case.tied(name)):
        return "other"
    if like == "undecided" or age == "unreadable" or (name is None and case.read.id is not None):
        return "undecided"
    return "ours" if case.read.exclusive and age == "after" else "foreign"


def _whose_by_marker(case: Case, item: object, mark: str) -> Whose:
    """The key settles it alone; any other marker needs that the rest is equal too."""
    marked, rest = _like(case, item, marker=True), _like(case, item, marker=False)
    if marked != "equal":
        return "other" if "differs" in (marked, rest) else "undecided"
    name, keyed = named(case, item), case.contract.key and case.contract.key.param == mark
    if name is not None and case.tied(name):
        return "foreign" if keyed else "other"
    if keyed:
        return "ours"
    if rest == "undecided":
        return "undecided"
    return "foreign" if rest == "differs" or _age(case, item) == "before" else "ours"


def _like(case: Case, item: object, *, marker: bool | None) -> str:
    """Compare the marker's field, or the others; None: the others, as there is no marker."""
    mark = case.read.marker
    match = {
        path: source
        for path, source in case.read.match.items()
        if (source == mark and mark is not None) is bool(marker)
    }
    return likeness(case.contract, match, item, case.arguments, case.key)


def named(case: Case, item: object) -> str | None:
    """Return the service's name for an item; None: not declared, or not there."""
    return None if case.read.id is None else effect_id(find(item, parse_path(case.read.id)))


def _age(case: Case, item: object) -> Age:
    """When the item was created, as far as both clocks and the spelling of the time can tell."""
    if case.read.created is None:
        return "unclear"
    moment = instant(find(item, parse_path(case.read.created)))
    if moment is None:
        return "unreadable"
    skew = case.read.skew or 0.0
    earliest = float(moment.seconds)
    if earliest + float(moment.resolution) + skew < case.first_send:
        return "before"
    return "after" if earliest - skew >= case.first_send else "unclear"
