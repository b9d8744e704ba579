"""Nine broken guards: each is the real source with one rule taken out of it.

The texts to replace are counted, so a mutant that no longer fits the source fails loudly.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

DECIDE, ENGINE = "retry_guard_core._decide", "retry_guard_core._engine"
LEDGER, DRIVER = "toy_ledger", "toy_driver"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One replacement in one module. `count`: how often the text has to stand there."""

    name: str
    module: str
    old: str
    new: str
    count: int = 1


MUTANTS = (
    Mutant(
        "later_proof_settles_the_whole_action",
        ENGINE,
        'if end.kind == "not_executed" and (not others or (end.note == "rejected" and stored)):',
        'if end.kind == "not_executed":',
    ),
    Mutant(
        "absence_is_trusted_at_once",
        DECIDE,
        "proven = missed and ",
        'proven = seen == "absent" or False and ',
    ),
    Mutant(
        "an_expired_lease_runs_again",
        ENGINE,
        "yield from _pursue(known, ",
        "yield from _pursue(replace(known, ended=None), ",
    ),
    Mutant(
        "sent_after_a_refused_save",
        ENGINE,
        "                if not held:\n",
        "                if held is None:\n",
    ),
    Mutant(
        "a_new_key_on_re_issue",
        ENGINE,
        "record = replace(record, tries=record.tries + 1, seen=None, ended=None)",
        "record = replace(record, tries=record.tries + 1, seen=None, ended=None, key=None)",
    ),
    Mutant(
        "the_second_callers_arguments_are_sent",
        DRIVER,
        "self.world.send(action.id, record.key, action.arguments)",
        "self.world.send(action.id, record.key, about(self.call).arguments)",
    ),
    Mutant(
        "unresolved_is_matched_only_in_its_turn",
        LEDGER,
        "return about(record)[:2] == about(claim)[:2]",
        "return about(record)[:2] == about(claim)[:2] and record.turn == claim.turn",
    ),
    Mutant(
        "did_not_happen_is_believed_too_early",
        DECIDE,
        'cleared = record.answer == "again" or (note and ',
        'cleared = record.answer == "again" or (note or False and ',
    ),
    Mutant(
        "anothers_effect_is_adopted",
        DRIVER,
        'return "ours" if exclusive else "foreign"',
        'return "ours"',
    ),
)


def source_of(name: str) -> str:
    """Return a module's text."""
    file = import_module(name).__file__
    assert file is not None
    return Path(file).read_text(encoding="utf-8")


def executed(name: str, source: str) -> ModuleType:
    """Return a new module of that text; what imports the real one is left as it is."""
    module = ModuleType(name)
    sys.modules[name] = module  # dataclasses look their module up
    exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102 - the source is ours
    return module


def load(mutant: Mutant) -> ModuleType:
    """Return the broken module; where the decision is broken, an engine that asks it."""
    source = source_of(mutant.module)
    found = source.count(mutant.old)
    assert found == mutant.count, f"{mutant.name} stands {found} times in {mutant.module}"
    name = f"{mutant.module}_{mutant.name}"
    module = executed(name, source.replace(mutant.old, mutant.new))
    if mutant.module != DECIDE:
        return module
    engine = executed(f"{name}_engine", source_of(ENGINE))
    vars(engine)["decide"] = module.decide
    return engine


def mutants() -> Iterator[tuple[str, ModuleType]]:
    """Yield each broken guard's name and module.

    That of the core has a broken `guarded`; the others are a broken `toy_ledger` or `toy_driver`.
    """
    for mutant in MUTANTS:
        yield mutant.name, load(mutant)
