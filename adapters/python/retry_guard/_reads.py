"""Calls that change nothing."""

from retry_guard._attempt import asked
from retry_guard._call import Request, Site
from retry_guard._hands import Hands
from retry_guard._sent import sending
from retry_guard_contracts import Contract
from retry_guard_outcomes import Done, NotExecuted, Unknown


async def read(
    contract: Contract, site: Site, hands: Hands, request: Request
) -> Done | NotExecuted:
    """Let a read pass: never recorded, delayed or recognised, with the ledger up or down."""
    otherwise: Done | NotExecuted
    try:
        with sending({}):
            result = await hands.call(request.send, request.plain, {})
        otherwise = Done(result)
    except Exception as error:  # noqa: BLE001 - a read that failed changed nothing
        result, otherwise = error, NotExecuted(error)
    outcome = asked(contract, site, result) or otherwise
    return NotExecuted(outcome.error) if isinstance(outcome, Unknown) else outcome
