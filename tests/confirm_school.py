"""A school whose rooms are made in two steps, as in a bug report: a preview gives a token.

The token is an HMAC over the parameters, a nonce and a time: bound, used up, and expiring. So the
server does all that can be done for a token, and nothing for the action.
"""

import hashlib
import hmac
import json
import secrets
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from guards import LABS, Args, Extra, HandClock, Lab, LabMaker, Subject
from retry_guard import ArgumentError, Contract, Done, Outcome

LIFETIME = 300.0
PREVIEW, CREATE = "preview_exam_room", "create_exam_room"
ROOM: Args = {"room": "Room 5A", "starts": "2026-09-01T08:00:00Z"}
OTHER: Args = {**ROOM, "room": "Room 6B"}
STATED: dict[str, Any] = {
    "tool": CREATE,
    "identity": {"room": "fold", "starts": "time"},
    "defaults": {"capacity": 30},
    "not_executed": [{"exception": "TokenRefusedError"}],
}
CONFIRM: dict[str, Any] = {"token": "confirm_token", "param": "confirm_token", "expires": LIFETIME}
KEY: dict[str, Any] = {"param": "key", "retention": 86400}
READ: dict[str, Any] = {
    "tool": "list_exam_rooms",
    "items": "rooms",
    "match": {"room": "room"},
    "id": "id",
    "unique": True,
    "complete": "complete",
    "permanent": True,
    "visibility_lag": 0,
    "result": {"id": "id"},
}
READABLE: dict[str, Any] = {"read_back": READ, "in_flight_bound": 20}


def contract_of(**stated: Any) -> Contract:  # noqa: ANN401 - handed on
    """The contract of the tool that commits, with further terms."""
    whole: dict[str, Any] = {**STATED, **stated}
    return Contract(**whole)


class TokenRefusedError(Exception):
    """The server read the request and refused its token: nothing ran."""


Fate = Literal["ok", "lost_ack", "lost", "refused"] | BaseException


@dataclass
class School:
    """What really happened there. `fates`: what the next requests for a room meet; `shown`: those
    for a preview. `token_first`: it looks at the token of a request before its key.
    """

    clock: HandClock = field(default_factory=HandClock)
    fates: list[Fate] = field(default_factory=list[Fate])
    shown: list[Fate] = field(default_factory=list[Fate])
    rooms: list[Args] = field(default_factory=list[Args])
    previews: list[Args] = field(default_factory=list[Args])
    extras: list[Extra] = field(default_factory=list[Extra])
    requests: list[Args] = field(default_factory=list[Args])
    used: set[str] = field(default_factory=set[str])
    known: dict[str, Args] = field(default_factory=dict[str, Args])
    token_first: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def mint(self, given: Args) -> str:
        """A token that is good for these parameters: what a re-planning agent gets anew."""
        head = f"{secrets.token_hex(8)}.{self.clock.at + LIFETIME:.0f}"
        return f"{head}.{self._signed(head, given)}"

    def _signed(self, head: str, given: Args) -> str:
        text = json.dumps({n: v for n, v in given.items() if n not in ("confirm_token", "key")})
        bound = hashlib.sha256(text.encode()).hexdigest()
        return hmac.new(self.secret, f"{head}|{bound}".encode(), "sha256").hexdigest()

    def preview(self, given: Args, extra: Extra) -> object:
        """Show what would be made, and give a token for it."""
        self.previews.append(deepcopy(given))
        self.extras.append(dict(extra))
        token = self.mint(given)
        self._meet(self.shown)
        return {"preview": f"Create {given['room']}", "confirm_token": token}

    def create(self, given: Args, extra: Extra) -> object:
        """Make a room, if the token is good for these parameters and was not used."""
        self.requests.append(deepcopy(given))
        fate = self.fates[0] if self.fates else "ok"
        if fate == "lost_ack":
            self._made(given)
        self._meet(self.fates)
        return self._made(given)

    def _made(self, given: Args) -> Args:
        key = given.get("key")
        if key in self.known and not self.token_first:
            return self.known[key]
        nonce, until, signature = given["confirm_token"].split(".")
        signed = self._signed(f"{nonce}.{until}", given)
        if not hmac.compare_digest(signed, signature):
            raise TokenRefusedError("this token is for other parameters")
        if self.clock.at >= float(until) or nonce in self.used:
            raise TokenRefusedError("this token is used up or too old")
        self.used.add(nonce)
        made = self.kept(given)
        if key is not None:
            self.known[key] = made
        return made

    def kept(self, given: Args) -> Args:
        """A room is made."""
        made = {"id": f"room_{len(self.rooms) + 1}"}
        self.rooms.append({**given, **made})
        return made

    def _meet(self, fates: list[Fate]) -> None:
        match fates.pop(0) if fates else "ok":
            case BaseException() as error:
                raise error
            case "refused":
                raise ConnectionRefusedError("nobody listens")
            case "lost" | "lost_ack":
                self.clock.sleep(1.0)
                raise TimeoutError("no answer")
            case "ok":
                pass

    def either(self, given: Args, extra: Extra) -> object:
        """The same as one tool: without a token it only shows."""
        return (self.create if given.get("confirm_token") else self.preview)(given, extra)

    def read(self, tool: str, given: Args) -> object:
        """List the rooms."""
        return {"rooms": deepcopy(self.rooms), "complete": True}


