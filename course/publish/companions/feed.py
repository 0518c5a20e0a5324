"""An Atom feed of the lessons, in which whoever follows it meets each state of a lesson once."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

_DIGITS: Final = 16  # of the content hash, in the id of an entry


def atom(catalog: Mapping[str, Any], base_url: str, index: str = "") -> str:
    """The feed of the authored lessons; the id of an entry names the content of its lesson.

    Readers take an entry for new when they do not know its id: so a version of the course brings
    them the lessons whose `contentHash` changed and no other, and the feed needs to know nothing
    of an earlier build. *base_url* is absolute and ends with a slash; *index* goes behind the
    address of a page (its id stays the folder). The only date is the course's `updated`.
    """
    course = catalog["course"]
    when = f"{course['updated']}T00:00:00Z"
    entries = [
        _entry(entry, base_url, when, index)
        for phase in catalog["phases"]
        for entry in phase["lessons"]
        if entry["status"] == "authored"
    ]
    title = escape(course["title"])
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{course["lang"]}">\n'
        f"  <id>{escape(base_url)}</id>\n"
        f"  <title>{title}</title>\n"
        f"  <subtitle>{escape(course['summary'])}</subtitle>\n"
        f"  <updated>{when}</updated>\n"
        f"  <author><name>{title}</name></author>\n"
        f"  <rights>{escape(course['licence'])}</rights>\n"
        f'  <link rel="self" type="application/atom+xml" href="{escape(base_url)}feed.xml"/>\n'
        f'  <link rel="alternate" type="text/html" href="{escape(base_url)}{index}"/>\n'
        f"{''.join(entries)}</feed>\n"
    )


def _entry(entry: Mapping[str, Any], base_url: str, when: str, index: str) -> str:
    address = escape(f"{base_url}{entry['url']}")
    state = entry["contentHash"].partition(":")[2][:_DIGITS]
    return (
        "  <entry>\n"
        f"    <id>{address}#{state}</id>\n"
        f"    <title>{escape(entry['title'])}</title>\n"
        f"    <updated>{when}</updated>\n"
        f'    <link rel="alternate" type="text/html" href="{address}{index}"/>\n'
        f"    <summary>{escape(entry['summary'])}</summary>\n"
        "  </entry>\n"
    )
