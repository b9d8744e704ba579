"""The loop: one model in one episode, with its conversation over all turns of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn, cast

from retry_guard_sandbox.agents import Moves, Sight, ToolCall
from retry_guard_sandbox.harness._stage import BUDGET, BudgetError
from retry_guard_sandbox.models._dialect import Dialect, Reply, Result, Usage, Wanted
from retry_guard_sandbox.models._errors import EndpointError
from retry_guard_sandbox.serving import FINISH, Offer
from retry_guard_sandbox.serving._checks import wrong_in
from retry_guard_sandbox.serving._offers import offers_of
from retry_guard_sandbox.world._http import Json

AGAIN: Mapping[str, str] = MappingProxyType(
    {
        "user_retry": "This does not seem to have been done. Please see to it: {prompt}",
        "deliberate_repeat": "Thank you. Now I want all of this once more, on purpose, exactly as "
        "before.",
    }
)
"""What a user says in a later turn, by the harness in which there is one."""

LOST = json.dumps({"error": "the program ended before there was an answer"})
"""What a model is told, in a later turn, of a call whose answer never came."""

Line = Callable[[Json, Json], Json]
"""Asks a model: takes what is new in a request, and the request; returns the answer."""
Note = Callable[[Usage | None], None]


@dataclass(slots=True)
class Player:
    """A model in one episode. `tokens`: so far; None: its endpoint does not say.

    `line`: asks it. `note`: is told what each answer took. `harness`: of the episode.
    `trouble`: what the endpoint did, if that ended the episode, in one line.
    """

    dialect: Dialect
    model: str
    line: Line
    note: Note
    harness: str = "none"
    tokens: int | None = 0
    trouble: str = ""
    _request: Json = field(default_factory=dict[str, object])
    _wanted: tuple[Wanted, ...] = ()
    _texts: dict[int, str] = field(default_factory=dict[int, str])

    def act(self, sight: Sight) -> Moves:
        """Act in one turn: ask the model, hand its calls on, and tell it the answers.

        A message without calls ends the turn; nothing is claimed then. Raises `BudgetError`.
        """
        offers = offers_of(sight.tools, asked=False)
        words = AGAIN.get(self.harness, "{prompt}") if self._request else "{prompt}"
        said: str | None = words.format(prompt=sight.prompt)
        for _ in range(BUDGET):
            self._ask(offers, said)
            said = None
            if not self._wanted:
                return
            calls = self._calls(offers)
            carried = {place: call for place, call in calls.items() if call.tool != FINISH}
            if carried:
                answers = yield tuple(carried.values())
                self._texts.update(zip(carried, answers, strict=True))
            for place in calls.keys() - carried.keys():
                self._texts[place] = json.dumps({"finished": calls[place].arguments["status"]})
                yield (calls[place],)
        raise BudgetError(f"more than {BUDGET} messages")

    def _ask(self, offers: Sequence[Offer], said: str | None) -> None:
        told = self.dialect.told(self._results(), said)
        name = self.dialect.history
        new: Json = {name: told}
        if not self._request:
            self._request = self.dialect.opening(self.model, offers)
            new = {**self._request, name: [*self._request[name], *told]}
        self._request = {**self._request, name: [*self._request[name], *told]}
        try:
            reply = self.dialect.read(self.line(new, self._request))
            self._count(reply)
        except EndpointError as error:
            self.trouble = str(error)
            raise
        self._request[name].extend(reply.kept)
        self._wanted, self._texts = reply.wanted, {}

    def _results(self) -> list[Result]:
        texts = [self._texts.get(place, LOST) for place in range(len(self._wanted))]
        return [
            Result(wanted.id, text, text.startswith('{"error"'))
            for wanted, text in zip(self._wanted, texts, strict=True)
        ]

    def _count(self, reply: Reply) -> None:
        usage = reply.usage
        if usage is None or self.tokens is None:
            self.tokens = None
        else:
            self.tokens += usage.given + usage.made
        self.note(usage)

    def _calls(self, offers: Sequence[Offer]) -> dict[int, ToolCall]:
        """Return what can be carried out, by place: all until it finishes.

        To what cannot, an error is the answer, and no time passes.
        """
        calls: dict[int, ToolCall] = {}
        for place, wanted in enumerate(self._wanted):
            read = _read(wanted, offers)
            if isinstance(read, str):
                self._texts[place] = json.dumps({"error": read})
                continue
            calls[place] = read
            if read.tool == FINISH:
                break
        return calls


def _read(wanted: Wanted, offers: Sequence[Offer]) -> ToolCall | str:
    """Return the call that a model wants, or what is wrong with it."""
    offer = next((offer for offer in offers if offer.name == wanted.tool), None)
    if offer is None:
        return f"there is no tool {wanted.tool}: use one of {', '.join(o.name for o in offers)}"
    arguments: object = wanted.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}", parse_constant=_refuse)
        except (ValueError, RecursionError):
            return "the arguments are no JSON"
    if not isinstance(arguments, dict):
        return "the arguments are no object"
    given = cast("Json", arguments)
    wrong = wrong_in(offer, given)
    return ToolCall(offer.name, given) if wrong is None else wrong


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
