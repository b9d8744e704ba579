"""How a key that travels as header or metadata reaches the body of a tool."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retry_guard._answers import UsageError
from retry_guard._logs import log_unasked
from retry_guard._turns import turn as in_turn
from retry_guard_contracts import Contract
from retry_guard_core import End, Record
from retry_guard_ledgers import changed

if TYPE_CHECKING:
    from retry_guard._going import Going

_OUTSIDE = (
    "sent_headers() was called outside of a tool's run, or after its end: ask in the tool's own "
    "function, and hand the headers to what sends them"
)
_DIRECT = (
    "sent_headers() was called in a send that has its key in `extra`: send that along, or, in an "
    "adapter, run the tool's function inside `with running(scope, turn, extra):`"
)


class Extra(dict[str, str]):
    """What one send has to bring along: a key, by `header:NAME` or `meta:NAME`.

    `unasked`: the body that the send runs has to do so, and has not asked for it. `going`: knows
    whether the send may still begin.
    """

    unasked = False
    going: "Going | None" = None


@dataclass(slots=True)
class _Send:
    """One send. Once it is over, no task or thread that it began is given its key.

    `to_body`: the tool's body has to bring `extra` along; else the send itself does.
    """

    extra: Mapping[str, str]
    to_body: bool
    lives: bool = True
    _token: "Token[_Send | None] | None" = None

    def __enter__(self) -> None:
        """Begin it, in this context."""
        self._token = _SEND.set(self)

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.lives = False
        if self._token is not None:
            _SEND.reset(self._token)


_SEND: ContextVar[_Send | None] = ContextVar("retry_guard_sent", default=None)


def sent_headers() -> dict[str, str]:
    """Return what the body of a guarded tool has to send along: its key, by the header's name.

    Empty where it has none to send so. Each run of the body has to ask before it sends anything:
    the key of a run that did not ask never left, so the call counts as one without a key.
    Raises `UsageError` outside of a run, after its end, and in a thread that does not share the
    context of the body, such as one of a pool.
    """
    send = _SEND.get()
    if send is None or not send.lives:
        raise UsageError(_OUTSIDE)
    if send.extra and not send.to_body:
        raise UsageError(_DIRECT)
    if isinstance(send.extra, Extra):
        send.extra.unasked = False
    return {name.partition(":")[2]: value for name, value in send.extra.items()}


@contextmanager
def running(
    scope: str, turn: str | None, extra: Mapping[str, str] | None = None
) -> Generator[None]:
    """Run a tool's body inside, once: in its turn, and with what it has to send along.

    For adapters, around every run of a body, also of a tool without a contract. `extra`: what the
    guard gave to `send`, itself; None where the body has nothing to send, or the adapter sends it.
    Raises `UsageError` for a copy: it could not tell the guard whether the body asked for it.
    """
    if extra and not isinstance(extra, Extra):
        raise UsageError("extra: hand on what the guard gave to send, not a copy; nothing was sent")
    if isinstance(extra, Extra):
        extra.unasked = bool(extra)
    with in_turn(scope, turn), _Send(extra or {}, to_body=True):
        yield


def sending(extra: Mapping[str, str]) -> _Send:
    """Call a user's function inside; no key of an outer send reaches it. For the guard itself."""
    return _Send(extra, to_body=False)


def without_key(record: Record) -> Record:
    """Return an open record whose key never left. A generation has one key or none, for good."""
    if record.key is None or record.state != "open":
        return record
    return changed(record, key=None, generation=record.generation + 1)


def unkeyed(contract: Contract, record: Record, end: End) -> tuple[Record, End]:
    """Return what a send proves whose key never left: as much as one to a server without keys."""
    if end.kind == "not_executed" or contract.effect == "idempotent":
        return record, end
    log_unasked(contract.tool)
    if end.kind == "done":
        # The send before it may have done it too, and nothing told the server that they are one.
        return record, end._replace(note="ignored") if record.tries else end
    return without_key(record), end
