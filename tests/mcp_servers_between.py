"""Stands between an MCP server and whoever starts it: records every line, and breaks it once.

`python mcp_servers_between.py FOLDER -- COMMAND…`. FOLDER/lines gets each line that passed.
While there is a file FOLDER/break, `{"tool": NAME, "when": WHEN}`, the next call of that tool
finds the server broken, and the file is gone (FOLDER/server has the server's process id):

- `asked`: the server is killed, and has not read the call
- `answered`: it is killed, and has done it; its answer is lost
- `silent`: it has done it, its answer is lost, and it goes on
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, cast


class Between:
    """One life of a server."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.lines = (folder / "lines").open("ab")
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        (folder / "server").write_text(str(self.server.pid), encoding="utf-8")
        self.lock = threading.Lock()
        self.calls: dict[str, str] = {}

    def down(self, source: IO[bytes], server: IO[bytes]) -> None:
        """From the client to the server."""
        for line in source:
            message = read(line)
            if message.get("method") == "tools/call" and "id" in message:
                self.calls[json.dumps(message["id"])] = message["params"]["name"]
                if self.broken(message["params"]["name"], "asked"):
                    self.kill()
            self.record(b">", line)
            try:
                server.write(line)
                server.flush()
            except OSError:
                return
        server.close()

    def up(self, server: IO[bytes], sink: IO[bytes]) -> None:
        """From the server to the client."""
        for line in server:
            message = read(line)
            if "id" in message and "method" not in message:
                tool = self.calls.pop(json.dumps(message["id"]), "")
                if self.broken(tool, "answered"):
                    self.kill()
                if self.broken(tool, "silent"):
                    continue
            self.record(b"<", line)
            sink.write(line)
            sink.flush()

    def broken(self, tool: str, when: str) -> bool:
        """Whether this is the moment; it comes once."""
        file = self.folder / "break"
        if not file.is_file() or json.loads(file.read_bytes()) != {"tool": tool, "when": when}:
            return False
        file.unlink()
        return True

    def kill(self) -> None:
        """End the server and this process, in the middle of whatever they do."""
        self.server.kill()
        self.server.wait()
        os._exit(1)

    def record(self, way: bytes, line: bytes) -> None:
        with self.lock:
            self.lines.write(way + line)
            self.lines.flush()


def read(line: bytes) -> dict[str, Any]:
    """Return the message in a line; empty, if there is none."""
    try:
        message: Any = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}


def main() -> None:
    """Pass on until one side ends."""
    between = Between(Path(sys.argv[1]), sys.argv[3:])
    server = between.server
    assert server.stdin
    assert server.stdout
    ends = (sys.stdin.buffer, server.stdin)
    threading.Thread(target=between.down, args=ends, daemon=True).start()
    between.up(server.stdout, sys.stdout.buffer)
    server.wait()
    os._exit(server.returncode & 0xFF)


if __name__ == "__main__":
    main()
