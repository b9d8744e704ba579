"""The way back: what the server says, and what becomes of it, as the client shall see it."""

from typing import Any

from retry_guard_mcp_proxy._asker import PROGRESS
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import ClosedError, ServerError
from retry_guard_mcp_proxy._guarding import Reception
from retry_guard_mcp_proxy._messages import (
    CLOSED,
    INTERNAL_ERROR,
    Message,
    encoded,
    failure,
    is_object,
    is_request,
    is_response,
    params_of,
    without_ours,
)
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Ears

LIST, CHANGED = "tools/list", "notifications/tools/list_changed"
FAILED = "the proxy failed at it"


class WayBack:
    """Passes on what the server says, but for what only the guard may say, or has asked."""

    def __init__(
        self, client: Client, session: Session, reception: Reception, *, guards: bool
    ) -> None:
        """Hear nothing yet. `guards`: else all passes as it is."""
        self._client, self._session, self._reception = client, session, reception
        self._guards, self._life = guards, 0

    def ears(self) -> Ears:
        """Return who hears the server."""
        return Ears(
            said=self._said,
            asked=self._asked,
            refused=self._refused,
            ended=self._ended,
            again=self._client.listening,
            anew=self._anew,
        )

    async def _said(self, line: bytes, message: Message | list[Message]) -> None:
        if isinstance(message, list):
            seen = [await self._heard(one) for one in message]
            rest = [one for one in seen if one is not None]
            if all(new is old for new, old in zip(seen, message, strict=True)):
                await self._client.tell(line)
            elif rest:
                await self._client.tell(encoded(rest))
            return
        changed = await self._heard(message)
        if changed is message:
            await self._client.tell(line)
        elif changed is not None:
            await self._client.tell(respelled(line, message, changed))

    async def _heard(self, message: Message) -> Message | None:
        """Return what the client shall see of a message of the server; None: nothing."""
        return await (self._response if is_response(message) else self._progress)(message)

    async def _progress(self, message: Message) -> Message | None:
        """Tell those who ask for it of a guarded call's progress; return all else."""
        if message.get("method") == CHANGED:
            self._anew(is_same=True)
        if message.get("method") != PROGRESS or self._reception.desk is None:
            return message
        known = self._reception.desk.progress(message)
        for beat in known or ():
            await self._client.tell(encoded(beat))
        return message if known is None else None

    async def _response(self, message: Message) -> Message | None:
        """Return the answer to a request that was passed on as it came."""
        given, desk = message.get("id"), self._reception.desk
        asked = self._client.answered(given)
        if asked is None and desk is not None and desk.waits_for(given):
            return None
        self._session.answered(message)
        if desk is not None:
            desk.answered(message)
        changed = (self._guards and without_ours(message)) or message
        if asked is not None and asked.method == LIST:
            desk, is_old = await self._reception.found(), asked.life != self._life
            changed = desk.shown(changed, is_old=is_old) or changed
        return changed

    def _asked(self, line: bytes, message: Message) -> None:
        if is_request(message):
            self._client.asked(line, message, self._life)
        else:
            self._client.answered(params_of(message).get("requestId"))

    async def _refused(self, message: Message | list[Message], error: Exception) -> None:
        """Let the client know that what it said was not passed on."""
        said: list[Any] = message if isinstance(message, list) else [message]
        for one in said:
            if is_object(one) and is_request(one):
                if self._reception.desk is not None:
                    self._reception.desk.lost(error, one["id"])
                is_known = isinstance(error, ServerError)
                why = f"Connection closed: {error}" if is_known else FAILED
                code = CLOSED if is_known else INTERNAL_ERROR
                await self._client.tell(encoded(failure(one["id"], code, why)))

    async def _ended(self, how: str) -> None:
        self._life += 1
        if self._reception.desk is not None:
            error = ClosedError(f"the connection closed: the server ended ({how})")
            self._reception.desk.lost(error)
        await self._client.ended(how)

    def _anew(self, *, is_same: bool = False) -> None:
        self._life += 1
        if self._reception.desk is not None:
            self._reception.desk.renewed(is_same=is_same)
