"""Moments in time, from what services and models write for them."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

_TIME = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?"
    r"\s?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)\s*",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Instant(NamedTuple):
    """A moment in epoch seconds, and the length of time that its spelling leaves open."""

    seconds: Decimal
    resolution: Decimal


def instant(value: object) -> Instant | None:
    """Return the moment that a value names; None if it names none.

    Understood are epoch seconds (below 10^11: what is larger counts something else), aware
    datetimes, and ISO 8601 text with a time and an offset.
    """
    match value:
        case bool():
            return None
        case int():
            moment = Instant(Decimal(value), Decimal(1))
        case float() | Decimal():
            moment = Instant(Decimal(str(value)), Decimal(0))
        case datetime():
            return _of_datetime(value)
        case str():
            found = _TIME.fullmatch(value)
            return _of_text(found) if found else None
        case _:
            return None
    return moment if moment.seconds.is_finite() and abs(moment.seconds) < 10**11 else None


def _of_datetime(value: datetime) -> Instant | None:
    offset = value.utcoffset()
    if offset is None:
        return None
    ticks = (value.replace(tzinfo=UTC) - _EPOCH - offset) // timedelta(microseconds=1)
    return Instant(Decimal(ticks).scaleb(-6), Decimal("1e-6"))


def _of_text(found: re.Match[str]) -> Instant | None:
    day, hour, minute, second, part, _, sign, hours, minutes = found.groups()
    try:
        days = date.fromisoformat(day).toordinal() - _EPOCH.toordinal()
    except ValueError:
        return None
    clock = int(hour), int(minute), int(second or 0)
    ahead = int(hours or 0) * 60 + int(minutes or 0)
    if clock > (23, 59, 59) or clock[1] > 59 or clock[2] > 59 or ahead >= 24 * 60:  # noqa: PLR2004 - a clock's own numbers
        return None
    whole = days * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    whole -= ahead * 60 * (-1 if sign == "-" else 1)
    places = len(part or "")
    if second is None:
        return Instant(Decimal(whole), Decimal(60))
    ticks = whole * 10**places + int(part or 0)
    digits = tuple(map(int, str(abs(ticks))))
    return Instant(Decimal((int(ticks < 0), digits, -places)), Decimal((0, (1,), -places)))
