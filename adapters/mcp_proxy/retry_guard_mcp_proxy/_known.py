"""What the server has said of its tools, and what of it counts."""

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from retry_guard import Contract, GuardError
from retry_guard_mcp_proxy._messages import Message, is_object
from retry_guard_mcp_proxy._schemas import key_path
from retry_guard_mcp_proxy._trust import NOBODY, Trust, Word

_AT_ONCE = 100
"""Tools that are weighed as soon as they are listed; of more, a few at a time."""


class Known:
    """Contracts, and what the server has said of its tools. `words`: what counts, by tool.

    `unlisted`: contracts for tools that the server does not list, once all of its list is known.
    `failed`: why the proxy, when it last asked for that list, did not get it; None: it did.
    `life`: grows when what a server has said may count no more; `servers`: when it may be that of
    another one. `known`: what was ever
    said of each tool; `fresh`: what is said in this life, as far as it has been asked for.
    """

    def __init__(
        self,
        contracts: Mapping[str, Contract],
        trust: Trust | None = None,
        adopt: Callable[[Contract], None] | None = None,
    ) -> None:
        """Know the contracts only.

        `trust`: weighs what the server states of itself; None: that counts for nothing. `adopt`:
        puts a contract among the others, in place of what counted for its tool.
        """
        self.contracts, self._trust, self._adopt = contracts, trust, adopt
        self.known: dict[str, Message] = {}
        self.fresh: dict[str, Message] = {}
        self._heard_at: dict[str, float] = {}
        self.unlisted: dict[str, Contract] = {}
        self.failed: str | None = None
        self.words: dict[str, Word] = {}
        self.life = self.servers = self.changes = 0
        self._pending: dict[str, None] = {}

    def doubted(self, name: str) -> Contract | None:
        """Return what tells calls apart also by a key in doubt; None: there is no doubt."""
        return self.words.get(name, NOBODY).doubted

    def must_be_listed(self, name: str) -> bool:
        """Whether what counts for a tool depends on a list that nobody has asked for yet."""
        rests = self._trust.rests_on(name) if self._trust is not None else ()
        rests = rests or ((name,) if self._names_key(name) else ())
        return not all(one in self.fresh for one in rests)

    def _names_key(self, name: str) -> bool:
        contract = self.contracts.get(name)
        return contract is not None and key_path(contract) is not None

    def restarted(self, *, is_same: bool = False) -> None:
        """Note that what its server said of it may count no more: it was started anew, or says so.

        Nothing is trusted until it has said it again. `is_same`: it says so, and is no other one.
        """
        self.fresh = {}
        self.life += 1
        self.servers += not is_same
        self._reweigh()

    def forget(self, name: str, lasts: float) -> None:
        """Rely on no list any more, where trust in a tool rests on what was heard so long ago."""
        rests = self._trust.rests_on(name) if self._trust is not None else ()
        until = time.monotonic() - lasts if rests else 0.0
        if any(one in self.fresh and self._heard_at[one] < until for one in rests):
            self.restarted()

    def trusts(self, trust: Trust) -> None:
        """Let the operator's word of what is trusted count from now on."""
        self._trust = trust
        self.life += 1
        self._reweigh()

    def _reweigh(self) -> None:
        trust = self._trust
        if trust is not None:
            # What reads back first: it may lose its read-back to a tool that is said to write.
            for name in sorted(filter(trust.has_trusted, self.known), key=self._reads_nothing_back):
                self._weigh(name, trust)

    def learn(self, listed: list[Any], *, whole: bool = True, is_old: bool = False) -> None:
        """Note what a server says of its tools, and let it count as far as it does.

        `whole`: with these, all of them are known; else more pages of the list follow. `is_old`: it
        may be outdated, so it makes the guard stricter, and what is fresh stays as it is.
        """
        for tool in listed:
            if is_object(tool) and isinstance(tool.get("name"), str):
                self._hear(tool["name"], tool, is_old=is_old)
        self._reweigh()
        if len(self._pending) <= _AT_ONCE:
            self.weigh(_AT_ONCE)
        if whole and not is_old:
            self.failed = None
            self.unlisted = {n: c for n, c in self.contracts.items() if n not in self.known}

    def _hear(self, name: str, tool: Message, *, is_old: bool) -> None:
        if is_old and name in self.fresh:
            return
        if name not in self.words or not same_words(self.known.get(name), tool):
            self._pending[name] = None
        self.known[name] = tool
        if not is_old:
            self.fresh[name] = tool
            self._heard_at[name] = time.monotonic()

    def weigh(self, most: int) -> bool:
        """Weigh some of what was listed; return whether there is more. A call does it by itself."""
        for name in list(islice(self._pending, most)):
            self.weigh_now(name)
        return bool(self._pending)

    def weigh_now(self, name: str) -> None:
        """Weigh a tool, if that is still to be done."""
        if name in self._pending:
            del self._pending[name]
            if self._trust is not None:
                self._weigh(name, self._trust)

    def _reads_nothing_back(self, name: str) -> bool:
        contract = self.contracts.get(name)
        return contract is None or contract.read_back is None

    def _weigh(self, name: str, trust: Trust) -> None:
        former = self.words.get(name, NOBODY)
        try:
            word = trust.word(name, self.known, self.fresh, former)
            if word.contract is not None and word != former and self._adopt is not None:
                self._adopt(word.contract)
        except (GuardError, ValueError, RecursionError) as error:
            why = " ".join(str(error).split())
            contract = self.contracts.get(name)
            who = "server" if contract is not None and former is NOBODY else former.who
            word = Word(contract, who, f"what its server states is not used: {why}")
        self.changes += word != former
        self.words[name] = word


def same_words(old: object, new: object) -> bool:
    """Whether a server says the same; what is nested too deep to compare is not."""
    try:
        return old == new
    except RecursionError:
        return False
