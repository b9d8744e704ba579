"""What a service says of its tools: the part that a model sees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.world._http import Json

KEY = "idempotency_key"
KNOWN = 4096
"""How many calls of a tool are remembered in their normal form, at most."""
_OF_THE_KEY = (
    "Optional. A unique string. A second request with the same key and the same parameters is not "
    "executed again; it returns the first result."
)
_OF_A_BATCH: Mapping[str, str] = {
    "resumes": " If the first one stopped before its last item, the second continues after it.",
    "stored_partial": " That holds too if the first one stopped before its last item.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which read of the same service shows what a write did, as its description says.

    `arguments`: the read's parameters, each with the write's that it is taken from.
    """

    tool: str
    arguments: Mapping[str, str]
    items: str = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A list whose items take effect one by one.

    `items`: the argument that is the list. `one`: under which name a read shows an item of it.
    `key`: what a repeat under a key does where the first stopped on the way: the rest of it
    (`resumes`), or nothing, as the first answer is given again (`stored_partial`).
    """

    items: str
    one: str
    key: Literal["resumes", "stored_partial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. `keyed`: it accepts an idempotency key. `look`: what shows the effect of a write.

    `stores_errors`: a repeat under a key gets the first answer also where that was an error.
    `lag`: seconds until the look shows an effect. `bound`: seconds after its send in which a
    request executes or never will; None: there is no such limit. `batch`: it is one.
    """

    name: str
    description: str
    fields: Mapping[str, Field]
    effect: Literal["read", "idempotent", "write"] = "write"
    keyed: bool = False
    stores_errors: bool = False
    look: Look | None = None
    lag: float = 0.0
    bound: float | None = None
    batch: Batch | None = None
    _known: dict[str, tuple[Json, str]] = field(
        default_factory=dict[str, tuple[Json, str]], init=False, repr=False, compare=False
    )

    @property
    def parameters(self) -> Json:
        """The JSON schema of the arguments."""
        properties: Json = {name: field.schema for name, field in self.fields.items()}
        if self.keyed:
            properties[KEY] = {"type": "string", "description": self._of_the_key()}
        required = [name for name, field in self.fields.items() if field.required]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def _of_the_key(self) -> str:
        """What the service says of idempotency keys."""
        text = _OF_THE_KEY + (_OF_A_BATCH[self.batch.key] if self.batch else "")
        return text + (" An error is a result, too." if self.stores_errors else "")

    def fault_in(self, arguments: Json) -> str | None:
        """Return the name of the first argument that is missing, unknown or of a wrong type."""
        for name, value in arguments.items():
            field = self.fields.get(name)
            if field is None or not field.fits(value):
                return name
        return next((n for n, f in self.fields.items() if f.required and n not in arguments), None)

    def normal(self, arguments: Json) -> Json:
        """Return arguments that are equal for all spellings that say the same."""
        return self._read(arguments)[0]

    def action(self, arguments: Json) -> str:
        """Return the name of the logical action: equal for every attempt, however spelled."""
        return self._read(arguments)[1]

    def _read(self, arguments: Json) -> tuple[Json, str]:
        """Return the normal form and the name; remembered, since episodes repeat each other."""
        spelled, fields = repr(arguments), self.fields
        read = self._known.get(spelled)
        if read is None:
            normal = {n: fields[n].normal(v) if n in fields else v for n, v in arguments.items()}
            read = normal, f"{self.name}{sorted(normal.items())}"
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[spelled] = read
        return read

    def same(self, one: Json, other: Json) -> bool:
        """Whether two calls ask for the same."""
        return one == other or self.normal(one) == self.normal(other)

    def parts(self, arguments: Json) -> list[Json]:
        """Return the calls of one item each that a batch stands for; else the call itself."""
        if self.batch is None:
            return [arguments]
        name = self.batch.items
        items: object = arguments.get(name)
        if not isinstance(items, list):
            return [arguments]
        return [{**arguments, name: [item]} for item in cast("list[object]", items)]

    def shows(self, part: Json) -> Json:
        """Return the fields of a call of one item as a read shows them."""
        if self.batch is None:
            return part
        rest = {name: value for name, value in part.items() if name != self.batch.items}
        return {**rest, self.batch.one: part[self.batch.items][0]}

    def found(self, arguments: Json, items: Iterable[Json]) -> list[list[Json]]:
        """Return, for each part of a call, the items of its look that have all its fields."""
        shown, listed = [self.shows(part).items() for part in self.parts(arguments)], list(items)
        return [[item for item in listed if fields <= item.items()] for fields in shown]

    def answer(self, items: Sequence[Json]) -> Json:
        """Return the result of a call that made these items, which its look shows."""
        return items[0] if self.batch is None else {"ids": [item["id"] for item in items]}
