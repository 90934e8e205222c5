"""The page says what the model holds, loads nothing, and lets no name out of its place."""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.report import describe, summarise, write_report
from latentsimplex.results.parameters import UnstoredKernel
from made_model import made_model, made_stages, random_model
from report.reading import ONE, SURE, Elements, page_of, with_results

HOSTILE = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>{{ 7 * 7 }}"


def test_an_unfitted_model_has_no_report(tmp_path):
    with pytest.raises(NotFittedError):
        write_report(LatentSimplexPosition(), tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_a_page_tells_what_the_summary_holds(model, tmp_path):
    text = Elements(page_of(model, tmp_path)).text
    for words in (
        "4 samples in 5 views: 3 patterns of clustering, 3 clusters in the consensus",
        "Over the 4 views with clusters",
        "1 view left out, whose pattern has a single cluster or whose weight is 0: flat",
        "converged yes 2 iterations",
        "mean NMI of 2 other starts with the one kept",
        "cluster 0 (0.50)",
        "cluster 1 (0.40)",
        "Its views show no clusters",
        "auto , here forward then reverse",
        "auto , here 10 then 12.5",
        "scikit-learn",
        "Journal of Machine Learning Research 21(38), 2020",
        "@article{duan2020latent,",
    ):
        assert words in text


def table_after(page, heading):
    """Return the rows of the table that follows a heading, as lists of cells."""
    rows = re.findall(r"<tr>(.*?)</tr>", page[page.index(heading) :].split("</table>")[0], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_a_page_has_a_row_for_each_stage(model, tmp_path):
    search, refinement = made_stages(1500)
    last = replace(refinement, name="all views", n_views=12_345, temperature=0.25)
    found = with_results(model, stages=(search, refinement, last))
    header, *rows = table_after(page_of(found, tmp_path), "<h3>Stages</h3>")
    assert header == ["stage", "views", "similarity", "divergence", "response", "temperature", "evidence"]
    local = "diffusion at the local scale; 1 feature as they are"
    mixed = "diffusion at the mixed scale, mean 0.4; 1 feature as they are"
    assert rows == [
        ["search", "1,500", local, "forward", "learned", "10", "2.5"],
        ["refinement", "1,500", mixed, "reverse", "identity", "12.5", "–"],
        ["all views", "12,345", mixed, "reverse", "identity", "0.25", "–"],
    ]


def test_a_page_of_a_fit_in_one_stage_has_one_row(tmp_path):
    fit = LatentSimplexPosition.paper(2, n_init=1, max_iter=3, random_state=0)
    page = page_of(fit.fit([[0.0], [0.1], [5.0], [5.2]]), tmp_path)
    _, row = table_after(page, "<h3>Stages</h3>")
    assert [row[k] for k in (0, 1, 3, 4, 5, 6)] == ["search", "1", "reverse", "identity", "1", "–"]
    assert row[2].startswith("local scaling: quantile 0.1")


def test_the_stages_of_a_page_are_the_same_after_a_file(model, tmp_path):
    before = table_after(page_of(model, tmp_path), "<h3>Stages</h3>")
    model.save(tmp_path / "fit.model")
    assert table_after(page_of(load(tmp_path / "fit.model"), tmp_path), "<h3>Stages</h3>") == before


def test_a_default_fit_has_the_same_page_after_a_file(tmp_path):
    fit = LatentSimplexPosition(2, n_init=1, max_iter=3, random_state=0).fit([[0.0], [0.1], [5.0], [5.2]])
    page = page_of(fit, tmp_path)
    assert "auto , here labels" in Elements(page).text
    assert describe(summarise(fit)).startswith("4 samples in 1 view, 1 pattern")
    fit.save(tmp_path / "fit.model")
    assert page_of(load(tmp_path / "fit.model"), tmp_path) == page


def test_a_page_has_a_panel_for_each_pattern_with_its_figures(model, tmp_path):
    elements = Elements(page_of(model, tmp_path)).elements
    assert [a["id"] for _, a in elements if a.get("role") == "tabpanel"] == [
        "pattern-0",
        "pattern-1",
        "pattern-2",
    ]
    assert [a["aria-label"] for tag, a in elements if tag in ("div", "svg") and a.get("role") == "img"][
        3:
    ] == [
        "Heatmap of co-assignments under pattern 0",
        "Memberships under pattern 0",
        "How many samples have which probability of their cluster",
        "Heatmap of co-assignments under pattern 1",
        "Samples in the simplex of pattern 1",
        "Memberships under pattern 1",
        "How many samples have which probability of their cluster",
        "Heatmap of co-assignments under the consensus",
        "Loss over iterations",
    ]


def test_a_page_warns_of_a_fit_that_did_not_converge(model, tmp_path):
    assert "raise max_iter" not in Elements(page_of(model, tmp_path)).text
    found = with_results(model, converged=False)
    assert "raise max_iter" in Elements(page_of(found, tmp_path)).text


def test_a_page_warns_where_no_other_start_agrees(model, tmp_path):
    assert "No other start" not in Elements(page_of(model, tmp_path)).text
    found = with_results(model, start_agreement=np.array([1.0, 0.89, 0.4]))
    assert "No other start came to the same clusters" in Elements(page_of(found, tmp_path)).text


def test_a_page_about_no_clusters(tmp_path):
    page = Elements(page_of(made_model([ONE], [0, 0]), tmp_path))
    assert "No view shows more than one cluster" in page.text
    assert "If you expect clusters, you could" in page.text
    assert "weight is 0: view0" in page.text
    assert "most uncertain" not in page.text
    assert (page.data["samples"]["listed"], page.data["consensus"]["shares"]) == (0, None)


def test_a_page_is_the_same_each_time(model, tmp_path):
    assert page_of(model, tmp_path) == page_of(model, tmp_path)


# Names, and what a browser may do


def test_what_a_file_says_of_its_stages_cannot_leave_its_place(model, tmp_path):
    search, refinement = made_stages(5)
    bent = replace(
        search, name=HOSTILE, divergence=HOSTILE, response=HOSTILE, similarity=UnstoredKernel(HOSTILE)
    )
    page = Elements(page_of(with_results(model, stages=(bent, refinement)), tmp_path))
    assert page.elements == Elements(page_of(model, tmp_path)).elements
    assert HOSTILE in page.text


def test_names_cannot_leave_their_place(tmp_path):
    hostile = made_model([SURE, ONE], [0, 1], view_names=[HOSTILE, HOSTILE + "2"], sample_names=[HOSTILE] * 4)
    plain = made_model([SURE, ONE], [0, 1], view_names=["a", "b"], sample_names=["c"] * 4)
    page, expected = Elements(page_of(hostile, tmp_path)), Elements(page_of(plain, tmp_path))
    assert page.elements == expected.elements
    assert page.text.count(HOSTILE) == 2 + 2 + 4 + 1  # rows of views, lists of patterns, samples, left out
    assert page.data["views"]["names"] == [HOSTILE, HOSTILE + "2"]
    assert page.data["samples"]["names"] == [HOSTILE] * 4
    assert not set("<>&\u2028\u2029") & set(page.inside["script"][0])


def test_a_name_that_is_half_a_character_is_replaced(tmp_path):
    page = Elements(page_of(made_model([SURE], [0], view_names=["a\ud800b"]), tmp_path))
    assert page.data["views"]["names"] == ["a\ufffdb"]
    assert "a\ufffdb" in page.text


def test_a_very_long_name_is_cut_where_it_shows(tmp_path):
    page = Elements(page_of(made_model([SURE], [0], view_names=["x" * 3000 + "yz"]), tmp_path))
    assert page.data["views"]["names"] == ["x" * 100 + "…" + "x" * 97 + "yz"]
    assert "x" * 200 not in page.text


def test_a_page_allows_its_own_style_and_script_and_nothing_else(model, tmp_path):
    page = Elements(page_of(model, tmp_path))
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    (style,), (_, script) = page.inside["style"], page.inside["script"]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    attributes = {name for _, a in page.elements for name in a}
    assert not {name for name in attributes if name == "style" or name.startswith("on")}


def test_a_page_loads_nothing(model, tmp_path):
    page = page_of(model, tmp_path)
    elements = Elements(page).elements
    assert not {tag for tag, _ in elements} & {"link", "iframe", "object", "embed", "base", "form"}
    assert [a for tag, a in elements if tag == "script"] == [
        {"type": "application/json", "id": "report-data"},
        {},
    ]
    targets = [
        value for _, a in elements for name, value in a.items() if name in ("src", "href", "xlink:href")
    ]
    assert len(targets) > 5
    assert [target[:40] for target in targets if not target.startswith(("#", "data:image/png;base64,"))] == []
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", page)


# Sizes


def test_a_page_on_two_thousand_samples_in_six_views_stays_small(tmp_path):
    assert len(page_of(random_model(2000, 6, 10, concentration=0.5), tmp_path)) < 2_000_000


def test_a_page_on_fifty_thousand_views_stays_small(tmp_path):
    names = [f"GENE{v}" for v in range(50_000)]
    model = made_model(
        list(np.random.default_rng(0).dirichlet([1] * 3, size=(5, 150))),
        np.arange(50_000) % 5,
        view_names=names,
    )
    assert len(page_of(model, tmp_path)) < 3_000_000


def test_many_patterns_are_not_all_drawn_for_readers_without_scripts(tmp_path):
    elements = Elements(page_of(random_model(30, 14, 3), tmp_path)).elements
    assert sum(tag == "img" for tag, _ in elements) == 2 * 12 + 1
    assert sum(tag == "canvas" for tag, _ in elements) == 2 * 14 + 1
