"""The rules of the retry guard: terms and policy, record, decision table, engine. No I/O."""

from retry_guard_core._engine import decide as decide, guarded as guarded
from retry_guard_core._model import End as End, GuardError as GuardError, Now as Now
from retry_guard_core._model import Policy as Policy, Record as Record, Reply as Reply
from retry_guard_core._model import Step as Step, Terms as Terms, Verdict as Verdict
