"""What both guards share: their parts, and the way of one call through them."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from retry_guard._answers import Unresolved, UsageError
from retry_guard._call import Classify, Mode, Send, Site, begin, with_own_key
from retry_guard._clock import Clock, LedgerClock
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard._heartbeat import Heartbeat
from retry_guard._observe import Observation, observe
from retry_guard._policy import Policy
from retry_guard._texts import explain
from retry_guard._tool import turn
from retry_guard_contracts import Contract
from retry_guard_ledgers import Ledger, about
from retry_guard_outcomes import Done, NotExecuted, Unknown

Outcome = Done | NotExecuted | Unresolved


class BaseGuard:
    """What `Guard` and `AsyncGuard` share."""

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract] = (),
        *,
        classify: Classify,
        read: Callable[[str, dict[str, Any]], Any] | None = None,
        ask: Callable[[Unresolved], Any] | None = None,
        policy: Policy | None = None,
        clock: Clock | None = None,
        mode: Mode = "guard",
        secret: bytes | None = None,
    ) -> None:
        """Set up a guard for these contracts.

        `classify(value or exception)` says `Done`, `NotExecuted` or `Unknown`.
        `read(tool, arguments)` runs a contract's read-back. `ask(unresolved)` reaches an operator
        and returns an `Answer`, or None for no answer. `mode`: `guard`, `observe` (send every
        call as it came, and note in `observations` what a guard would have done) or `off`.
        `secret`: the HMAC key of identities and keys; default `RETRY_GUARD_SECRET`, else the
        ledger's own. Raises `UsageError` if the parts do not fit together.
        """
        if mode not in get_args(Mode):
            msg = f"mode {mode!r}: give one of {', '.join(get_args(Mode))}"
            raise UsageError(msg)
        self.ledger, self.mode = ledger, mode
        self.contracts: dict[str, Contract] = {}
        self.observations: deque[Observation] = deque(maxlen=1000)
        policy = policy or Policy()
        self._site = Site(
            ledger=ledger,
            classify=classify,
            read=read,
            ask=ask,
            policy=policy,
            clock=clock or LedgerClock(ledger),
            heartbeat=Heartbeat(ledger, policy) if clock is None else None,
            secret=secret or os.environ.get("RETRY_GUARD_SECRET", "").encode() or ledger.secret,
            ignored=set(),
        )
        for contract in contracts:
            self.add(contract)

    turn = staticmethod(turn)

    def add(self, contract: Contract) -> None:
        """Guard one more tool. Adding an equal contract again does nothing."""
        if self.contracts.setdefault(contract.tool, contract) != contract:
            msg = f"{contract.tool} has two different contracts: keep one"
            raise UsageError(msg)
        if contract.read_back is not None and self._site.read is None:
            msg = f"the contract of {contract.tool} declares a read-back: give the guard read="
            raise UsageError(msg)

    def _contract(self, tool: str) -> Contract:
        if tool not in self.contracts:
            known = ", ".join(sorted(self.contracts)) or "none"
            msg = f"no contract for the tool {tool!r} (there are: {known}): add one, nothing sent"
            raise UsageError(msg)
        return self.contracts[tool]

    async def carry(
        self,
        hands: Hands,
        tool: str,
        arguments: Mapping[str, Any],
        send: Send,
        scope: str,
        turn: str | None,
        call_id: str | None,
        ordinal: int,
    ) -> Outcome:
        contract, site = self._contract(tool), self._site
        if not scope or turn == "":
            msg = f"{tool}: give a scope (the account it acts for), and a turn that is not empty"
            raise UsageError(msg)
        if self.mode == "off":
            return Done(await hands.call(send, dict(arguments), {}))
        if contract.effect == "read":
            return await _read(site, hands, send, arguments)
        call = begin(
            contract,
            arguments,
            site,
            send=send,
            scope=scope,
            turn=turn,
            call_id=call_id,
            ordinal=ordinal,
        )
        if self.mode == "observe":
            done, note = await observe(call, site, hands)
            self.observations.append(note)
            return done
        named = await hands.ledger(with_own_key, call, site)
        if isinstance(named, tuple):
            record, fields = named
            answer = Unresolved(about(record).id, "key_conflict", tool=tool)
            return replace(answer, text=explain(answer, fields))
        return await Driver(named, site, hands).run()


async def _read(
    site: Site, hands: Hands, send: Send, arguments: Mapping[str, Any]
) -> Done | NotExecuted:
    """Let a read pass: never recorded, delayed or recognised, with the ledger up or down."""
    try:
        result = await hands.call(send, dict(arguments), {})
    except Exception as error:  # noqa: BLE001 - a read that failed changed nothing
        result = error
    outcome = site.classify(result)
    return NotExecuted(outcome.error) if isinstance(outcome, Unknown) else outcome
