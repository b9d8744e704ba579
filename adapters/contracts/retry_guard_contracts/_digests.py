"""Keyed digests, HMAC-SHA256, with the key's own part computed once."""

import hmac
from functools import lru_cache


def keyed(secret: bytes, data: bytes) -> bytes:
    """Return the 32 bytes of the keyed digest."""
    digest = _begun(secret).copy()
    digest.update(data)
    return digest.digest()


@lru_cache(maxsize=16)
def _begun(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod="sha256")
