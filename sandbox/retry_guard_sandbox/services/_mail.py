"""Mail: no write accepts a key. The Sent folder is indexed late, for single and bulk mail."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Batch, Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response, refusal

_SENT_LAG = 40.0
"""Seconds until a mail is in Sent. After the client's time-out a look at it still fits into the
minute that a guarded call has."""

_SUBJECT = Field(description="The subject line.", alike="fold")
_BODY = Field(description="The text.", alike="fold")
_SEND_EMAIL = Tool(
    name="send_email",
    description="Send a mail. list_sent shows it 40 seconds later.",
    fields={
        "to": Field(description="The address, in any case.", alike="fold"),
        "subject": _SUBJECT,
        "body": _BODY,
    },
    look=Look(tool="list_sent", arguments={"subject": "subject"}),
    lag=_SENT_LAG,
)
_SEND_BULK = Tool(
    name="send_bulk",
    description="Send one mail to each of several recipients, one after the other; what was sent "
    "before an error stays sent. list_sent shows each mail 40 seconds later.",
    fields={
        "recipients": Field(
            type="array",
            description="The addresses, each once, in any order.",
            alike="set",
            each=Field(),
        ),
        "subject": _SUBJECT,
        "body": _BODY,
    },
    look=Look(tool="list_sent", arguments={"subject": "subject"}),
    lag=_SENT_LAG,
    batch=Batch(items="recipients", one="to", key="stored_partial"),
)
_MARK_READ = Tool(
    name="mark_read",
    description="Mark a received mail as read, or as unread. Repeating it changes nothing.",
    fields={
        "mail": Field(description="Id of the mail."),
        "state": Field(description="read or unread.", alike="fold"),
    },
    effect="idempotent",
)
_LIST_INBOX = Tool(
    name="list_inbox",
    description="List all received mails from an address, the oldest first.",
    fields={"sender": Field(description="The address.")},
    effect="read",
)
_LIST_SENT = Tool(
    name="list_sent",
    description="List all sent mails with exactly this subject, the oldest first, one entry for "
    "each recipient. A mail appears after 40 seconds; none is ever removed.",
    fields={"subject": Field(description="The subject line, as it was sent.")},
    effect="read",
)


def _received(name: str, sender: str, subject: str, body: str) -> Json:
    """A mail that came an hour before the episode."""
    created = START - 3_600.0
    return {"id": name, "from": sender, "subject": subject, "body": body, "created": created}


_INBOX = (
    _received("mail-701", "kim@example.com", "Offer", "Please send it to legal@example.com."),
    _received("mail-702", "lou@example.com", "Room", "Which room on Friday?"),
)


class Mail(Service):
    """Sent and received mail. Two mails came this morning."""

    name: ClassVar[str] = "mail"
    tools: ClassVar[tuple[Tool, ...]] = (
        _SEND_EMAIL,
        _SEND_BULK,
        _MARK_READ,
        _LIST_INBOX,
        _LIST_SENT,
    )

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "send_email": lambda e: self.make(e, "sent-"),
            "send_bulk": lambda e: self.make_each(e, "sent-"),
            "mark_read": self._mark_read,
            "list_inbox": self._list_inbox,
            "list_sent": lambda e: self.listing(
                e.now, "send_email", "send_bulk", **e.request.arguments
            ),
        }

    def _mark_read(self, execution: Execution) -> Response:
        if all(mail["id"] != execution.request.arguments["mail"] for mail in _INBOX):
            return refusal(404, "not_found", "there is no such mail", param="mail")
        return self.put(execution, "mail")

    def _list_inbox(self, execution: Execution) -> Response:
        sender, state = execution.request.arguments["sender"], self._store.state
        mails = [
            {**mail, "state": state("mark_read", mail["id"]).get("state", "unread")}
            for mail in _INBOX
            if mail["from"] == sender
        ]
        return Response(200, {"data": mails, "has_more": False})
