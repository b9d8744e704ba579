"""The tools of one agent, and the guard around those that have contracts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from retry_guard import (
    Contract,
    Done,
    GuardPair,
    NotExecuted,
    Policy,
    Unknown,
    Unresolved,
    UsageError,
    listed_contracts,
)
from retry_guard_functions._answers import ToolAnswer, answer_of, plain_answer
from retry_guard_functions._calls import (
    Arguments,
    action_of,
    begun,
    check_place,
    ordinals_of,
    told,
)
from retry_guard_functions._checks import check, key_parameter
from retry_guard_functions._reads import Reads
from retry_guard_functions._running import Sends, obey
from retry_guard_functions._tools import FunctionTool, fitted
from retry_guard_ledgers import Ledger
from retry_guard_outcomes import classify_body


class Toolbox:
    """An agent's tools; each write that has a contract happens once. Safe to share.

    `tools`: by name, as a model is shown them: without the parameter that carries the key.
    `contracts`: by tool.
    """

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract],
        *,
        tools: Iterable[Callable[..., Any] | FunctionTool],
        classify: Callable[[Any], Done | NotExecuted | Unknown] = classify_body,
        read: Callable[[str, dict[str, Any]], Any] | None = None,
        ask: Callable[[Unresolved], Any] | None = None,
        policy: Policy | None = None,
        mode: Any = "guard",
        secret: bytes | None = None,
    ) -> None:
        """Put a guard around these tools, sync and async functions alike.

        A function's name, docstring and annotations say what a model is told of it;
        `FunctionTool` takes a schema of the caller's own. `classify(value or exception)` judges
        what a function returned or raised. `read`: default, the tools themselves. `ask`,
        `policy`, `mode`, `secret`: as `retry_guard.Guard` takes them.
        Raises `UsageError` for parts that do not fit together.
        """
        given = listed_contracts(contracts)
        hidden = given if mode == "guard" else []
        self._fitted = fitted(tools, {each.tool: key_parameter(each) for each in hidden})
        self.tools: Mapping[str, FunctionTool] = {n: f.tool for n, f in self._fitted.items()}
        self.ledger = ledger
        reads = Reads(self._fitted)
        self._guards = GuardPair(
            ledger,
            given,
            classify=classify,
            read_now=reads.now,
            read_awaited=reads.awaited,
            read=read,
            ask=ask,
            policy=policy,
            mode=mode,
            secret=secret,
        )
        self.contracts: Mapping[str, Contract] = self._guards.contracts
        check(self.contracts.values(), self._fitted, reads=read is None)

    def check_run(self, *, scope: str, turn: str | None, blocking: bool) -> None:
        """Raise `UsageError` for a run that could not call these tools; for loops, beforehand.

        `blocking`: it calls them by `call`, so that none may be async.
        """
        check_place(scope, turn)
        if blocking:
            for name in self._fitted:
                self._refuse_awaited(name)
            self._guards.blocking()

    def ordinals(self, calls: Sequence[tuple[str, Arguments]]) -> list[int]:
        """Return, for the calls of one message, which of its equals each is (`twins: count`)."""
        return ordinals_of(calls, self._fitted, self.contracts)

    def action(self, name: str, arguments: Arguments, *, ordinal: int = 0) -> bytes | None:
        """Return what names the action of a call in this process; None: it cannot be guarded."""
        contract = self._guards.contracts.get(name)
        if contract is None:
            return None
        return action_of(contract, self._fitted[name], arguments, ordinal)

    def call(
        self,
        name: str,
        arguments: Arguments,
        *,
        scope: str,
        turn: str | None,
        call_id: str | None = None,
        ordinal: int = 0,
    ) -> ToolAnswer:
        """Carry out one call that a model made.

        `scope`: the account that the tools act for. `turn`: the id of the user's message; None
        where none is known. While an outer call for the same scope runs, its turn counts instead.
        `call_id`: for the audit, never an identity. `ordinal`: one of `ordinals`.
        What is wrong with name or arguments, and what a tool without a guarded contract raises,
        becomes an error text. Raises `UsageError` and `LedgerError`, each before anything is sent.
        """
        place: dict[str, Any] = {"scope": scope, "turn": turn}
        call = begun(self._fitted, name, arguments, **place, call_id=call_id, ordinal=ordinal)
        if isinstance(call, ToolAnswer):
            return call
        self._refuse_awaited(name)
        sends = Sends(call.one, call.scope, call.turn)
        try:
            if not self._is_guarded(name):
                return plain_answer(sends.plain(call.arguments))
            return answer_of(self._guards.blocking().call(send=sends.now, **call.named))
        except Exception as error:  # noqa: BLE001 - told to the model, or raised again
            return told(name, error, guarded=self._is_guarded(name))

    async def call_awaited(
        self,
        name: str,
        arguments: Arguments,
        *,
        scope: str,
        turn: str | None,
        call_id: str | None = None,
        ordinal: int = 0,
    ) -> ToolAnswer:
        """Do the same, awaited; a function that blocks runs in a thread.

        A cancellation while such a thread runs is obeyed once it has ended.
        """
        place: dict[str, Any] = {"scope": scope, "turn": turn}
        call = begun(self._fitted, name, arguments, **place, call_id=call_id, ordinal=ordinal)
        if isinstance(call, ToolAnswer):
            return call
        sends = Sends(call.one, call.scope, call.turn)
        try:
            if self._is_guarded(name):
                guard = self._guards.awaiting
                answer = answer_of(await guard.call(send=sends.awaited, **call.named))
            else:
                answer = plain_answer(await sends.awaited(call.arguments, {}))
        except Exception as error:  # noqa: BLE001 - told to the model, or raised again
            answer = told(name, error, guarded=self._is_guarded(name))
        await obey()
        return answer

    def _is_guarded(self, name: str) -> bool:
        contract = self._guards.contracts.get(name)
        return contract is not None and contract.effect != "read"

    def _refuse_awaited(self, name: str) -> None:
        """Raise `UsageError` if the tool, or what reads it back, must be awaited."""
        contract = self._guards.contracts.get(name)
        reader = contract.read_back.tool if contract and contract.read_back else None
        for each in (name, reader):
            if each is not None and each in self._fitted and self._fitted[each].awaited:
                raise UsageError(f"{each} is an async function: use the async form; nothing sent")
