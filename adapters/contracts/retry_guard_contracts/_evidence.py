"""What a read-back shows: is the effect there, and is it this action's?

Absence is only said of a list that has the declared shape and is not known to be cut. Presence
is this action's (`ours`) only by a mark that nobody else has:

- the marker: the key, or an argument that the contract says no other write bears;
- a `unique` match: it can exist once, so it is there, whoever made it;
- nobody else writes there, it was created after the first send beyond the skew of the clocks,
  and the ledger ties it to no other action.

What was created before the first send, beyond the skew, and what the ledger ties to another
action, is another's. Everything in between is `foreign`: seen, not attributable.
"""

from collections.abc import Callable, Mapping
from typing import Any

from retry_guard_contracts._attribution import Case, named, whose
from retry_guard_contracts._batch_evidence import judge_items
from retry_guard_contracts._batches import effects_in
from retry_guard_contracts._document import FailedReadError, document
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._fields import Fixed
from retry_guard_contracts._matching import (
    UnreadableError,
    effect_id,
    has_control,
    is_cut,
    items_of,
    shaped,
    wanted,
)
from retry_guard_contracts._paths import find, parse_path
from retry_guard_contracts._schema import Contract
from retry_guard_contracts._sight import Sight


def read_arguments(
    contract: Contract, arguments: Mapping[str, Any], key: str | None = None
) -> dict[str, Any]:
    """Return the arguments of the contract's read-back, for a write's arguments and key.

    What the write omitted, and has no default, the read omits too.

    Raises:
        ArgumentError: the contract has no read-back, or the record lacks what it needs.
    """
    if contract.read_back is None:
        raise ArgumentError(f"{contract.tool}: its contract has no read_back; add one")
    made: dict[str, Any] = {}
    for name, source in contract.read_back.args.items():
        try:
            value = wanted(contract, source, arguments, key)
        except UnreadableError:
            msg = f"arguments.{source}: was kept as a hash only, so the read cannot name it"
            raise ArgumentError(msg) from None
        if value is not None or isinstance(source, Fixed):
            made[name] = value
    return made


def judge(
    contract: Contract,
    *,
    arguments: Mapping[str, Any],
    result: object,
    first_send: float,
    tied: Callable[[str], bool],
    key: str | None = None,
) -> Sight:
    """Return what the result of the contract's read-back shows of one action.

    `arguments`: those of the write, as recorded. `key`: under which it was sent. `first_send`:
    epoch seconds. `tied`: whether the ledger ties an effect, by its id, to another action; what
    it raises goes through, and nothing else is raised.
    """
    read = contract.read_back
    if read is None:
        return Sight("unbelieved")
    case = Case(contract, read, arguments, key, first_send, tied)
    try:
        listing = document(result)
    except FailedReadError:
        return Sight("failed")
    except Exception:  # noqa: BLE001 - a result that cannot be looked into shows nothing
        return Sight("unbelieved")
    try:
        items = items_of(read, listing)
        if not has_control(read, items):
            return Sight("unbelieved")
        cut = is_cut(read, listing)
        if contract.batch is not None:
            return judge_items(case, contract.batch, items, cut=cut)
        return _verdict(case, items, cut=cut)
    except (UnreadableError, ArgumentError):
        return Sight("unbelieved")


def effect_of(contract: Contract, result: object) -> str | None:
    """Return the service's name for an effect, from the tool's own result; None: not in it.

    Of a batch it is the names of all of them, as a JSON list. It is looked for
    where `read_back.result` puts `read_back.id`, else at `read_back.id` itself.
    """
    read = contract.read_back
    if read is None or read.id is None:
        return None
    fields = [field for field, source in (read.result or {}).items() if source == read.id]
    try:
        if contract.batch is not None:
            return effects_in(read, document(result))
        return effect_id(find(document(result), parse_path((fields or [read.id])[0])))
    except Exception:  # noqa: BLE001 - after the effect nothing may stand in the way of the result
        return None


def _verdict(case: Case, items: list[object], *, cut: bool) -> Sight:
    judged = [(item, whose(case, item)) for item in items]
    ours = [item for item, verdict in judged if verdict == "ours"]
    others = {verdict for _, verdict in judged}
    if len(ours) > 1 and not case.read.unique:
        return Sight("several")
    if ours:
        return Sight("ours", shaped(case.read, ours[0]), named(case, ours[0]))
    if "undecided" in others:
        return Sight("unbelieved")
    if "foreign" in others:
        return Sight("foreign")
    return Sight("unbelieved" if cut else "absent")
