"""Chat Completions, the API of OpenAI that most other endpoints offer as well."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field, NonNegativeInt

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


class _Function(BaseModel):
    name: str
    arguments: str


class _Call(BaseModel):
    id: str
    function: _Function


class _Message(BaseModel):
    content: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class Chat:
    """The dialect of `openai:NAME`."""

    history = "messages"

    def opening(self, model: str, offers: Sequence[Offer]) -> Json:
        """Return a request's fields, but for what was said."""
        tools = [
            {
                "type": "function",
                "function": {
                    "name": offer.name,
                    "description": offer.description,
                    "parameters": offer.parameters,
                },
            }
            for offer in offers
        ]
        system: Json = {"role": "system", "content": INSTRUCTION}
        return {"model": model, "tools": tools, "messages": [system]}

    def told(self, results: Sequence[Result], said: str | None) -> list[Json]:
        """Return a message for each result, and one of the user."""
        told: list[Json] = [
            {"role": "tool", "tool_call_id": result.id, "content": result.text}
            for result in results
        ]
        return told if said is None else [*told, {"role": "user", "content": said}]

    def read(self, answer: Json) -> Reply:
        """Read the first choice."""
        read = shaped(_Answer, answer)
        choice, usage = read.choices[0], read.usage
        if choice.finish_reason == "length":
            raise cut_short("finish_reason: length")
        raw: Json = answer["choices"][0]["message"]
        kept: Json = {"role": "assistant", "content": raw.get("content") or ""}
        calls = choice.message.tool_calls or []
        if calls:
            kept["tool_calls"] = raw["tool_calls"]
        return Reply(
            (kept,),
            tuple(Wanted(call.id, call.function.name, call.function.arguments) for call in calls),
            None if usage is None else Usage(usage.prompt_tokens, usage.completion_tokens),
        )
