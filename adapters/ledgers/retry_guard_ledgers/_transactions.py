"""A write transaction on a connection that commits each statement by itself."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Hold the write lock; commit at the end, roll back on any exception.

    An interrupt can come where nothing can catch it, such as within the rolling back itself:
    what it leaves behind is rolled back by the next transaction.
    """
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
