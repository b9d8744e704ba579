"""The one object that stands around an agent's tools."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from agents import FunctionTool, Tool, ToolApprovalItem
from agents.mcp import MCPServer

from retry_guard import (
    Answer,
    AsyncGuard,
    Contract,
    Policy,
    Question,
    Unresolved,
    listed_contracts,
    settle,
)
from retry_guard_ledgers import Ledger
from retry_guard_openai_agents._arguments import fit_of
from retry_guard_openai_agents._asks import ask_first
from retry_guard_openai_agents._checks import (
    check,
    check_answer,
    check_remote,
    check_servers,
    named,
)
from retry_guard_openai_agents._desk import Desk
from retry_guard_openai_agents._desks import Desks
from retry_guard_openai_agents._failures import without_invitation
from retry_guard_openai_agents._listings import Listings
from retry_guard_openai_agents._notes import Notes, Watch
from retry_guard_openai_agents._places import Places, Scope, Turn
from retry_guard_openai_agents._reads import Read, reader_at, reader_of
from retry_guard_openai_agents._runs import End, judge
from retry_guard_openai_agents._sdk import is_agent
from retry_guard_openai_agents._servers import GuardedServer
from retry_guard_openai_agents._tools import GuardedTool
from retry_guard_outcomes import classify as classify_outcome


class AgentGuard:
    """Guards the tools that have contracts.

    `Agent(tools=guard.tools, mcp_servers=guard.mcp_servers)`: `tools` are those that were given,
    with guarded copies in place; `mcp_servers` stand before those that were given.
    """

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract],
        *,
        tools: Sequence[Tool] = (),
        mcp_servers: Sequence[MCPServer] = (),
        scope: Scope,
        turn: Turn = None,
        approvals: bool = False,
        classify: Callable[[Any], End] = classify_outcome,
        read: Callable[[str, dict[str, Any]], Any] | None = None,
        ask: Callable[[Unresolved], Any] | None = None,
        policy: Policy | None = None,
        mode: Any = "guard",
        secret: bytes | None = None,
    ) -> None:
        """Set up a guard for agents with these tools.

        `scope`: the account that the tools act for; where several users share a process, a
        function that finds it in the context of the run (`Runner.run(context=...)`).
        `turn`: likewise the id of the user's message, which the SDK does not show; None: time
        tells. `approvals`: a call about which a person was asked pauses the run until it is
        approved; `question` and `settle` carry the person's answer. `classify(value or exception)`
        judges what a tool's function or server gave. `read`: default, the same tools or server.
        `ask`, `policy`, `mode`, `secret`: as `retry_guard.AsyncGuard` takes them.
        Raises `UsageError` for parts that do not fit together; for MCP tools when they are listed.
        """
        listed, own = listed_contracts(contracts), named(tools)
        servers = check_servers(mcp_servers, listed)
        places, notes = Places(scope, turn), Notes()

        def desk(reader: Read, held: list[Contract], among: Mapping[str, Tool]) -> Desk:
            guard = AsyncGuard(
                ledger,
                held,
                classify=lambda result: judge(result, classify),
                read=read or reader,
                ask=ask_first(ask) if approvals else ask,
                policy=policy,
                mode=mode,
                secret=secret,
            )
            fits = {
                name: fit_of(each, among.get(name), hides=guard.mode == "guard")
                for name, each in guard.contracts.items()
            }
            return Desk(guard=guard, fits=fits, places=places, notes=notes, approvals=approvals)

        rest = [each for each in listed if each.tool not in own and servers]
        functions = {name: tool for name, tool in own.items() if isinstance(tool, FunctionTool)}
        local = desk(reader_of(functions), [each for each in listed if each not in rest], own)
        remote = [desk(reader_at(server), rest, {}) for server in servers]
        check(local.guard.contracts.values(), own, reads=read is None)
        check_remote(rest, reads=read is None)
        guarded = {
            name: each for at in (local, *remote) for name, each in at.guard.contracts.items()
        }
        listings = Listings([*guarded.values()], own, len(remote), reads=read is not None)
        self.tools = [_guarded(tool, local) for tool in own.values()]
        self.mcp_servers: list[MCPServer] = [
            server if mode == "off" else GuardedServer(server, each, listings, place)
            for place, (server, each) in enumerate(zip(servers, remote, strict=True))
        ]
        self._ledger, self._places, self._notes = ledger, places, notes
        at = [(server.name, each) for server, each in zip(servers, remote, strict=True)]
        self._desks = Desks(local, frozenset(own), at)

    def watch(self) -> AbstractContextManager[Watch]:
        """Watch the runs that begin inside: `with guard.watch() as watched:`.

        `watched.unresolved` is there also for a run that ends with an error.
        """
        return self._notes.watch()

    async def question(self, item: ToolApprovalItem, context: object = None) -> Question | None:
        """Return what a person is asked by a pause; None: it is another approval, or answered.

        `item`: of `interruptions`. `context`: that of the run, where the scope is found in it.
        """
        desk, tool = self._desks.of(item)
        return None if desk is None else await desk.question(tool, item.arguments, context)

    async def reject(self, item: ToolApprovalItem, context: object = None) -> bool:
        """Say that the user does not want this call: equal ones are refused for the whole turn.

        Return whether that was in time: nothing of it was sent. Reject it in the state, too.
        False also for what is no call of a guarded tool. Raises as a call does.
        """
        desk, tool = self._desks.of(item)
        return desk is not None and await desk.reject(tool, item.arguments, context, item.call_id)

    def settle(self, question: Question | str, answer: Answer, context: object = None) -> bool:
        """Store a person's answer; return whether the question was still open.

        Then approve the call: it is carried on as the answer says. Answers name their question,
        so they settle nothing but what it is about.
        Raises `LedgerError` if the ledger refuses it, `UsageError` for a result that cannot be
        kept.
        """
        name = check_answer(question, answer)
        return settle(self._ledger, self._places.scope(context), name, answer)


def _guarded(tool: Tool, desk: Desk) -> Tool:
    contract = desk.contract(tool.name)
    if isinstance(tool, FunctionTool) and is_agent(tool) and desk.guard.mode == "guard":
        return without_invitation(tool)
    if contract is None or not isinstance(tool, FunctionTool):
        return tool
    if desk.guard.mode == "off" and not (contract.key is not None and contract.key.carried):
        return tool  # else its body asks for what it has to send along
    return GuardedTool(desk, contract, tool).copied()
