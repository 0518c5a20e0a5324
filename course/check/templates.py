"""Checks the templates of a course before any page is made with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jinja2 import Environment, TemplateSyntaxError, nodes

from course.diagnostics import Problem, Span, nearest

_PARSER: Final = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_REFERENCES: Final = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
_WITHOUT_OUTPUT: Final = (nodes.Macro, nodes.Assign, nodes.AssignBlock, *_REFERENCES)


def check(own: Mapping[str, str], tool: Mapping[str, str], folder: str) -> Iterator[Problem]:
    """CFG015 for each template of *own*, by name below *folder*, that cannot do what it says.

    *tool* holds the templates of the tool by name; one of *own* replaces that of its name and
    reaches it as ``tool/NAME``.
    """
    texts = {**tool, **{f"tool/{name}": text for name, text in tool.items()}, **own}
    used = {*tool, "style.css"}
    trees: dict[str, nodes.Template] = {}
    for name, text in own.items():
        if not name.endswith(".html"):
            continue
        try:
            trees[name] = _PARSER.parse(text)
        except TemplateSyntaxError as error:
            yield _report(
                f"{folder}/{name}", error.message or "this is not a template", error.lineno
            )
    for name, tree in trees.items():
        for reference in tree.find_all(_REFERENCES):
            optional = isinstance(reference, nodes.Include) and reference.ignore_missing
            for name_used in _list_names(getattr(reference, "template", None)):
                used.add(name_used)
                if name_used not in texts and not optional:
                    message = f'there is no template "{name_used}"'
                    hint = nearest(name_used, texts)
                    yield _report(f"{folder}/{name}", message, reference.lineno, hint)
        yield from _check_blocks(tree, texts, f"{folder}/{name}")
    for name in own:
        if name not in used:
            hint = nearest(name, tool) or f"the tool has {', '.join(sorted(tool))}"
            yield _report(f"{folder}/{name}", "no page uses this template", 1, hint)


def _check_blocks(tree: nodes.Template, texts: Mapping[str, str], file: str) -> Iterator[Problem]:
    """Report output outside the blocks of a template that extends another: it would not appear."""
    blocks = _list_inherited_blocks(tree, texts)
    if blocks is None:
        return
    for node in tree.body:
        if isinstance(node, nodes.Block):
            if node.name not in blocks:
                hint = nearest(node.name, blocks) or f"its blocks are {', '.join(sorted(blocks))}"
                message = f'the extended template has no block "{node.name}"'
                yield _report(file, message, node.lineno, hint)
        elif not isinstance(node, _WITHOUT_OUTPUT) and not _is_space(node):
            message = "this is outside all blocks and would not appear"
            yield _report(file, message, _first_line(node), "put it into a block")


def _list_inherited_blocks(tree: nodes.Template, texts: Mapping[str, str]) -> set[str] | None:
    """The blocks of all templates that *tree* extends; None if it extends none, or no known one."""
    blocks: set[str] | None = None
    seen: set[str] = set()
    while (parent := tree.find(nodes.Extends)) is not None:
        (name, *_) = [*_list_names(parent.template), ""]
        if name not in texts or name in seen:
            return None
        seen.add(name)
        try:
            tree = _PARSER.parse(texts[name])
        except TemplateSyntaxError:  # reported where it stands
            return None
        blocks = (blocks or set()) | {block.name for block in tree.find_all(nodes.Block)}
    return blocks


def _list_names(expression: Any) -> list[str]:
    """The names of templates in *expression*, as far as they are written out."""
    if isinstance(expression, nodes.Const):
        return [expression.value] if isinstance(expression.value, str) else []
    if isinstance(expression, nodes.List | nodes.Tuple):
        return [name for item in expression.items for name in _list_names(item)]
    return []


def _is_space(node: nodes.Node) -> bool:
    """Whether *node* puts out white space only."""
    return isinstance(node, nodes.Output) and all(
        isinstance(part, nodes.TemplateData) and not part.data.strip() for part in node.nodes
    )


def _first_line(node: nodes.Node) -> int:
    """Return the line of the first part of *node* that is not white space."""
    first = next(iter(node.iter_child_nodes()), node)
    text = getattr(first, "data", "")
    return node.lineno + text[: len(text) - len(text.lstrip())].count("\n")


def _report(file: str, message: str, line: int, hint: str | None = None) -> Problem:
    return Problem("CFG015", file, message, span=Span(line, 1, line, 1), hint=hint)
