"""What an operator trusts of a server, as it stands in the file: also while a proxy runs."""

from collections.abc import Mapping
from types import MappingProxyType

from retry_guard_mcp_proxy._kept import Kept, KeptError, Stamp
from retry_guard_mcp_proxy._naming import shown_all
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._trust import Pin, pins_in

_NONE: Mapping[str, Pin] = MappingProxyType({})


class Pins:
    """The pins of a server, read anew where the file is another one. `now`: those that count."""

    def __init__(self, kept: Kept | None) -> None:
        """Read them. `kept`: what is kept of the server; None: nothing is, so there are none."""
        self._kept = kept
        self._stamp: Stamp = None
        self.now: Mapping[str, Pin] = _NONE
        self.read()

    def are_old(self) -> bool:
        """Whether the file is another one than was read; costs one look at it."""
        try:
            return self._kept is not None and self._kept.stamp() != self._stamp
        except KeptError:
            return bool(self.now)

    def read(self) -> None:
        """Read them anew; what cannot be read, or may be another's, is one line, and no pin."""
        if self._kept is None:
            return
        try:
            self._stamp = self._kept.stamp()  # before it is read, so that no change is missed
            self.now, odd = pins_in(self._kept.trusted())
        except KeptError as error:
            self.now = _NONE
            note(f"nothing that the server states is trusted: {error}")
            return
        if odd:
            what = "not trusted, since nothing can be read of what the file of trust says of it"
            note(f"{what} (see retry-guard contracts trust): {shown_all(odd)}")
