"""What a guarded call answers beside `Done` and `NotExecuted`, and what it raises.

GuardError
├── NotExecutedError     nothing ran, and that is proven          (whoever calls: may call anew)
├── UnresolvedError      the outcome is open, or it was refused   (the user or an operator)
├── LedgerError          nothing could be recorded, nothing was sent          (the operator)
├── ArgumentError        these arguments cannot be guarded, nothing was sent   (whoever calls)
├── ContractError        a contract is wrong                                    (the operator)
└── UsageError           the guard is used wrongly, nothing was sent           (the developer)
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, get_args

from retry_guard_core import GuardError


class UsageError(GuardError):
    """The guard is used in a way that cannot work; nothing was sent."""


class UnresolvedError(GuardError):
    """The outcome is not known, or the call was refused. `outcome` says which, and why."""

    def __init__(self, outcome: "Unresolved") -> None:
        """Keep the outcome; the message is its sentence."""
        super().__init__(outcome.text or outcome.reason)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The guard stops here, and a person has to go on or time has to pass.

    `action`: the id of the record. `reason`: the row of the decision table that stopped it, or
    `still_running`, `abandoned`, `rejected`, `differs`, `repeat_escalate`, `key_conflict`,
    `contract_changed`, `ledger_unavailable`. `not_before`: seconds since the epoch at which an
    equal call can learn more; None where time alone tells nothing. `text`: one sentence for the
    model and the user. `tool`: the tool that was called. `missing`: of a batch of which something
    was seen, the items of which it is not known whether they happened.
    """

    action: str
    reason: str
    not_before: float | None = None
    text: str = ""
    tool: str = ""
    missing: tuple[Any, ...] = field(default=(), hash=False)

    def unwrap(self) -> NoReturn:
        """Raise `UnresolvedError`."""
        raise UnresolvedError(self)


What = Literal["happened", "did_not_happen", "again", "abandon"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operator says of an unresolved action.

    `happened`: with the tool's `result`, if it is known. `did_not_happen`: believed once nothing
    can be in flight any more, or at once if `final`: the operator states that the request can no
    longer run. `again`: send it once more on purpose. `abandon`: give it up.
    Raises `UsageError` for any other word.
    """

    what: What
    result: Any = None
    final: bool = False

    def __post_init__(self) -> None:
        """Refuse an answer that says nothing."""
        if self.what not in get_args(What):
            raise UsageError(f"Answer({self.what!r}): give one of {', '.join(get_args(What))}")
