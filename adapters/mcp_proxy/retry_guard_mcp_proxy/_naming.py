"""What the operator is told of the server's tools: each once on standard error, all in a file."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from retry_guard_mcp_proxy._kept import Kept, KeptError
from retry_guard_mcp_proxy._messages import Message, is_object, meta_of
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._stated import STATED, is_said_to_read
from retry_guard_mcp_proxy._trust import UNTRUSTED, Word


class Naming:
    """Names tools. `kept`: where other processes read of them; None: nowhere."""

    def __init__(self, kept: Kept | None) -> None:
        """Nothing was named yet."""
        self._kept = kept
        self._named: set[tuple[str, str]] = set()
        self._last: dict[str, Any] | None = None

    def name(self, words: Mapping[str, Word], known: Mapping[str, Message]) -> None:
        """Say on standard error what was not said yet."""
        bare = [name for name, word in words.items() if word.who == "nobody" and not word.note]
        said = [name for name in bare if name in known and is_said_to_read(known[name])]
        self._say("no contract, so calls pass unguarded", sorted({*bare} - {*said}))
        self._say("no contract; said to read only, so calls pass", said)
        stated = [name for name, word in words.items() if word.note == UNTRUSTED]
        what = "guarded as writes that a person settles, since only the server states a contract"
        self._say(f"{what} (see retry-guard contracts trust)", stated)
        for name, word in words.items():
            if word.note not in ("", UNTRUSTED):
                self._say(word.note, [name])

    def _say(self, what: str, names: Iterable[str]) -> None:
        new = [name for name in names if (what, name) not in self._named]
        self._named |= {(what, name) for name in new}
        if new:
            note(f"{what}: {', '.join(map(_shown, new))}")

    def keep(self, words: Mapping[str, Word], known: Mapping[str, Message]) -> None:
        """Keep what is known of the tools, if it has changed. Blocks while it writes."""
        tools = {name: _facts(known[name], word) for name, word in words.items() if name in known}
        if self._kept is None or tools == self._last:
            return
        self._last = tools
        try:
            self._kept.see(tools, time.time())
        except KeptError as error:
            note(f"what doctor shows of the tools was not kept: {error}")


def _facts(tool: Message, word: Word) -> Message:
    contract = meta_of(tool).get(STATED)
    return {
        "who": word.who,
        "guarded": word.guards,
        "reads": is_said_to_read(tool),
        "note": word.note,
        "stated": contract if is_object(contract) else None,
    }


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)
