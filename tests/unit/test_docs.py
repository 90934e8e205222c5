"""The pages say what is true: their examples run, their links lead somewhere, their names exist."""

import ast
import doctest
import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

import latentsimplex

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LARGEST_IMAGE = 150_000


def page_id(page):
    return str(page.relative_to(ROOT))


def run_snippets(text, name):
    """Run a page's Python blocks in order, in one namespace; return how many there were."""
    namespace = {"__name__": "__page__"}
    blocks = list(CODE.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        if ">>>" in block[1]:
            compare_shown(block[1], namespace, name, line)
        else:
            # the blank lines make tracebacks point at the page
            exec(compile("\n" * line + block[1], name, "exec"), namespace)
    return len(blocks)


def compare_shown(block, namespace, name, line):
    session = doctest.DocTestParser().get_doctest(block, namespace, name, name, line)
    said = []
    failed, _ = doctest.DocTestRunner(optionflags=SHOWN).run(session, out=said.append, clear_globs=False)
    assert not failed, "".join(said)
    namespace.update(session.globs)


def table_cells(text):
    """Return the cells of every table row of a page."""
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", text, re.M)
    ]


def anchors(page):
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_snippets_run(page):
    run_snippets(page.read_text(encoding="utf-8"), page_id(page))


def test_readme_and_similarity_page_have_snippets():
    for page in (ROOT / "README.md", ROOT / "docs" / "similarity.md"):
        assert CODE.search(page.read_text(encoding="utf-8")), page


def test_a_wrong_snippet_is_noticed():
    with pytest.raises(AssertionError, match="Expected"):
        run_snippets("```python\n>>> 1 + 1\n3\n```\n", "page")
    with pytest.raises(ZeroDivisionError):
        run_snippets("```python\nx = 0\n```\n\n```python\n1 / x\n```\n", "page")


def test_readme_shows_the_five_lines_as_they_are():
    source = (ROOT / "examples" / "five_lines.py").read_text(encoding="utf-8")
    code = source.split('"""\n\n', 1)[1]
    assert code in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line]) == 5


def test_the_picture_is_drawn_and_small(tmp_path):
    drawn = tmp_path / "overview.png"
    runpy.run_path(str(ROOT / "examples" / "overview.py"))["draw"](drawn)
    for picture in (drawn, ROOT / "docs" / "images" / "overview.png"):
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < LARGEST_IMAGE


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_relative_links_lead_somewhere(page):
    broken = []
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_in_backticks_exist(page):
    for dotted in re.findall(r"`(latentsimplex(?:\.\w+)+)`", page.read_text(encoding="utf-8")):
        found(dotted)


def found(dotted):
    """Return what a dotted name stands for, or raise ImportError or AttributeError."""
    module, rest = importlib.import_module("latentsimplex"), dotted.split(".")[1:]
    while rest and not hasattr(module, rest[0]):
        module = importlib.import_module(f"{module.__name__}.{rest.pop(0)}")
    for name in rest:
        module = getattr(module, name)
    return module


def test_a_name_that_does_not_exist_is_noticed():
    assert inspect.isfunction(found("latentsimplex.em.e_step"))
    with pytest.raises((ImportError, AttributeError)):
        found("latentsimplex.em.no_such_step")


def equation_rows():
    """Return (equation, says, functions, tests) of the rows of docs/equations.md."""
    cells = table_cells((ROOT / "docs" / "equations.md").read_text(encoding="utf-8"))
    return [row for row in cells if len(row) == 4 and "::" in row[3]]


def test_equations_have_functions_and_tests():
    rows = equation_rows()
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    assert len(rows) == len([row for row in table_cells(text) if row[2].startswith("`latentsimplex")])
    for equation in range(1, 11):
        assert any(re.search(rf"\({equation}\)", row[0]) for row in rows), f"equation ({equation}) is missing"


@pytest.mark.parametrize("row", equation_rows(), ids=lambda row: row[0])
def test_the_tests_of_an_equation_exist(row):
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[3])
    assert len(tests) == row[3].count("::")
    for path, name in tests:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (
            path,
            name,
        )


def test_the_module_table_is_complete():
    package = Path(latentsimplex.__file__).parent
    present = {path.name + ("/" if path.is_dir() else "") for path in package.iterdir()}
    present = {name for name in present if name.endswith((".py", "/"))} - {"__pycache__/", "__init__.py"}
    text = (ROOT / "docs" / "principles.md").read_text(encoding="utf-8")
    listed = {name for row in table_cells(text) for name in re.findall(r"`([\w.]+(?:\.py|/))`", row[0])}
    assert listed == present
