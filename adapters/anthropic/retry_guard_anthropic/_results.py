"""What the model is told of a call: the tool's own result, or the guard's sentence."""

from retry_guard_anthropic._blocks import Block, is_result_blocks
from retry_guard_functions import ToolAnswer, as_stored, sendable


def content_of(answer: ToolAnswer) -> str | list[Block]:
    """Return a result's blocks where the tool gave such, else its text."""
    value = None if answer.is_error else as_stored(answer.value)
    if not is_result_blocks(value):
        return answer.text
    blocks: list[Block] = sendable(value)
    return [{name: each for name, each in block.items() if each is not None} for block in blocks]


def result_of(call_id: str, answer: ToolAnswer) -> Block:
    """Return the block that answers one call."""
    block: Block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content_of(answer),
    }
    return {**block, "is_error": True} if answer.is_error else block
