"""The parts of a contract: its key and its read-back."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, model_validator

from retry_guard_contracts._fields import (
    Ack,
    ArgumentPath,
    Complete,
    ListPath,
    Name,
    Operand,
    Param,
    Part,
    ResultOperand,
    ResultPath,
    Seconds,
    Source,
)

KEY_LENGTH = {"uuid": 36, "hex": 32}
"""Characters that 128 bits take in each format."""


class Key(Part):
    """How the server recognises a repeat of one request.

    `param`: where the key travels: an argument, `header:NAME` or `meta:NAME`. `retention`: for
    how many seconds after the first send the server remembers it. `errors`: whether it answers
    a known key with the error that it gave first. `mismatch`: whether it refuses a known key
    with other arguments. `ack`: where every response says whether the key was honoured, a path
    in the result or `header:NAME`. `format`, `max_length`: what the server takes for a key.
    """

    param: Param
    retention: Seconds | None = None
    errors: Literal["stored", "not_stored"] = "not_stored"
    mismatch: Literal["refused", "ignored"] = "refused"
    ack: Ack | None = None
    format: Literal["uuid", "hex"] = "uuid"
    max_length: Annotated[int, Field(strict=True)] | None = None

    @cached_property
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
    complete: Complete | None = None
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


class Batch(Part):
    """A list whose items commit one by one, so that some may happen and others not.

    `items`: the argument that is the list. `identity`: the fields of an item that name it, so
    that items which agree in them may stand for one another; none: the whole item. `key`: what a
    re-issue under the same key does after a run that ended in part: nothing was kept, so it does
    all (`atomic`), it does what is missing (`resumes`), or the answer in part comes again
    (`stored_partial`, which is also what has to be expected where nothing is stated).
    """

    items: ListPath
    identity: tuple[ResultPath, ...] = ()
    key: Literal["atomic", "resumes", "stored_partial"] | None = None

    @property
    def completes(self) -> bool:
        """Whether a re-issue under the same key does what is missing, or can do all."""
        return self.key in ("atomic", "resumes")

    def of_one(self, source: str) -> str | None:
        """Return a path into each item as a path into the only one; None for any other path."""
        every = f"{self.items}[]"
        return self.items + source[len(every) :] if source.startswith(every) else None
