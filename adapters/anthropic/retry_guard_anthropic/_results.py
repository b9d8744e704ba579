"""What the model is told of a call: the tool's own result, or the guard's sentence."""

from retry_guard_anthropic._blocks import Block, is_result_blocks, sendable
from retry_guard_functions import ToolAnswer


def content_of(answer: ToolAnswer) -> str | list[Block]:
    """Return a result's blocks where the tool gave such, else its text."""
    if answer.is_error or not is_result_blocks(answer.value):
        return answer.text
    blocks: list[Block] = sendable(answer.value)
    return blocks


def result_of(call_id: str, answer: ToolAnswer) -> Block:
    """Return the block that answers one call."""
    block: Block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content_of(answer),
    }
    return {**block, "is_error": True} if answer.is_error else block
