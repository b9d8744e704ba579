"""Side effects in plain node functions, which LangGraph runs from their top after each pause."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from retry_guard import Contract, Guard, GuardPair, UnresolvedError, UsageError, turn_here
from retry_guard_langgraph._calls import Place
from retry_guard_langgraph._pauses import Pauses

F = TypeVar("F", bound=Callable[..., Any])


class Nodes:
    """The decorators for nodes and for what they do."""

    def __init__(
        self,
        guards: GuardPair,
        pauses: Pauses,
        place: Callable[[RunnableConfig, object], Place],
    ) -> None:
        """Share what guards the tools."""
        self._guards, self._pauses, self._place = guards, pauses, place

    def node(self, function: F) -> F:
        """Give a node function its scope and turn, for the effects that it calls."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(state: Any, *rest: Any, **named: Any) -> Any:
                place = self._place(get_config(), state)
                with Guard.turn(place.scope, place.turn):
                    return await function(state, *rest, **named)

            return cast("F", awaited)

        @functools.wraps(function)
        def blocking(state: Any, *rest: Any, **named: Any) -> Any:
            place = self._place(get_config(), state)
            with Guard.turn(place.scope, place.turn):
                return function(state, *rest, **named)

        return cast("F", blocking)

    def effect(self, contract: Contract) -> Callable[[F], F]:
        """Guard a function that a node calls: `@guard.effect(Contract(tool="charge"))`.

        Inside a function decorated with `guard.node` it runs once, however often LangGraph runs
        the node. An unresolved call pauses the run with a question; it raises `UnresolvedError`
        where nobody can be asked, and what `retry_guard.Guard.tool` raises.
        """

        def decorate(function: F) -> F:
            if inspect.iscoroutinefunction(function):
                return cast("F", self._awaited(contract, function))
            return cast("F", self._blocking(contract, function))

        return decorate

    def _blocking(self, contract: Contract, function: Callable[..., Any]) -> Callable[..., Any]:
        guarded = self._guards.blocking().tool(contract)(function)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            config, scope = self._collected(contract)
            while True:
                seen = self._pauses.count
                try:
                    return guarded(*args, **kwargs)
                except UnresolvedError as error:
                    if not self._pauses.ask(config, scope, error.outcome, seen):
                        raise

        return run

    def _awaited(self, contract: Contract, function: Callable[..., Any]) -> Callable[..., Any]:
        guarded = self._guards.awaiting.tool(contract)(function)

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            config, scope = self._collected(contract)
            while True:
                seen = self._pauses.count
                try:
                    return await guarded(*args, **kwargs)
                except UnresolvedError as error:
                    if not self._pauses.ask(config, scope, error.outcome, seen):
                        raise

        return run

    def _collected(self, contract: Contract) -> tuple[RunnableConfig, str]:
        here = turn_here()
        if here is None:
            raise UsageError(f"{contract.tool} was called outside of a @guard.node function")
        config = get_config()
        self._pauses.collect(config, here[0])
        return config, here[0]
