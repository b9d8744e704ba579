"""The guard's table as advice: nothing is done for the model, it is only told what would be."""

from retry_guard_core import Now, Record, Verdict, decide
from retry_guard_sandbox.conditions._course import (
    CLIENT_ERRORS,
    POLICY,
    Course,
    WithheldError,
    is_unclear,
)
from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.world._http import Json

Sends = list[tuple[float, str | None]]
"""When each request of an action left, and under which key."""

_SAME_KEY = f"send it anew with the same {KEY} and the same arguments"
_HARMLESS = "send it anew with the same arguments"
_LEAVE = "nothing can tell what became of it; leave it alone and report it as uncertain"


def guard_advises(course: Course, arguments: Json) -> Json:
    """Send each call as it came; where that leaves a write open, say what the table says.

    Of what the model did after that, only its sends count: it has to look by itself.
    """
    if not course.is_write:
        return course.send(arguments)
    kept = course.kept("guard_advises")
    name = (course.asked.turn, course.tool.action(course.plain))
    sends: Sends = kept.setdefault(name, [])
    sends.append((course.now, arguments.get(KEY)))
    try:
        result = course.send(arguments)
    except CLIENT_ERRORS as error:
        if not is_unclear(error):
            sends.pop()
            raise
        raise WithheldError(f"{error}. Guard: {_advice(course, sends)}.") from error
    del kept[name]
    return result


def _advice(course: Course, sends: Sends) -> str:
    verdict = _verdict(course, sends)
    match verdict.act:
        case "reissue":
            return _SAME_KEY if verdict.row == "keyed" else _HARMLESS
        case "read":
            return _look(course, verdict)
        case _:
            return _LEAVE


def _verdict(course: Course, sends: Sends) -> Verdict:
    """Return what the table says of an action that was sent so, and not looked for."""
    first, key = sends[0]
    record = Record(
        tool=course.tool.name,
        turn=course.asked.turn,
        content=b"",
        key=key if all(other == key for _, other in sends) else None,
        owner="",
        claimed=first,
        lease=course.now,
        sends=(first,),
        tries=len(sends) - 1,
        ended=course.now,
    )
    terms = course.setting.world.variant.contracts[course.tool.name].terms
    return decide(terms, record, Now(course.now, course.now), POLICY)


def _look(course: Course, verdict: Verdict) -> str:
    """Say where to look, from when on, and what finding nothing would mean."""
    contract = course.setting.world.variant.contracts[course.tool.name]
    tool = "" if contract.read_back is None else contract.read_back.tool
    when = f", in {verdict.wait:.0f} s" if verdict.wait > 0 else ""
    terms = contract.terms
    absent = "does not show that it did not happen"
    if terms.conclusive and terms.bound + terms.lag <= POLICY.deadline:
        absent = f"shows that it did not happen only {terms.bound + terms.lag:.0f} s after the send"
    return f"look with {tool}{when}; to find nothing {absent}"
