"""What a client does with the whole surface of two servers, step by step."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty
from typing import Any

from mcp_servers_client import STATELESS, Client, Message

URI = "demo://resource/dynamic/text/1"
CAPABILITIES: Message = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {"listChanged": True},
}
ANSWERS: dict[str, Callable[[Message], object]] = {
    "sampling/createMessage": lambda _: {
        "role": "assistant",
        "content": {"type": "text", "text": "hello"},
        "model": "scripted",
        "stopReason": "endTurn",
    },
    "elicitation/create": lambda given: (
        {"action": "accept"}
        if given.get("mode") == "url"
        else {"action": "accept", "content": {"name": "Ada"}}
    ),
    "roots/list": lambda _: {"roots": [{"uri": "file:///somewhere", "name": "some"}]},
}


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a client does. `quiet`: after that long a silence the server is done with it.

    `in_order`: whether the server itself always answers in one order.
    """

    name: str
    act: Callable[[Client], object]
    quiet: float = 0.05
    in_order: bool = True


def asks(method: str, quiet: float = 0.05, **params: Any) -> Step:  # noqa: ANN401 - any parameters
    """Send one request, and wait for its answer."""
    return Step(f"{method} {params}", lambda client: client.ask(method, params), quiet)


def calls(tool: str, quiet: float = 0.05, **arguments: Any) -> Step:  # noqa: ANN401 - any arguments
    return asks("tools/call", quiet, name=tool, arguments=arguments)


def cancelled(client: Client) -> None:
    """Begin a long call and give it up; what is asked after it is answered."""
    long = {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 2}}
    given = client.send("tools/call", long)
    client.tell("notifications/cancelled", {"requestId": given, "reason": "no need"})
    client.ask("ping")


def parallel(client: Client) -> None:
    """Ask for something slow, then for something quick; the answers come in the other order."""
    long = {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 1}}
    slow = client.send("tools/call", long)
    client.ask("tools/call", {"name": "echo", "arguments": {"message": "first"}})
    client.answer_to(slow)


def progressing(client: Client) -> None:
    long = {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}}
    client.ask("tools/call", {**long, "_meta": {"progressToken": "mine"}})


def as_a_task(client: Client) -> None:
    """Begin a task, ask for its result, which waits for it."""
    call = {
        "name": "simulate-research-query",
        "arguments": {"topic": "bees"},
        "task": {"ttl": 60000},
    }
    made = client.ask("tools/call", call)
    given = {"taskId": made["result"]["task"]["taskId"]}
    client.ask("tasks/result", given)
    client.ask("tasks/get", given)


def unknown_id(client: Client) -> None:
    """Answer what nobody asked, and say what is no message; the server goes on."""
    client.say({"jsonrpc": "2.0", "id": 4711, "result": {}})
    client.tell("notifications/unheard", {"a": 1})
    client.ask("ping")


DATA = "data:text/plain;base64,aGVsbG8gaGVsbG8="
EVERYTHING: Sequence[Step] = (
    Step("initialize", lambda client: client.begin(CAPABILITIES), quiet=2.0, in_order=False),
    asks("ping"),
    asks("tools/list"),
    asks("prompts/list"),
    asks("resources/list"),
    asks("resources/templates/list"),
    asks("resources/read", uri=URI),
    asks("resources/read", uri="demo://resource/dynamic/blob/2"),
    asks("resources/read", uri="demo://nowhere"),
    asks("resources/subscribe", uri=URI),
    calls("toggle-subscriber-updates", quiet=1.5),
    calls("toggle-subscriber-updates", quiet=0.5),
    asks("resources/unsubscribe", uri=URI),
    asks("prompts/get", name="simple-prompt"),
    asks("prompts/get", name="args-prompt", arguments={"city": "Bern"}),
    asks(
        "prompts/get", name="resource-prompt", arguments={"resourceType": "Text", "resourceId": "1"}
    ),
    asks("prompts/get", name="nobody"),
    asks(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "completable-prompt"},
        argument={"name": "department", "value": "E"},
    ),
    asks(
        "completion/complete",
        ref={"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"},
        argument={"name": "resourceId", "value": "1"},
    ),
    asks("logging/setLevel", level="debug"),
    calls("toggle-simulated-logging", quiet=1.5),
    calls("toggle-simulated-logging", quiet=0.5),
    calls("echo", message="héllo 💡"),
    calls("echo", message="x" * 200_000),
    calls("echo"),
    calls("get-sum", a=1, b=2.5),
    calls("get-env"),
    calls("get-tiny-image"),
    calls("get-structured-content", location="Chicago"),
    calls("get-annotated-message", messageType="error", includeImage=True),
    calls("get-resource-links", count=2),
    calls("get-resource-reference", resourceType="Blob", resourceId=3),
    calls("get-roots-list"),
    calls("gzip-file-as-resource", quiet=1.0, name="a.gz", data=DATA, outputType="resource"),
    calls("trigger-sampling-request", prompt="hello", maxTokens=5),
    calls("trigger-elicitation-request"),
    calls(
        "trigger-url-elicitation", url="https://example.org/", message="Look", elicitationId="e1"
    ),
    calls(
        "trigger-url-elicitation",
        url="https://example.org/",
        message="Look",
        elicitationId="e2",
        errorPath=True,
    ),
    calls("no-such-tool"),
    Step("progress", progressing),
    Step("parallel", parallel),
    Step("cancelled", cancelled, quiet=1.5),
    Step("task", as_a_task, quiet=1.5, in_order=False),
    Step("unknown", unknown_id),
    Step(
        "roots changed", lambda c: c.tell("notifications/roots/list_changed"), 1.0, in_order=False
    ),
    asks("no/such/method", what=1),
)


