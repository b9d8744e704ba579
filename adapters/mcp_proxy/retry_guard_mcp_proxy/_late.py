"""A ledger that is told of a delivery only when the client has the answer."""

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Self

from retry_guard_ledgers import about

if TYPE_CHECKING:
    from retry_guard_core import Now, Record
    from retry_guard_ledgers import Ledger, Prompt


class Deliveries:
    """What one call would have noted, with the turn of its caller.

    `open`: the id of the record that it holds, or waits for; None: it has none yet. `met`: the
    record that counted for it last. What is called inside of it is kept back.
    """

    def __init__(self, turn: str | None) -> None:
        """Nothing yet."""
        self.turn = turn
        self.open: str | None = None
        self.met: Record | None = None
        self.noted: list[tuple[str, str]] = []
        self._token: Token[Deliveries | None] | None = None

    def __enter__(self) -> Self:
        """Let what the ledger is told here be kept back."""
        self._token = _HERE.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Keep nothing back any more."""
        if self._token is not None:
            _HERE.reset(self._token)


_HERE: ContextVar[Deliveries | None] = ContextVar("retry_guard_mcp_deliveries", default=None)


class LatePrompt:
    """What a ledger does without waiting, but for `deliver`: that waits for `delivered`."""

    def __init__(self, ledger: "Ledger | Prompt") -> None:
        """Stand in front of it."""
        self._ledger = ledger
        self.save = ledger.save  # not looked up anew by each call

    def deliver(self, scope: str, action: str, turn: str | None, *, back: bool = False) -> None:
        """Keep it back; what is noted for another turn than the caller's is no delivery to it."""
        here = _HERE.get()
        if here is None or here.turn != turn:
            self._ledger.deliver(scope, action, turn, back=back)
        elif back:
            here.noted = [noted for noted in here.noted if noted != (scope, action)]
        else:
            here.noted.append((scope, action))

    def delivered(self, here: Deliveries) -> None:
        """Note what was kept back. Raises `LedgerError`."""
        for scope, action in here.noted:
            self._ledger.deliver(scope, action, here.turn)


class LateLedger(LatePrompt):
    """The same, of the whole ledger. `prompt`: of what it does without waiting, if it does any."""

    def __init__(self, ledger: "Ledger") -> None:
        """Stand in front of a ledger."""
        super().__init__(ledger)
        self._whole, self.now = ledger, ledger.now
        prompt: Prompt | None = getattr(ledger, "prompt", None)
        self.prompt = None if prompt is None else LatePrompt(prompt)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def claim(self, record: "Record", after: "Record | None", now: "Now") -> "Record":
        """Claim, and note which record counts."""
        known, here = self._whole.claim(record, after, now), _HERE.get()
        if here is not None:
            here.met = known
            here.open = about(known).id if known.state == "open" else here.open
        return known
