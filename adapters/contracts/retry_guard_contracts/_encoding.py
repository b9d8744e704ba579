"""The stored form: JSON text that gives back the same values, of the same types.

JSON's own types are stored as they are; every other one as an object `{"$": type, "v": …}`, and
an object that has a member `$` itself is wrapped likewise. Text, the order of members and the
length of a Decimal are kept exactly. A fixed offset comes back as `datetime.timezone`.

Enum members, dataclasses and models are stored as data, under their class's qualified name.
Reading never imports a class by name: it makes instances of the classes that it is given, by
their stored fields, and runs no code of theirs. Where it is given none at all, it returns an
enum member's value, and a dict for a dataclass or model.
"""

from collections.abc import Mapping
from typing import Any

from retry_guard_contracts._arguments import check_arguments
from retry_guard_contracts._decoding import decode
from retry_guard_contracts._errors import ArgumentError
from retry_guard_contracts._writing import Writer

RESULT_LIMIT = 8 * 1024 * 1024
"""How many bytes of a result are stored at most."""


def encode(value: object, path: str = "value") -> bytes:
    """Return the stored form. `path` names the value in errors.

    Raises:
        ArgumentError: it holds a type that is not understood, NaN, an infinity, a lone
            surrogate, a key that is not text, or too many levels.
    """
    return Writer().write(value, path)


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """Return the stored form of arguments, having read it back.

    Raises:
        ArgumentError: they are no mapping, or would not come back equal and of the same types.
    """
    writer = Writer()
    data = writer.write(check_arguments(arguments), "arguments")
    if writer.classes and encode(decode(data, writer.classes), "arguments") != data:
        raise ArgumentError("arguments: would not come back the same; pass plain data")
    return data


def encode_result(value: object, limit: int = RESULT_LIMIT) -> bytes | None:
    """Return the stored form of a result; None if it cannot be stored or is over the limit.

    Never raises, and runs no code of the value's class: after the effect nothing may be lost.
    """
    try:
        data = Writer(limit).write(value, "result")
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the caller still gets it
        return None
    return data if len(data) <= limit else None
