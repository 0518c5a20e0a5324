"""The common parts of all pages: safe text, templates with the site's words, header and footer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from traceback import walk_tb
from types import CodeType, SimpleNamespace
from typing import Any, Final, NamedTuple

from jinja2 import (
    BytecodeCache,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    FunctionLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket
from markupsafe import Markup

TEMPLATES: Final = Path(__file__).parent / "templates"
ASSETS: Final = Path(__file__).parent / "assets"
PYODIDE: Final = "314.0.7"
PYTHON_FOLDER: Final = f"python/{PYODIDE}/"  # in the site; a new version has new addresses
RIGHT_TO_LEFT: Final = frozenset({"ar", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
TOP, FLAT, DEEP = "", "../", "../../"  # from a page to the site root, by depth

Resource = Mapping[str, Any]
Ref = Mapping[str, Any]  # {id, title, url, status?}; url from the site root, with a final slash
Trail = Sequence[tuple[str, str]]  # breadcrumb after the home page: (url, title)
Labels = Mapping[str, str]  # interface words by key
_SPAN: Final = re.compile(r"`([^`]+)`|\*\*(\S(?:.*?\S)?)\*\*|\*(\S(?:.*?\S)?)\*")
_BREAK: Final = re.compile(r"\n[ \t]*\n\s*")

_PLANNED: Final = {"status": "planned"}
_MAIN_ITEMS: Final = (
    ("phases", "phases/", "course"),
    ("pathways", "pathways/", "pathways"),
    ("roles", "roles/", "roles"),
    ("projects", "projects/", "projects"),
    ("concepts", "concepts/", "concepts"),
)


def attribute(text: str) -> str:
    """*text* escaped for an element or a quoted attribute.

    Five replacements cost a third of ``markupsafe.escape``, which wraps what it returns; a
    lesson page escapes some 150 texts.
    """
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&#34;")
        .replace("'", "&#39;")
    )


@lru_cache(maxsize=1024)
def attribute_cached(text: str) -> str:
    """:func:`attribute` for words that return: ids of options, words of the interface."""
    return attribute(text)


def html(text: str) -> str:
    """*text* escaped, with `code`, *emphasis* and **strong emphasis** as elements."""
    safe = attribute(text)
    if "`" not in text and "*" not in text:
        return safe
    return _SPAN.sub(_element, safe)


def inline(text: str) -> Markup:
    """:func:`html` for a template that escapes by itself."""
    return Markup(html(text))  # noqa: S704  (escaped by html)


def paragraphs(text: str) -> str:
    """Paragraphs of *text*, split at blank lines, each rendered by :func:`html`."""
    if "\n" not in text:
        return f"<p>{html(text)}</p>"
    return "".join([f"<p>{html(part)}</p>" for part in _BREAK.split(text.strip())])


def prose(text: str) -> Markup:
    """:func:`paragraphs` for a template that escapes by itself."""
    return Markup(paragraphs(text))  # noqa: S704  (escaped by html)


def plain(text: str) -> str:
    """*text* without its markers: for titles, descriptions and search results."""
    if "`" not in text and "*" not in text:
        return text
    return _SPAN.sub(lambda match: match[1] or match[2] or match[3], text)


def _element(match: re.Match[str]) -> str:
    if match[1]:
        return f"<code>{match[1]}</code>"
    return f"<strong>{match[2]}</strong>" if match[2] else f"<em>{match[3]}</em>"


def fill(label: str, **values: object) -> str:
    """Fill the placeholders (``{name}``) of *label*, which may lack some of them."""
    for name, value in values.items():
        label = label.replace(f"{{{name}}}", str(value))
    return label


class SiteInfo(NamedTuple):
    """The facts that all pages of one build share.

    ``words`` is ``ui/<lang>.yaml`` without ``kinds``; ``assets`` maps logical names to paths
    from the site root; ``base_url`` is absolute with a final slash; ``file_urls`` links
    ``x/index.html`` in full; ``edit_base`` goes before a source path in edit links;
    ``social`` is the absolute address of the picture for links to the site; ``mark`` is the SVG
    beside the name of the course; ``templates`` replace those of the tool by name; ``empty``
    names the sections that the course has nothing for, which no menu leads to.
    """

    course: Resource
    words: Mapping[str, str]
    kinds: Mapping[str, str]
    assets: Mapping[str, str]
    base_url: str | None
    file_urls: bool = False
    edit_base: str | None = None
    social: str = ""
    mark: str = ""
    templates: Mapping[str, str] = {}
    empty: tuple[str, ...] = ()


def _place(error: Exception, own: Mapping[str, str], template: str) -> tuple[str, int]:
    """Which template of the course's *own* has failed as *template* was rendered, and its line."""
    if isinstance(error, TemplateSyntaxError) and error.name in own:
        return error.name or template, error.lineno
    frames = ((frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__))
    return ([frame for frame in frames if frame[0] in own] or [(template, 1)])[-1]


