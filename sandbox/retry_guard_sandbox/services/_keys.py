"""How a service treats idempotency keys: as in production."""

from dataclasses import dataclass

from retry_guard_sandbox.world._http import Request, Response, refusal


@dataclass(slots=True)
class _Entry:
    request: Request
    since: float
    response: Response | None = None


class Keys:
    """The keys that a service has seen, each with the request that brought it.

    The parameters of a repeat are compared with the first ones: where they differ it is refused
    with 422, which names the first that differs. While the first one runs, a repeat is answered
    with 409. Afterwards it is answered with the stored response. A key is forgotten `retention`
    seconds after it was first seen, and at once where the request failed.
    """

    __slots__ = ("_entries", "_retention")

    def __init__(self, retention: float) -> None:
        """`retention` in seconds."""
        self._entries: dict[str, _Entry] = {}
        self._retention = retention

    def admit(self, request: Request, now: float) -> Response | None:
        """Return the answer to a repeat. None: it is a new one and may run; its key is held."""
        if request.key is None:
            return None
        entry = self._entries.get(request.key)
        if entry is None or now - entry.since >= self._retention:
            self._entries[request.key] = _Entry(request, now)
            return None
        different = _first_difference(entry.request, request)
        if different is not None:
            message = f"this idempotency key was used with different parameters: {different}"
            return refusal(422, "idempotency_key_reused", message, param=different)
        if entry.response is None:
            message = "a request with this idempotency key is still running"
            return refusal(409, "idempotency_key_in_progress", message)
        return entry.response

    def settle(self, request: Request, response: Response) -> None:
        """Store the response of a request that was admitted, or forget the key if it failed."""
        entry = self._entries.get(request.key or "")
        if entry is None or entry.request is not request:
            return
        if response.ok:
            entry.response = response
        else:
            del self._entries[entry.request.key or ""]

    def release(self, request: Request) -> None:
        """Forget the key of a request that runs and will be stopped; nothing else is touched."""
        entry = self._entries.get(request.key or "")
        if entry is not None and entry.request is request and entry.response is None:
            del self._entries[request.key or ""]


def _first_difference(first: Request, second: Request) -> str | None:
    """Return the name of the first parameter that differs; None if the requests are equal."""
    if first.tool != second.tool:
        return "tool"
    names = sorted({*first.arguments, *second.arguments})
    return next((n for n in names if first.arguments.get(n) != second.arguments.get(n)), None)
