"""One block, and so one result, for each call id of a history.

Some gateways and stores show one call twice: as a second block, or as one whose arguments are
empty. Such a twin is dropped before anything runs. Two calls that differ under one id are two
calls, and the second gets another id, because the API refuses a history in which an id repeats.
"""

from collections.abc import Iterable, Iterator

from retry_guard_anthropic._blocks import Block, Param, same


def untwinned(blocks: Iterable[Block]) -> list[tuple[int, Block]]:
    """Return a model message's blocks without twins, each with its place among all.

    A call without a name is no call, and is dropped as well.
    """
    kept = list[tuple[int, Block]]()
    places = dict[object, list[int]]()
    for place, block in enumerate(blocks):
        if block.get("type") != "tool_use":
            kept.append((place, block))
            continue
        if not block.get("name"):
            continue
        mine = places.setdefault(block.get("id"), [])
        twin = next((at for at in mine if _is_twin(kept[at][1], block)), None)
        if twin is None:
            mine.append(len(kept))
            kept.append((place, block))
        elif not kept[twin][1].get("input"):
            kept[twin] = (place, block)
    return kept


def _is_twin(first: Block, second: Block) -> bool:
    if not first.get("id") or first["name"] != second["name"]:
        return False
    one, other = first.get("input"), second.get("input")
    return not one or not other or same(one, other)


def untwinned_history(messages: Iterable[Param]) -> Iterator[Param]:
    """Yield a caller's messages without twins, and with one result for each call."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield message
        elif message.get("role") == "assistant":
            yield {**message, "content": [block for _, block in untwinned(content or ())]}
        else:
            yield {**message, "content": list(_once(content or ()))}


def _once(blocks: Iterable[Block]) -> Iterator[Block]:
    seen = set[object]()
    for block in blocks:
        if block.get("type") == "tool_result":
            if block.get("tool_use_id") in seen:
                continue
            seen.add(block.get("tool_use_id"))
        yield block


class Ids:
    """The call ids of one history."""

    def __init__(self, messages: Iterable[Param]) -> None:
        """Know those of a history."""
        self._used = {
            block.get("id")
            for message in messages
            if not isinstance(message.get("content"), str)
            for block in message.get("content") or ()
            if block.get("type") == "tool_use"
        }

    def own(self, block: Block) -> Block:
        """Return a new call with an id that no other call has."""
        given = block.get("id")
        base = given if isinstance(given, str) and given else "call"
        own, number = base, 1
        while own in self._used:
            number += 1
            own = f"{base}_{number}"
        self._used.add(own)
        return {**block, "id": own}
