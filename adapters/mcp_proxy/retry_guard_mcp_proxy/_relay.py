"""The pipe: everything that the guard does not own is passed on unchanged, in order."""

import traceback
from collections.abc import AsyncIterable, Awaitable
from typing import Any

from retry_guard_mcp_proxy._asked import CANCELLED
from retry_guard_mcp_proxy._asker import PROGRESS
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import ClosedError, ServerError
from retry_guard_mcp_proxy._guarding import Desk
from retry_guard_mcp_proxy._messages import (
    CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    BeyondError,
    Message,
    UnreadableError,
    encoded,
    failure,
    is_list,
    is_message,
    is_object,
    is_request,
    is_response,
    params_of,
    read,
    without_ours,
)
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._outline import outline, rounded
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Ears, Upstream

CALL, LIST = "tools/call", "tools/list"
CHANGED = "notifications/tools/list_changed"
_FAILED = "the proxy failed at it"
_SHOWN = 50
"""Characters of a number that are shown."""


class Relay:
    """Passes lines on. `ready`: gives the desk, once it is set up."""

    def __init__(
        self, client: Client, session: Session, ready: Awaitable[Desk], *, guards: bool = True
    ) -> None:
        """Pass nothing on yet. `guards`: else all passes as it is, whatever it may be."""
        self._client, self._session, self._ready = client, session, ready
        self._guards = guards
        self._desk: Desk | None = None

    def ears(self) -> Ears:
        """Return who hears the server."""
        return Ears(
            said=self._from_server,
            asked=self._asked,
            refused=self._refused,
            ended=self._ended,
            again=self._client.listening,
            anew=self._anew,
        )

    async def run(self, lines: AsyncIterable[bytes], upstream: Upstream) -> None:
        """Pass on what the client says, until its end. Whatever is in a line, the next is read."""
        async for line in lines:
            message: Any = None
            try:
                message = read(line)
                await self._from_client(line, message, upstream)
            except UnreadableError as error:
                await self._unreadable(line, error, upstream)
            except Exception:  # noqa: BLE001 - the pipe outlives whatever a message does to us
                note(f"a message was not passed on:\n{traceback.format_exc()}")
                if is_message(message) and is_request(message):
                    await self._refuse(message["id"], INTERNAL_ERROR, _FAILED)

    async def _desk_for(self, message: Message) -> Desk | None:
        """Return who carries it out; None: it is no call of a guarded tool."""
        if message.get("method") != CALL:
            return None
        self._desk = self._desk or await self._ready
        if self._desk.owns(message):
            return self._desk
        self._desk.passes(message)
        return None

    async def _from_client(self, line: bytes, message: Any, upstream: Upstream) -> None:
        if is_list(message):
            await self._batch(line, message, upstream)
        elif not is_object(message):
            await upstream.pass_on(line, [])
        else:
            self._session.hear(message, line)
            await self._one(line, message, upstream)

    async def _one(self, line: bytes, message: Message, upstream: Upstream) -> None:
        desk = await self._desk_for(message)
        if desk is not None and "id" in message:
            await self._call(line, message, desk)
        elif desk is not None:
            note("a call of a guarded tool without an id is not sent")
        elif message.get("method") == CANCELLED and self._cancels(message):
            pass  # the call goes on, so that its outcome becomes known
        elif is_response(message) and self._desk is not None and self._desk.told(message):
            pass  # the guard had asked
        else:
            await upstream.pass_on(line, message)

    async def _call(self, line: bytes, message: Message, desk: Desk) -> None:
        """Let a guarded call be carried out, unless its numbers would be others at the server."""
        number = rounded(line)
        if number is None:
            desk.take(message)
        else:
            why = f"no float is {number[:_SHOWN]} exactly: write it with fewer digits, or as text"
            await self._refuse(message["id"], INVALID_PARAMS, why)

    def _cancels(self, message: Message) -> bool:
        """Whether a guarded call is cancelled."""
        given = params_of(message).get("requestId")
        return self._desk is not None and self._desk.cancel(given)

    def _asked(self, line: bytes, message: Message) -> None:
        if is_request(message):
            self._client.asked(line, message)
        else:
            self._client.answered(params_of(message).get("requestId"))

    async def _refused(self, message: Message | list[Message], error: Exception) -> None:
        """Let the client know that what it said was not passed on."""
        said: list[Any] = message if isinstance(message, list) else [message]
        for one in said:
            if is_object(one) and is_request(one):
                if self._desk is not None:
                    self._desk.lost(error, one["id"])
                if isinstance(error, ServerError):
                    await self._refuse(one["id"], CLOSED, f"Connection closed: {error}")
                else:
                    await self._refuse(one["id"], INTERNAL_ERROR, _FAILED)

    async def _ended(self, how: str) -> None:
        if self._desk is not None:
            self._desk.lost(ClosedError(f"the connection closed: the server ended ({how})"))
        await self._client.ended(how)

    def _anew(self) -> None:
        if self._desk is not None:
            self._desk.renewed()

    async def _batch(self, line: bytes, messages: list[Any], upstream: Upstream) -> None:
        """Pass a batch on, unless something in it is for the guard."""
        objects = [one for one in messages if is_object(one)]
        requests = [one for one in objects if is_request(one)]
        if not self._guards or not any(one.get("method") in (CALL, LIST) for one in objects):
            await upstream.pass_on(line, messages)
            return
        if not requests:
            note("a batch with a call without an id is not sent")
            return
        why = "batches with calls of tools are not passed on: send one message a line"
        refused = [failure(one["id"], INVALID_REQUEST, why) for one in requests]
        await self._client.tell(encoded(refused))

    async def _unreadable(self, line: bytes, error: Exception, upstream: Upstream) -> None:
        """Refuse what cannot be read: the server might read it otherwise, as a call."""
        known = outline(line) if isinstance(error, BeyondError) else None
        if line.isspace() or not self._guards:
            await upstream.pass_on(line, known or [])
        elif known is None:
            await self._refuse(None, PARSE_ERROR, f"no JSON: {error}")
        elif await self._desk_for(known) is None:
            await upstream.pass_on(line, known)
        elif "id" in known:
            await self._refuse(known["id"], INVALID_PARAMS, f"it cannot be recorded: {error}")

    async def _refuse(self, given: object, code: int, why: str) -> None:
        await self._client.tell(encoded(failure(given, code, why)))

    async def _from_server(self, line: bytes, message: Message | list[Message]) -> None:
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
            self._anew()
        if message.get("method") != PROGRESS or self._desk is None:
            return message
        known = self._desk.progress(message)
        for beat in known or ():
            await self._client.tell(encoded(beat))
        return message if known is None else None

    async def _response(self, message: Message) -> Message | None:
        """Return the answer to a request that was passed on as it came."""
        asked = self._client.answered(message.get("id"))
        if asked is None and self._desk is not None and self._desk.waits_for(message.get("id")):
            return None
        self._session.answered(message)
        if self._desk is not None:
            self._desk.answered(message)
        changed = (self._guards and without_ours(message)) or message
        if asked is not None and asked.method == LIST:
            self._desk = self._desk or await self._ready
            changed = self._desk.shown(changed) or changed
        return changed
