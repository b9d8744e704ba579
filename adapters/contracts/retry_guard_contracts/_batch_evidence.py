"""What a read-back shows of a batch: which of its items are there, and are they this action's?

Whose an item is, is decided as for a single write. Items that the read cannot tell apart are one
group, and are counted: fewer than were sent are missing, more are several. Which of a group are
missing can be told where all of them agree in what names an item.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from retry_guard_contracts._attribution import Case, whose
from retry_guard_contracts._batches import items_in, named_effects, shaped_items
from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._matching import likeness, wanted
from retry_guard_contracts._normal import normal
from retry_guard_contracts._parts import Batch
from retry_guard_contracts._paths import MISSING, find, parse_path, put
from retry_guard_contracts._sight import Seen, Sight

Forms = tuple[bytes, ...]


@dataclass(slots=True)
class _Group:
    """Items of the write that no effect can tell apart.

    `case`: of any of them, as if it were the only one. `at`: their places in the list.
    `found`: effects that are theirs. `doubts`: of effects that may be theirs.
    """

    case: Case
    at: list[int] = field(default_factory=list[int])
    found: list[object] = field(default_factory=list[object])
    doubts: set[Seen] = field(default_factory=set[Seen])

    @property
    def there(self) -> dict[int, object]:
        """What is there, by place; what can exist only once is there for all that are alike."""
        found = self.found[:1] * len(self.at) if self.case.read.unique else self.found
        return dict(zip(self.at, found, strict=False))

    def meet(self, item: object) -> None:
        """Take an effect that may be theirs."""
        match whose(self.case, item):
            case "ours":
                self.found.append(item)
            case "foreign":
                self.doubts.add("foreign")
            case "undecided":
                self.doubts.add("unbelieved")
            case "other":
                pass


def judge_items(case: Case, batch: Batch, shown: list[object], *, cut: bool) -> Sight:
    """Return what the items of a read show of a batch.

    Raises:
        UnreadableError: an item has not the declared shape.
    """
    sent = items_in(case.contract, case.arguments)
    fields = _fields(case, batch)
    groups = _groups(case, batch, fields, sent)
    for item in shown:
        _assign(groups, fields, item)
    doubt = next(_doubts(batch, sent, list(groups.values())), None)
    there = {at: item for group in groups.values() for at, item in group.there.items()}
    missing = tuple(at for at in range(len(sent)) if at not in there)
    if doubt is not None or not sent or (cut and missing):
        return Sight(doubt or "unbelieved")
    if not there:
        return Sight("absent")
    found = [there[at] for at in sorted(there)]
    value, names = shaped_items(case.read, found), named_effects(case.read, found)
    return Sight("some" if missing else "ours", value, names, missing)


def _fields(case: Case, batch: Batch) -> dict[str, str]:
    """Which field of an effect equals which field of an item, as the contract of one has it."""
    sources = {
        path: batch.of_one(source)
        for path, source in case.read.match.items()
        if isinstance(source, str)
    }
    return {path: source for path, source in sources.items() if source is not None}


def _groups(
    case: Case, batch: Batch, fields: dict[str, str], sent: list[object]
) -> dict[Forms, _Group]:
    single = case.contract.of_one_item
    read, place = single.read_back or case.read, parse_path(batch.items)
    groups: dict[Forms, _Group] = {}
    for at, item in enumerate(sent):
        held = cast("dict[str, Any]", put(case.arguments, place, item))
        one = case._replace(contract=single, read=read, arguments=held)
        values = {source: wanted(single, source, held, case.key) for source in fields.values()}
        forms = tuple(_form(one, source, values[source]) for source in fields.values())
        groups.setdefault(forms, _Group(one)).at.append(at)
    return groups


def _form(case: Case, source: str, value: object) -> bytes:
    kind = (case.contract.identity or {}).get(source, "exact")
    return normal(kind, None if value is MISSING else value)


def _assign(groups: dict[Forms, _Group], fields: dict[str, str], item: object) -> None:
    """Give an effect to the group that it equals, or else to every one that it may belong to."""
    cases = [group.case for group in groups.values()]
    try:
        values = {path: find(item, parse_path(path)) for path in fields}
        forms = tuple(_form(cases[0], source, values[path]) for path, source in fields.items())
        equal = groups.get(forms)
    except (ArgumentError, IndexError):
        equal = None
    if equal is not None:
        equal.meet(item)
        return
    for group in groups.values():
        one = group.case
        like = likeness(one.contract, fields, item, one.arguments, one.key)
        if like != "differs":
            group.meet(item)
        elif whose(one, item) == "ours":  # by the key, whatever the server made of the item
            group.doubts.add("unbelieved")


def _doubts(batch: Batch, sent: list[object], groups: list[_Group]) -> Iterator[Seen]:
    """Why it cannot be told which items are there; nothing where it can."""
    if any(len(group.found) > len(group.at) and not group.case.read.unique for group in groups):
        yield "several"
    unclear = [group for group in groups if len(group.there) < len(group.at)]
    for doubt in ("unbelieved", "foreign"):
        if any(doubt in group.doubts for group in unclear):
            yield doubt
    for group in unclear:
        if group.found and len({_named(batch, sent[at]) for at in group.at}) > 1:
            yield "unbelieved"


def _named(batch: Batch, item: object) -> bytes:
    """What names an item."""
    if not batch.identity:
        return canonical(item)
    return canonical([_or_none(find(item, parse_path(path))) for path in batch.identity])


def _or_none(value: object) -> object:
    return None if value is MISSING else value
