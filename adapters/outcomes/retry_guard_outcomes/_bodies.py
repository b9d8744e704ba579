"""What was read of the body of an answer; nothing here reads from the network."""

import json


def body_read(answer: object) -> bytes | str | None:
    """Return the body; None: it was not read, or not kept."""
    for name in ("_content", "_body"):
        body = getattr(answer, name, None)
        if isinstance(body, bytes | str):
            return body
    return None


def body_of(answer: object) -> str:
    """Return the text of the body, or of the message that took its place."""
    body = body_read(answer)
    if body is None:
        message = getattr(answer, "message", None)
        body = message if isinstance(message, bytes | str) else ""
    return body if isinstance(body, str) else body.decode("utf-8-sig", errors="replace")


def parsed(body: bytes | str) -> object:
    """Return the JSON of a body, or else its text, or else the body itself."""
    try:
        text = body if isinstance(body, str) else body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
