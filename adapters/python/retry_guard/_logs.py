"""What goes into the log when somebody else's code fails. No secret field can stand in it."""

import logging

from retry_guard_contracts import Contract

_log = logging.getLogger("retry_guard")


def log_failure(contract: Contract | None, what: str, error: BaseException) -> None:
    """Warn that something failed: with the error's traceback, where the contract hides nothing.

    Where it has secret fields, or there is no contract, with the error's class name only, since
    its text may hold what it was given.
    """
    if contract is None or contract.sealed:
        _log.warning("%s: %s", what, type(error).__name__)
    else:
        _log.warning("%s", what, exc_info=error)


def log_unasked(tool: str) -> None:
    """Warn that a key stayed behind."""
    _log.warning(
        "%s: a run did not ask for sent_headers(), so its key did not leave, and the call counts "
        "as one without a key: ask for it in the tool's own function, before it sends anything",
        tool,
    )
