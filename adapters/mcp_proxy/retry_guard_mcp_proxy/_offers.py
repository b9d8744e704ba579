"""What a server offers to be trusted in: the contracts that it states, and what is wrong there."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._messages import Message, meta_of, object_in
from retry_guard_mcp_proxy._prepare import kept_of
from retry_guard_mcp_proxy._schemas import is_plain, key_path
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._stated import (
    STATED,
    StatedError,
    fingerprint,
    is_said_to_read,
    stated,
    states,
)
from retry_guard_mcp_proxy._survey import tools_of
from retry_guard_mcp_proxy._surveyed import Offer, Standing, Surveyed
from retry_guard_mcp_proxy._trust import pins_in


def survey(settings: Settings) -> Surveyed:
    """Start a server, and return what it offers. Raises `GuardError`."""
    listed, kept = tools_of(settings), kept_of(settings)
    tools = {tool["name"]: tool for tool in listed}
    pins = {} if kept is None else pins_in(kept.trusted())[0]
    marks = {name: pin.mark for name, pin in pins.items()}
    by_process = settings.url is None
    offers = [_offer(tool, tools, marks, by_process) for tool in tools.values() if states(tool)]
    misfits = partial(_misfits, tools, by_process)
    return Surveyed(tools=tools, offers=offers, kept=kept, misfits=misfits)


def _offer(
    tool: Message,
    tools: Mapping[str, Message],
    marks: Mapping[str, str],
    by_process: bool,  # noqa: FBT001 - of a private function
) -> Offer:
    name, fields = tool["name"], object_in(meta_of(tool), STATED)
    try:
        contract = stated(tool)
        reads = [name for name, one in tools.items() if is_said_to_read(one)]
        found = () if contract is None else _problems(contract, tools, reads, by_process=by_process)
        wrong = tuple(found)
    except StatedError as error:
        wrong = (str(error),)
    mark, former = fingerprint(tool, tools) or "", marks.get(name)
    standing: Standing = "new"
    if former is not None:
        standing = "trusted" if former == mark else "changed"
    return Offer(tool=name, fields=fields, mark=mark, standing=standing, problems=wrong)


def _misfits(
    tools: Mapping[str, Message],
    by_process: bool,  # noqa: FBT001 - of a private function
    contract: Contract,
    reads: Collection[str],
) -> list[str]:
    return list(_problems(contract, tools, reads, by_process=by_process))


def _problems(
    contract: Contract, tools: Mapping[str, Message], reads: Collection[str], *, by_process: bool
) -> Iterator[str]:
    """Yield what in a contract does not fit what its server lists, in a few words each.

    `reads`: the tools that are declared to read only, by whoever states the contract.
    """
    tool = tools.get(contract.tool)
    if tool is None:
        yield "the server lists no such tool"
        return
    path, schema = key_path(contract), object_in(tool, "inputSchema")
    if path and is_plain(schema) and path[0] not in object_in(schema, "properties"):
        yield f"the tool has no parameter {path[0]} for the key"
    if by_process and contract.key is not None and contract.key.param.startswith("header:"):
        yield "a server that is a process gets no headers, so the key does not arrive"
    reader = None if contract.read_back is None else contract.read_back.tool
    if reader is not None and reader not in tools:
        yield f"it reads back with {reader}, which the server does not list"
    elif reader is not None and reader not in reads:
        yield f"it reads back with {reader}, which is not declared to read only"
    preview = None if contract.confirm is None else contract.confirm.preview
    if preview is not None and preview not in tools:
        yield f"it previews with {preview}, which the server does not list"
