"""How a service treats idempotency keys: as in production."""

from dataclasses import dataclass, field

from retry_guard_sandbox.services._facts import Facts
from retry_guard_sandbox.world._http import Json, Request, Response, refusal


@dataclass(slots=True)
class Entry:
    """A key and the request that brought it first. `made`: the items of a batch so far."""

    request: Request
    since: float
    response: Response | None = None
    runs: Request | None = None
    made: list[Json] = field(default_factory=list[Json])


class Keys:
    """The keys that a service has seen, each with the request that brought it.

    The parameters of a repeat are compared with the first ones: where they differ it is refused
    with 422, which names the first that differs. While the first one runs, a repeat is answered
    with 409. Afterwards it is answered with the stored response. A key is forgotten once it is
    as old as its retention, and at once where the request failed; where the service stores
    errors, it keeps the one that it answered.
    """

    __slots__ = ("_entries", "_facts")

    def __init__(self, facts: Facts) -> None:
        """`facts`: whether keys are honoured, for how long, and whether errors are stored."""
        self._entries: dict[str, Entry] = {}
        self._facts = facts

    def admit(self, request: Request, now: float) -> Response | None:
        """Return the answer to a repeat. None: it is a new one and may run; its key is held."""
        if request.key is None or not self._facts.honours_keys:
            return None
        entry = self._entries.get(request.key)
        if entry is None or now - entry.since >= self._facts.retention:
            self._entries[request.key] = Entry(request, now, runs=request)
            return None
        different = _first_difference(entry.request, request)
        if different is not None:
            message = f"this idempotency key was used with different parameters: {different}"
            return refusal(422, "idempotency_key_reused", message, param=different)
        if entry.runs is not None:
            message = "a request with this idempotency key is still running"
            return refusal(409, "idempotency_key_in_progress", message)
        if entry.response is None:
            entry.runs = request
        return entry.response

    def made(self, request: Request) -> list[Json]:
        """Return the items that were made under the key of a request, to add to."""
        entry = self._entries.get(request.key or "")
        return entry.made if entry is not None and entry.runs is request else []

    def settle(self, request: Request, response: Response, *, stores: bool = False) -> None:
        """Store the response of a request that was admitted; `stores`: also if it failed.

        Else a failed one leaves its key free, or to be resumed if it made some of its items.
        """
        entry = self._entries.get(request.key or "")
        if entry is None or entry.runs is not request:
            return
        entry.runs = None
        if response.ok or stores or (self._facts.stores_errors and not entry.made):
            entry.response = response
        elif not entry.made:
            del self._entries[request.key or ""]

    def fail(self, request: Request, error: Response, now: float) -> None:
        """Have a key remember the error that its request was answered, where errors are stored."""
        if request.key is None or not (self._facts.stores_errors and self._facts.honours_keys):
            return
        entry = self._entries.setdefault(request.key, Entry(request, now))
        if entry.request is request or entry.response is None:
            entry.response, entry.runs = error, None

    def release(self, request: Request) -> None:
        """Forget the key of a request that runs and will be stopped; nothing else is touched."""
        entry = self._entries.get(request.key or "")
        if entry is None or entry.runs is not request:
            return
        entry.runs = None
        if not entry.made:
            del self._entries[request.key or ""]


def _first_difference(first: Request, second: Request) -> str | None:
    """Return the name of the first parameter that differs; None if the requests are equal."""
    if first.tool != second.tool:
        return "tool"
    names = sorted({*first.arguments, *second.arguments})
    return next((n for n in names if first.arguments.get(n) != second.arguments.get(n)), None)
