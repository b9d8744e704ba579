"""Chance, without state: each draw is named, so no draw can shift another.

A draw is keyed by the seed, its purpose and ordinals that the client can see (its n-th request,
its n-th key). So what happens unseen, such as a second execution, changes no later draw.
"""

from hashlib import blake2b


class Streams:
    """All draws of one episode. Equal names give equal values, on every machine."""

    __slots__ = ("_root",)

    def __init__(self, *seed: int | str) -> None:
        """`seed`: what decides everything; in an episode the seed and the name of the task."""
        self._root = blake2b(repr(seed).encode(), digest_size=32).digest()

    def token(self, purpose: str, *ordinals: int | str, size: int = 8) -> str:
        """Return `size` bytes in hexadecimal; `size` is at most 64."""
        return self._draw(purpose, ordinals, size).hex()

    def secret(self, purpose: str) -> bytes:
        """Return 32 bytes."""
        return self._draw(purpose, (), 32)

    def between(self, low: float, high: float, purpose: str, *ordinals: int | str) -> float:
        """Return a number from `low` up to, but without, `high`."""
        share = int.from_bytes(self._draw(purpose, ordinals, 6), "big") / 2**48
        return low + (high - low) * share

    def _draw(self, purpose: str, ordinals: tuple[int | str, ...], size: int) -> bytes:
        name = f"{purpose}{ordinals!r}".encode()
        return blake2b(name, digest_size=size, key=self._root).digest()
