"""Histories over HTTP: drawn calls and fates between a client, the proxy, a gateway and a server.

A client calls, calls again, cancels, has one proxy or two on one ledger, and loses one; a gateway
does to requests what it does (`mcp_proxy_url_gateway`); the server dies and comes back. Then all
that is wrong ends, and each action is called until it is settled, or said to be unknown. What must
hold for each of them:

- its effects are one at most;
- nobody is told that it is done before it has its effect, or that nothing was executed after it,
  and an effect that comes later belongs to a call that was still open then;
- it is done in the end, where its contract can settle it: a key always, a read-back if it happened;
- no effect is without its record in the ledger.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from mcp_proxy_client import INITIALIZE, LONG, META, Given, Json, Proxy, texts, turn, wait_for
from mcp_proxy_url_gateway import FATES, Gateway
from mcp_proxy_works_sites import UrlWorks, Way

CONTRACTS = """\
contracts:
  - {tool: write, key: {param: key, retention: 86400}}
  - tool: made
    read_back: {tool: effects, items: effects, match: {text: text}, id: id, unique: true,
                visibility_lag: 0}
  - tool: plain
  - {tool: effects, effect: read}
"""
TOOLS = ("write", "made", "plain")
DEATHS = ("ok", "ok", "ok", "die", "commit_die", "commit_error", "error", "commit_drop", "invalid")
TURN = turn("t1")
_SOME = 8
"""Histories that are played before the time is looked at."""
Action = tuple[str, str]


class Hasty(Proxy):
    """A proxy, and when each of its lines came."""

    module = "mcp_proxy_url_hasty"

    def __init__(self, command: Sequence[str]) -> None:
        self.times: list[float] = []
        super().__init__(command, forked=True)

    def _hear(self) -> None:
        for line in self.process.stdout or ():
            self.times.append(time.time())
            self.raw.append(line)

    def opens(self) -> None:
        """Open a session, however often it takes."""
        for number in count():
            given = f"i{number}"
            self.ask("initialize", INITIALIZE, given)
            wait_for(partial(self.has, given))
            if self.has(given, "result"):
                self.tell("notifications/initialized")
                return

    def has(self, given: str, member: str = "id") -> bool:
        """Whether there is an answer to that request, with such a member."""
        found = [json.loads(line) for line in tuple(self.raw)]
        return any(one.get("id") == given and member in one for one in found)


@dataclass
class Call:
    """A call of an action, when it was made, and what was answered, and when."""

    action: Action
    made: float
    at: float = float("inf")
    said: str = ""

    def ends(self, answer: Json, at: float) -> None:
        result = answer.get("result", {})
        text = texts(result) if result.get("content") else str(answer.get("error"))
        self.at, self.said = at, text if result.get("isError") is not False else "done"


@dataclass
class History:
    """What happens. `draw`: what is drawn by the client."""

    site: UrlWorks
    gateway: Gateway
    draw: random.Random
    calls: list[Call] = field(default_factory=list)
    open: dict[Given, Call] = field(default_factory=dict)

    def proxy(self) -> Hasty:
        self.site.url = self.gateway.url
        proxy = Hasty(self.site.command("--answer-within", "12"))
        if self.site.way == "session":
            proxy.opens()
        return proxy

    def call(self, proxy: Proxy, action: Action) -> Given:
        tool, text = action
        meta: Json = {**(META if self.site.way == "stateless" else {}), **TURN}
        if self.draw.random() < 0.3:
            meta["progressToken"] = len(self.calls)  # then the answer is a stream
        self.calls.append(call := Call(action, time.time()))
        self.open[given := f"c{len(self.calls)}"] = call
        with suppress(BrokenPipeError):
            proxy.call(tool, {"text": text}, given, _meta=meta)
        return given

    def hear(self, proxy: Hasty) -> None:
        """Note what was answered until now."""
        for line, at in zip(tuple(proxy.raw), tuple(proxy.times), strict=False):
            answer = json.loads(line)
            call = self.open.pop(answer.get("id"), None) if "method" not in answer else None
            if call is not None:
                call.ends(answer, at)

    def lives(self, proxies: Sequence[Hasty]) -> None:
        """Call, call again, cancel; the server may be killed meanwhile."""
        for _ in range(self.draw.randrange(6, 12)):
            proxy = self.draw.choice(proxies)
            tool = self.draw.choice(TOOLS)
            action = (tool, f"{tool}-{self.draw.choice('ab')}")  # a read finds those of all tools
            given = self.call(proxy, action)
            chance = self.draw.random()
            if chance < 0.15:
                self.call(self.draw.choice(proxies), action)
            elif chance < 0.25:
                proxy.cancel(given)
            elif chance < 0.32:
                with suppress(ProcessLookupError):
                    os.kill(self.site.lives[-1], signal.SIGKILL)
            time.sleep(self.draw.choice((0, 0.05, 0.3)))

    def settles(self, proxy: Hasty) -> None:
        """Call each action until it is settled, or cannot be."""
        left, until = {call.action for call in self.calls}, time.monotonic() + LONG
        while left and time.monotonic() < until:
            asked = {self.call(proxy, action): action for action in sorted(left)}
            last = {given: self.open[given] for given in asked}
            while any(call.at == float("inf") for call in last.values()):
                assert time.monotonic() < until, f"not answered: {proxy.errors}"
                time.sleep(0.02)
                self.hear(proxy)
            left = {one.action for one in last.values() if "still running" in one.said}


def played(folder: Path, seed: int, way: Way, contracts: str = CONTRACTS) -> list[str]:
    """Play one history; return what did not hold."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    site = UrlWorks(folder, contracts, way)
    share = draw.choice((0.2, 0.5))

    def pick(what: str, count: int) -> str:
        own = random.Random(f"{seed} {what} {count}")
        some = share if what.startswith("tools/call") else share / 3
        return own.choice(FATES) if own.random() < some else "pass"

    try:
        with Gateway(site.url, pick) as gateway:
            history = History(site, gateway, draw)
            site.fates(*draw.choices(DEATHS, k=12))
            return _played(history)
    finally:
        site.end()


