"""The pipe: everything that the guard does not own is passed on unchanged, in order."""

import traceback
from collections.abc import AsyncIterable
from typing import Any

from retry_guard_mcp_proxy._asked import CANCELLED
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._guarding import Desk, Reception
from retry_guard_mcp_proxy._messages import (
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
)
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._outline import known_of, rounded
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Upstream
from retry_guard_mcp_proxy._way_back import FAILED, LIST

CALL = "tools/call"
_SHOWN = 50
"""Characters of a number that are shown."""


class Relay:
    """Passes on what the client says."""

    def __init__(
        self, client: Client, session: Session, reception: Reception, *, guards: bool
    ) -> None:
        """Pass nothing on yet. `guards`: else all passes as it is, whatever it may be."""
        self._client, self._session, self._reception = client, session, reception
        self._guards = guards

    async def run(self, lines: AsyncIterable[bytes], upstream: Upstream) -> None:
        """Pass on what the client says, until its end. Whatever is in a line, the next is read."""
        async for line in lines:
            message: Any = None
            try:
                try:
                    message = read(line)
                except UnreadableError as error:
                    await self._unreadable(line, error, upstream)
                else:
                    await self._from_client(line, message, upstream)
            except Exception:  # noqa: BLE001 - the pipe outlives whatever a message does to us
                note(f"a message was not passed on:\n{traceback.format_exc()}")
                if is_message(message) and is_request(message):
                    await self._refuse(message["id"], INTERNAL_ERROR, FAILED)

    async def _desk_for(self, message: Message) -> Desk | None:
        """Return who carries it out; None: it is no call of a guarded tool."""
        if message.get("method") != CALL:
            return None
        desk = await self._reception.found()
        if desk.owns(message):
            return desk
        desk.passes(message)
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
        desk, known = await self._desk_for(message), self._reception.desk
        if desk is not None and "id" in message:
            await self._call(line, message, desk)
        elif desk is not None:
            note("a call of a guarded tool without an id is not sent")
        elif message.get("method") == CANCELLED and self._cancels(message):
            pass  # the call goes on, so that its outcome becomes known
        elif is_response(message) and known is not None and known.told(message):
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
        return self._reception.desk is not None and self._reception.desk.cancel(given)

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
        known = known_of(line) if isinstance(error, BeyondError) else None
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
