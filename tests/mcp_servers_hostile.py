"""A server that is hard to live with: noise on its standard output, lost answers, sudden ends.

`python mcp_servers_hostile.py SEED FILE`: FILE gets one line for each `write` that it performed.
It answers each request once, or ends; all else that it says, nobody asked for.
"""

import json
import os
import random
import sys
from typing import Any

from mcp_servers_client import Message, object_in, objects_in

TOOLS = [
    {"name": name, "inputSchema": {"type": "object", "properties": {"marker": {"type": "string"}}}}
    for name in ("write", "look")
]


class Hostile:
    """What it does is drawn. `performed`: where it writes down what it did."""

    def __init__(self, draw: random.Random, performed: int) -> None:
        self.draw, self.performed = draw, performed

    def say(self, line: bytes) -> None:
        os.write(1, line)

    def noise(self) -> None:
        """Say something that is no answer to anything."""
        number = self.draw.randrange(10**6)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": number}}
        asked = {"jsonrpc": "2.0", "method": "roots/list", "id": f"ask-{number}"}
        stray: Message = {"jsonrpc": "2.0", "id": f"stray-{number}", "result": {}}
        progress = {"method": "notifications/progress", "params": {"progressToken": number}}
        lines = (
            self.draw.randbytes(self.draw.randrange(200)).replace(b"\n", b" "),
            b"Traceback (most recent call last):",
            b'{"a": 1}',
            b"5",
            b'"text"',
            b"",
            b"[]",
            b'{"jsonrpc": "2.0", "method": "notifications/half", "par',
            b'{"jsonrpc": "2.0", "method": "notifications/bytes", "params": {"a": "\xff\xfe"}}',
            b"[" * 5000,
            json.dumps([note, note]).encode(),
            json.dumps(note).encode(),
            json.dumps(asked).encode(),
            json.dumps(stray).encode(),
            json.dumps({"jsonrpc": "2.0", **progress}).encode(),
        )
        self.say(self.draw.choice(lines) + b"\n")

    def end(self) -> None:
        """End, perhaps in the middle of a line."""
        if self.draw.random() < 0.5:
            self.say(b'{"jsonrpc": "2.0", "id": 1, "res')
        os._exit(self.draw.choice((0, 1, 3)))

    def hear(self, line: bytes) -> None:
        """Do what a line says, and more."""
        if self.draw.random() < 0.15:
            self.noise()
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        for one in objects_in(message):
            if isinstance(one.get("method"), str) and "id" in one:
                self.answer(one)

    def answer(self, request: dict[str, Any]) -> None:
        """Answer once, or end."""
        if self.draw.random() < 0.01:
            self.end()
        given = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "tools/list":
            self.say(line_of({**given, "result": {"tools": TOOLS}}))
        elif request["method"] == "tools/call":
            self.call(given, object_in(request, "params"))
        else:
            self.say(line_of({**given, "result": {"method": request["method"]}}))

    def call(self, given: dict[str, Any], params: dict[str, Any]) -> None:
        """Perform a write, unless it is refused; its answer may be odd, or never come."""
        shape = self.draw.random()
        if params.get("name") == "write":
            if shape < 0.05:
                refused = {"code": -32602, "message": "refused"}
                self.say(line_of({**given, "error": refused}))
                return
            done = json.dumps(params.get("arguments"), sort_keys=True)
            os.write(self.performed, done.encode() + b"\n")
            if shape < 0.08:
                self.end()
        blocks: Any = [{"type": "text", "text": "done"}]
        results: tuple[Any, ...] = (
            {"content": blocks, "isError": True},
            {"content": None},
            {"content": blocks, "_meta": {"retry-guard/outcome": {"replayed": True}}},
            {"content": blocks, "resultType": "something"},
            [],
            5,
            None,
        )
        result = self.draw.choice(results) if shape < 0.3 else {"content": blocks}
        self.say(line_of({**given, "result": result}))
        if params.get("name") == "write" and shape > 0.97:
            self.say(line_of({**given, "result": result}))


def line_of(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def main() -> None:
    """Hear one line after the other; each life draws anew."""
    file = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    life = os.fstat(file).st_size
    hostile = Hostile(random.Random(f"{sys.argv[1]} {life}"), file)
    for line in sys.stdin.buffer:
        hostile.hear(line)


if __name__ == "__main__":
    main()
