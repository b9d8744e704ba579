"""The parts of a contract: its key and its read-back."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    Tag,
    model_validator,
)

from retry_guard_contracts._paths import parse_path

KEY_LENGTH = {"uuid": 36, "hex": 32}
"""Characters that 128 bits take in each format."""

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
Source = Annotated[str, Field(strict=True), AfterValidator(_source)]


class Part(BaseModel):
    """Base of everything stated in a contract: fixed once made, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)


class Fixed(Part):
    """A literal that the operator wrote, in place of an argument's path."""

    value: Any


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


class Key(Part):
    """How the server recognises a repeat of one request.

    `param`: where the key travels: an argument, `header:NAME` or `meta:NAME`. `retention`: for
    how many seconds after the first send the server remembers it. `errors`: whether it answers
    a known key with the error that it gave first. `mismatch`: whether it refuses a known key
    with other arguments. `ack`: where every response says whether the key was honoured, a path
    in the result or `header:NAME`. `format`, `max_length`: what the server takes for a key.
    """

    param: Annotated[str, Field(strict=True), AfterValidator(_param)]
    retention: Seconds | None = None
    errors: Literal["stored", "not_stored"] = "not_stored"
    mismatch: Literal["refused", "ignored"] = "refused"
    ack: Annotated[str, Field(strict=True), AfterValidator(_ack)] | None = None
    format: Literal["uuid", "hex"] = "uuid"
    max_length: Annotated[int, Field(strict=True)] | None = None

    @property
    def carried(self) -> bool:
        """Whether the key travels beside the arguments."""
        return self.param.startswith(("header:", "meta:"))

    @model_validator(mode="after")
    def _holds_128_bits(self) -> "Key":
        least = KEY_LENGTH[self.format]
        if self.max_length is not None and self.max_length < least:
            advice = "; format: hex needs 32" if self.format == "uuid" else ""
            raise ValueError(f"max_length: 128 bits as {self.format} need {least}{advice}")
        return self


class ReadBack(Part):
    """How a read shows whether the write happened.

    `tool`, `args`: the read and its arguments, each from a path in the write's arguments or a
    literal `{value: …}`. `items`: path to the list in its result. `match`: which field of an item
    equals which argument. `id`, `created`: the item's name and time (epoch seconds or ISO 8601),
    which is at most `skew` seconds off. `marker`: the argument whose value only this write bears.
    `exclusive`: nobody else writes there. `unique`: what matches can exist once, so presence
    settles it, whoever made it. `complete`: path to what is true (`not PATH`: false) when the
    list is not cut. `permanent`: effects never leave the list. `visibility_lag`: seconds until
    an effect shows; 0: at once; none: not known. `control`: fields of a known item that must be
    in the list. `result`: the tool's own result, each field from a path in the item or a literal.
    """

    tool: Name
    args: dict[Name, Operand] = Field(default_factory=dict)
    items: ResultPath = "."
    match: Annotated[dict[ResultPath, Operand], Field(min_length=1)]
    id: ResultPath | None = None
    created: ResultPath | None = None
    skew: Seconds | None = None
    marker: Source | None = None
    exclusive: StrictBool = False
    unique: StrictBool = False
    complete: Annotated[str, Field(strict=True), AfterValidator(_complete)] | None = None
    permanent: StrictBool = False
    visibility_lag: Seconds | None = None
    control: Annotated[dict[ResultPath, Any], Field(min_length=1)] | None = None
    result: Annotated[dict[ArgumentPath, ResultOperand], Field(min_length=1)] | None = None

    @property
    def argument_paths(self) -> tuple[str, ...]:
        """The paths of the write's arguments that the read needs."""
        sources = (*self.args.values(), *self.match.values())
        return tuple(source for source in sources if isinstance(source, str))

    @model_validator(mode="after")
    def _says_enough(self) -> "ReadBack":
        if self.marker is not None and self.marker not in self.match.values():
            raise ValueError("marker: match must say in which field of an item it comes back")
        if (self.created is None) != (self.skew is None):
            raise ValueError("skew: state it together with created (0: both clocks are one)")
        if self.exclusive and (self.id is None or self.created is None):
            raise ValueError(
                "exclusive: needs id and created, to tell this write from earlier ones"
            )
        return self
