"""The tasks of the sandbox, by name; each service has its own module."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_sandbox.tasks import _billing, _tickets
from retry_guard_sandbox.tasks._task import Intended, Made, Ref, Step, Task

TASKS: Mapping[str, Task] = MappingProxyType(
    {task.name: task for task in (*_billing.TASKS, *_tickets.TASKS)}
)

__all__ = ["TASKS", "Intended", "Made", "Ref", "Step", "Task"]
