"""The audit of the consensus on a page: that of the analysis, where there is time for it."""

from latentsimplex.analysis import audit_consensus
from latentsimplex.report import audit
from latentsimplex.report.audit import summarise_audit
from made_model import made_model
from report.reading import ONE, SURE, Elements, page_of


def test_the_audit_is_that_of_the_consensus(model):
    rows = summarise_audit(model.results_)["patterns"]
    expected = audit_consensus(model)
    assert [row["index"] for row in rows] == [0, 1]
    for row in rows:
        assert row["share"] == expected.patterns["share"][row["index"]]
        assert row["label_agreement"] == expected.patterns["label_agreement"][row["index"]]
    assert rows[1]["view_influence"] == expected.views["influence"][3]


def test_an_audit_that_would_take_long_is_left_to_the_reader(model, tmp_path, monkeypatch):
    assert "has a row for each view" in Elements(page_of(model, tmp_path)).text
    monkeypatch.setattr(audit, "MAX_WORK", 4 * 3 * 9 - 1)
    assert summarise_audit(model.results_) == {"patterns": [], "skipped": True}
    assert "takes a while to compute at this size" in Elements(page_of(model, tmp_path)).text


def test_one_pattern_has_nothing_to_audit(tmp_path):
    text = Elements(page_of(made_model([SURE, ONE], [0, 0, 1]), tmp_path)).text
    assert "All views that take part follow one pattern" in text
