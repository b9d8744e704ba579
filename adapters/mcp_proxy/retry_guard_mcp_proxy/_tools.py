"""The server's tools: which are guarded, and what the client sees of them."""

from collections.abc import Callable, Mapping
from typing import Any

from retry_guard import Contract, GuardError, UsageError
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, object_in
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._schemas import is_plain, key_path, misfit, without
from retry_guard_mcp_proxy._trust import NOBODY, Trust, Word


class Tools:
    """Contracts, and what the server has said of its tools. `words`: what counts, by tool.

    `unlisted`: contracts for tools that the server does not list, once all of its list is known.
    `failed`: why the proxy, when it last asked for that list, did not get it; None: it did.
    `life`: grows when what a server has said may be that of another one. `known`: what was ever
    said of each tool; `fresh`: what is said in this life, as far as it has been asked for.
    """

    def __init__(
        self,
        contracts: Mapping[str, Contract],
        *,
        show_key: bool,
        trust: Trust | None = None,
        adopt: Callable[[Contract], None] | None = None,
    ) -> None:
        """Know the contracts only. `show_key`: the client sees the parameter for the key too.

        `trust`: weighs what the server states of itself; None: that counts for nothing. `adopt`:
        puts a contract among the others, in place of what counted for its tool.
        """
        self._contracts, self._show_key = contracts, show_key
        self._trust, self._adopt = trust, adopt
        self.known: dict[str, Message] = {}
        self.unlisted: dict[str, Contract] = {}
        self.failed: str | None = None
        self.words: dict[str, Word] = {}
        self.fresh: dict[str, Message] = {}
        self._told = set[str]()
        self.life = 0

    def guarded(self, name: object) -> Contract | None:
        """Return the contract of a tool that writes; None: its calls pass as they are."""
        contract = self._contracts.get(name) if isinstance(name, str) else None
        return None if contract is None or contract.effect == "read" else contract

    def doubted(self, name: str) -> Contract | None:
        """Return what tells calls apart also by a key in doubt; None: there is no doubt."""
        return self.words.get(name, NOBODY).doubted

    def has_output_schema(self, name: str) -> bool:
        """Whether clients will look for structured content in its results."""
        return is_object(self.known.get(name, {}).get("outputSchema"))

    def must_be_listed(self, name: str) -> bool:
        """Whether what counts for a tool depends on a list that nobody has asked for yet."""
        rests = self._trust.rests_on(name) if self._trust is not None else ()
        rests = rests or ((name,) if self._names_key(name) else ())
        return not all(one in self.fresh for one in rests)

    def _names_key(self, name: str) -> bool:
        contract = self._contracts.get(name)
        return contract is not None and key_path(contract) is not None

    def restarted(self) -> None:
        """Note that what its server said of it may count no more: it was started anew, or says so.

        Nothing is trusted until it has said it again.
        """
        self.fresh = {}
        self.life += 1
        self._reweigh()

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

    def check(self, contract: Contract) -> None:
        """Raise `UsageError` for a key that the tool has, or may have, no parameter for."""
        path = key_path(contract)
        if path is not None and contract.tool not in self.fresh:
            why = f"its server's list of tools could not be had ({self.failed})"
            raise UsageError(
                f"{contract.tool}: {why if self.failed else 'its server does not list it'}, so "
                f"nobody knows whether it has a parameter {path[0]} for the key; nothing was sent"
            )
        schema = object_in(self.known.get(contract.tool, {}), "inputSchema")
        if path is None or not is_plain(schema):
            return
        if path[0] not in object_in(schema, "properties"):
            name = contract.tool
            raise UsageError(
                f"{name} has no parameter {path[0]}, which its contract names for the key: an "
                "operator has to mend the contract; nothing was sent"
            )

    def heed(self, name: str, result: object) -> None:
        """Say once on standard error that a tool's result is not what it declares."""
        wrong = misfit(self.known.get(name, {}), result)
        if wrong is not None and name not in self._told:
            self._told.add(name)
            note(f"{ascii(name)[1:-1]} {wrong}: passed on as it is")

    def shown(self, response: Message) -> Message | None:
        """Learn from a list of tools; return it without the parameters for keys.

        None: nothing has to be hidden.
        """
        result = object_in(response, "result")
        listed = result.get("tools")
        if not is_list(listed):
            return None
        self.learn(listed, whole=not result.get("nextCursor"))
        seen = [self._seen(tool) for tool in listed]
        if all(new is old for new, old in zip(seen, listed, strict=True)):
            return None
        return {**response, "result": {**result, "tools": seen}}

    def learn(self, listed: list[Any], *, whole: bool = True) -> None:
        """Note what a server says of its tools, and let it count as far as it does.

        `whole`: with these, all of them are known; else more pages of the list follow.
        """
        for tool in listed:
            if is_object(tool) and isinstance(tool.get("name"), str):
                self.known[tool["name"]] = self.fresh[tool["name"]] = tool
        if self._trust is not None:
            # What reads back first: it may lose its read-back to a tool that is said to write.
            for name in sorted(self.known, key=self._reads_nothing_back):
                self._weigh(name, self._trust)
        if whole:
            self.failed = None
            self.unlisted = {n: c for n, c in self._contracts.items() if n not in self.known}

    def _reads_nothing_back(self, name: str) -> bool:
        contract = self._contracts.get(name)
        return contract is None or contract.read_back is None

    def _weigh(self, name: str, trust: Trust) -> None:
        former = self.words.get(name, NOBODY)
        try:
            word = trust.word(name, self.known, self.fresh, former)
            if word.contract is not None and word != former and self._adopt is not None:
                self._adopt(word.contract)
        except (GuardError, ValueError, RecursionError) as error:
            why = " ".join(str(error).split())
            contract = self._contracts.get(name)
            who = "server" if contract is not None and former is NOBODY else former.who
            word = Word(contract, who, f"what its server states is not used: {why}")
        self.words[name] = word

    def _seen(self, tool: Any) -> Any:
        name = tool.get("name") if is_object(tool) else None
        if not is_object(tool) or not isinstance(name, str):
            return tool
        contract = self.guarded(name)
        path = None if contract is None or self._show_key else key_path(contract)
        schema = None if path is None else without(object_in(tool, "inputSchema"), path)
        return tool if schema is None else {**tool, "inputSchema": schema}
