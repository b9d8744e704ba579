"""Confirmation in two phases: a token for one call, which is burned when it is used."""

import json
from dataclasses import dataclass
from hashlib import sha256

from retry_guard_sandbox.conditions._course import Course, WithheldError
from retry_guard_sandbox.world._http import Json

LASTS = 300.0
"""Seconds for which a token can be used."""


@dataclass(slots=True)
class _Token:
    """Issued for one call and its arguments, by their hash; never shown to the agent."""

    parameters: str
    expires: float
    burned: bool = False


def one_use_token(course: Course, arguments: Json) -> Json:
    """Send a write only with a token that was issued for this very call and was not used yet.

    The person confirms at once. The token belongs to the harness's id of the call: the same
    call again, as after a crash, brings the same token, and is refused. A call that is planned
    anew gets a new one, whatever happened to the first: what is protected is the token.
    """
    if not course.is_write:
        return course.send(arguments)
    tokens = course.kept("one_use_token")
    parameters = sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
    fresh = _Token(parameters, course.now + LASTS)
    token: _Token = tokens.setdefault(course.asked.call_id, fresh)
    if token.parameters != parameters:
        raise WithheldError("not sent: other arguments than those that were confirmed")
    if course.now >= token.expires:
        raise WithheldError("not sent: the confirmation is older than five minutes")
    if token.burned:
        raise WithheldError("not sent: this confirmation was used before")
    token.burned = True
    return course.send(arguments)
