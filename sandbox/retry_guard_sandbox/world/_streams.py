"""Chance, without state: each draw is named, so no draw can shift another.

A draw is keyed by the seed, its purpose and ordinals that the client can see (its n-th request,
its n-th key). So what happens unseen, such as a second execution, changes no later draw.
"""

from hashlib import blake2b
from struct import unpack_from


class Streams:
    """All draws of one episode. Equal names give equal values, on every machine.

    It remembers what was drawn, since the arms of an episode draw the same.
    """

    __slots__ = ("_drawn", "_root")

    def __init__(self, *seed: int | str) -> None:
        """`seed`: what decides everything; in an episode the seed and the name of the task."""
        self._root = blake2b(key=blake2b(repr(seed).encode()).digest())
        self._drawn: dict[tuple[str, tuple[int | str, ...]], bytes] = {}

    def token(self, purpose: str, *ordinals: int | str, size: int = 8) -> str:
        """Return `size` bytes in hexadecimal; `size` is at most 64."""
        return self._draw(purpose, ordinals)[:size].hex()

    def secret(self, purpose: str) -> bytes:
        """Return 32 bytes."""
        return self._draw(purpose, ())[:32]

    def shares(self, count: int, purpose: str, *ordinals: int | str) -> tuple[float, ...]:
        """Return numbers from 0 up to, but without, 1; there are at most eight in a draw."""
        drawn = unpack_from(f">{count}Q", self._draw(purpose, ordinals))
        return tuple([(number >> 11) / 2**53 for number in drawn])

    def _draw(self, purpose: str, ordinals: tuple[int | str, ...]) -> bytes:
        drawn = self._drawn.get((purpose, ordinals))
        if drawn is None:
            root = self._root.copy()  # quicker than a new one
            root.update(f"{purpose}{ordinals!r}".encode())
            drawn = self._drawn[purpose, ordinals] = root.digest()
        return drawn
