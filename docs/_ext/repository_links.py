"""Links between files of the repository, as a code host follows them, made links between pages of the site.

Pages link to their neighbours by where these lie: ``fidelity.md``, ``../CONTRIBUTING.md``, a script of the gallery. On
the site some of these are shown by a page with another name, and a page may include a file from elsewhere. README.md,
which a package index shows too, has whole addresses of the repository.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1].resolve()
ROOT = DOCS.parent
GALLERY = Path("examples", "gallery")
SHOWN_BY = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/latentsimplex/datasets/data/LICENCES.md": "licences.md",
    str(GALLERY): "gallery/index.rst",
}
"""Which page shows a file."""

ADDRESS = re.compile(r"https://github\.com/latentsimplex/latentsimplex/(?:blob|raw|tree)/main/")
"""What an address of a file in the repository begins with."""
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s#]+)")


def page_of(file: Path) -> Path:
    """Return the page that shows a file, or the file itself.

    >>> page_of(ROOT / "CHANGELOG.md").name, page_of(ROOT / "examples" / "gallery" / "feature_sets.py").name
    ('changelog.md', 'feature_sets.rst')
    """
    inside = Path(os.path.relpath(file, ROOT))
    if str(inside) in SHOWN_BY:
        return DOCS / SHOWN_BY[str(inside)]
    if inside.parent == GALLERY:
        return DOCS / "gallery" / inside.with_suffix(".rst").name
    return file


def on_site(text: str, file: Path, page: Path) -> str:
    """Return the text of a file with its links as they are to be from a page.

    >>> on_site("[changes](CHANGELOG.md#added)", ROOT / "CONTRIBUTING.md", DOCS / "contributing.md")
    '[changes](changelog.md#added)'
    >>> address = "https://github.com/latentsimplex/latentsimplex/blob/main/docs/tour.md"
    >>> on_site(f"[tour]({address})", ROOT / "README.md", DOCS / "index.md")
    '[tour](tour.md)'
    """

    def moved(link: re.Match[str]) -> str:
        target = page_of(Path(os.path.normpath(file.parent / link[0])))
        return Path(os.path.relpath(target, page.parent)).as_posix()

    return LINK.sub(
        moved, ADDRESS.sub(lambda _: f"{Path(os.path.relpath(ROOT, file.parent)).as_posix()}/", text)
    )


def of_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Move the links of a Markdown page."""
    page = Path(app.env.doc2path(docname))
    if page.suffix == ".md":
        source[0] = on_site(source[0], page, page)


def of_included(app: Sphinx, file: Path, docname: str, content: list[str]) -> None:
    """Move the links of a file that a page at the top of ``docs`` includes."""
    content[0] = on_site(content[0], Path(os.path.normpath(DOCS / file)), DOCS / f"{docname}.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Move links before a page is parsed."""
    app.connect("source-read", of_page)
    app.connect("include-read", of_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
