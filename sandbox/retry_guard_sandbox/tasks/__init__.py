"""The tasks of the sandbox, by name; each service has its own module."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_sandbox.tasks import _billing, _database, _deploy, _mail, _social, _tickets
from retry_guard_sandbox.tasks._intended import Intended, Made, intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for module in (_social, _billing, _tickets, _mail, _database, _deploy)
        for task in module.TASKS
    }
)

__all__ = ["TASKS", "Intended", "Made", "Ref", "Step", "Task", "intended"]
