"""What a service says of its tools: the part that a model sees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from retry_guard_sandbox.world._http import Json

KEY = "idempotency_key"
_KEY_SCHEMA: Json = {
    "type": "string",
    "description": "Optional. A unique string. A second request with the same key and the same "
    "parameters is not executed again; it returns the first result.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One parameter of a tool."""

    type: Literal["string", "integer"] = "string"
    description: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which read of the same service shows what a write did, as its description says.

    `arguments`: the read's parameters, each with the write's that it is taken from.
    """

    tool: str
    arguments: Mapping[str, str]
    items: str = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. `keyed`: it accepts an idempotency key. `look`: what shows the effect of a write."""

    name: str
    description: str
    fields: Mapping[str, Field]
    effect: Literal["read", "write"] = "write"
    keyed: bool = False
    look: Look | None = None

    @property
    def parameters(self) -> Json:
        """The JSON schema of the arguments."""
        properties: Json = {
            name: {"type": field.type, "description": field.description}
            for name, field in self.fields.items()
        }
        if self.keyed:
            properties[KEY] = _KEY_SCHEMA
        required = [name for name, field in self.fields.items() if field.required]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def fault_in(self, arguments: Json) -> str | None:
        """Return the name of the first argument that is missing, unknown or of a wrong type."""
        for name, value in arguments.items():
            field = self.fields.get(name)
            kind = str if field is None or field.type == "string" else int
            if field is None or not isinstance(value, kind) or isinstance(value, bool):
                return name
        return next((n for n, f in self.fields.items() if f.required and n not in arguments), None)
