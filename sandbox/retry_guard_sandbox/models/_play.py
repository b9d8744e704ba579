"""Episodes of models, each played live or from a transcript: the loop is the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from retry_guard_sandbox._episode import Spec, run
from retry_guard_sandbox.agents import AGENTS
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.models._dialect import Usage
from retry_guard_sandbox.models._endpoint import Access, Endpoint
from retry_guard_sandbox.models._errors import EndpointError, ModelError, TranscriptError
from retry_guard_sandbox.models._player import Player
from retry_guard_sandbox.models._providers import ModelName, model_name
from retry_guard_sandbox.models._purse import Purse
from retry_guard_sandbox.models._transcript import Exchange, Recorded
from retry_guard_sandbox.serving._offers import offers_of
from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True)
class Played:
    """An episode. `trouble`: what its endpoint did, if that ended it, in one line.

    `stopped`: why it was broken off, so that it has no rows; empty: it was not.
    """

    spec: Spec
    rows: tuple[Row, ...]
    exchanges: tuple[Exchange, ...] = ()
    trouble: str = ""
    stopped: str = ""


class Cast:
    """The models that act, live. `purse`: what they may cost."""

    def __init__(self, names: tuple[str, ...], access: Access, purse: Purse) -> None:
        """Ask nobody yet. Raises `ModelError` for what cannot be asked."""
        self.purse = purse
        self._models: Mapping[str, tuple[ModelName, Endpoint]] = {
            str(name): (name, Endpoint(name.provider, access)) for name in map(model_name, names)
        }
        purse.fit(self._models)

    @property
    def repeated(self) -> int:
        """How many requests the SDKs have sent again after an error."""
        return sum(endpoint.repeated for _, endpoint in self._models.values())

    def close(self) -> None:
        """Leave the endpoints."""
        for _, endpoint in self._models.values():
            endpoint.close()

    def probe(self) -> None:
        """Ask each model one small thing, so that no episode begins in vain.

        Raises `EndpointError` for the first that gives no answer that can be used.
        """
        for agent, (name, endpoint) in self._models.items():
            dialect = name.dialect
            request = dialect.opening(name.name, offers_of({}, asked=False))
            told = dialect.told((), "There is nothing to do. Call finish with the status done.")
            request[dialect.history] = [*request[dialect.history], *told]
            try:
                self.purse.note(agent, dialect.read(endpoint.complete(request)).usage)
            except EndpointError as error:
                raise type(error)(f"{agent}: {error}") from None
            if why := self.purse.empty():
                raise ModelError(f"{agent}: {why} before any episode")

    def play(self, spec: Spec, stop: Callable[[], bool]) -> Played:
        """Play one episode, of whichever agent. It is broken off where `stop` holds."""
        if spec.agent in AGENTS:
            return Played(spec, tuple(run(spec)))
        name, endpoint = self._models[spec.agent]
        live = _Live(endpoint, self.purse, stop)

        def note(usage: Usage | None) -> None:
            self.purse.note(spec.agent, usage)

        player = Player(name.dialect, name.name, live.ask, note, spec.harness)
        rows = _rows(spec, player)
        return Played(spec, rows, tuple(live.exchanges), player.trouble, live.stopped)


class StoppedError(Exception):
    """Breaks an episode off: no model is asked any more. The message says why."""


@dataclass(slots=True)
class _Live:
    """The line to an endpoint in one episode, and all that was said on it."""

    endpoint: Endpoint
    purse: Purse
    stop: Callable[[], bool]
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    stopped: str = ""

    def ask(self, new: Json, request: Json) -> Json:
        """Ask. Raises `EndpointError`, and `StoppedError` where nobody is asked any more."""
        self.stopped = "interrupted" if self.stop() else self.purse.empty()
        if self.stopped:
            raise StoppedError(self.stopped)
        try:
            answer = self.endpoint.complete(request)
        except EndpointError as error:
            self.exchanges.append(Exchange(asked=new, error=(type(error).__name__, str(error))))
            raise
        self.exchanges.append(Exchange(asked=new, answer=answer))
        return answer


def replay(recorded: Recorded) -> Played:
    """Play an episode from its transcript. Raises `TranscriptError` where that is of another."""
    spec, taped = recorded.spec, _Taped(recorded)
    if spec.agent in AGENTS:
        rows, trouble = tuple(run(spec)), ""
    else:
        name = model_name(spec.agent)
        player = Player(name.dialect, name.name, taped.ask, lambda _: None, spec.harness)
        rows = _rows(spec, player)
        trouble = player.trouble
    taped.check()
    return Played(spec, rows, recorded.exchanges, trouble)


class _Taped:
    """The line of an episode as it was recorded."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded, self._next = recorded, 0
        self._error: TranscriptError | None = None

    def ask(self, new: Json, _request: Json) -> Json:
        """Return the recorded answer to this, or raise what was raised."""
        exchanges = self._recorded.exchanges
        if self._next == len(exchanges):
            raise self._misfit("a request more than was recorded")
        exchange = exchanges[self._next]
        self._next += 1
        if exchange.asked != new:
            raise self._misfit(f"request {self._next} is another one now")
        return exchange.outcome()

    def check(self) -> None:
        """Raise `TranscriptError` where something did not fit, or was left over."""
        if self._error is None and self._next < len(self._recorded.exchanges):
            self._error = self._misfit("it ends before the last recorded request")
        if self._error is not None:
            raise self._error

    def _misfit(self, why: str) -> TranscriptError:
        spec = self._recorded.spec
        where = f"{spec.task} {spec.fault} {spec.condition} {spec.agent} seed {spec.seed}"
        self._error = TranscriptError(
            f"line {self._recorded.line} does not fit its episode ({where}): {why}; record it anew"
        )
        return self._error


def _rows(spec: Spec, player: Player) -> tuple[Row, ...]:
    return tuple(replace(row, tokens=player.tokens) for row in run(spec, player.act))
