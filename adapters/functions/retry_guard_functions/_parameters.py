"""One parameter of a function, and how its values are written."""

import inspect
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from retry_guard_contracts import canonical
from retry_guard_functions._written import canonical_data

MISSING: Any = inspect.Parameter.empty


class Parameter:
    """A parameter. `alone`: a model with this field only."""

    def __init__(self, name: str, field: str, alone: type[BaseModel]) -> None:
        """Write nothing yet."""
        self.name, self._field, self._alone = name, field, alone

    def value(self, given: BaseModel) -> Any:
        """Return the value in a model of all parameters, or of this one alone."""
        return getattr(given, self._field)

    def write(self, given: BaseModel, again: BaseModel, spelled: Any) -> Any:
        """Return the value as data that equal values share; `MISSING`: it is left out.

        `given`, `again`: two readings of one call. `spelled`: what the model wrote, which counts
        where no such data would give the value back.
        """
        try:
            form = self._form(given, spelled)
            back = self._alone.model_validate({} if form is MISSING else {self.name: form})
            same = [canonical(self._form(each, spelled)) for each in (given, again)]
            same += [canonical(self._form(back, form))]
        except Exception:  # noqa: BLE001 - types of the user's own may do anything
            return spelled
        return form if len(set(same)) == 1 else spelled

    def filled(self, given: BaseModel, spelled: Any) -> Any:
        """Return the value with what its factories made; `MISSING`: they made nothing."""
        try:
            whole = self._dumped(given)
            if canonical(whole) == canonical(spelled) or not self._is_value(given, whole):
                return MISSING
        except Exception:  # noqa: BLE001 - types of the user's own may do anything
            return MISSING
        return whole

    def _form(self, given: BaseModel, spelled: Any) -> Any:
        """Return the canonical data. Raises for values that their data would not give back."""
        about = type(given).model_fields[self._field]
        if self._field not in given.model_fields_set and about.default_factory is not None:
            return MISSING
        whole = self._dumped(given)
        if not self._is_value(given, whole):
            raise ValueError("its data is not all of it")
        return canonical_data(self.value(given), whole, spelled)

    def _dumped(self, given: BaseModel) -> Any:
        data = given.model_dump(
            mode="json", include={self._field}, by_alias=True, round_trip=True, warnings="none"
        )
        return data[self.name]

    def _is_value(self, given: BaseModel, data: Any) -> bool:
        back = self._alone.model_validate({self.name: data})
        return bool(self.value(back) == self.value(given))


def field_of(parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    """Return the field that a parameter is: its type, and what is known of it.

    A default of `Field(...)` says more of the field; a default of None makes None fit.
    """
    default = parameter.default
    if isinstance(default, FieldInfo):
        nothing = default.default is None
        hint = Annotated[_or_none(hint) if nothing else hint, default]
        return hint, Field(alias=parameter.name)
    if default is None:
        hint = _or_none(hint)
    return hint, Field(... if default is MISSING else default, alias=parameter.name)


def has_factory(schema: Any) -> bool:
    """Whether a schema of pydantic's core has a default that is made anew for each value."""
    if isinstance(schema, dict):
        held = cast("dict[str, Any]", schema)
        return "default_factory" in held or any(map(has_factory, held.values()))
    return isinstance(schema, list | tuple) and any(map(has_factory, cast("Any", schema)))


def _or_none(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        inner, *rest = get_args(hint)
        return Annotated[(inner | None, *rest)]
    return hint | None
