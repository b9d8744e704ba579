"""The kinds of fields that a contract has."""

import re
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

from retry_guard_contracts._paths import parse_path

_HEADER = re.compile(r"header:[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CARRIED = re.compile(_HEADER.pattern + r"|meta:[0-9A-Za-z._/-]+")


def _name(text: str) -> str:
    if text != text.strip() or not text:
        raise ValueError("must not be empty, nor begin or end with white space")
    return text


def _path(text: str) -> str:
    parse_path(text)
    return text


def _argument_path(text: str) -> str:
    steps = parse_path(text)
    if not steps or not isinstance(steps[0], str) or any(isinstance(step, int) for step in steps):
        raise ValueError(f"{text!r} names no argument: write it like customer.id or lines[].sku")
    return text


def _list_path(text: str) -> str:
    if not all(isinstance(step, str) for step in parse_path(_argument_path(text))):
        raise ValueError(f"{text!r} names no list of items: write it like rows or body.rows")
    return text


def _source(text: str) -> str:
    return text if _CARRIED.fullmatch(text) else _argument_path(text)


def _param(text: str) -> str:
    if text.startswith(("header:", "meta:")):
        if not _CARRIED.fullmatch(text):
            raise ValueError(f"{text!r}: write header:NAME or meta:NAME")
    elif not all(isinstance(step, str) for step in parse_path(_argument_path(text))):
        raise ValueError(f"{text!r}: the key is one argument, not one for each item")
    return text


def _ack(text: str) -> str:
    return text if _HEADER.fullmatch(text) else _path(text)


def _complete(text: str) -> str:
    _path(text.removeprefix("not ").strip())
    return text


Name = Annotated[str, Field(strict=True), AfterValidator(_name)]
Seconds = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
ResultPath = Annotated[str, Field(strict=True), AfterValidator(_path)]
ArgumentPath = Annotated[str, Field(strict=True), AfterValidator(_argument_path)]
ListPath = Annotated[str, Field(strict=True), AfterValidator(_list_path)]
Source = Annotated[str, Field(strict=True), AfterValidator(_source)]
Param = Annotated[str, Field(strict=True), AfterValidator(_param)]
Ack = Annotated[str, Field(strict=True), AfterValidator(_ack)]
Complete = Annotated[str, Field(strict=True), AfterValidator(_complete)]


class Part(BaseModel):
    """Base of everything stated in a contract: fixed once made, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)


class Fixed(Part):
    """A literal that the operator wrote, in place of an argument's path."""

    value: Any


def all_exact(value: object) -> object:
    """Return a list of fields, which is short for: each of them `exact`, as what it stands for."""
    if isinstance(value, list | tuple):
        names = cast("list[object]", value)
        if all(isinstance(name, str) for name in names):
            return dict.fromkeys(names, "exact")
        return names
    return value


def kind_of(value: object) -> str:
    """Which member of a union is meant; pydantic names it in the place of an error."""
    return "<text>" if isinstance(value, str) else "<fields>"


Operand = Annotated[
    Annotated[Source, Tag("<text>")] | Annotated[Fixed, Tag("<fields>")], Discriminator(kind_of)
]
ResultOperand = Annotated[
    Annotated[ResultPath, Tag("<text>")] | Annotated[Fixed, Tag("<fields>")],
    Discriminator(kind_of),
]
