"""Plain values, cancellation, groups of errors, exit codes: what each of them proves."""

import asyncio
import concurrent.futures
import ssl
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pydantic
import pytest
import urllib3

from http_clients import Reply, caught
from raw_servers import refused, serving, silent
from retry_guard_outcomes import Done, NotExecuted, NotExecutedError, Unknown, classify

PLAIN = [
    None,
    "",
    "failed",
    0,
    0.5,
    True,
    b"x",
    [],
    {},
    {"error": "no"},
    [{"status": 500}],
    object(),
]


@pytest.mark.parametrize("value", PLAIN)
def test_a_plain_value_is_the_result(value: object) -> None:
    assert classify(value) == Done(value)


def test_an_outcome_stands_for_itself() -> None:
    for outcome in (Done(1), NotExecuted("no"), Unknown("who knows")):
        assert classify(outcome) is outcome


@pytest.mark.parametrize("rejected", [True, False])
def test_a_tool_may_state_that_nothing_ran(rejected: bool) -> None:
    """B77: an exception is unknown unless the tool itself declares that it did not execute."""
    error = NotExecutedError(NotExecuted("no funds", rejected=rejected))
    assert classify(error) == NotExecuted(error, rejected=rejected)


class Model(pydantic.BaseModel):
    amount: int


UNPROVEN = [
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    SystemExit(1),
    GeneratorExit(),
    concurrent.futures.TimeoutError(),
    concurrent.futures.CancelledError(),
    concurrent.futures.BrokenExecutor(),
    TimeoutError(),
    ConnectionResetError(),
    BrokenPipeError(),
    ConnectionAbortedError(),
    OSError(113, "No route to host"),
    ssl.SSLError(1, "decryption failed or bad record mac"),
    urllib3.exceptions.SSLError(ssl.SSLError(1, "decryption failed or bad record mac")),
    EOFError(),
    TypeError("charge() got an unexpected keyword"),
    ValueError("the mail after the charge"),
    RuntimeError("receipt mail failed"),
    FileNotFoundError(2, "No such file", "receipt.txt"),
    PermissionError(13, "Permission denied", "receipt.txt"),
    caught(lambda: Model.model_validate({"amount": "many"})),
]


@pytest.mark.parametrize("error", UNPROVEN, ids=lambda error: type(error).__name__)
def test_an_exception_without_proof_leaves_it_unknown(error: BaseException) -> None:
    """B77: charged, and then something raised."""
    assert classify(error) == Unknown(error)


def test_a_name_alone_convinces_nobody() -> None:
    """A class of another module with the name of a proof is another class."""

    class ConnectError(Exception):
        pass

    assert isinstance(classify(ConnectError()), Unknown)

    class RefusedError(ConnectionRefusedError):
        pass

    assert isinstance(classify(RefusedError()), NotExecuted)


# --- cancellation and interrupts: B30, B111, B113 ---


async def abandoned(url: str, limit: float) -> BaseException:
    async def post() -> None:
        async with httpx.AsyncClient() as client:
            await client.post(url)

    try:
        await asyncio.wait_for(post(), limit)
    except TimeoutError as error:
        return error
    raise AssertionError("answered")


async def test_a_call_that_was_abandoned_is_unknown() -> None:
    """B30: the caller gave up; nothing told the server."""
    with serving(silent) as address:
        error = await abandoned(f"http://{address}/", 0.2)
    assert classify(error) == Unknown(error)


async def test_a_task_that_was_cancelled_is_unknown() -> None:
    """B111, B113: interrupted while it ran is not refused before it ran."""
    with serving(silent) as address:
        async with httpx.AsyncClient() as client:
            task = asyncio.ensure_future(client.post(f"http://{address}/"))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as stopped:
                await task
    assert classify(stopped.value) == Unknown(stopped.value)


async def test_a_limit_of_anyio_is_unknown() -> None:
    with serving(silent) as address:
        async with httpx.AsyncClient() as client:
            with pytest.raises(TimeoutError) as stopped:
                with anyio.fail_after(0.1):
                    await client.post(f"http://{address}/")
    assert classify(stopped.value) == Unknown(stopped.value)


# --- groups ---


async def together(*urls: str) -> BaseException:
    async with httpx.AsyncClient(timeout=5) as client:
        try:
            async with asyncio.TaskGroup() as group:
                for url in urls:
                    group.create_task(client.post(url))
        except BaseExceptionGroup as error:
            return error
    raise AssertionError("answered")


async def test_a_group_proves_it_if_every_leaf_does() -> None:
    with refused() as first, refused() as second:
        error = await together(f"http://{first}/", f"http://{second}/")
    assert classify(error) == NotExecuted(error)
    nested = BaseExceptionGroup("outer", [error, ConnectionRefusedError()])
    assert classify(nested) == NotExecuted(nested)


