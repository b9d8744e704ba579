"""A write transaction on a connection that commits each statement by itself."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Hold the write lock; commit at the end, roll back on any exception."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
