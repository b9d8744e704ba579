"""Hostile lines from both sides of the proxy, and what must hold all the same."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from mcp_servers_client import STATELESS, Message, object_in, objects_in
from mcp_servers_sites import proxy, variables
from retry_guard_ledgers import open_ledger

HOSTILE = Path(__file__).with_name("mcp_servers_hostile.py")
CONTRACTS = "contracts:\n  - tool: write\n"
PATIENCE = 60.0
"""Seconds after which what is not answered counts as never answered."""
Name = tuple[type, str | int]


def name_of(given: object) -> Name | None:
    """Return an id as it is told apart from others; None for what no request may have."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return type(given), given


class Lines:
    """Draws what a client says. `asked`: how often each id was used for a request.

    `excused`: ids of which nobody has to be told anything: their calls were cancelled, or stay
    open.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.asked: Counter[Name] = Counter()
        self.excused: set[Name] = set()
        self.number = 0

    def next(self) -> bytes:
        """Return one line or several, made by a grammar or not."""
        chance = self.draw.random()
        line = json.dumps(self.message()).encode()
        if chance < 0.25:
            line = self.mutated(line)
        elif chance < 0.3:
            line = self.draw.randbytes(self.draw.randrange(300))
        elif chance < 0.31:
            line = b'{"jsonrpc":"2.0","method":"x","params":"' + b"y" * 2_000_000 + b'"}'
        elif chance < 0.34:
            line = json.dumps([self.message() for _ in range(self.draw.randrange(4))]).encode()
        for one in line.split(b"\n"):
            self.note(one)
        return line + b"\n"

    def message(self) -> Message:
        """Return a message: well-formed, though perhaps without any sense."""
        self.number += 1
        given: Any = self.draw.choice((self.number, str(self.number), f"id {self.number} é"))
        if self.draw.random() < 0.03:
            odd: tuple[Any, ...] = (None, True, 1.5, [], {}, 10**30, -1, "")
            given = self.draw.choice(odd)
        method = self.draw.choice(
            (*["tools/call"] * 8, "tools/list", "ping", "initialize",
             "server/discover", "resources/read", "no/such/method", "", "subscriptions/listen")
        )  # fmt: skip
        kind = self.draw.random()
        if kind < 0.08:
            return {"jsonrpc": "2.0", "id": given, "result": {"a": 1}}
        if kind < 0.14:
            cancelled = {"requestId": self.draw.randrange(1, self.number + 1), "reason": "r"}
            return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
        if kind < 0.2:
            token: Message = {"progressToken": self.draw.randrange(9), "progress": 1}
            return {"jsonrpc": "2.0", "method": "notifications/progress", "params": token}
        return {"jsonrpc": "2.0", "id": given, "method": method, "params": self.params(method)}

    def params(self, method: str) -> Any:  # noqa: ANN401 - anything
        """Return parameters that fit the method, mostly."""
        if self.draw.random() < 0.05:
            odd: tuple[Any, ...] = (None, [], 5, "x", {"name": 5}, {"arguments": []})
            return self.draw.choice(odd)
        if method == "initialize":
            hello: Message = {"protocolVersion": "2025-11-25", "capabilities": {}}
            return {**hello, "clientInfo": {"name": "fuzz", "version": "1"}}
        if method != "tools/call":
            return {}
        known = self.draw.randrange(1, self.number + 1)
        marker = f"m{known if self.draw.random() < 0.2 else self.number}"
        arguments: Any = {"marker": marker}
        if self.draw.random() < 0.06:
            arguments = self.draw.choice((None, [], 7, {}, {"marker": [{"a": "\ud800"}]}))
        params: Message = {"name": self.draw.choice(("write", "write", "look"))}
        if self.draw.random() < 0.2:
            meta: Message = {"io.modelcontextprotocol/protocolVersion": STATELESS}
            params["_meta"] = self.draw.choice((meta, {"progressToken": known}, 5, None))
        return {**params, "arguments": arguments}

    def mutated(self, line: bytes) -> bytes:
        """Return the line after some accidents to its bytes."""
        found = bytearray(line)
        for _ in range(self.draw.randrange(1, 4)):
            at = self.draw.randrange(len(found) + 1)
            match self.draw.randrange(4):
                case 0:
                    found[at : at + 1] = self.draw.randbytes(1)
                case 1:
                    del found[at : at + self.draw.randrange(1, 20)]
                case 2:
                    found[at:at] = self.draw.choice((b"\n", b"\r\n", b"\0", b"[", b'"', b"\xff"))
                case _:
                    found[at:at] = found[: self.draw.randrange(30)]
        return bytes(found)

    def note(self, line: bytes) -> None:
        """Count what a line asks for, if it asks for anything."""
        try:
            read: Any = json.loads(line.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return
        for one in objects_in(read):
            method = one.get("method")
            name = name_of(one.get("id"))
            if isinstance(method, str) and name is not None:
                self.asked[name] += 1
                if isinstance(read, list) or method == "subscriptions/listen":
                    self.excused.add(name)
            if method == "notifications/cancelled":
                cancelled = name_of(object_in(one, "params").get("requestId"))
                if cancelled is not None:
                    self.excused.add(cancelled)


def _refuse(text: str) -> float:
    raise ValueError(text)


class Heard:
    """What the proxy says; read all the time, so that it never waits for its reader."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.lines: list[bytes] = []
        self.answered: Counter[Name] = Counter()
        self.odd: list[bytes] = []
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self.lines.append(line)
            try:
                read: list[Any] | Message = json.loads(line)
            except ValueError:
                self.odd.append(line)
                continue
            found = objects_in(read)
            if not found or (isinstance(read, list) and len(found) < len(read)):
                self.odd.append(line)
            for one in found:
                self._one(one, line)

    def _one(self, one: Message, line: bytes) -> None:
        if "jsonrpc" not in one or not any(key in one for key in ("method", "result", "error")):
            self.odd.append(line)
        name = name_of(one.get("id"))
        if "method" not in one and name is not None:
            self.answered[name] += 1