@pytest.mark.parametrize("other", [TimeoutError(), ValueError(), asyncio.CancelledError()])
def test_one_leaf_without_proof_leaves_a_group_unknown(other: BaseException) -> None:
    error = BaseExceptionGroup("two", [ConnectionRefusedError(), other])
    assert classify(error) == Unknown(error)
    nested = BaseExceptionGroup("outer", [error, ConnectionRefusedError()])
    assert classify(nested) == Unknown(nested)


# --- processes ---

python = [sys.executable, "-c"]


def run(*code: str, **options: Reply) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*python, *code], check=False, text=True, **options)


def test_an_exit_code_of_zero_is_done() -> None:
    ended = run("pass")
    assert classify(ended) == Done(ended)


@pytest.mark.parametrize("code", [1, 2, 64, 75, 126, 127, 128, 130, 255])
def test_any_other_exit_code_is_unknown(code: int) -> None:
    """Also 126 and 127: the program itself gave them."""
    ended = run(f"raise SystemExit({code})")
    assert ended.returncode == code
    assert classify(ended) == Unknown(ended)
    error = caught(ended.check_returncode)
    assert classify(error) == Unknown(error)


def test_a_process_that_was_killed_is_unknown() -> None:
    ended = run("import os; os.kill(os.getpid(), 9)")
    assert ended.returncode == -9
    assert classify(ended) == Unknown(ended)


def test_a_process_that_took_too_long_is_unknown() -> None:
    error = caught(lambda: run("import time; time.sleep(9)", timeout=0.1))
    assert isinstance(error, subprocess.TimeoutExpired)
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize("command", [["no-such-command-at-all"], ["/etc/passwd"], ["/"]])
def test_a_program_that_cannot_be_started_proves_that_nothing_ran(command: list[str]) -> None:
    error = caught(lambda: subprocess.run(command, check=False))
    assert classify(error) == NotExecuted(error)


async def test_the_same_holds_for_asyncio() -> None:
    with pytest.raises(FileNotFoundError) as stopped:
        await asyncio.create_subprocess_exec("no-such-command-at-all")
    assert classify(stopped.value) == NotExecuted(stopped.value)
    process = await asyncio.create_subprocess_exec(*python, "raise SystemExit(3)")
    assert classify(process) == Unknown(process)
    await process.wait()
    assert classify(process) == Unknown(process)


def test_a_working_directory_that_is_not_there_proves_it_too(tmp_path: Path) -> None:
    error = caught(lambda: run("pass", cwd=tmp_path / "nowhere"))
    assert classify(error) == NotExecuted(error)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, shell=True, check=False, text=True, capture_output=True)  # noqa: S602 - a shell it must be


@pytest.mark.parametrize("line", ["no-such-command-at-all --charge 5", "/etc/passwd --charge 5"])
def test_a_shell_that_could_not_start_its_only_command_proves_it(line: str) -> None:
    ended = shell(line)
    assert ended.returncode in {126, 127}
    assert classify(ended) == NotExecuted(ended)
    error = caught(ended.check_returncode)
    assert classify(error) == NotExecuted(error)
    listed = subprocess.run(["sh", "-c", line], check=False, capture_output=True)
    assert classify(listed) == NotExecuted(listed)


@pytest.mark.parametrize(
    "line",
    [
        "touch {file}; no-such-command-at-all",
        "touch {file} && no-such-command-at-all",
        "touch {file}\nno-such-command-at-all",
        "(touch {file}; no-such-command-at-all)",
        "no-such-command-at-all > {file}",
        "no-such-command-at-all $(touch {file})",
        "{script} {file}",
    ],
)
def test_a_shell_whose_last_command_was_missing_proves_nothing(line: str, tmp_path: Path) -> None:
    file, script = tmp_path / "effect", tmp_path / "script.sh"
    script.write_text('#!/bin/sh\ntouch "$1"\nno-such-command-at-all\n')
    script.chmod(0o755)
    ended = shell(line.format(file=file, script=script))
    assert ended.returncode == 127
    assert file.exists()
    assert classify(ended) == Unknown(ended)


def test_an_exit_code_of_a_shell_that_said_nothing_proves_nothing() -> None:
    ended = subprocess.run("exit 127", shell=True, check=False)  # noqa: S602 - (the same)
    assert classify(ended) == Unknown(ended)
    silenced = subprocess.CompletedProcess("no-such-command", 127, "", "")
    assert classify(silenced) == Unknown(silenced)
    unclosed = subprocess.CompletedProcess("x 'y", 127, "", "sh: 1: x: not found")
    assert classify(unclosed) == Unknown(unclosed)
