"""What the operator is told of the server's tools: each once on standard error, all in a file."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._kept import Kept, KeptError
from retry_guard_mcp_proxy._messages import Message, is_object, meta_of
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._stated import STATED, is_said_to_read, is_said_to_write
from retry_guard_mcp_proxy._trust import CHANGED, UNTRUSTED, Word

_MOST, _LONGEST, _WIDEST = 20, 120, 500
"""Names on a line, characters of a name, and of a sentence with a server's words in it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the tools, by name: whose word counts, and what the server says of them.

    `unlisted`: contracts for tools that it does not list.
    """

    words: Mapping[str, Word]
    known: Mapping[str, Message]
    unlisted: Mapping[str, Contract]

    def doubted(self) -> Iterator[str]:
        """Yield the tools that only read, says the operator, and that write, says the server."""
        for name, word in self.words.items():
            reads = word.contract is not None and word.contract.effect == "read"
            if word.who == "file" and reads and is_said_to_write(self.known[name]):
                yield name


class Naming:
    """Names tools. `kept`: where other processes read of them; None: nowhere."""

    def __init__(self, kept: Kept | None) -> None:
        """Nothing was named yet."""
        self._kept = kept
        self._named: set[tuple[str, str]] = set()
        self._last: dict[str, Any] | None = None

    def name(self, seen: Seen) -> None:
        """Say on standard error what was not said yet."""
        words, known = seen.words, seen.known
        bare = [name for name, word in words.items() if word.who == "nobody" and not word.note]
        said = [name for name in bare if name in known and is_said_to_read(known[name])]
        self._say("no contract, so calls pass unguarded", sorted({*bare} - {*said}))
        self._say("no contract; said to read only, so calls pass", said)
        stated = [name for name, word in words.items() if word.note == UNTRUSTED]
        what = "guarded as writes that a person settles, since only the server states a contract"
        self._say(f"{what} (see retry-guard contracts trust)", stated)
        what = "its contract says that it only reads, and its server that it writes; calls pass"
        self._say(what, seen.doubted())
        self._say("a contract, but the server lists no such tool", sorted(seen.unlisted))
        self._say_notes(words)

    def _say_notes(self, words: Mapping[str, Word]) -> None:
        """Say what else is to be known of tools, a line each; of many, the first lines."""
        noted: dict[str, list[str]] = {}
        for name, word in words.items():
            if word.note not in ("", UNTRUSTED):
                noted.setdefault(word.note, []).append(name)
        texts = sorted(noted, key=lambda text: text != CHANGED)
        for text in texts[:_MOST]:
            self._say(line(text), noted[text])
        rest = [name for text in texts[_MOST:] for name in noted[text]]
        self._say("what its server states is not used, for yet other reasons", rest)

    def _say(self, what: str, names: Iterable[str]) -> None:
        new = [name for name in names if (what, name) not in self._named]
        self._named |= {(what, name) for name in new}
        if new:
            note(f"{what}: {shown_all(new)}")

    def keep(self, seen: Seen) -> None:
        """Keep what is known of the tools, if it has changed. Blocks while it writes."""
        known = seen.known
        tools = {name: _facts(known[name], w) for name, w in seen.words.items() if name in known}
        tools |= {name: _bare(contract) for name, contract in seen.unlisted.items()}
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


def _bare(contract: Contract) -> Message:
    reads = contract.effect == "read"
    return {"who": "file", "guarded": not reads, "reads": reads, "listed": False}


def shown(name: str) -> str:
    """Return a name as it can be printed, on one line: a long one is cut."""
    said = name if name.isprintable() else ascii(name)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def line(text: str) -> str:
    """Return what may hold a server's words as it can be printed, on one line."""
    said = text if text.isprintable() else ascii(text)[1:-1]
    return said if len(said) <= _WIDEST else f"{said[:_WIDEST]}…"


def shown_all(names: Collection[str]) -> str:
    """Return names as they can be printed; of many, the first, and how many more there are."""
    said = ", ".join(map(shown, islice(names, _MOST)))
    return said if len(names) <= _MOST else f"{said} and {len(names) - _MOST} more"