def session(seed: int, folder: Path, lines: int = 400) -> list[str]:
    """Play one session; return what did not hold."""
    folder.mkdir(parents=True)
    contracts = folder / "contracts.yaml"
    contracts.write_text(CONTRACTS, encoding="utf-8")
    server = [sys.executable, str(HOSTILE), str(seed), str(folder / "performed")]
    said = Lines(random.Random(seed))
    with (folder / "stderr").open("wb") as errors:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            proxy(folder, contracts, server),
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            cwd=folder,
            env=variables(folder),
        )
        assert process.stdin
        assert process.stdout
        heard = Heard(process.stdout)
        try:
            problems = _conversation(process, process.stdin, said, heard, lines)
        finally:
            _end(process)
            heard.thread.join(10)
            process.stdout.close()
    problems += [f"no JSON-RPC on stdout: {line[:200]!r}" for line in heard.odd[:3]]
    noted = (folder / "stderr").read_text(encoding="utf-8", errors="replace").splitlines()
    if any(line.startswith("Traceback") for line in noted):
        problems.append("\n".join(["stderr:", *noted])[:3000])
    return [*problems, *lost(folder)]


def _conversation(
    process: subprocess.Popen[bytes], stdin: IO[bytes], said: Lines, heard: Heard, lines: int
) -> list[str]:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz"}}
    _write(stdin, said, {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
    for _ in range(lines):
        line = said.next()
        try:
            stdin.write(line)
            stdin.flush()
        except OSError:
            return [f"the proxy ended: {process.wait(5)}"]
        if said.draw.random() < 0.05:
            time.sleep(0.02)
    _write(stdin, said, {"jsonrpc": "2.0", "id": "last", "method": "ping"})
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None and _open(said, heard):
        time.sleep(0.02)
    if process.poll() is not None:
        return [f"the proxy ended: {process.returncode}"]
    unanswered = [f"never answered: {name[1]!r}" for name in _open(said, heard)]
    twice = [
        f"answered {count} times, asked {said.asked[name]} times: {name[1]!r}"
        for name, count in heard.answered.items()
        if count > said.asked[name] and not str(name[1]).startswith("stray-")
    ]
    if said.draw.random() < 0.5:
        stdin.write(b'{"jsonrpc":"2.0","id":"half","method":"too')
        stdin.flush()
    return unanswered[:5] + twice[:5]


def _open(said: Lines, heard: Heard) -> list[Name]:
    return [
        name
        for name, count in said.asked.items()
        if name not in said.excused and heard.answered[name] < count
    ]


def _write(stdin: IO[bytes], said: Lines, message: Message) -> None:
    line = json.dumps(message).encode()
    said.note(line)
    stdin.write(line + b"\n")
    stdin.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input; end it by force only if that is not enough."""
    if process.stdin:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError("the proxy did not end with its client") from None


def lost(folder: Path) -> list[str]:
    """Return what the ledger does not know, and what was done twice."""
    file = folder / "performed"
    performed = Counter(file.read_bytes().splitlines() if file.exists() else ())
    with closing(open_ledger(f"sqlite:///{folder / 'guard.db'}")) as ledger:
        known = [bytes(record.about.arguments) for record in ledger.list()]
    problems: list[str] = []
    for line, count in performed.items():
        arguments: Any = json.loads(line)
        marker = object_in({"arguments": arguments}, "arguments").get("marker")
        if not isinstance(marker, str) or not marker.isascii() or not marker.isalnum():
            continue
        if count > 1:
            problems.append(f"performed {count} times: {line!r}")
        if not any(f'"{marker}"'.encode() in record for record in known):
            problems.append(f"performed, and not in the ledger: {line!r}")
    return problems


def fuzz(folder: Path, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Play sessions for that long; return how many, and what did not hold in the first bad one."""
    until, played = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        here = folder / str(seed + played)
        problems = session(seed + played, here)
        played += 1
        if problems:
            return played, [f"seed {seed + played - 1}, in {here}:", *problems]
        shutil.rmtree(here)
    return played, []


def main(given: Sequence[str]) -> int:
    """`python mcp_servers_fuzz.py FOLDER SECONDS SEED`: 1 if something did not hold."""
    folder, seconds, seed = Path(given[0]), float(given[1]), int(given[2])
    played, problems = fuzz(folder, seconds, seed)
    said = [f"the proxy: {played} sessions from seed {seed}", *problems]
    sys.stdout.write("\n".join(said) + "\n")
    return bool(problems)


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(sys.argv[1:]))
