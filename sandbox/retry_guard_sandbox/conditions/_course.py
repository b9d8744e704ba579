"""One call on its way through a condition: what a condition can do, and what is noted of it."""

from dataclasses import dataclass
from typing import Any

from retry_guard import Answer, Policy
from retry_guard_sandbox.agents import Found, ToolCall, found, look_for
from retry_guard_sandbox.conditions._caller import Asked, Doubt, Escalation, Setting
from retry_guard_sandbox.grading._needed import Moment, needed
from retry_guard_sandbox.services import KEY, Tool
from retry_guard_sandbox.world._http import APIStatusError, Json
from retry_guard_sandbox.world._operators import made_since

POLICY = Policy()
"""By which every guard works, and by whose deadline every escalation is judged."""

CLIENT_ERRORS = (APIStatusError, OSError)
"""What a client raises: the answer says that it failed, or there was no answer."""

SERVER_ERROR = 500


class WithheldError(Exception):
    """A condition did not send a call, or leaves one open. The message is for the model."""


def is_unclear(error: Exception) -> bool:
    """Whether an error of the client leaves open what became of the request."""
    return not isinstance(error, APIStatusError) or error.response.status_code >= SERVER_ERROR


@dataclass(frozen=True, slots=True)
class Course:
    """One call of an agent on its way.

    `number`: which call of its process it is, counted from 1. `begun`: when it began, in seconds
    since the epoch; `first`: how many exchanges there had been.
    """

    setting: Setting
    asked: Asked
    number: int
    begun: float
    first: int

    @property
    def tool(self) -> Tool:
        """The tool that is called, as the agent sees it."""
        return self.setting.world.variant.tools[self.asked.call.tool]

    @property
    def is_write(self) -> bool:
        """Whether it may change something."""
        return self.tool.effect != "read"

    @property
    def plain(self) -> Json:
        """The arguments as the agent gave them, without the key."""
        return without_key(self.asked.call.arguments)

    @property
    def now(self) -> float:
        """The present moment."""
        return self.setting.world.clock.time

    def kept(self, name: str) -> dict[Any, Any]:
        """Return what a condition keeps beyond its process, under a name of its own."""
        kept: dict[Any, Any] = self.setting.kept.setdefault(name, {})
        return kept

    def send(self, arguments: Json) -> Json:
        """Send one request, and return the result. Raises what the client does."""
        return self.setting.world.wire.call(self.tool.name, arguments)

    def attempt(self, arguments: Json) -> Json | None:
        """Send one request; None where its answer leaves open what happened.

        Raises what the client does where the answer is clear.
        """
        try:
            return self.send(arguments)
        except CLIENT_ERRORS as error:
            if is_unclear(error):
                return None
            raise

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.setting.world.clock.sleep(seconds)

    def look(self, arguments: Json) -> Found | None:
        """Read what is there of the call's effect; None: no read shows it, or this one failed."""
        look = look_for(self.tool, arguments)
        if look is None:
            return None
        try:
            seen = self.setting.world.wire.call(look.tool, look.arguments)
        except CLIENT_ERRORS:
            return None
        return found(self.tool, arguments, seen)

    def hand_over(self, arguments: Json, since: float) -> Answer | None:
        """Have an operator decide about an action; `since`: when it was sent first."""
        self.note(arguments, since)
        world, name = self.setting.world, self.tool.name
        return self.setting.operator(world.network, world.effects, name, arguments, since)

    def was_handed_over(self, arguments: Json) -> bool:
        """Whether this action was handed over before."""
        tool = self.tool
        return any(
            one.tool == tool.name and tool.same(one.arguments, arguments)
            for one in self.setting.escalations
        )

    def note(self, arguments: Json, since: float) -> None:
        """Note that an action was handed over, or is left to a person."""
        judged = judge(self.setting, self.doubt(arguments, since))
        self.setting.escalations.append(judged)

    def doubt(self, arguments: Json, since: float) -> Doubt:
        """Return what is open at this moment."""
        world = self.setting.world
        return Doubt(
            call=ToolCall(self.tool.name, arguments),
            exchanges=len(world.wire.seen),
            first=self.first,
            begun=self.begun,
            since=since,
            at=world.clock.time,
        )


def judge(setting: Setting, doubt: Doubt) -> Escalation:
    """Return the escalation of what was open at some moment."""
    world, call = setting.world, doubt.call
    made = made_since(world.effects, call.tool, call.arguments, doubt.since)
    moment = Moment(
        tool=call.tool,
        arguments=call.arguments,
        seen=world.wire.seen[: doubt.exchanges],
        first=doubt.first,
        begun=doubt.begun,
        now=doubt.at,
        since=doubt.since,
        lost=setting.lost,
        made=[effect for part in made for effect in part if effect.at <= doubt.at],
    )
    was_needed = needed(world.variant.contracts[call.tool], POLICY, moment)
    return Escalation(call.tool, call.arguments, was_needed)


def without_key(arguments: Json) -> Json:
    """Return arguments without the idempotency key."""
    return {name: value for name, value in arguments.items() if name != KEY}
