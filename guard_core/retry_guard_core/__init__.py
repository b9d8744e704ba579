"""The rules of the retry guard: terms and policy, record, decision table, engine. No I/O."""

from retry_guard_core._decide import Verdict as Verdict, decide as decide
from retry_guard_core._engine import Reply as Reply, Step as Step, guarded as guarded
from retry_guard_core._model import End as End, GuardError as GuardError, Now as Now
from retry_guard_core._model import Policy as Policy, Record as Record, Terms as Terms
