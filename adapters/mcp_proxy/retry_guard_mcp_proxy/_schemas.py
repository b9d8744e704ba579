"""What the proxy reads in schemas, and the one thing that it takes out of them.

Schemas are the server's own, of any form. What cannot be understood is left as it is.
"""

from retry_guard import Contract
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, object_in

_ELSEWHERE = {"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"}


def key_path(contract: Contract) -> list[str] | None:
    """The argument that is the key; None: there is none, or it travels beside the arguments."""
    key = contract.key
    if key is None or key.carried or any(mark in key.param for mark in "[\\"):
        return None
    return key.param.split(".")


def is_plain(schema: Message) -> bool:
    """Whether its properties are all that it may have."""
    return isinstance(schema.get("properties"), dict) and not _ELSEWHERE & schema.keys()


def without(schema: Message, path: list[str]) -> Message | None:
    """The schema without a property; None: it does not have it there."""
    properties = object_in(schema, "properties")
    name, *rest = path
    if name not in properties:
        return None
    if rest:
        inner = without(object_in(properties, name), rest)
        return inner and {**schema, "properties": {**properties, name: inner}}
    kept = {n: value for n, value in properties.items() if n != name}
    required = schema.get("required")
    if not is_list(required) or name not in required:
        return {**schema, "properties": kept}
    needed = [each for each in required if each != name]
    bare = {n: value for n, value in schema.items() if n != "required"}
    return {**bare, "properties": kept, **({"required": needed} if needed else {})}


def misfit(tool: Message, result: object) -> str | None:
    """Return how a result breaks what the tool declares of it; None: nothing is known of that.

    Only what strict clients stumble over at once is looked at; it is passed on all the same.
    """
    schema = tool.get("outputSchema")
    if not is_object(schema) or not is_object(result) or result.get("isError") is True:
        return None
    if "structuredContent" not in result:
        return "declares structured content and gave none"
    given = result["structuredContent"]
    if schema.get("type", "object") == "object" and not is_object(given):
        return "gave structured content that is no object"
    required = schema.get("required")
    names = required if is_list(required) else []
    lacking = [str(n) for n in names if is_object(given) and isinstance(n, str) and n not in given]
    return f"gave structured content without {', '.join(lacking)}" if lacking else None
