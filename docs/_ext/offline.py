"""A site that asks nothing of the network: a page that would load something from elsewhere is a warning."""

import re
from html.parser import HTMLParser
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

LOADED = {"src", "srcset", "data", "poster"}
"""Attributes whose address a browser fetches by itself; links in the text are left to the reader."""

FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest"}

logger = logging.getLogger(__name__)


class Requests(HTMLParser):
    """The addresses outside the site that a browser would fetch for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag loads."""
        given = {name: value or "" for name, value in attrs}
        addresses = [address for name in LOADED & set(given) for address in re.split(r"[\s,]+", given[name])]
        if tag == "link" and FETCHED_LINKS & set(given.get("rel", "").split()):
            addresses.append(given.get("href", ""))
        self.outside += [a for a in addresses if a.startswith(("http:", "https:", "//"))]


def outside_requests(page: str) -> list[str]:
    """Return what a page would load from elsewhere.

    >>> outside_requests('<a href="https://example.org">a link</a><script src="https://example.org/a.js"></script>')
    ['https://example.org/a.js']
    """
    requests = Requests()
    requests.feed(page)
    return requests.outside


def check(app: Sphinx, exception: Exception | None) -> None:
    """Warn of every page of a built site, and of every style sheet, that loads something from elsewhere."""
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        for address in outside_requests(path.read_text(encoding="utf-8")):
            logger.warning("%s loads %s", path.relative_to(app.outdir), address)
    for path in Path(app.outdir).rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        if "url(http" in text or "url(//" in text or "@import url" in text:
            logger.warning("%s loads something from elsewhere", path.relative_to(app.outdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at the pages when all are written."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