class Office:
    """An agent's two steps, through one guard. `one`: they are one tool, called twice."""

    def __init__(self, subject: Subject, school: School, *, one: bool) -> None:
        self.subject, self.school, self.one = subject, school, one

    def preview(self, given: Args = ROOM, **more: Any) -> Outcome:  # noqa: ANN401 - handed on
        if self.one:
            return self.subject.call(given, tool=CREATE, send=self.school.either, **more)
        return self.subject.call(given, tool=PREVIEW, send=self.school.preview, **more)

    def token(self, given: Args = ROOM, **more: Any) -> str:  # noqa: ANN401 - handed on
        """The token of a preview."""
        outcome = self.preview(given, **more)
        assert isinstance(outcome, Done), outcome
        token: str = outcome.value["confirm_token"]
        return token

    def confirm(self, token: str | None, given: Args = ROOM, **more: Any) -> Outcome:  # noqa: ANN401 - handed on
        carried = given if token is None else {**given, "confirm_token": token}
        send = self.school.either if self.one else self.school.create
        return self.subject.call(carried, tool=CREATE, send=send, **more)

    def done(self, token: str | None, given: Args = ROOM, **more: Any) -> Done:  # noqa: ANN401 - handed on
        outcome = self.confirm(token, given, **more)
        assert isinstance(outcome, Done), outcome
        return outcome

    def refused(self, token: str | None, given: Args = ROOM, **more: Any) -> str:  # noqa: ANN401 - handed on
        """The line with which a call was refused, before anything was sent."""
        before = len(self.school.requests)
        with pytest.raises(ArgumentError) as refusal:
            self.confirm(token, given, **more)
        assert len(self.school.requests) == before
        return str(refusal.value)

    def reject(self, given: Args = ROOM, **more: Any) -> bool:  # noqa: ANN401 - handed on
        return self.subject.reject(CREATE if self.one else PREVIEW, given, **more)


@dataclass(frozen=True)
class Offices:
    """One cell of `every_office`: sync or async, memory or SQLite, two tools or one."""

    lab: LabMaker
    one: bool

    def __call__(self, folder: Path) -> "Town":
        return Town(self.lab(folder), one=self.one)


class Town:
    """A school, a clock and a ledger, with as many guards as processes would have."""

    def __init__(self, lab: Lab, *, one: bool) -> None:
        self.lab, self.one, self.clock = lab, one, lab.clock
        self.school = School(lab.clock)

    def contract(self, **stated: Any) -> Contract:  # noqa: ANN401 - handed on
        rule = {**CONFIRM, **stated.pop("confirm", {})}
        rule |= {} if self.one else {"preview": PREVIEW}
        return contract_of(confirm=rule, **stated)

    def office(self, contract: Contract | None = None, **options: Any) -> Office:  # noqa: ANN401 - handed on
        """A guard as another process has it."""
        options = {"read": self.school.read, "ledger": self.lab.open(), **options}
        subject = self.lab.guard(contract or self.contract(), **options)
        return Office(subject, self.school, one=self.one)


OFFICES = {
    f"{name}-{'one' if one else 'two'}": Offices(lab, one)
    for name, lab in LABS.items()
    for one in (False, True)
}
every_office = pytest.mark.parametrize("make", OFFICES.values(), ids=OFFICES)
