"""A stored value that may not be read by whoever sees the ledger, a report or an export of it.

The bytes are covered by a keyed stream, and a keyed digest shows whether they were changed.
Where no secret is configured the ledger's own is the key, which keeps them out of what is shown
of a ledger, not from one who has the file.
"""

import base64
import hashlib
import hmac
import os

from retry_guard_contracts._decoding import decode
from retry_guard_contracts._encoding import encode_result
from retry_guard_contracts._errors import ArgumentError

_VEILED, _NONCE, _TAG = "$veiled", 16, 32


def veil(stored: bytes, secret: bytes) -> bytes | None:
    """Return the stored form of a veiled value; None if it would be too long to keep."""
    nonce = os.urandom(_NONCE)
    covered = _covered(stored, nonce, secret)
    whole = nonce + covered + _digest(nonce + covered, secret)
    return encode_result({_VEILED: base64.b64encode(whole).decode()})


def unveil(veiled: bytes | None, secret: bytes) -> bytes | None:
    """Return what was veiled; None for what is not, or with another secret, or was changed."""
    try:
        held = None if veiled is None else decode(veiled)
        text = held.get(_VEILED) if isinstance(held, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any type
        whole = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (ValueError, ArgumentError):
        return None
    body, tag = whole[:-_TAG], whole[-_TAG:]
    if len(body) < _NONCE or not hmac.compare_digest(_digest(body, secret), tag):
        return None
    return _covered(body[_NONCE:], body[:_NONCE], secret)


def _covered(data: bytes, nonce: bytes, secret: bytes) -> bytes:
    key = hmac.digest(secret, b"veil:" + nonce, "sha256")
    stream = hashlib.shake_256(key).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))


def _digest(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, b"veiled:" + body, "sha256")
