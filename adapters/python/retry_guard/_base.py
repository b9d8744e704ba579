"""What both guards share: their parts, and the way of one call through them."""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, get_args

from retry_guard._answers import Unresolved, UsageError
from retry_guard._call import Call, Classify, Mode, Request, begin
from retry_guard._checks import (
    check_contract,
    check_reads,
    check_request,
    listed_contracts,
    readable,
    two_contracts,
)
from retry_guard._clock import Clock
from retry_guard._confirm import confirmed
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard._logs import log_failure
from retry_guard._observe import Direct, Observation, observe
from retry_guard._own_key import Conflict, named
from retry_guard._policy import Policy
from retry_guard._preview import preview, previews
from retry_guard._reads import read as read_through
from retry_guard._reject import reject
from retry_guard._sent import sending
from retry_guard._site import site_of
from retry_guard._strays import StrayError
from retry_guard._texts import explain
from retry_guard._turns import turn
from retry_guard._windows import lapsed
from retry_guard_contracts import Contract
from retry_guard_core import Record, decide
from retry_guard_ledgers import Ledger, about
from retry_guard_outcomes import Done, NotExecuted

_log = logging.getLogger("retry_guard")

Outcome = Done | NotExecuted | Unresolved


class BaseGuard:
    """What `Guard` and `AsyncGuard` share."""

    _awaits: ClassVar[bool] = False

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
        and returns an `Answer`, or None for no answer; if it raises an `Exception` or returns
        anything else, that is logged and nobody was reached, while what is only a
        `BaseException`, such as an interrupt, goes through. `mode`: `guard`, `observe` (send every
        call as it came, and note in `observations` what a guard would have done) or `off`.
        `secret`: the HMAC key of identities and keys, at least 16 bytes; default
        `RETRY_GUARD_SECRET`, else the ledger's own.
        Raises `UsageError` for a part that cannot be used, and if the parts do not fit together.
        """
        if mode not in get_args(Mode):
            msg = f"mode {mode!r}: give one of {', '.join(get_args(Mode))}"
            raise UsageError(msg)
        self.ledger, self.mode, self.classify = ledger, mode, classify
        self.contracts: dict[str, Contract] = {}
        self._previewed: dict[str, Contract] = {}
        self.observations: deque[Observation] = deque(maxlen=1000)
        self._site = site_of(
            ledger,
            classify=classify,
            read=read,
            ask=ask,
            policy=policy,
            clock=clock,
            secret=secret,
            awaits=self._awaits,
            contracts=self.contracts,
        )
        for contract in listed_contracts(contracts):
            self.add(contract)

    turn = staticmethod(turn)

    def add(self, contract: Contract) -> None:
        """Guard one more tool, and the one that previews it. An equal contract changes nothing."""
        check_contract(contract)
        check_reads(contract, self.contracts)
        if contract.read_back is not None and self._site.read is None:
            msg = f"the contract of {contract.tool} declares a read-back: give the guard read="
            raise UsageError(msg)
        known = self.contracts.setdefault(contract.tool, contract)
        if known is not contract and known != contract:
            raise UsageError(two_contracts(contract.tool, self._previewed.get(contract.tool)))
        if contract.confirm is not None and contract.confirm.preview is not None:
            preview = contract.previewing
            write = self._previewed.setdefault(preview.tool, contract)
            if write != contract:
                raise UsageError(two_contracts(preview.tool, write))
            self.add(preview)

    async def carry(self, hands: Hands, request: Request) -> Outcome:
        """Carry out one call, as the mode says."""
        if self.mode == "off":
            with sending({}):
                return Done(await hands.call(request.send, request.plain, {}))
        if self.mode == "observe":
            return await self._observed(hands, request)
        (contract, request), site = self._checked(request), self._site
        hands.refuse(request.tool, request.send)
        if contract.effect == "read":
            return await read_through(contract, site, hands, request)
        begun = begin(contract, request, site)
        try:
            return await self._carried(hands, request, begun)
        except StrayError as stray:
            answer = Unresolved(about(stray.record).id, "contract_changed", tool=contract.tool)
            return replace(answer, text=explain(answer))

    async def _carried(self, hands: Hands, request: Request, begun: Call) -> Outcome:
        contract, site, rule = begun.contract, self._site, begun.contract.confirm
        if rule is not None and previews(contract, request):
            return await preview(begun, rule, site, hands)
        call = await named(begun, site, hands)
        if hands.cancelled is not None:
            raise hands.cancelled
        if isinstance(call, Conflict):
            answer = Unresolved(about(call.record).id, "key_conflict", tool=request.tool)
            return replace(answer, text=explain(answer, call.fields))
        if rule is not None:
            return await confirmed(call, rule, site, hands)
        return await Driver(call, site, hands).run()

    async def turn_down(self, hands: Hands, request: Request) -> bool:
        """Give an action up before it is sent; return whether that was in time."""
        if self.mode != "guard":
            return False
        contract, request = self._checked(request)
        if contract.effect == "read":
            raise UsageError(f"{request.tool} is a read, so there is nothing to reject")
        begun = begin(contract, request, self._site)
        try:
            return await reject(begun, self._site, hands)
        except StrayError:
            return False

    async def _observed(self, hands: Hands, request: Request) -> Done:
        """Let the call pass; nothing that an observer does may change what the caller sees."""
        direct = Direct(request, hands)
        try:
            note = await observe(request, self.begun, self._site, hands, direct)
        except Exception as error:  # noqa: BLE001 - an observer that fails must not stop the call
            contract = self.contracts.get(request.tool)
            log_failure(contract, f"a call of {request.tool} was not observed", error)
        else:
            self.observations.append(note)
            _log.info("observed %s: would %s %s", note.tool, note.would, note.reason)
        return await direct.done()

    def begun(self, request: Request) -> Call | None:
        """Name a call's action, without a claim; None for a read."""
        contract, request = self._checked(request)
        passes = contract.effect == "read" or previews(contract, request)
        return None if passes else begin(contract, request, self._site)

    def stopped(self, call: Call, record: Record) -> Unresolved | None:
        """Return how an open record waits for a person who was asked; None: it does not."""
        now = self._site.clock.now()
        waits = record.asked_at is not None and record.answer is None
        if not waits or record.lease > now.latest:
            return None
        row = decide(call.contract.terms, record, now, self._site.policy).row
        outcome = Unresolved(about(record).id, row, tool=record.tool)
        return replace(outcome, text=explain(outcome, lapsed=lapsed(call, record, self._site)))

    def _checked(self, request: Request) -> tuple[Contract, Request]:
        """The contract, and the call with arguments that can be read."""
        check_request(request)
        tool = request.tool
        if tool not in self.contracts:
            known = ", ".join(sorted(self.contracts)) or "none"
            msg = f"no contract for the tool {tool!r} (there are: {known}): add one, nothing sent"
            raise UsageError(msg)
        given = readable(tool, request.arguments)
        whole = given is request.arguments
        contract = self._previewed.get(tool, self.contracts[tool])
        return contract, request if whole else replace(request, arguments=given)
