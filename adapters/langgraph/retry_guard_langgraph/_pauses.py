"""Questions to a person by `interrupt()`, and their answers, each by the name of its question.

LangGraph hands the answers of a task out in the order in which its code asks. So the guard takes
its own out of a task's answers as soon as it sees them and keeps them in the ledger: a tool or a
node that asks for something itself never gets what was meant for the guard, nor the reverse.
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from retry_guard import Answer, LedgerError, Question, Unresolved, UsageError, question_of, settle
from retry_guard_langgraph._payload import answers_in, payload
from retry_guard_ledgers import Ledger

_log = logging.getLogger("retry_guard")

# Names that LangGraph keeps to itself; where they are missing, a run is taken as one that
# cannot pause, and is answered in text.
_CHECKPOINTER, _SCRATCHPAD = "__pregel_checkpointer", "__pregel_scratchpad"


class Pauses:
    """Asks, and stores what was answered. `count`: how many answers were stored here."""

    def __init__(self, ledger: Ledger) -> None:
        """Nothing is asked yet."""
        self._ledger, self._lock, self.count = ledger, threading.Lock(), 0
        self._process = os.getpid()

    def _alone(self) -> threading.Lock:
        """Return the lock of this process: that of a parent process may be held for ever."""
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock

    def collect(self, config: RunnableConfig, scope: str) -> None:
        """Take the guard's answers out of those of this task, and store them."""
        pad = _part(config, _SCRATCHPAD)
        if pad is None:
            return
        with self._alone():
            for given in _taken(pad):
                self._store(scope, given)

    def ask(self, config: RunnableConfig, scope: str, outcome: Unresolved, seen: int) -> bool:
        """Pause the run with a question; False where nobody can be asked.

        True: an answer was stored since `count` was `seen`, so the call is to be made again.
        Raises what LangGraph pauses with.
        """
        with self._alone():
            if self.count != seen:
                return True
            question = question_of(self._ledger, scope, outcome)
            if question is None:
                return False
            pad = _part(config, _SCRATCHPAD)
            if pad is None or not _part(config, _CHECKPOINTER):
                _log.warning("no checkpointer, so no person is asked about: %s", outcome.text)
                return False
            return self._asked(pad, scope, question)

    def _asked(self, pad: Any, scope: str, question: Question) -> bool:
        stray = _unclaimed(pad, take=True)
        if stray is not None:
            _log.warning("an answer names no question (give %r): it is not used", question.id)
        while True:
            given = interrupt(payload(question))
            if self._store(scope, given):
                return True

    def _store(self, scope: str, given: object) -> bool:
        """Store answers; return whether any was taken."""
        before = self.count
        for question, answer in _readable(given):
            try:
                taken = settle(self._ledger, scope, question, answer)
            except (LedgerError, UsageError) as error:
                _log.warning("the answer to %s was not stored: %s", question, error)
            else:
                self.count += taken
        return self.count != before


def _readable(given: object) -> Iterator[tuple[str, Answer]]:
    try:
        yield from answers_in(given)
    except UsageError as error:
        _log.warning("an answer was not understood: %s", error)


def _part(config: RunnableConfig, name: str) -> Any:
    given: object = config.get("configurable") or {}
    return cast("Mapping[str, Any]", given).get(name)


def _taken(pad: Any) -> list[object]:
    """Remove the guard's answers from a task's, and return them."""
    given: list[object] = pad.resume
    ours = [each for each in given if _is_ours(each)]
    if ours:
        given[:] = [each for each in given if not _is_ours(each)]
    if _is_ours(_unclaimed(pad, take=False)):
        ours.append(_unclaimed(pad, take=True))
    return ours


def _unclaimed(pad: Any, *, take: bool) -> object:
    """The answer that a run was resumed with for whatever asks first; None: there is none."""
    found: object = pad.get_null_resume(take)
    return found


def _is_ours(given: object) -> bool:
    try:
        return any(True for _ in answers_in(given))
    except UsageError:
        return True
