"""Responses, the newer API of OpenAI."""

from collections.abc import Sequence

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
from retry_guard_sandbox.models._errors import EndpointRubbishError
from retry_guard_sandbox.serving import Offer
from retry_guard_sandbox.world._http import Json


class _Item(BaseModel):
    type: str


class _Call(BaseModel):
    call_id: str
    name: str
    arguments: str


class _Usage(BaseModel):
    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt


class _Answer(BaseModel):
    status: str = "completed"
    output: list[_Item]
    usage: _Usage | None = None


class Responses:
    """The dialect of `openai-responses:NAME`."""

    history = "input"

    def opening(self, model: str, offers: Sequence[Offer]) -> Json:
        """Return a request's fields, but for what was said."""
        tools = [
            {
                "type": "function",
                "name": offer.name,
                "description": offer.description,
                "parameters": offer.parameters,
                "strict": False,  # strict would make every optional parameter a required one
            }
            for offer in offers
        ]
        return {"model": model, "instructions": INSTRUCTION, "tools": tools, "input": []}

    def told(self, results: Sequence[Result], said: str | None) -> list[Json]:
        """Return an item for each result, and a message of the user."""
        told: list[Json] = [
            {"type": "function_call_output", "call_id": result.id, "output": result.text}
            for result in results
        ]
        return told if said is None else [*told, {"role": "user", "content": said}]

    def read(self, answer: Json) -> Reply:
        """Read the output; its reasoning goes back as it came."""
        read = shaped(_Answer, answer)
        if read.status == "incomplete":
            raise cut_short("status: incomplete")
        if read.status != "completed":
            raise EndpointRubbishError(f"its answer has the status {read.status}")
        items: list[Json] = answer["output"]
        calls = [shaped(_Call, item) for item in items if item["type"] == "function_call"]
        usage = read.usage
        return Reply(
            tuple(items),
            tuple(Wanted(call.call_id, call.name, call.arguments) for call in calls),
            None if usage is None else Usage(usage.input_tokens, usage.output_tokens),
        )
