"""One parameter of a tool: its JSON schema, what fits it, and which spellings say the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never, cast

from retry_guard_sandbox.services._alike import Alike, normal
from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One parameter, or a part of one.

    `alike`: which spellings say the same to the people who use the service; it stores them as
    they came. `each`: what an item of an array is; no item may stand there twice where the array
    is a `set`. `fields`: what an object holds, all of it required.
    """

    type: Literal["string", "integer", "array", "object"] = "string"
    description: str = ""
    required: bool = True
    alike: Alike = "exact"
    each: "Field | None" = None
    fields: Mapping[str, "Field"] = field(default_factory=dict[str, "Field"])

    @property
    def schema(self) -> Json:
        """The JSON schema of it."""
        made: Json = {"type": self.type}
        if self.description:
            made["description"] = self.description
        if self.each is not None:
            made |= {"items": self.each.schema, "minItems": 1}
            made |= {"uniqueItems": True} if self.alike == "set" else {}
        if self.fields:
            made["properties"] = {name: part.schema for name, part in self.fields.items()}
            made |= {"required": list(self.fields), "additionalProperties": False}
        return made

    def fits(self, value: object) -> bool:
        """Whether a value is of this type. As in JSON schema, 4200.0 is an integer."""
        match self.type:
            case "string":
                return isinstance(value, str)
            case "integer":
                whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
                return whole and not isinstance(value, bool)
            case "array":
                return isinstance(value, list) and self._holds(cast("list[object]", value))
            case "object":
                return isinstance(value, dict) and self._is_made_of(cast("Json", value))
            case _:
                assert_never(self.type)

    def normal(self, value: object) -> object:
        """Return what is equal for all spellings that say the same."""
        if self.each is not None and isinstance(value, list):
            items = cast("list[object]", value)
            value = [self.each.normal(item) for item in items]
        elif self.fields and isinstance(value, dict):
            held = cast("Json", value)
            return {n: p.normal(held[n]) for n, p in self.fields.items() if n in held} or held
        return normal(self.alike, value)

    def same(self, one: object, other: object) -> bool:
        """Whether two values say the same."""
        return one == other or self.normal(one) == self.normal(other)

    def _holds(self, items: list[object]) -> bool:
        fit = bool(items) and all(self.each is not None and self.each.fits(item) for item in items)
        return fit and (self.alike != "set" or len(set(cast("list[str]", items))) == len(items))

    def _is_made_of(self, held: Json) -> bool:
        parts = self.fields
        return held.keys() == parts.keys() and all(p.fits(held[n]) for n, p in parts.items())
