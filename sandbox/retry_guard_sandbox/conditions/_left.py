"""What an agent leaves to a person by finishing as uncertain."""

from retry_guard_sandbox.agents import heard
from retry_guard_sandbox.conditions._caller import Doubt, Setting
from retry_guard_sandbox.conditions._course import Course, judge
from retry_guard_sandbox.services import TOOLS


def remember(course: Course, text: str) -> None:
    """Note whether the answer to a write leaves open what became of it."""
    doubts = course.setting.doubts
    clear = not text.startswith('{"error"') or heard(text).status != "uncertain"
    if clear and not doubts:
        return
    plain = course.plain
    name = course.tool.action(plain)
    if clear:
        doubts.pop(name, None)
        return
    before = doubts.get(name)
    begun, first = (course.begun, course.first) if before is None else (before.begun, before.first)
    doubt = course.doubt(plain, begun)
    doubts[name] = doubt._replace(begun=begun, first=first)


def leave_to_a_person(setting: Setting) -> None:
    """Count each write whose last answer left it open as an escalation of the agent's own.

    Finishing as uncertain is how an agent hands over. What the condition had handed over
    already counts once. Nobody acts on it any more: the episode is over.
    """
    known = {TOOLS[e.tool].action(e.arguments) for e in setting.escalations}
    setting.escalations.extend(
        judge(setting, doubt)
        for name, doubt in setting.doubts.items()
        if name not in known and _was_begun(setting, name, doubt)
    )


def _was_begun(setting: Setting, name: str, doubt: Doubt) -> bool:
    """Whether such a call was sent at all; else it was taken for one that was worded otherwise."""
    tool = doubt.call.tool
    requests = [seen.request for seen in (*setting.world.wire.seen, *setting.lost)]
    return any(r.tool == tool and TOOLS[tool].action(r.arguments) == name for r in requests)
