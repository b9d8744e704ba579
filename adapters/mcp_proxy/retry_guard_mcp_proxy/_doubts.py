"""Calls that differ in nothing but what their server alone calls a key: one or two, who knows?

A new key is no new action, and another text is one: which of them it is, an operator says, with a
contract or with trust. Until then such a call is not sent, and is not told that it is done.
"""

from dataclasses import replace

from retry_guard import Contract, Done, Outcome, Unresolved, explain
from retry_guard_contracts import decode, differing
from retry_guard_core import Record
from retry_guard_ledgers import about
from retry_guard_mcp_proxy._messages import Message


def undoubted(
    outcome: Outcome, record: Record | None, arguments: Message, apart: Contract | None
) -> Outcome:
    """Return the outcome; where it is that of a call in doubt, what the guard says instead.

    `record`: what counted for the call. `apart`: the contract by which calls are told apart also
    by a key that is in doubt; None: there is no doubt.
    """
    if apart is None or record is None or not isinstance(outcome, Done):
        return outcome
    fields = differing(apart, decode(about(record).arguments), arguments)
    if not fields:
        return outcome
    refused = Unresolved(about(record).id, "differs", tool=apart.tool)
    return replace(refused, text=explain(refused, fields))