def continued(what: str) -> Step:
    """Call a tool that asks for something, and go on with it as the server says."""

    def act(client: Client) -> None:
        call: Message = {"name": "ask", "arguments": {"what": what}}
        result = client.ask("tools/call", call).get("result", {})
        if result.get("resultType") == "input_required":
            wanted = result["inputRequests"]["asked"]
            given = ANSWERS[wanted["method"]](wanted.get("params", {}))
            state = {"requestState": result["requestState"], "inputResponses": {"asked": given}}
            client.ask("tools/call", {**call, **state})

    return Step(f"ask {what}", act)


def listening(client: Client) -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    if client.generation == STATELESS:
        given = {"notifications": {**wanted, "resourceSubscriptions": ["memo://today"]}}
        client.send("subscriptions/listen", given)
        client.next(60)
    client.ask("tools/call", {"name": "change", "arguments": {}})


def slept(client: Client) -> None:
    """Answers come in the other order; the second is never waited for."""
    slow = client.send("tools/call", {"name": "sleep", "arguments": {"seconds": 1, "text": "slow"}})
    never = client.send("tools/call", {"name": "sleep", "arguments": {"seconds": 9, "text": "no"}})
    client.tell("notifications/cancelled", {"requestId": never})
    client.ask("tools/call", {"name": "echo", "arguments": {"text": "quick"}})
    client.answer_to(slow)


MODERN: Sequence[Step] = (
    Step("begin", lambda client: client.begin(CAPABILITIES), quiet=1.0),
    asks("tools/list"),
    asks("resources/list"),
    asks("resources/templates/list"),
    asks("prompts/list"),
    asks("resources/read", uri="memo://today"),
    asks("resources/read", uri="memo://tomorrow"),
    asks("resources/read", uri="other://x"),
    asks("prompts/get", name="greet", arguments={"name": "Ada"}),
    asks("prompts/get", name="greet"),
    asks(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "greet"},
        argument={"name": "name", "value": "A"},
    ),
    calls("echo", text="héllo 💡"),
    calls("echo"),
    calls("place", city="Bern"),
    calls("picture"),
    calls("fail"),
    calls("large", size=300_000),
    calls("no_such_tool"),
    Step(
        "progress",
        lambda client: client.ask(
            "tools/call",
            {"name": "steps", "arguments": {"number": 3}, "_meta": {"progressToken": 7}},
        ),
    ),
    continued("person"),
    continued("model"),
    continued("roots"),
    Step("parallel", slept, quiet=1.0),
    Step("listening", listening, quiet=1.5, in_order=False),
    asks("tools/list"),
    Step("unknown", unknown_id),
    asks("no/such/method", what=1),
)


def played(
    client: Client, steps: Sequence[Step], counts: Sequence[int] | None
) -> list[list[bytes]]:
    """Do all steps; return what was said in each.

    `counts`: how much is said in each, where that is known; else each step ends with a silence.
    """
    said: list[list[bytes]] = []
    for number, step in enumerate(steps):
        before = len(client.received)
        step.act(client)
        if counts is None:
            _until_quiet(client, step.quiet)
        else:
            _until_count(client, before + counts[number], step)
        said.append(client.received[before:])
    return said


def _until_quiet(client: Client, seconds: float) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            client.next(seconds)
        except Empty:
            return


def _until_count(client: Client, count: int, step: Step) -> None:
    try:
        while len(client.received) < count:
            client.next(60)
    except Empty:
        raise AssertionError(f"{step.name}: not all that is said directly was said") from None
    _until_quiet(client, 0.02)
