"""What a served tool refuses before anything is sent; the rest is for the service to refuse."""

from typing import cast

from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.serving._host import ASK, FINISH, Offer
from retry_guard_sandbox.world._http import Json

_KINDS = {"string": str, "object": dict}


def wrong_in(offer: Offer, arguments: Json) -> str | None:
    """Return what is wrong, in one sentence.

    A service's own tools refuse by themselves, but for the key: where none is taken it would be
    understood all the same.
    """
    if offer.name in (FINISH, ASK):
        return _against_schema(offer, arguments)
    if KEY not in arguments:
        return None
    if KEY not in offer.parameters["properties"]:
        return f"400 {offer.name} takes no parameter {KEY}"
    return None if isinstance(arguments[KEY], str) else f"400 check the parameter {KEY}: a string"


def _against_schema(offer: Offer, arguments: Json) -> str | None:
    properties = cast("dict[str, Json]", offer.parameters["properties"])
    for name in arguments:
        if name not in properties:
            return f"{offer.name} takes no parameter {name}"
    for name, schema in properties.items():
        if name not in arguments:
            return f"{offer.name} needs the parameter {name}"
        if not isinstance(arguments[name], _KINDS[schema["type"]]):
            return f"check the parameter {name}: it has to be of type {schema['type']}"
        if "enum" in schema and arguments[name] not in schema["enum"]:
            return f"check the parameter {name}: one of {', '.join(schema['enum'])}"
    return None
