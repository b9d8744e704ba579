"""What the operator says of a proxy."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Mode = Literal["guard", "observe", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to reach the server, and how to guard it.

    `command`: starts the server. `url`: where it is instead, over HTTP; `headers`: names and
    values that each request to it has, which are never shown. `contracts`: a contracts file.
    `ledger`: its URL; None: the user's own. `scope`: the account that the tools act for; None: the
    user of the system, and this server: its URL, or its command in this folder. `server`: which
    contracts of the file count; None: all.
    `show_key`: the client sees the parameters for keys. `answer_within`: seconds after which a
    guarded call is answered, whatever is known then; None: as was measured of the client. `asks`:
    a person may be asked, where the client shows forms. `mode`: `observe` lets all pass as it is
    and keeps what a guard would have done, `off` lets it pass.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    contracts: Path | None = None
    ledger: str | None = None
    scope: str | None = None
    server: str | None = None
    show_key: bool = False
    answer_within: float | None = None
    asks: bool = True
    mode: Mode = "guard"
