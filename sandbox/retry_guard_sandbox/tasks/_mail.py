"""Tasks of the mail service."""

from retry_guard_sandbox.tasks._intended import intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

_MINUTES = {"to": "kim@example.com", "subject": "Minutes of Monday", "body": "All agreed."}
_AGENDA = {"to": "kim@example.com", "subject": "Agenda for Friday", "body": "Budget, then plans."}
_OFFER = {"to": "legal@example.com", "subject": "Offer", "body": "Please have a look."}
_DONE = {"to": "lou@example.com", "subject": "Notice sent", "body": "It went to all three."}
_NOTICE = {
    "recipients": ["ada@example.com", "ben@example.com", "cleo@example.com"],
    "subject": "Office closed on Friday",
    "body": "We move to the second floor.",
}
_SEEN = {"mail": "mail-701", "state": "read"}

_MAIL_MINUTES = Step(
    "send_email",
    _MINUTES,
    reworded={"to": "Kim@example.com", "subject": "minutes of Monday"},
    twin={"subject": "Minutes of Tuesday"},
)
_MAIL_AGENDA = Step(
    "send_email",
    _AGENDA,
    reworded={"subject": "Agenda  for Friday", "body": "budget, then plans."},
    twin={"to": "lou@example.com"},
)
_MAIL_OFFER = Step(
    "send_email", _OFFER, reworded={"subject": "offer"}, twin={"subject": "Offer, signed"}
)
_MAIL_DONE = Step(
    "send_email", _DONE, reworded={"subject": "NOTICE SENT"}, twin={"to": "lee@example.com"}
)
_MAIL_NOTICE = Step(
    "send_bulk",
    _NOTICE,
    reworded={
        "recipients": ["cleo@example.com", "ada@example.com", "ben@example.com"],
        "subject": "office closed on Friday",
    },
    twin={"subject": "Office closed on Monday"},
)

TASKS = (
    Task(
        name="mail_minutes",
        service="mail",
        prompt="Mail kim@example.com, subject 'Minutes of Monday': All agreed.",
        steps=(_MAIL_MINUTES,),
        intended=intended("send_email", _MINUTES, "body"),
    ),
    Task(
        name="mail_twice",
        service="mail",
        prompt="Send two mails to kim@example.com: 'Minutes of Monday' (All agreed.) and 'Agenda "
        "for Friday' (Budget, then plans.).",
        steps=(_MAIL_MINUTES, _MAIL_AGENDA),
        intended=(
            *intended("send_email", _MINUTES, "body"),
            *intended("send_email", _AGENDA, "body"),
        ),
    ),
    Task(
        name="mail_notice",
        service="mail",
        prompt="Send one bulk mail to ada@example.com, ben@example.com and cleo@example.com, "
        "subject 'Office closed on Friday': We move to the second floor.",
        steps=(_MAIL_NOTICE,),
        intended=intended("send_bulk", _NOTICE, "body"),
    ),
    Task(
        name="notice_then_mail",
        service="mail",
        prompt="Send one bulk mail to ada@example.com, ben@example.com and cleo@example.com, "
        "subject 'Office closed on Friday': We move to the second floor. Then mail "
        "lou@example.com, subject 'Notice sent': It went to all three.",
        steps=(_MAIL_NOTICE, _MAIL_DONE),
        intended=(
            *intended("send_bulk", _NOTICE, "body"),
            *intended("send_email", _DONE, "body"),
        ),
    ),
    Task(
        name="answer_offer",
        service="mail",
        prompt="Kim (kim@example.com) wrote where to send the offer. Send it there, subject "
        "'Offer': Please have a look. Then mark Kim's mail as read.",
        steps=(
            Step("list_inbox", {"sender": "kim@example.com"}),
            _MAIL_OFFER,
            Step("mark_read", {"mail": Ref(0, ("data", 0, "id")), "state": "read"}),
        ),
        intended=(
            *intended("send_email", _OFFER, "body"),
            *intended("mark_read", _SEEN),
        ),
    ),
)
