"""What the client says, told to the life of the server that there is."""

import asyncio
from collections.abc import Coroutine, Mapping
from operator import is_
from typing import Any

from retry_guard_mcp_proxy._asked import CANCELLED, Asked
from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._lives import Lives
from retry_guard_mcp_proxy._messages import Message, encoded, is_object, is_request, is_response
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._upstream import Ears


class Telling:
    """Tells the server what the client says. `asked`: what the server asks the client."""

    def __init__(self, lives: Lives, asked: Asked, ears: Ears) -> None:
        """Tell nothing yet."""
        self._lives, self._asked, self._ears = lives, asked, ears
        self._begun = set[asyncio.Task[None]]()

    def is_awaited(self, message: Message | list[Message]) -> bool:
        """Whether a life may wait for it that takes nothing else yet: the client's answer."""
        return self._lives.coming is not None and is_object(message) and is_response(message)

    def tell_at_once(self, line: bytes, message: Message | list[Message]) -> None:
        """Tell it past whatever waits for that life; wait for nothing."""
        self._begin(self.tell(line, message))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    async def tell(self, line: bytes, message: Message | list[Message]) -> None:
        """Return when the server has it. A request begins its next life, if there is none.

        Raises `DownError` for a request, if there is no server.
        """
        said = message if isinstance(message, list) else [message]
        begins = any(is_object(one) and is_request(one) for one in said)
        life = await self._lives.get() if begins else self._lives.current or self._lives.coming
        self._asks(line, message)
        known = None if life is None else self._line(life, line, message)
        if life is not None and known is not None:
            await self._say(life, known)

    def tell_now(self, line: bytes, message: Message | list[Message]) -> bool:
        """Tell it, where that takes no waiting; return whether it is told."""
        life = self._lives.current
        if life is None or not life.is_free:
            return False
        self._asks(line, message)
        known = self._line(life, line, message)
        if known is not None:
            life.put(known)
            if not life.is_free:
                self._begin(self._say(life, b""))  # so that its end is noticed
        return True

    def _asks(self, line: bytes, message: Message | list[Message]) -> None:
        """Note which answers are due."""
        for one in message if isinstance(message, list) else [message]:
            if is_object(one) and is_counted(one):
                self._ears.asked(line if one is message else encoded(one), one)

    def _line(self, life: Life, line: bytes, message: Message | list[Message]) -> bytes | None:
        """What the client said, with its answers as this life of the server knows them."""
        said: list[Any] = message if isinstance(message, list) else [message]
        known = [(one, self._known(one, life)) for one in said]
        rest: list[Any] = [seen for one, seen in known if seen is not None or one is None]
        if same(rest, said):
            return line
        if rest and isinstance(message, list):
            return encoded(rest)
        return respelled(line, said[0], rest[0]) if rest else None

    def _known(self, message: Any, life: Life) -> Any:
        """Return it as the server knows it; None: it answers what was asked in another life."""
        is_answer = is_object(message) and is_response(message)
        return self._asked.answers(message, life.number) if is_answer else message

    async def _say(self, life: Life, line: bytes) -> None:
        """Write a line; where nobody reads it, whoever waits for an answer is told so."""
        try:
            await life.say(line)
        except ServerError:
            await self._lives.bury(life)


def is_counted(message: Mapping[str, Any]) -> bool:
    """Whether it changes which answers are due: a request, or that one is not wanted any more."""
    return is_request(message) or message.get("method") == CANCELLED


def same(new: list[Any], old: list[Any]) -> bool:
    """Whether they hold the very same objects."""
    return len(new) == len(old) and all(map(is_, new, old))
