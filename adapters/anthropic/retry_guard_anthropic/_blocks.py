"""Content blocks as data: what the model said, in the form in which it is sent back.

Thinking, server tools and their results are carried along as they came.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from anthropic import BaseModel

from retry_guard import UsageError

Block = dict[str, Any]
Param = dict[str, Any]

RESULT_BLOCKS = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)


def block_of(block: object) -> Block:
    """Return one block as data, whether it is the SDK's own or a caller's."""
    if isinstance(block, BaseModel):
        return block.model_dump(
            mode="json",
            by_alias=True,
            exclude_unset=True,
            exclude={"parsed_output"},  # the SDK's own addition, and no field of a request
            warnings=False,
        )
    if not isinstance(block, Mapping):
        raise UsageError(f"messages: content is text or blocks, not {type(block).__name__}")
    return dict(cast("Mapping[str, Any]", block))


def param_of(message: object) -> Param:
    """Return a caller's message with its blocks as data. Raises `UsageError` if it is none."""
    if not isinstance(message, Mapping):
        raise UsageError(f"messages: give {{'role': ..., 'content': ...}}, not {message!r:.40}")
    made = dict(cast("Mapping[str, Any]", message))
    content = made.get("content")
    if isinstance(content, str):
        return made
    if isinstance(content, Mapping) or not isinstance(content, Iterable):
        kind = type(cast("object", content)).__name__
        raise UsageError(f"messages: content is text or blocks, not {kind}; nothing was asked")
    return {**made, "content": [block_of(block) for block in cast("Iterable[object]", content)]}


def is_result_blocks(value: object) -> bool:
    """Whether a tool's result is a list of blocks that a tool result may hold."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(each, Mapping) and cast("Mapping[str, Any]", each).get("type") in RESULT_BLOCKS
        for each in cast("list[object]", value)
    )


def same(one: object, other: object) -> bool:
    """Whether two inputs are the same JSON."""
    return _spelled(one) == _spelled(other)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def object_of(given: object) -> Param:
    """Return a call's arguments as the object that a history needs."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return cast("Param", given) if isinstance(given, dict) else {}
