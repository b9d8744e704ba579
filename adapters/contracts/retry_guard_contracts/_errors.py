"""What can be wrong before anything is sent.

GuardError
├── ContractError   a contract, or a file of them, is wrong: the operator mends it
└── ArgumentError   a call cannot be guarded with these arguments: the caller mends them
"""

from retry_guard_core import GuardError


class ContractError(GuardError):
    """A contracts file is wrong. `problems`: one line each, `source:line: field: what to do`."""

    def __init__(self, *problems: str) -> None:
        """Keep every problem; the message is all of them, one per line."""
        super().__init__("\n".join(problems))
        self.problems = problems


class ArgumentError(GuardError):
    """Arguments (or a stored form of them) that cannot be guarded. Nothing was sent.

    The message begins with the place, such as `arguments.items[2].price`.
    """
