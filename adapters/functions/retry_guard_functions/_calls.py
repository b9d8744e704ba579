"""One call that a model made: of which tool, with what, and whose it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retry_guard import (
    ArgumentError,
    Contract,
    GuardError,
    NotExecutedError,
    UnresolvedError,
    UsageError,
    ordinal_of,
    outer_turn,
)
from retry_guard_contracts import identify, parse_arguments
from retry_guard_functions._answers import ToolAnswer, answer_of, error_answer, failed_answer
from retry_guard_functions._tools import Fitted

Arguments = str | bytes | Mapping[str, Any] | None
"""What a model gave: the text of a JSON object, or the object. Blank and null are `{}`."""

_ANY = b"only compared within this process"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call. `arguments`: as the tool's shape writes them."""

    one: Fitted
    arguments: dict[str, Any]
    scope: str
    turn: str | None
    call_id: str | None
    ordinal: int

    @property
    def named(self) -> dict[str, Any]:
        """The call as a guard takes it, but for its send."""
        return {
            "tool": self.one.tool.name,
            "arguments": self.arguments,
            "scope": self.scope,
            "turn": self.turn,
            "call_id": self.call_id,
            "ordinal": self.ordinal,
        }


def fit(one: Fitted, arguments: Arguments) -> dict[str, Any]:
    """Return the arguments as the tool's shape writes them.

    Raises `ArgumentError` for what is no JSON object, or does not fit.
    """
    try:
        given = parse_arguments(arguments)
    except ArgumentError as error:
        raise ArgumentError(f"{one.tool.name}: {error}; nothing was sent") from None
    return one.shape.fit(given)


def begun(
    tools: Mapping[str, Fitted],
    name: str,
    arguments: Arguments,
    *,
    scope: str,
    turn: str | None,
    call_id: str | None,
    ordinal: int,
) -> ToolCall | ToolAnswer:
    """Return the call, or what a model is told where its tool or arguments are none.

    Raises `UsageError` for a scope or turn that names nothing.
    """
    check_place(scope, turn)
    one = tools.get(name)
    if one is None:
        known = ", ".join(sorted(tools)) or "none"
        return error_answer(f"there is no such tool; the tools are: {known}")
    try:
        given = fit(one, arguments)
    except ArgumentError as error:
        return error_answer(str(error))
    return ToolCall(
        one=one,
        arguments=given,
        scope=scope,
        turn=outer_turn(scope) or turn,
        call_id=call_id,
        ordinal=ordinal,
    )


def ordinals_of(
    calls: Sequence[tuple[str, Arguments]],
    tools: Mapping[str, Fitted],
    contracts: Mapping[str, Contract],
) -> list[int]:
    """Return, for the calls of one message, which of its equals each is."""
    named = [(name, _comparable(tools.get(name), arguments)) for name, arguments in calls]
    found = list[int]()
    for number, (name, arguments) in enumerate(named):
        contract = contracts.get(name)
        earlier = [a for n, a in named[:number] if n == name and a is not None]
        if contract is None or arguments is None:
            found.append(0)
        else:
            found.append(ordinal_of(contract, arguments, earlier))
    return found


def action_of(contract: Contract, one: Fitted, arguments: Arguments, ordinal: int) -> bytes | None:
    """Return what names the action of a call, within this process; None for what none takes."""
    given = _comparable(one, arguments)
    if given is None or contract.effect == "read":
        return None
    try:
        name = identify(contract, given, scope="-", secret=_ANY, ordinal=ordinal)
    except ArgumentError:
        return None
    return name.identity + name.content


def _comparable(one: Fitted | None, arguments: Arguments) -> dict[str, Any] | None:
    """Return arguments in one form for equal calls; None for what no tool takes."""
    try:
        return None if one is None else fit(one, arguments)
    except ArgumentError:
        return None


def check_place(scope: Any, turn: Any) -> None:
    """Raise `UsageError` for a scope or turn that names nothing."""
    if not isinstance(scope, str) or not scope:
        raise UsageError("scope: give the account that the tools act for; nothing was sent")
    if turn is not None and (not isinstance(turn, str) or not turn):
        raise UsageError("turn: give the id of the user's message, or None; nothing was sent")


def told(tool: str, error: Exception, *, guarded: bool) -> ToolAnswer:
    """Return what a model is told of an exception.

    Raises it again where it is for the application: a `UsageError`, or a ledger that failed.
    """
    match error:
        case ArgumentError() if guarded:
            ending = "" if "nothing was sent" in str(error) else "; nothing was sent"
            return error_answer(f"{tool}: {error}{ending}")
        case UnresolvedError() | NotExecutedError():  # a guard inside of the tool
            return answer_of(error.outcome)
        case GuardError() if not isinstance(error, ArgumentError):
            raise error
        case _:
            return failed_answer(tool, error)
