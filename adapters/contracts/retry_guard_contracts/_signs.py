"""Results and errors that mean something by the operator's word, whatever the transport says."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, cast

from pydantic import AfterValidator, Field, StrictInt, StrictStr, model_validator

from retry_guard_contracts._fields import Name, Part


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        msg = f"{text!r} is no regular expression: {error}"
        raise ValueError(msg) from None
    return text


def _code(code: int | str) -> int | str:
    if isinstance(code, str) and not code.strip():
        raise ValueError("must not be empty")
    return code


class Sign(Part):
    """A description of results and errors; one fits if everything stated here fits it.

    `status`: a response's status. `code`: an error code. `exception`: the name of the exception's
    class or of a base of it, with or without its module. `message`: a regular expression that is
    found in the text of the error or result.
    """

    status: Annotated[int, Field(strict=True)] | None = None
    code: Annotated[StrictInt | StrictStr, AfterValidator(_code)] | None = None
    exception: Name | None = None
    message: Annotated[str, Field(strict=True, min_length=1), AfterValidator(_pattern)] | None = (
        None
    )

    @model_validator(mode="after")
    def _says_something(self) -> "Sign":
        if self == Sign.model_construct():
            raise ValueError("state a status, code, exception or message")
        return self


def matches(sign: Sign, outcome: object, *, inside: bool) -> bool:
    """Whether everything that the sign states is true of a value or an exception.

    `inside`: it is looked for also in what an MCP result holds beside its blocks of text.
    """
    if sign.exception is not None and sign.exception not in set(_class_names(outcome)):
        return False
    places = [*_places(outcome), *(_inner_places(outcome) if inside else ())]
    if sign.status is not None and sign.status not in _found(places, "status_code", "status"):
        return False
    if sign.code is not None and str(sign.code) not in map(str, _found(places, "code")):
        return False
    texts = [*_texts(outcome, places), *(_inner_texts(outcome) if inside else ())]
    return sign.message is None or any(re.search(sign.message, text) for text in texts)


def has_failed(outcome: object) -> bool:
    """Whether it is an MCP result that says so itself."""
    return any(_get(outcome, name) is True for name in ("isError", "is_error"))


def _class_names(outcome: object) -> Iterator[str]:
    if isinstance(outcome, BaseException):
        for cls in type(outcome).__mro__:
            yield from (cls.__name__, f"{cls.__module__}.{cls.__qualname__}")


def _found(places: Iterable[object], *names: str) -> Iterator[int | str]:
    for place in places:
        for name in names:
            value = _get(place, name)
            if isinstance(value, int | str) and not isinstance(value, bool):
                yield value


def _places(outcome: object) -> Iterator[object]:
    """Where an error's particulars are looked for: in itself, its response, its `error`."""
    yield outcome
    yield from (_get(outcome, name) for name in ("response", "error"))


def _inner_places(outcome: object) -> Iterator[object]:
    """Where else in an MCP result: in its structured content, and the `error` of that."""
    for name in ("structuredContent", "structured_content"):
        held = _get(outcome, name)
        yield held
        yield _get(held, "error")


def _texts(outcome: object, places: Iterable[object]) -> Iterator[str]:
    if isinstance(outcome, BaseException):
        yield str(outcome)
    for place in places:
        text = place if isinstance(place, str) else _get(place, "message")
        if isinstance(text, str):
            yield text
    for block in _blocks(outcome):
        text = _get(block, "text")
        if isinstance(text, str):
            yield text


def _inner_texts(outcome: object) -> Iterator[str]:
    for block in _blocks(outcome):
        text = _get(_get(block, "resource"), "text")
        if isinstance(text, str):
            yield text


def _blocks(outcome: object) -> list[object]:
    blocks = _get(outcome, "content")
    return cast("list[object]", blocks) if isinstance(blocks, list) else []


def _get(holder: object, name: str) -> object:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, object]", holder).get(name)
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody's error class may do anything
        return None
