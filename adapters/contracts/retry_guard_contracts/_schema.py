"""The contract: what an operator states about one tool. `Contract.terms` is what the core reads."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from retry_guard_contracts._canonical import canonical
from retry_guard_contracts._confirm import Confirm
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._fields import ArgumentPath, Fixed, Name, Part, Seconds, all_exact
from retry_guard_contracts._fitting import problems
from retry_guard_contracts._normal import Normaliser
from retry_guard_contracts._parts import Batch, Key, ReadBack
from retry_guard_contracts._signs import Sign, has_failed, matches
from retry_guard_core import Terms


class Contract(Part):
    """What is known of one tool. Fields that are not stated promise nothing.

    `server`: the MCP server or host that the tool belongs to. `resource`: what it writes, where
    two tools reach the same thing. `in_flight_bound`: after this many seconds a request that has
    not executed never will. `identity`: the arguments that name the effect, each with its
    normaliser (a list: all `exact`); none: all of them. `defaults`: what an omitted one means.
    `batch`: the list whose items commit one by one; where a key cannot complete it, the key is
    still sent, against redelivery, but no re-issue relies on it. `confirm`: how a token that a
    preview gives confirms the write.
    `volatile`: arguments that never count. `secret`: arguments that are never stored.
    `not_executed`: errors that prove that nothing ran. `unknown`: results and errors that prove
    nothing, whatever else says so. `twins`: equal calls in one turn are one action (`join`), or
    each counts. `repeat`: what an equal call in a later turn, within `repeat_window` seconds of a
    done one, gets.
    """

    tool: Name
    server: Name | None = None
    effect: Literal["read", "idempotent", "write"] = "write"
    resource: Name | None = None
    key: Key | None = None
    read_back: ReadBack | None = None
    batch: Batch | None = None
    confirm: Confirm | None = None
    in_flight_bound: Seconds | None = None
    identity: Annotated[
        dict[ArgumentPath, Normaliser] | None, Field(min_length=1), BeforeValidator(all_exact)
    ] = None
    defaults: dict[ArgumentPath, Any] = Field(default_factory=dict)
    volatile: tuple[ArgumentPath, ...] = ()
    secret: tuple[ArgumentPath, ...] = ()
    not_executed: tuple[Sign, ...] = ()
    unknown: tuple[Sign, ...] = ()
    twins: Literal["join", "count"] = "join"
    repeat: Literal["allow", "warn", "escalate"] = "warn"
    repeat_window: Seconds = 600.0

    if TYPE_CHECKING:

        def __init__(self, *, tool: str, **stated: Any) -> None:  # noqa: ANN401 - parts or mappings
            """A part may be stated as a mapping of its fields, which no annotation says."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields stated anew, and checked like every contract.

        Raises:
            ValidationError: what is stated does not fit together.
        """
        given = deepcopy(self) if deep else self
        stated = {name: getattr(given, name) for name in self.model_fields_set}
        return type(self).model_validate({**stated, **(update or {})})

    @property
    def writes(self) -> str:
        """What the tool writes: its resource, or itself."""
        return self.resource or self.tool

    @cached_property
    def unnamed(self) -> tuple[str, ...]:
        """The arguments that never name an action, whatever they hold: key and token."""
        key = () if self.key is None or self.key.carried else (self.key.param,)
        return key if self.confirm is None else (*key, self.confirm.param)

    @cached_property
    def sealed(self) -> tuple[str, ...]:
        """The arguments that are never stored: the secret ones, and a token."""
        return self.secret if self.confirm is None else (*self.secret, self.confirm.param)

    @cached_property
    def previewing(self) -> "Contract":
        """The contract of the preview, which changes nothing and is recorded for its token."""
        named = self.confirm and self.confirm.preview
        stated = dict.fromkeys(("key", "read_back", "confirm", "in_flight_bound", "resource"))
        more = {"volatile": (*self.volatile, *self.unnamed), "secret": self.sealed}
        tool = named or f"{self.tool} (preview)"
        return self.model_copy(update={**stated, **more, "tool": tool, "repeat": "allow"})

    @cached_property
    def terms(self) -> Terms:
        """What a decision needs of this contract."""
        key, read = self.key, self.read_back
        lag = read.visibility_lag if read else None
        return Terms(
            tool=self.tool,
            effect=self.effect,
            keyed=key is not None and (self.batch is None or self.batch.completes),
            retention=key.retention if key else None,
            # A refused token need not have come as far as the key.
            errors_stored=key is not None and key.errors == "stored" and self.confirm is None,
            read_back=read is not None,
            lag=lag or 0.0,
            conclusive=bool(read and read.complete and read.permanent and lag is not None),
            bound=inf if self.in_flight_bound is None else self.in_flight_bound,
            repeat=self.repeat,
            repeat_window=self.repeat_window,
        )

    @cached_property
    def of_one_item(self) -> "Contract":
        """The contract of a batch as if its only item stood in the place of the list.

        What a read shows of each item is judged by it.
        """
        batch, read = self.batch, self.read_back
        if batch is None or read is None:
            return self

        def one(source: str | Fixed | None) -> Any:  # noqa: ANN401 - as it was given
            return (batch.of_one(source) or source) if isinstance(source, str) else source

        match = {path: one(source) for path, source in read.match.items()}
        shown = {"match": match, "marker": one(read.marker), "args": {}, "result": None}
        return self.model_copy(
            update={
                "batch": None,
                "read_back": read.model_copy(update=shown),
                "identity": self.identity and {one(p): k for p, k in self.identity.items()},
                "defaults": {one(path): value for path, value in self.defaults.items()},
            }
        )

    @cached_property
    def digest(self) -> str:
        """Digest of what is stated, the same however it is spelled; changes when a term does."""
        stated = self.model_dump(exclude_defaults=True)
        return sha256(canonical(stated, "contract")).hexdigest()

    def proves_nothing_ran(self, outcome: object) -> bool:
        """Whether a returned value or raised exception is one that `not_executed` names.

        Of a result that does not say that it failed, only what it says in its blocks of text.
        """
        inside = bool(self.not_executed) and has_failed(outcome)
        return any(matches(sign, outcome, inside=inside) for sign in self.not_executed)

    def proves_nothing(self, outcome: object) -> bool:
        """Whether a returned value or raised exception is one that `unknown` names."""
        return any(matches(sign, outcome, inside=True) for sign in self.unknown)

    @model_validator(mode="after")
    def _fits_together(self) -> "Contract":
        for problem in problems(self):
            raise ValueError(problem)
        try:
            self.digest  # noqa: B018 - literals that have no canonical form are refused here
        except ArgumentError as error:
            raise ValueError(str(error).removeprefix("contract.")) from None
        return self
