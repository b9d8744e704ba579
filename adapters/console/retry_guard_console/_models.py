"""`ab --model`, and `ab --replay`: real models as agents, live or from a transcript."""

import argparse
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from retry_guard_console._outputs import told
from retry_guard_console._play import Play, Progress, Stop
from retry_guard_console._shared import complain, shown
from retry_guard_console._transcript import Nowhere, Record, Replay, troubles_of
from retry_guard_core import GuardError

if TYPE_CHECKING:
    from retry_guard_sandbox import Row, Spec, models

OF_MODELS = ("base_url", "model_timeout", "token_cap", "cost_cap", "price", "record")
"""The options that only `--model` gives a meaning."""


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument_group(
        "models",
        "keys come from OPENAI_API_KEY and ANTHROPIC_API_KEY, addresses also from OPENAI_BASE_URL "
        "and ANTHROPIC_BASE_URL; --jobs says how many episodes run at a time",
    ).add_argument
    add("--model", metavar="NAMES", help="models as agents: openai:NAME (Chat Completions), "
        "openai-responses:NAME, anthropic:NAME")  # fmt: skip
    add("--base-url", metavar="URL", help="the address of their endpoint")
    add("--model-timeout", type=float, metavar="S", help="seconds to wait for it (default 120)")
    add("--token-cap", type=int, metavar="N", help="ask no more after so many tokens")
    add("--cost-cap", type=float, metavar="SUM", help="ask no more after this much, by --price")
    add("--price", metavar="TABLE", help="MODEL=GIVEN/MADE: of a million tokens, in any currency")
    add("--record", type=Path, metavar="FILE", help="write what was said to a new file")
    add("--replay", type=Path, metavar="FILE", help="ask nobody: play what --record wrote")


def staged_models(given: argparse.Namespace, specs: Sequence["Spec"]) -> Play:
    """Ask each model one small thing, and return the run. Raises `GuardError`."""
    from retry_guard_sandbox import models

    if not models_of(given):
        raise GuardError("--model names none: give a name such as openai:NAME")
    timeout = models.TIMEOUT if given.model_timeout is None else given.model_timeout
    if not (isfinite(timeout) and timeout > 0):
        raise GuardError(f"--model-timeout {timeout:g}: give seconds, more than 0")
    prices = models.prices_of(given.price or "")
    purse = models.Purse(token_cap=given.token_cap, cost_cap=given.cost_cap, prices=prices)
    cast = models.Cast(
        models_of(given), models.Access(base_url=given.base_url, timeout=timeout), purse
    )
    if given.record is not None and given.record.exists():
        raise GuardError(f"--record {given.record}: it is there already; name a new file")
    try:
        cast.probe()
    except GuardError:
        cast.close()
        raise
    return _Live(specs, cast, purse, given)


def staged_replay(path: Path) -> Play:
    """Return the run that a transcript holds; raises `GuardError`."""
    return Replay(path)


def models_of(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the names of `--model`, each once."""
    names = map(str.strip, (given.model or "").split(","))
    return tuple(dict.fromkeys(filter(None, names)))


class _Live:
    """A run that asks models."""

    def __init__(
        self,
        specs: Sequence["Spec"],
        cast: "models.Cast",
        purse: "models.Purse",
        given: argparse.Namespace,
    ) -> None:
        from retry_guard_sandbox import models

        self._specs, self._cast, self._purse, self._given = specs, cast, purse, given
        self._run = models.Run()
        self._file = Nowhere()
        self.total, self.meter = len(specs), self._run.meter

    @contextmanager
    def opened(self) -> Generator[None]:
        from retry_guard_sandbox import models

        path: Path | None = self._given.record
        capped = "with a cap" if self._given.token_cap or self._given.cost_cap else "without a cap"
        names = ", ".join(map(shown, models_of(self._given)))
        complain(f" ab: asking {names}: {self.total:,} episodes, {capped}")
        with ExitStack() as stack:
            stack.callback(self._cast.close)
            if path is not None:
                with told("record", path):
                    file = stack.enter_context(path.open("x", encoding="utf-8", newline="\n"))
                self._file = Record(path, file)
                self._file.write(models.opening_line(self.total))
            yield

    def rows(self, progress: Progress, stop: Stop) -> Iterator["Row"]:
        return self._run.live(
            self._specs,
            self._cast,
            jobs=self._given.jobs,
            progress=progress,
            stop=stop,
            record=self._file.write,
        )

    def remarks(self) -> Iterable[str]:
        yield from troubles_of(self._run)
        purse, cost = self._purse, ""
        if purse.cost is not None:
            cost = f", which cost {purse.cost:,.4f} by --price"
        yield f"{purse.tokens:,} tokens{cost}"
        if self._cast.repeated:
            yield f"{self._cast.repeated} requests to models were sent again, at a cost not known"
