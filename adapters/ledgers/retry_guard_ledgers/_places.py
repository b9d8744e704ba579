"""Where the records lie that this process has met lately."""

import sqlite3

_LIMIT = 1_000
_SEARCH = "SELECT seq FROM records WHERE id = ?2 AND scope = ?1"


class Places:
    """The rows of the latest records, by scope and id. Rows never move, so none is ever wrong."""

    def __init__(self) -> None:
        """Know none."""
        self._young: dict[tuple[str, str], int] = {}
        self._old: dict[tuple[str, str], int] = {}

    def remember(self, scope: str, name: str, row: int) -> None:
        """Know one more; of those not met lately, forget most."""
        self._young[scope, name] = row
        if len(self._young) > _LIMIT:
            self._old, self._young = self._young, {}

    def row(self, db: sqlite3.Connection, scope: str, name: str) -> int | None:
        """Return the row of a record; None: there is no such record."""
        known = self._young.get((scope, name)) or self._old.get((scope, name))
        if known is None:
            found = db.execute(_SEARCH, (scope, name)).fetchall()
            known = found[0][0] if found else None
            if known is not None:
                self.remember(scope, name, known)
        return known
