"""Reports at the sizes people have: small files, usable at once, and every view found."""

import time
from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.report.wording import probability
from made_model import made_model, random_model

pytestmark = pytest.mark.browser

N_VIEWS = 50_000
MOST_BYTES = 8_000_000
MOST_SECONDS = 3


def genes():
    """50,000 views with names like genes, 150 samples, five patterns, each view more or less sure of its own."""
    rng = np.random.default_rng(0)
    memberships = list(rng.dirichlet([0.3] * 4, size=(5, 150)))
    letters = rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), size=(N_VIEWS, 4))
    names = ["".join(row) + str(v) for v, row in enumerate(letters)]
    patterns = rng.integers(0, 5, N_VIEWS)
    patterns[:5] = range(5)
    model = made_model(memberships, patterns, view_names=names)
    eta = 0.7 * np.eye(5)[patterns] + 0.3 * rng.dirichlet([1] * 5, N_VIEWS)
    return model._show(replace(model.results_, view_responsibilities=eta))


@pytest.fixture(scope="module")
def gene_report(tmp_path_factory):
    model, path = genes(), tmp_path_factory.mktemp("genes") / "page.html"
    model.report(path)
    return model, path


def usable(visit, path, action):
    """Open a page, do something with it, and return the page and the seconds that both took."""
    seen = visit(path)  # a window that is open already
    start = time.perf_counter()
    seen.page.goto(path.as_uri())
    action(seen.ready())
    return seen.page, time.perf_counter() - start


def rows(page, table="view-list"):
    texts = page.locator(f"#{table} tbody tr:not(.spacer)").all_inner_texts()
    return [[cell.strip() for cell in text.split("\t")] for text in texts]


def test_a_view_among_fifty_thousand_is_found_at_once(gene_report, visit, shoot):
    model, path = gene_report
    names = model.view_names_in_
    page, seconds = usable(
        visit, path, lambda page: page.locator("#view-list input").fill(names[31_415].lower())
    )
    assert seconds < MOST_SECONDS
    assert path.stat().st_size < MOST_BYTES
    shoot(page, "views-50000-found")
    for v in (31_415, 3, 20_000, 42_424, 49_999):
        page.locator("#view-list input").fill(names[v].lower())
        (found,) = [row for row in rows(page) if row[0] == names[v]]
        eta = model.view_responsibilities_[v]
        first, second = np.argsort(-eta)[:2]
        assert found[1:3] == [str(first), probability(eta[first])]
        assert found[3] == f"{second} ({probability(eta[second])})"


def test_only_rows_in_sight_are_in_the_page(gene_report, visit, shoot):
    model, path = gene_report
    page = visit(path).ready()
    assert len(rows(page)) < 60
    assert page.locator("#view-list table").get_attribute("aria-rowcount") == str(N_VIEWS + 1)
    shoot(page, "views-50000")
    page.locator("#view-list .scroller").evaluate("s => s.scrollTop = s.scrollHeight")
    page.get_by_text(model.view_names_in_[-1], exact=True).wait_for()
    assert len(rows(page)) < 60
    assert rows(page)[-1][0] == model.view_names_in_[-1]


def test_fifty_thousand_views_are_sorted_and_chosen_by_pattern(gene_report, visit):
    model, path = gene_report
    page = visit(path).ready()
    start = time.perf_counter()
    page.locator("#view-list th").nth(2).get_by_role("button").click()
    page.locator("#views [data-show-views='3']").click()
    assert time.perf_counter() - start < MOST_SECONDS
    own = np.flatnonzero(model.view_patterns_ == 3)
    levels = np.rint(model.view_responsibilities_[own, 3] * 65535)
    expected = model.view_names_in_[own[np.argsort(levels, kind="stable")]]
    assert [row[0] for row in rows(page)[:15]] == expected[:15].tolist()
    assert page.locator("#view-list [role=status]").inner_text() == f"{len(own):,} of 50,000 views"
    page.locator("#view-list th").first.get_by_role("button").click()
    assert [row[0] for row in rows(page)[:15]] == sorted(model.view_names_in_[own])[:15]


def test_two_thousand_samples_in_six_views_are_usable_at_once(tmp_path, visit, shoot, wait_until):
    model = random_model(2000, 6, 10, sample_names=[f"sample {i}" for i in range(2000)])
    path = tmp_path / "page.html"
    start = time.perf_counter()
    model.report(path)
    assert time.perf_counter() - start < 5
    assert path.stat().st_size < MOST_BYTES
    page, seconds = usable(visit, path, lambda page: page.locator("#sample-list input").fill("sample 1234"))
    assert seconds < MOST_SECONDS
    assert [row[0] for row in rows(page, "sample-list")] == ["sample 1234"]
    page.locator("#tab-5").click()
    wait_until(page, "document.querySelector('#pattern-5 .bars canvas').width === 600")
    assert "600 of 2,000 samples are drawn" in page.locator("#patterns").inner_text()
    shoot(page, "samples-2000")
