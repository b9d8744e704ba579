"""What a read showed."""

from dataclasses import dataclass
from typing import Any, Literal

Seen = Literal["absent", "some", "ours", "several", "foreign", "unbelieved", "failed"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a read showed.

    `some`: of a batch, some items and not all; `missing` are the places of the others in its list.
    `unbelieved`: a known item is missing, the list is cut, its shape is not as declared, or it
    cannot be told which items of a batch are missing. `failed`: the read itself reports an error.
    `value`, `effect_id`: of what is `ours`, or of those `some`: the result in the tool's own
    shape, and the service's name for the effect (of a batch, their names as a JSON list).
    """

    seen: Seen
    value: Any = None
    effect_id: str | None = None
    missing: tuple[int, ...] = ()
