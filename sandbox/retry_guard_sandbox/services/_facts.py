"""What is true of a service, where it differs from what its tools and contracts say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

RETENTION = 86_400.0
"""Seconds for which a service remembers a key, as all of them say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The switches of a service. As they are by default, it keeps what it says.

    `stores_errors`: it remembers the error that it answered under a key, and gives it again.
    `honours_keys`: False: it takes them and looks at none. `retention`: seconds for which it
    remembers one. `lags`, `bounds`: by tool, where they are not the ones that the tool states.
    """

    stores_errors: bool = False
    honours_keys: bool = True
    retention: float = RETENTION
    lags: Mapping[str, float] = field(default_factory=dict[str, float])
    bounds: Mapping[str, float] = field(default_factory=dict[str, float])


HONEST = Facts()
