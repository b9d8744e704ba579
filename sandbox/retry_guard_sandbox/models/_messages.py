"""Messages, the API of Anthropic."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, NonNegativeInt

from retry_guard_sandbox.models._dialect import (
    INSTRUCTION,
    Reply,
    Result,
    Usage,
    Wanted,
    cut_short,
    shaped,
)
from retry_guard_sandbox.serving import Offer
from retry_guard_sandbox.world._http import Json

MOST = 8192
"""Tokens that an answer may have; this API wants a limit."""


class _Block(BaseModel):
    type: str


class _Use(BaseModel):
    id: str
    name: str
    input: dict[str, Any]


class _Usage(BaseModel):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    cache_creation_input_tokens: NonNegativeInt | None = None
    cache_read_input_tokens: NonNegativeInt | None = None


class _Answer(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


class Messages:
    """The dialect of `anthropic:NAME`."""

    history = "messages"

    def opening(self, model: str, offers: Sequence[Offer]) -> Json:
        """Return a request's fields, but for what was said."""
        tools = [
            {"name": o.name, "description": o.description, "input_schema": o.parameters}
            for o in offers
        ]
        return {
            "model": model,
            "max_tokens": MOST,
            "system": INSTRUCTION,
            "tools": tools,
            "messages": [],
        }

    def told(self, results: Sequence[Result], said: str | None) -> list[Json]:
        """Return one message of the user: roles take turns here."""
        content: list[Json] = [
            {
                "type": "tool_result",
                "tool_use_id": result.id,
                "content": result.text,
                "is_error": result.is_error,
            }
            for result in results
        ]
        if said is not None:
            content.append({"type": "text", "text": said})
        return [{"role": "user", "content": content}]

    def read(self, answer: Json) -> Reply:
        """Read the blocks; those of thinking go back as they came."""
        read = shaped(_Answer, answer)
        if read.stop_reason == "max_tokens":
            raise cut_short("stop_reason: max_tokens")
        blocks: list[Json] = answer["content"]
        uses = [shaped(_Use, block) for block in blocks if block["type"] == "tool_use"]
        return Reply(
            ({"role": "assistant", "content": blocks},) if blocks else (),
            tuple(Wanted(use.id, use.name, use.input) for use in uses),
            None if read.usage is None else _tokens(read.usage),
        )


def _tokens(usage: _Usage) -> Usage:
    """Count what came from a cache, or went into one, as given."""
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    return Usage(usage.input_tokens + cached, usage.output_tokens)