def _played(history: History) -> list[str]:
    errors = ""
    for _ in range(history.draw.choice((1, 2))):
        many = history.draw.choice((1, 1, 2))
        with ExitStack() as stack:
            proxies = [stack.enter_context(_going(history)) for _ in range(many)]
            history.lives(proxies)
            if history.draw.random() < 0.5:
                time.sleep(history.draw.choice((0.1, 1.0)))
                proxies[0].process.kill()
        for proxy in proxies:
            history.hear(proxy)
            errors += proxy.errors
    history.gateway.healed = True
    history.site.fates()
    time.sleep(0.5)  # what the gateway holds is with the server
    with _going(history) as proxy:
        history.settles(proxy)
    errors += proxy.errors
    problems = [*checked(history)]
    return [*problems, *(["stderr:", errors[:3000]] if "Traceback" in errors or problems else [])]


@contextmanager
def _going(history: History) -> Generator[Hasty]:
    proxy = history.proxy()
    try:
        yield proxy
    finally:
        proxy.end()


def checked(history: History) -> Iterator[str]:
    """Yield what does not hold."""
    effects, records = history.site.effects, history.site.records()
    known = [(one.tool, json.loads(bytes(one.about.arguments))) for one in records]
    for action in sorted({call.action for call in history.calls}):
        tool, text = action
        mine = [one["created"] for one in effects if (one["tool"], one["text"]) == action]
        calls = [call for call in history.calls if call.action == action]
        if len(mine) > 1:
            yield f"{action}: {len(mine)} effects, at {mine}; {calls}"
        if mine and not any(tool == name and text in str(given) for name, given in known):
            yield f"{action}: it has an effect and no record"
        yield from _told(action, mine, calls)
        last = calls[-1].said
        settles = tool == "write" or (tool == "made" and mine)
        if settles and last != "done":
            yield f"{action}: not settled in the end: {last!r}; {calls}"


def _told(action: Action, effects: list[float], calls: list[Call]) -> Iterator[str]:
    for call in calls:
        before = [at for at in effects if at <= call.at]
        if call.said == "done" and not before:
            yield f"{action}: said to be done without an effect: {call}"
        if "nothing was executed" in call.said:
            others = [one for one in calls if one is not call]
            owned = all(any(one.made <= at <= one.at for one in others) for at in effects)
            if before or not owned:
                yield f"{action}: said not to be executed: {call}; effects at {effects}; {calls}"


def histories(folder: Path, seeds: Sequence[int], jobs: int = 4) -> list[str]:
    """Play some side by side, in both generations; return what did not hold in the first bad one.

    Its folder is left behind.
    """

    def one(seed: int) -> list[str]:
        here = folder / f"h{seed}"
        problems = played(here, seed, ("session", "stateless")[seed % 2])
        if not problems:
            shutil.rmtree(here)
        return [f"seed {seed}, in {here}:", *problems] if problems else []

    with ThreadPoolExecutor(jobs) as pool:
        return next(filter(None, pool.map(one, seeds)), list[str]())


def main(given: Sequence[str]) -> int:
    """`python mcp_proxy_url_histories.py FOLDER SECONDS SEED`: 1 if something did not hold."""
    folder, seconds, seed = Path(given[0]), float(given[1]), int(given[2])
    until, many, problems = time.monotonic() + seconds, 0, list[str]()
    while time.monotonic() < until and not problems:
        problems = histories(folder, range(seed + many, seed + many + _SOME))
        many += _SOME
    said = [f"over HTTP: {many} histories from seed {seed}", *problems]
    sys.stdout.write("\n".join(said) + "\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
