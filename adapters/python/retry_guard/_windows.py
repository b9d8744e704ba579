"""Why a key carries an action on no more: a fact for a text, from contract and record."""

from dataclasses import replace
from math import inf

from retry_guard._call import Call, Site
from retry_guard._texts import Lapsed
from retry_guard_core import Record, Terms, decide

_EVER = 1e12
"""Seconds; beyond any deadline."""


def lapsed(call: Call, record: Record, site: Site) -> Lapsed | None:
    """Return how the key of an open action lapsed; None: that is not what stops it.

    The decision itself is asked: were the key kept for ever, it would go on with that.
    """
    terms = call.contract.terms
    if terms.tool in site.ignored or record.seen in ("ignored", "split") or not record.sends:
        return None
    kept = replace(terms, retention=inf)
    if _goes_on(terms, record, site) or not _goes_on(kept, record, site):
        return None
    if terms.retention is None:
        return Lapsed("unstated")
    is_over = site.clock.now().latest - record.sends[0] > terms.retention
    return Lapsed("over" if is_over else "short", terms.retention)


def _goes_on(terms: Terms, record: Record, site: Site) -> bool:
    """Whether the key would carry it on, in a call that has time, attempts and seen nothing."""
    policy, now = replace(site.policy, attempts=1, deadline=_EVER), site.clock.now()
    record = replace(record, seen=None, tries=0, answer=None, ended=now.earliest)
    return decide(terms, record, now, policy).row == "keyed"
