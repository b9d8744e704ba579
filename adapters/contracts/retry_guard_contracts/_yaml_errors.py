"""One plain line for each thing that the schema refuses."""

from typing import Any

from pydantic import ValidationError

from retry_guard_contracts._yaml_nodes import Place, Tree

_TEXTS = {
    "extra_forbidden": "unknown field; remove it or correct its spelling",
    "missing": "is required; add it",
    "string_type": "must be text; put it in quotes",
    "float_type": "must be a number of seconds; write it without quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "finite_number": "must be finite; leave the field out if it is not known",
    "greater_than_equal": "must be 0 or more",
    "dict_type": "must hold fields, one per line",
    "model_type": "must hold fields, one per line",
    "tuple_type": "must be a list; put `- ` before each item",
    "too_short": "is empty; fill it in, or leave the field out",
    "string_too_short": "is empty; fill it in, or leave the field out",
}


def lines_of(error: ValidationError, tree: Tree, place: Place) -> list[str]:
    """Return the problems of one contract, in the order of their lines."""
    found: dict[Place, str] = {}
    for detail in error.errors(include_url=False):
        inner, text = _problem(dict(detail))
        at = (*place, *_known(inner, tree, place))
        found.setdefault(at, text)
    ordered = sorted(found, key=tree.line_number)
    return [tree.line(at, found[at]) for at in ordered]


def _problem(detail: dict[str, Any]) -> tuple[Place, str]:
    inner: Place = detail["loc"]
    kind = detail["type"]
    if kind == "value_error":
        text = str(detail["ctx"]["error"])
        head, _, rest = text.partition(": ")
        names = tuple(head.split("."))
        if rest and all(name.isidentifier() for name in names):
            return (*inner, *names), rest
        return inner, text
    if kind == "literal_error":
        return inner, f"must be {detail['ctx']['expected']}"
    return inner, _TEXTS.get(kind, str(detail["msg"]))


def _known(inner: Place, tree: Tree, place: Place) -> Place:
    """The steps that are fields: pydantic also names the members of a union and keys."""
    kept: Place = ()
    for at, step in enumerate(inner):
        if (*place, *kept, step) in tree.lines or (at == len(inner) - 1 and not _pydantics(step)):
            kept = (*kept, step)
    return kept


def _pydantics(step: str | int) -> bool:
    """Whether a step is pydantic's own: the member of a union, or the mark of a key."""
    return str(step).startswith(("<", "["))
