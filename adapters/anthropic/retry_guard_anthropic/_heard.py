"""What a stream of a model's message shows beyond the message that the SDK makes of it.

The SDK reads unfinished JSON as far as it goes, so a call that was cut off looks like one with
fewer arguments. The text that came is what counts.
"""

from typing import Any

from retry_guard_functions import joined


class Heard:
    """The arguments of each block as they came, and whether the message came to its end."""

    def __init__(self) -> None:
        """Have heard nothing."""
        self._texts = dict[int, str]()
        self.whole = False

    def hear(self, event: Any) -> None:
        """Take in one event of the stream."""
        match event.type:
            case "content_block_delta" if event.delta.type == "input_json_delta":
                before = self._texts.get(event.index, "")
                self._texts[event.index] = before + event.delta.partial_json
            case "message_stop":
                self.whole = True
            case _:
                pass

    def arguments(self, place: int, given: object) -> object:
        """Return the text of a block's arguments; `given`, where none came."""
        text = self._texts.get(place, "")
        return joined(text) if text.strip() else given


class Whole(Heard):
    """A message that came at once."""

    def __init__(self) -> None:
        """It is whole."""
        super().__init__()
        self.whole = True