class TemplateFault(Exception):
    """A template of the course that cannot be used: its name, what is wrong, and its line."""


class Frame(NamedTuple):
    """The parts around the content of one page."""

    title: str
    description: str
    address: str
    header: Markup
    footer: Markup
    crumbs: Markup


class _Compiled(BytecodeCache):
    """The tool's templates as compiled before: that takes most of a small build."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, CodeType | None]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the code of a template whose text is still the same."""
        checksum, code = self._last.get(bucket.key, ("", None))
        bucket.code = code if checksum == bucket.checksum else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        self._last[bucket.key] = bucket.checksum, bucket.code


_COMPILED: Final = _Compiled()


class Shell:
    """Compiled templates and the small pieces of HTML that several pages use."""

    def __init__(self, site: SiteInfo) -> None:
        self.site = site
        self.words = site.words
        self.index = "index.html" if site.file_urls else ""
        self._things = {
            item["id"]: plain(item["title"]) for item in site.course.get("equipment", ())
        }
        self.name = plain(site.course["title"]).partition(":")[0]
        self._env = Environment(
            loader=_loader(site.templates),
            autoescape=True,
            auto_reload=False,
            # What a course's own may hold of the words is put in as it is compiled.
            bytecode_cache=None if site.templates else _COMPILED,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._env.globals = self._constants()
        self._env.filters |= {
            "attribute": attribute,
            "html": html,
            "inline": inline,
            "prose": prose,
            "badge": self.badge,
            "card": self.card,
            "duration": self.duration,
            "lessons": self.lessons,
            "size": size,
        }
        words = [attribute(self.words[key]) for key in ("breadcrumb", "home")]
        self._crumbs = (
            f'<nav class="crumbs" aria-label="{words[0]}"><ol>'
            f'<li><a href="%s">{words[1]}</a></li>%s</ol></nav>'
        )
        self._chrome: Callable[..., tuple[Markup, Markup]] = cache(self._render_chrome)

    def render(self, template: str, **values: Any) -> Markup:
        """The template of that name as HTML that is safe to put into another page."""
        try:
            html = self._env.get_template(template).render(values)
        except Exception as error:
            if not self.site.templates:
                raise
            # whatever an expression of the course's own template raises, and what jinja does
            name, line = _place(error, self.site.templates, template)
            message = str(error) if isinstance(error, TemplateError) else repr(error)
            raise TemplateFault(name, message, line) from error
        return Markup(html)  # noqa: S704  (escaped by jinja)

    def word(self, key: str) -> str:
        """An interface word, escaped."""
        return attribute_cached(self.words[key])

    def frame(
        self,
        path: str,
        title: str,
        description: str,
        section: str = "",
        trail: Trail = (),
    ) -> Frame:
        """Head, header, breadcrumb and footer of the page at *path* (from the site root)."""
        root = "../" * path.count("/")
        header, footer = self._chrome(root, section, path == f"{section}/")
        name = self.name if path else ""
        return Frame(
            title=f"{plain(title)} | {name}" if name else plain(title),
            description=plain(description),
            address=self.site.base_url + path + self.index if self.site.base_url else "",
            header=header,
            footer=footer,
            crumbs=self.crumbs(root, trail),
        )

    def crumbs(self, root: str, trail: Trail) -> Markup:
        """The way from the home page to the page above this one."""
        links = "".join(
            f'<li><a href="{root}{url}{self.index}">{html(title)}</a></li>' for url, title in trail
        )
        return Markup(self._crumbs % (self.home(root), links))  # noqa: S704  (escaped by html)

    def home(self, root: str) -> str:
        """Address of the home page as seen from *root*."""
        return root + self.index or "./"

    def items(self, refs: Iterable[Ref], root: str) -> Markup:
        """List items, one link each; empty for no refs."""
        items = [f"<li>{self._link(ref, root)}</li>" for ref in refs]
        return Markup("\n".join(items))  # noqa: S704  (escaped by html)

    def rows(self, lessons: Iterable[Ref], root: str, number: str = "") -> Markup:
        """Lines with title and minutes; with the *number* of their phase, in full."""
        rows = [self._row(lesson, root, number) for lesson in lessons]
        return Markup("".join(rows))  # noqa: S704  (escaped by html)

    def _row(self, lesson: Ref, root: str, number: str) -> str:
        place = summary = amount = ""
        if number:
            place = f'<span class="number">{attribute(number)}.{lesson["position"]}</span>'
            summary = f"<p>{html(lesson['summary'])}</p>"
        if "minutes" in lesson:
            estimate = f" ({self.word('estimate')})" if lesson["status"] == "planned" else ""
            time = f"{lesson['minutes']} {self.word('minutes_unit')}{estimate}"
            amount = f'<span class="amount">{time}</span>'
        return f"<li>{place}<div>{self._link(lesson, root)}{summary}</div>{amount}</li>\n"

    def names(self, refs: Iterable[Ref], root: str) -> Markup:
        """Links in one line, or the word for none."""
        links = ", ".join([self._link(ref, root) for ref in refs])
        return Markup(links or attribute(self.words["none"]))  # noqa: S704  (escaped by html)

    def references(self, references: Iterable[Resource]) -> Markup:
        """List items that link to other sites."""
        items = [
            f'<li><a rel="external" href="{attribute(link["url"])}">{html(link["title"])}</a></li>'
            for link in references
        ]
        return Markup("\n".join(items))  # noqa: S704  (escaped above)

    def nearby(self, before: Ref | None, after: Ref | None, along: Iterable[Ref] = ()) -> Markup:
        """Links to the page before and the page after, of a page two folders deep.

        *along* are the pages that come next on a pathway, which each ref names.
        """
        links = [
            f'<a class="{word}" rel="{relation}" href="{DEEP}{attribute(ref["url"])}{self.index}">'
            f"<span>{self.word(word)}</span> {html(ref['title'])}{self._badge(ref)}</a>"
            for word, relation, ref in (("previous", "prev", before), ("next", "next", after))
            if ref is not None
        ]
        links += [
            f'<a class="next along" href="{DEEP}{attribute(ref["url"])}{self.index}"><span>'
            f"{attribute(fill(self.words['next_along'], title=plain(ref['pathway'])))}</span> "
            f"{html(ref['title'])}{self._badge(ref)}</a>"
            for ref in along
        ]
        if not links:
            return Markup("")
        opening = f'<nav class="nearby" aria-label="{self.word("nearby")}">'
        return Markup(f"{opening}{' '.join(links)}</nav>")  # noqa: S704  (escaped by html)

    def concepts(self, refs: Iterable[Ref], root: str) -> Markup:
        """Links to concepts of the glossary in one line; empty for none."""
        page = f"{root}concepts/{self.index}#"
        links = [f'<a href="{page}{ref["id"]}">{html(ref["title"])}</a>' for ref in refs]
        return Markup(", ".join(links))  # noqa: S704  (escaped by html)

    def badge(self, ref: Ref) -> Markup:
        """Return the label of a planned entry; empty for an existing one."""
        return Markup(self._badge(ref))  # noqa: S704  (escaped in _badge)

    def card(self, entry: Ref, root: str) -> Markup:
        """A list item with title, summary and, where known, the amount of work."""
        facts = ""
        if totals := entry.get("totals"):
            amount = f"{self.lessons(totals['authored'])}, {self.duration(totals['minutes'])}"
            planned = f"+ {totals['planned']}{self._badge(_PLANNED)}"
            more = f" <small>{planned}</small>" if totals["planned"] else ""
            facts = f'<p class="amount">{attribute(amount)}{more}</p>'
        link, summary = self._link(entry, root), html(entry["summary"])
        card = f'<li class="card">{link}<p>{summary}</p>{facts}</li>'
        return Markup(card)  # noqa: S704  (escaped by html)

    def _link(self, ref: Ref, root: str) -> str:
        url = root + ref["url"] + self.index
        return f'<a href="{attribute(url)}">{html(ref["title"])}</a>{self._badge(ref)}'

    def _badge(self, ref: Ref) -> str:
        if ref.get("status") != "planned":
            return ""
        return f' <span class="planned">{attribute(self.words["planned"])}</span>'

    def lessons(self, count: int) -> str:
        """A number of lessons in words."""
        if count == 1:
            return self.words["lessons_one"]
        return self.words["lessons_many"].replace("{n}", str(count))

    def duration(self, minutes: int) -> str:
        """Hours and minutes with their units."""
        hours, rest = divmod(minutes, 60)
        parts = [f"{hours} {self.words['hours_unit']}"] if hours else []
        if rest or not hours:
            parts.append(f"{rest} {self.words['minutes_unit']}")
        return " ".join(parts)

    def equipment(self, items: Iterable[str]) -> str:
        """The words for a list of equipment."""
        words = [self._things.get(item, self.words["equipment_none"]) for item in items]
        return ", ".join(words) or self.words["equipment_none"]

    def _render_chrome(self, root: str, section: str, exact: bool) -> tuple[Markup, Markup]:
        items = [
            (key, url, self.words[word])
            for key, url, word in _MAIN_ITEMS
            if key not in self.site.empty
        ]
        header = self.render(
            "header.html",
            root=root,
            home=self.home(root),
            section=section,
            exact=exact,
            items=items,
        )
        return header, self.render("footer.html", root=root)

    def _constants(self) -> dict[str, Any]:
        """Return the globals of templates: words ``w``, assets, the course ``c``; all escaped."""
        course = self.site.course
        language = course["lang"].partition("-")[0]
        facts = {key: plain(course[key]) for key in ("title", "version", "updated")}
        facts |= {"lang": course["lang"], "licence": course["licence"], "name": self.name}
        facts |= {"id": course["id"], "social": self.site.social}
        facts["dir"] = "rtl" if language in RIGHT_TO_LEFT else "ltr"
        assets = {name.replace(".", "_"): path for name, path in self.site.assets.items()}
        return {
            "w": _escape_all(self.words),
            "c": _escape_all(facts),
            "asset": _escape_all(assets),
            "index": self.index,
            "mark": Markup(self.site.mark),  # noqa: S704  (an SVG that images.py has let pass)
        }


def _loader(own: Mapping[str, str]) -> ChoiceLoader:
    """The templates *own* of a course before the tool's, which are ``tool/NAME``, too."""
    tool = FileSystemLoader(TEMPLATES)
    ours = FunctionLoader(lambda name: (own[name], name, None) if name in own else None)
    return ChoiceLoader([ours, tool, PrefixLoader({"tool": tool})])


def _escape_all(texts: Mapping[str, str]) -> SimpleNamespace:
    """*texts* as they stand in an attribute; no engine that reads the page again finds a tag."""
    safe = {key: attribute(text).replace("{", "&#123;") for key, text in texts.items()}
    return SimpleNamespace(**{key: Markup(text) for key, text in safe.items()})  # noqa: S704


def size(count: int) -> str:
    """A number of bytes for people: kB of 1,000, at least 1."""
    return f"{max(1, round(count / 1000)):,} kB"


class Assets(NamedTuple):
    """The files of ``assets/``.

    ``paths`` maps a logical name ("site.css") to its path from the site root
    ("assets/site.3f9a12bc.css"); ``files`` maps that path to the bytes.
    """

    paths: Mapping[str, str]
    files: Mapping[str, bytes]


def bundle(style: bytes = b"", icon: bytes | None = None) -> Assets:
    """Read the folder of assets once and name each file after its bytes.

    *style* comes after the tool's own rules, *icon* in place of its icon. Files directly inside
    keep their name; a subfolder ("site.css/") becomes one file of that name, made of its parts in
    the order of their names.
    """
    paths: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for entry in sorted(ASSETS.iterdir()):
        parts = sorted(entry.iterdir()) if entry.is_dir() else [entry]
        data = b"\n".join(part.read_bytes() for part in parts)
        if entry.name == "site.css" and style:
            data += b"\n" + style
        elif entry.name == "icon.svg" and icon is not None:
            data = icon
        path = hash_path(entry.name, data)
        paths[entry.name] = path
        files[path] = data
    return Assets(paths, files)


def hash_path(name: str, data: bytes) -> str:
    """The path from the site root: the first hex digits of the SHA-256 go before the suffix."""
    stem, dot, suffix = name.rpartition(".")
    digest = hashlib.sha256(data).hexdigest()[:8]
    return f"assets/{stem}.{digest}{dot}{suffix}"
