"""Plain data from YAML nodes, with the line of every place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

Place = tuple[str | int, ...]

_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?")
_TAG = "tag:yaml.org,2002:"
_SURPRISES = {
    "bool": "YAML takes it for a boolean; write true or false, or put it in quotes",
    "int": "YAML takes it for another number; write a decimal number, or put it in quotes",
    "float": "YAML takes it for another number; write a decimal number, or put it in quotes",
    "timestamp": "YAML takes it for a date; put it in quotes",
    "merge": "merge keys are not supported; write the fields out",
    "value": "YAML takes it for a default value; put it in quotes",
}


@dataclass(slots=True)
class Tree:
    """What a text holds. `problems`: what is wrong with it as YAML, one line each."""

    source: str
    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict[Place, int])
    problems: list[str] = field(default_factory=list[str])

    def line_number(self, place: Place) -> int:
        """Return the line of a place, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def line(self, place: Place, text: str) -> str:
        """Return `source:line: field: text`."""
        names = place[2:] if place[:1] == ("contracts",) and len(place) > 1 else place
        name = "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in names).lstrip(".")
        head = f"{self.source}:{self.line_number(place)}: "
        return head + (f"{name}: {text}" if name else text)


def read_tree(text: str, source: str) -> Tree:
    """Return the data and lines of YAML text, or its problems."""
    tree = Tree(source)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = _line(event)
                tree.problems.append(f"{source}:{line}: aliases are not supported; write it out")
                return tree
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        tree.problems.append(_malformed(error, text, source))
        return tree
    if node is not None:
        tree.data = _data(node, (), tree)
    return tree


def _malformed(error: Exception, text: str, source: str) -> str:
    mark, what = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    line = mark.line + 1 if mark else 1
    position = getattr(error, "position", None)
    if isinstance(position, int):
        line, what = text.count("\n", 0, position) + 1, "a character that YAML does not allow"
    return f"{source}:{line}: is not valid YAML: {what or 'nested too deep'}; mend it there"


def _data(node: yaml.Node, place: Place, tree: Tree) -> object:
    tree.lines.setdefault(place, _line(node))
    match node:
        case yaml.ScalarNode():
            return _scalar(node, place, tree)
        case yaml.SequenceNode():
            _no_tag(node, "seq", place, tree)
            return [_data(item, (*place, at), tree) for at, item in enumerate(node.value)]
        case yaml.MappingNode():
            _no_tag(node, "map", place, tree)
            return dict(_members(node, place, tree))
        case _:
            return None


def _line(found: yaml.Node | yaml.AliasEvent) -> int:
    return found.start_mark.line + 1 if found.start_mark else 1


def _no_tag(node: yaml.Node, plain: str, place: Place, tree: Tree) -> None:
    if node.tag != _TAG + plain:
        tree.problems.append(tree.line(place, "tags are not supported; remove it"))


def _members(node: yaml.MappingNode, place: Place, tree: Tree) -> Iterator[tuple[str, object]]:
    first: dict[str, int] = {}
    for key, value in node.value:
        line = _line(key)
        name = _scalar(key, (*place, str(key.value)), tree, line) if _is_scalar(key) else None
        if not isinstance(name, str):
            if not tree.problems:
                tree.problems.append(f"{tree.source}:{line}: a key must be text; put it in quotes")
            continue
        tree.lines[(*place, name)] = line
        if name in first:
            text = f"given in line {first[name]} already; keep one of them"
            tree.problems.append(tree.line((*place, name), text))
        first.setdefault(name, line)
        yield name, _data(value, (*place, name), tree)


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)


def _scalar(node: yaml.ScalarNode, place: Place, tree: Tree, line: int | None = None) -> object:
    if line is not None:
        tree.lines[place] = line
    kind, text = node.tag.removeprefix(_TAG), node.value
    if kind == "str":
        return float(text) if node.style is None and _is_float(text) else text
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind in ("int", "float") and _NUMBER.fullmatch(text):
        return int(text) if kind == "int" else float(text)
    why = _SURPRISES.get(kind, "tags are not supported; remove it")
    tree.problems.append(tree.line(place, f"{text!r}: {why}"))
    return text


def _is_float(text: str) -> bool:
    """YAML 1.1 takes 1e3 for text, which nobody means."""
    return bool(_NUMBER.fullmatch(text))
