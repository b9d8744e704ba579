"""The guarded calls that are under way, and the requests of the client that wait for them."""

import asyncio

from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._exchange import Exchange
from retry_guard_mcp_proxy._messages import Message, name_of, params_of
from retry_guard_mcp_proxy._wanted import Wanted, state_of


class Running:
    """Calls under way. `calls`: all of them, also those for which nobody waits any more."""

    def __init__(self) -> None:
        """Nothing is."""
        self.calls: set[Exchange] = set()
        self._askers: list[Asker] = []
        self._wanted = Wanted()

    def asks(self, asker: Asker) -> None:
        """Note a request that waits for its answer."""
        self._askers.append(asker)

    def over(self, asker: Asker) -> None:
        """Note that it waits no more."""
        asker.end()
        if asker in self._askers:
            self._askers.remove(asker)

    def waits_for(self, given: object) -> bool:
        """Whether the client waits for a guarded call with that id."""
        return any(asker.name == name_of(given) for asker in self._askers)

    async def recorded(self, new: Exchange) -> None:
        """Return once it is recorded that the calls of that tool were answered that are."""
        told = {one.task for one in self.calls if one.answered and one.tool == new.tool}
        if tasks := {task for task in told if task is not None}:
            await asyncio.wait(tasks)

    def paused(self, call: Exchange) -> None:
        """Note that a call waits for input."""
        self._wanted.note(call.tool, call.state, call.name)

    def paused_like(self, new: Exchange) -> Exchange | None:
        """Return the call of the same action that waits for input: it is given up for this one."""
        return next((one for one in self.calls if one.paused and one.is_like(new)), None)

    def continued(self, new: Exchange) -> Exchange | None:
        """Return the call that waits for the input which this request gives."""
        return next((one for one in self.calls if one.wants(new)), None)

    def is_for_another(self, new: Exchange) -> bool:
        """Whether the input that a request gives was wanted for a call with other values."""
        state = state_of(params_of(new.request))
        return self._wanted.is_of_another(new.tool, state, new.name)

    def cancel(self, given: object) -> bool:
        """Note that nobody waits for that call; return whether there is one.

        What was not sent yet is not sent any more. What was goes on, so that its outcome is known.
        """
        gone = [asker for asker in self._askers if asker.name == name_of(given)]
        for asker in gone:
            asker.cancelled = True
            self.over(asker)
        for call in self.calls:
            if call.asker in gone:
                call.dropped = True
                if not call.sending and call.task is not None:
                    call.task.cancel()
        return bool(gone)

    def progress(self, message: Message) -> list[Message]:
        """Return progress of a call as those know it who ask for it, and for its equals."""
        token = params_of(message).get("progressToken")
        made = [call for call in self.calls if token in call.sends]
        joined = [one for one in self.calls if not one.sent and any(map(one.is_like, made))]
        askers = [call.asker for call in (*made, *joined)]
        told = [asker.progress(message) for asker in askers if asker is not None]
        return [beat for beat in told if beat is not None]
