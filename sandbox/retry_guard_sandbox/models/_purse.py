"""What models may cost, and what they have cost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from threading import Lock

from retry_guard_sandbox.models._dialect import Usage
from retry_guard_sandbox.models._errors import ModelError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency: those that are given, and those made."""

    given: float
    made: float

    def of(self, usage: Usage) -> float:
        """Return what this much costs; what caches make cheaper is not known here."""
        return (usage.given * self.given + usage.made * self.made) / _MILLION


def prices_of(text: str) -> dict[str, Price]:
    """Read a table of prices: `MODEL=GIVEN/MADE`, separated by commas; raises `ModelError`."""
    prices: dict[str, Price] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        model, _, both = part.rpartition("=")
        try:
            given, made = map(float, both.split("/"))
        except ValueError:
            given = made = -1.0
        if not (model and isfinite(given) and isfinite(made) and given >= 0 and made >= 0):
            raise ModelError(f"--price {part}: give MODEL=GIVEN/MADE, each for a million tokens")
        prices[model] = Price(given, made)
    return prices


class Purse:
    """Counts what all models together are given and make, and stops them at a cap.

    A request that was sent is paid for: with `n` episodes at a time, `n` answers may come after
    a cap is reached. `tokens`, `cost`: so far; `cost`: None where there are no prices.
    """

    def __init__(
        self,
        *,
        token_cap: int | None = None,
        cost_cap: float | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        """Nothing is spent yet. Raises `ModelError` for a cap that leaves nothing to spend."""
        if token_cap is not None and token_cap < 1:
            raise ModelError(f"--token-cap {token_cap}: give at least 1, else nothing can be asked")
        if cost_cap is not None and not (cost_cap > 0 and isfinite(cost_cap)):
            raise ModelError(
                f"--cost-cap {cost_cap:g}: give more than 0, else nothing can be asked"
            )
        self._token_cap, self._cost_cap, self._prices = token_cap, cost_cap, prices or {}
        self._lock, self._is_uncounted = Lock(), False
        self.tokens, self.cost = 0, 0.0 if self._prices else None

    def fit(self, models: Collection[str]) -> None:
        """Raise `ModelError` where prices are wanted, and are not those of these models."""
        if self._cost_cap is None and not self._prices:
            return
        for model in models:
            if model not in self._prices:
                raise ModelError(f"--price has none for {model}: add {model}=GIVEN/MADE")
        for model in self._prices:
            if model not in models:
                raise ModelError(f"--price {model}: no --model is called so")

    def empty(self) -> str:
        """Return why nothing may be asked any more; empty: it may."""
        if self._token_cap is None and self._cost_cap is None:
            return ""
        if self._is_uncounted:
            return "an answer does not count its tokens, so no cap can hold"
        if self._token_cap is not None and self.tokens >= self._token_cap:
            return f"--token-cap {self._token_cap:,} reached"
        if self._cost_cap is not None and (self.cost or 0.0) >= self._cost_cap:
            return f"--cost-cap {self._cost_cap:g} reached"
        return ""

    def note(self, model: str, usage: Usage | None) -> None:
        """Count an answer."""
        if usage is None:
            self._is_uncounted = True
            return
        with self._lock:
            self.tokens += usage.given + usage.made
            if self.cost is not None and model in self._prices:
                self.cost += self._prices[model].of(usage)
