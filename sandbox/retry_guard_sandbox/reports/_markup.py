"""Building HTML and SVG as a tree, so that whatever a name holds is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree as ET

Node = ET.Element
Content = Node | str


def tag(name: str, attributes: Mapping[str, str], *children: Content) -> Node:
    """Return an element with these children."""
    element = ET.Element(name, dict(attributes))
    for child in children:
        if not isinstance(child, str):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + child
        else:
            element.text = (element.text or "") + child
    return element


def document(title: str, style: str, *body: Content) -> str:
    """Return a whole page in one file."""
    head = tag(
        "head",
        {},
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("title", {}, title),
        tag("style", {}, style),
    )
    root = tag("html", {"lang": "en"}, head, tag("body", {}, *body))
    return f"<!doctype html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Node:
    """Return a table whose first column names the row; it scrolls inside its own box."""
    head = tag("tr", {}, *(tag("th", {"scope": "col"}, column) for column in columns))
    body = [
        tag("tr", {}, tag("th", {"scope": "row"}, name), *(tag("td", {}, text) for text in texts))
        for name, *texts in rows
    ]
    made = tag(
        "table", {}, tag("caption", {}, caption), tag("thead", {}, head), tag("tbody", {}, *body)
    )
    box = {"class": "box", "tabindex": "0", "role": "region", "aria-label": caption}
    return tag("div", box, made)


def numbers(summary: str, *inside: Content) -> Node:
    """Return what is folded away until somebody asks for it."""
    return tag("details", {}, tag("summary", {}, summary), *inside)


def listed(items: Iterable[str]) -> Node:
    """Return a list of texts."""
    return tag("ul", {}, *(tag("li", {}, item) for item in items))


def figure(caption: str, about: str, *inside: Content) -> Node:
    """Return a chart with its caption, and a line that says how to read it."""
    title = tag("figcaption", {}, tag("strong", {}, caption), tag("span", {}, about))
    return tag("figure", {}, title, *inside)


def drawing(title: str, description: str, height: float, *shapes: Node) -> Node:
    """Return an SVG as wide as its place, whose text keeps its size; x is given in per cent."""
    size = {"width": "100%", "height": f"{height:g}", "role": "img", "aria-label": title}
    return tag("svg", size, tag("title", {}, title), tag("desc", {}, description), *shapes)


def bar(x: float, y: float, width: float, height: float, kind: str) -> Node:
    """Return a rectangle; `x` and `width` are shares of the whole width."""
    return tag(
        "rect",
        {
            "x": percent(x),
            "y": f"{y:g}",
            "width": percent(width),
            "height": f"{height:g}",
            "class": kind,
        },
    )


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Node:
    """Return a text; `x` is a share of the whole width."""
    place = {"x": percent(x), "y": f"{y:g}", "text-anchor": anchor, "class": kind}
    return tag("text", place, text)


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Node:
    """Return a line; `x1` and `x2` are shares of the whole width."""
    ends = {"x1": percent(x1), "y1": f"{y1:g}", "x2": percent(x2), "y2": f"{y2:g}", "class": kind}
    return tag("line", ends)


def percent(share: float) -> str:
    """Return a share as CSS takes it, rounded so that it is equal on every machine."""
    return f"{100 * share:.3f}%"
