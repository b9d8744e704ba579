"""Asks the person at the client what became of an action, and stores what is said."""

import asyncio
import logging
import time
from typing import Any, Literal

from retry_guard import Answer, LedgerError, Question, Unresolved, UsageError, question_of, settle
from retry_guard_ledgers import HeldError, OpenedLedger
from retry_guard_mcp_proxy._asked import CANCELLED
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._form import ELICIT, answer_in, for_person, form, takes_forms
from retry_guard_mcp_proxy._messages import Message, encoded, is_object, request as request_of
from retry_guard_mcp_proxy._session import Session, abilities_in
from retry_guard_mcp_proxy._state import Reply, States
from retry_guard_mcp_proxy._waiting import Waiting

_log = logging.getLogger("retry_guard")

ASKED = 600.0
"""Seconds in which a person has to answer, where the client itself has no limit."""
HELD, _POLL = 300.0, 0.1
"""Seconds that an answer waits for a call that holds the action, and between two looks."""
_ASKED_ANEW = frozenset({"noted", "repeat_escalate"})
Said = Literal["settled", "refused", "unreached"]
"""Whether an answer was stored; a person was asked in vain; or nobody was asked."""


class People:
    """The person at one client. Each question is put once."""

    def __init__(
        self, ledger: OpenedLedger, scope: str, client: Client, session: Session, *, asks: bool
    ) -> None:
        """`asks`: the operator lets the guard ask."""
        self._ledger, self._scope, self._asks = ledger, scope, asks
        self._client, self._session = client, session
        self._waiting, self._put = Waiting(), set[str]()
        self.states = States(ledger.secret)

    def told(self, response: Message) -> bool:
        """Take an answer; return whether it is to a question of the guard's own."""
        return self._waiting.settle(response)

    def leave(self) -> None:
        """Note that nobody can answer any more."""
        self._waiting.fail(ClosedError("the client is gone"))

    async def question(self, asker: Asker | None, outcome: Unresolved) -> Question | None:
        """Return what to ask, once; None: nobody can be asked, or was asked already."""
        if asker is None or asker.cancelled or not self._can_ask(asker.request):
            return None
        question = await asyncio.to_thread(self._about, outcome)
        if question is None or question.id in self._put:
            return None
        self._put.add(question.id)
        return for_person(question, outcome)

    def _can_ask(self, request: Message) -> bool:
        return self._asks and takes_forms(abilities_in(request, self._session))

    def _about(self, outcome: Unresolved) -> Question | None:
        try:
            record = self._ledger.get(self._scope, outcome.action)
            asked = record is not None and record.asked_at is not None
            if asked and outcome.reason not in _ASKED_ANEW:
                return None
            return question_of(self._ledger, self._scope, outcome)
        except LedgerError as error:
            _log.warning("no person is asked: %s", error)
            return None

    async def ask(self, asker: Asker, question: Question) -> Said:
        """Ask, for as long as the call is waited for, and store what is said."""
        given = self._waiting.new_id()
        with self._waiting.answer_to(given) as future:
            if not await self._client.tell(encoded(request_of(given, ELICIT, form(question)))):
                return "unreached"
            over = asyncio.create_task(asker.over.wait())
            either: set[asyncio.Future[Any]] = {future, over}
            try:
                first = asyncio.FIRST_COMPLETED
                await asyncio.wait(either, timeout=ASKED, return_when=first)
            finally:
                over.cancel()
                if not future.done():
                    await self._withdraw(given)
            if not future.done():
                return "refused"
            said = {} if future.exception() else future.result()
        if "result" not in said:
            return "unreached"
        return await self.take(Reply(question.id, said["result"]))

    async def take(self, reply: Reply) -> Said:
        """Store what was said to a question that is still open."""
        answer = answer_in(reply.said)
        if answer is None:
            if is_object(reply.said) and reply.said.get("action") == "accept":
                _log.warning("an answer to %s was not understood: it is not used", reply.question)
            return "refused"
        try:
            stored = await self._stored(reply.question, answer)
        except (LedgerError, UsageError) as error:
            _log.warning("the answer to %s was not stored: %s", reply.question, error)
            self._put.discard(reply.question)  # nothing is known of it: it is put again
            return "unreached"
        if not stored:
            _log.warning("an answer to %s came too late: it settles nothing", reply.question)
        return "settled"

    async def _stored(self, question: str, answer: Answer) -> bool:
        """Store it, once no call holds the action any more: an equal one may just read it back."""
        until, waits = time.monotonic() + HELD, False
        while True:
            try:
                return await asyncio.to_thread(settle, self._ledger, self._scope, question, answer)
            except HeldError:
                if time.monotonic() >= until:
                    raise
            if not waits:
                _log.warning("an answer to %s waits for the call that holds it", question)
            waits = True
            await asyncio.sleep(_POLL)

    async def _withdraw(self, given: str) -> None:
        params = {"requestId": given, "reason": "the call is not waited for any more"}
        await self._client.tell(encoded({"jsonrpc": "2.0", "method": CANCELLED, "params": params}))
