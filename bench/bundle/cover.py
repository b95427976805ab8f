"""The page in front of a bundled report: it prints the root and the line that verifies it.

The root is over the report, so the report can't print it: it would have to be known before it is computed. A page that the root
isn't over can. It follows from the root and from what is in bundle.json, and is believed only if making it again gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import jinja2

_TEMPLATE = Path(__file__).with_name("cover.html.j2")


def cover_page(campaign: str, root: str, *, records: bool, signed: bool) -> bytes:
    """The page, in UTF-8."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(campaign=campaign, root=root, records=records, signed=signed).encode() + b"\n"
