"""The guard itself, for functions that block and for those that are awaited."""

import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar

from retry_guard._base import BaseGuard, Outcome
from retry_guard._call import Request, Send
from retry_guard._hands import AsyncHands, SyncHands, run_sync
from retry_guard._reject import rejection
from retry_guard._tool import Signature, refuse_count
from retry_guard._turns import current_turn
from retry_guard_contracts import Contract

P = ParamSpec("P")
R = TypeVar("R")


class Guard(BaseGuard):
    """Guards calls of functions that block. Safe to share between threads."""

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        send: Send,
        scope: str,
        turn: str | None = None,
        call_id: str | int | None = None,
        ordinal: int = 0,
    ) -> Outcome:
        """Carry out one call of a tool, once.

        `send(arguments, extra)` performs the real call once and returns its value or raises;
        `extra` carries a key that travels as `header:NAME` or `meta:NAME`.
        `scope`: the tenant or account for whom the tool acts. `turn`: the id of the user intent
        (the root's last human message), the same in every sub-agent; None where none is known.
        `call_id`: text or a number, kept for the audit. `ordinal`: which of the equal calls in
        one model message, for tools whose contract says `twins: count`.

        Raises `UsageError`, `ArgumentError` and `LedgerError`, each before anything is sent, and
        whatever stopped the call from outside: an interrupt before the send releases the claim,
        one during it leaves the outcome unknown, one while the ledger works is obeyed when that
        is done, and the result then counts as not delivered. A `send` that returns something to
        be awaited raises `UsageError`, and its outcome is unknown. In the modes `observe` and
        `off` it returns `Done`, or raises what `send` raised.

        What only a `BaseException` is goes through from `ask` too. A harness whose interrupt is
        an `Exception` reports it after the call, from the `Unresolved` answer, or wraps it in a
        `BaseException` of its own: an `Exception` from `ask` means that nobody was reached.
        """
        request = Request(
            tool=tool,
            arguments=arguments,
            send=send,
            scope=scope,
            turn=turn,
            call_id=call_id,
            ordinal=ordinal,
        )
        outcome: Outcome = run_sync(self.carry(SyncHands(), request))
        return outcome

    def reject(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        scope: str,
        turn: str | None = None,
        call_id: str | int | None = None,
        ordinal: int = 0,
    ) -> bool:
        """Say that the user does not want this action; it is then refused for the whole turn.

        Return whether that was in time: nothing of it was sent. False: it was sent before (call
        it to learn what came of that), or the guard is in the mode `observe` or `off`. `tool`:
        the write, or the one that previews it. Raises as `call` does.
        """
        request = rejection(tool, arguments, scope, turn, call_id, ordinal)
        in_time: bool = run_sync(self.turn_down(SyncHands(), request))
        return in_time

    def tool(self, contract: Contract) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Guard a plain function: `@guard.tool(Contract(tool="charge", ...))`.

        The function must be called inside `with guard.turn(scope, turn):`. It returns the value
        or raises `NotExecutedError`, `UnresolvedError`, and what `call` raises. It must take the
        parameter that carries the key; `extra` where the key travels as header or metadata.
        Raises `UsageError` for a function that cannot be guarded, and for `twins: count`.
        """
        refuse_count(contract, type(self).__name__)
        self.add(contract)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            SyncHands().refuse(contract.tool, function)
            signature = Signature(function, contract)
            send = signature.send(function)

            @functools.wraps(function)
            def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
                scope, here = current_turn(contract.tool, needed=self.mode == "guard")
                named = signature.arguments(*args, **kwargs)
                outcome = self.call(contract.tool, named, send=send, scope=scope, turn=here)
                value: R = outcome.unwrap()
                return value

            return guarded

        return decorate


class AsyncGuard(BaseGuard):
    """The same for functions that are awaited.

    A durable ledger works in threads, but for what it can do without waiting; see `Prompt`.
    """

    _awaits = True

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        send: Send,
        scope: str,
        turn: str | None = None,
        call_id: str | int | None = None,
        ordinal: int = 0,
    ) -> Outcome:
        """Carry out one call of a tool, once; see `Guard.call`.

        A cancellation before the send releases the claim; one during it leaves the outcome
        unknown; one while the ledger works is obeyed when that is done. All are re-raised.
        """
        request = Request(
            tool=tool,
            arguments=arguments,
            send=send,
            scope=scope,
            turn=turn,
            call_id=call_id,
            ordinal=ordinal,
        )
        return await self.carry(AsyncHands(self._site.workers), request)

    async def reject(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        scope: str,
        turn: str | None = None,
        call_id: str | int | None = None,
        ordinal: int = 0,
    ) -> bool:
        """Say that the user does not want this action; see `Guard.reject`."""
        request = rejection(tool, arguments, scope, turn, call_id, ordinal)
        return await self.turn_down(AsyncHands(self._site.workers), request)

    async def with_ledger(self, function: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """Call what uses the ledger, where the guard's own calls of it are made; for adapters.

        A cancellation meanwhile is obeyed when that is done. Raises what the function raises.
        """
        hands = AsyncHands(self._site.workers)
        result: R = await hands.ledger(functools.partial(function, *given, **named))
        if hands.cancelled is not None:
            raise hands.cancelled
        return result

    def tool(
        self, contract: Contract
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]:
        """Guard an async function; see `Guard.tool`."""
        refuse_count(contract, type(self).__name__)
        self.add(contract)

        def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
            signature = Signature(function, contract)
            send = signature.send(function)

            @functools.wraps(function)
            async def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
                scope, here = current_turn(contract.tool, needed=self.mode == "guard")
                named = signature.arguments(*args, **kwargs)
                outcome = await self.call(contract.tool, named, send=send, scope=scope, turn=here)
                value: R = outcome.unwrap()
                return value

            return guarded

        return decorate
