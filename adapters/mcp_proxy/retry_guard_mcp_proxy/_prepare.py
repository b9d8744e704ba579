"""What takes time to set up: the guard with its contracts and its ledger."""

from collections.abc import Callable, Iterable
from functools import partial

from retry_guard import Contract, UsageError, check_declared, load_contracts
from retry_guard_ledgers import beside, open_ledger
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._desk import GuardDesk
from retry_guard_mcp_proxy._guarding import Desk
from retry_guard_mcp_proxy._kept import Kept
from retry_guard_mcp_proxy._naming import shown, shown_all
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._observing import ObservingDesk
from retry_guard_mcp_proxy._off import OffDesk
from retry_guard_mcp_proxy._parts import Parts
from retry_guard_mcp_proxy._pins import Pins
from retry_guard_mcp_proxy._scope import scope_of, scope_of_url, server_of, server_of_url
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._upstream import Upstream


def prepare(settings: Settings) -> Callable[[Client, Upstream, Session], Desk]:
    """Read the contracts and open the ledger; return what makes the desk. Raises `GuardError`.

    Where the guard is off it does neither: what is broken there is what it may be off for.
    """
    if settings.mode == "off":
        return lambda _client, _upstream, _session: OffDesk()
    mine = _contracts(settings)
    check_declared(mine)
    ledger, kept = open_ledger(settings.ledger), kept_of(settings)
    pins = Pins(kept)
    _name_counted([*mine, *(pin.contract for pin in pins.now.values())])
    parts = Parts(
        ledger=ledger,
        contracts=mine,
        scope=settings.scope or _scope_of(settings),
        show_key=settings.show_key,
        answer_within=settings.answer_within,
        asks=settings.asks,
        pins=pins,
        kept=kept,
    )
    return partial(ObservingDesk if settings.mode == "observe" else GuardDesk, parts)


def _contracts(settings: Settings) -> list[Contract]:
    """Return those of this server. Raises `GuardError`, also for a server that the file lacks."""
    read = [] if settings.contracts is None else load_contracts(settings.contracts)
    here = [one for one in read if "://" not in one.tool]  # else an HTTP route
    named = sorted({one.server for one in here if one.server is not None})
    wanted = settings.server
    if wanted is not None and (not wanted.strip() or (named and wanted not in named)):
        what = f"no contract is of {shown(wanted)}" if wanted.strip() else "it names no server"
        said = f"the file names {shown_all(named)}" if named else "leave it out, or name one"
        raise UsageError(f"--server: {what}: {said}")
    mine = [one for one in here if wanted is None or one.server in (None, wanted)]
    for contract in mine:
        _check_headers(contract, over_http=settings.url is not None)
    return mine


def kept_of(settings: Settings) -> Kept | None:
    """Return what is kept of this server beside the ledger; None: nothing is."""
    folder, url = beside(settings.ledger), settings.url
    if folder is None:
        return None
    server = server_of(settings.command) if url is None else server_of_url(url)
    return Kept(folder, server, settings.mode)


def _check_headers(contract: Contract, *, over_http: bool) -> None:
    """Raise `UsageError` for a key that needs headers which there are not."""
    key = contract.key
    if key is not None and key.param.startswith("header:") and not over_http:
        msg = f"{contract.tool}: a server that is a process gets no headers: name an argument"
        raise UsageError(f"{msg}, or meta:NAME, for the key")
    if key is not None and key.ack is not None and key.ack.startswith("header:"):
        msg = f"{contract.tool}: no header of a response is read here, so no re-issue would count"
        raise UsageError(f"{msg}: name a path in the result for key.ack, or leave it out")


def _name_counted(contracts: Iterable[Contract]) -> None:
    """Name the contracts of which a field counts for nothing here."""
    counted = sorted({one.tool for one in contracts if one.twins == "count"})
    if counted:
        why = "twins: count counts nothing here, so equal calls in one turn are one action"
        note(f"{why}: {', '.join(map(shown, counted))}")


def _scope_of(settings: Settings) -> str:
    return scope_of(settings.command) if settings.url is None else scope_of_url(settings.url)
