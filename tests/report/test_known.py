"""The report's section on labels and links."""

import numpy as np

from latentsimplex import LatentSimplexPosition
from latentsimplex.report import describe, summarise

N = 60


def make_model(**given):
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    X = 12.0 * truth[:, None] + rng.normal(size=(N, 2))
    return LatentSimplexPosition(n_init=1, random_state=0, n_jobs=1).fit(X, **given)


def test_what_is_known_is_summarised_and_shown(tmp_path):
    y = [None] * N
    y[:8] = ["<b>", "two"] * 4
    y[0] = "two"
    model = make_model(y=y, must_link=[(10, 12)])
    known = summarise(model)["known"]
    assert (known["n_labels"], known["n_links"], known["pattern"]) == (8, 1, 0)
    assert known["doubts"][0]["samples"] == ["0"]
    assert [each["name"] for each in known["classes"]].count("two") == 1
    assert "8 labels and 1 link speak of pattern 0" in describe(summarise(model))
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Labels and links" in page
    assert '<bdi class="name">&lt;b&gt;</bdi>' in page


def test_nothing_known_has_no_section(tmp_path):
    model = make_model()
    assert summarise(model)["known"] is None
    model.report(tmp_path / "report.html")
    assert "Labels and links" not in (tmp_path / "report.html").read_text(encoding="utf-8")
