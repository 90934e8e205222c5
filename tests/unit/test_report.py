"""The report says what the model holds, loads nothing, and lets no name out of its place."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.audit import audit_consensus
from latentsimplex.report import audited, describe, embedded, figures, summarise, write_report
from latentsimplex.similarity import Readings
from made_model import made_model, random_model

SURE = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.05, 0.95]])
THREE = np.array([[0.5, 0.4, 0.1], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
ONE = np.ones((4, 1))
HOSTILE = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>{{ 7 * 7 }}"


@pytest.fixture
def model():
    """Three views of SURE, one of THREE and one without clusters."""
    names = ["a", "b", "c", "d", "flat"]
    return made_model([SURE, THREE, ONE], [0, 0, 0, 1, 2], view_names=names, n_clusters=3, n_patterns=4)


def page_of(model, tmp_path):
    write_report(model, tmp_path / "page")
    return (tmp_path / "page").read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every element of a page with its attributes, the text to read, and what the styles and scripts hold."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.inside = {"style": [], "script": []}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]].append(data)
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        return json.loads(self.inside["script"][0])


def decoded(column):
    kind, content = column
    return np.frombuffer(base64.b64decode(content), dtype=f"<{kind}")


# The summary


def test_headline_counts_only_views_with_clusters(model):
    headline = summarise(model)["headline"]
    sure, three = (0.9 + 0.7 + 0.8 + 0.95) / 4, (0.5 + 1 + 1 + 1) / 4
    assert headline["probability"] == pytest.approx((3 * sure + three) / 4)
    assert headline["unsure"] == pytest.approx((3 * 1 / 4 + 1 / 4) / 4)
    assert (headline["n_samples"], headline["n_views"], headline["n_views_clustered"]) == (4, 5, 4)
    assert headline["n_clusters"] == [2, 3, 1]


def test_the_kept_start_has_no_say_in_how_stable_a_fit_is(model):
    model.start_losses_ = np.array([16.0, 15.0, 15.01])
    model.start_agreement_ = np.array([0.45, 1.0, 0.95])
    summary = summarise(model)
    assert summary["headline"]["start_agreement"] == pytest.approx(0.7)
    assert (summary["headline"]["n_alike"], summary["headline"]["n_starts"]) == (1, 3)
    assert [start["kept"] for start in summary["course"]["starts"]] == [False, True, False]


def test_a_single_start_says_nothing_of_stability(model, tmp_path):
    model.start_losses_, model.start_agreement_ = np.array([15.0]), np.array([1.0])
    assert summarise(model)["headline"]["start_agreement"] is None
    assert "a single start cannot disagree" in Elements(page_of(model, tmp_path)).text
    assert describe(summarise(model)).endswith("; a single start")


def test_patterns_their_clusters_and_their_views(model):
    model.view_responsibilities_ = np.array(
        [[0.96, 0.04, 0], [0.9, 0.1, 0], [0.7, 0.3, 0], [0, 1, 0], [0, 0, 1]]
    )
    first, second, third = summarise(model)["patterns"]
    assert (first["n_views"], first["n_clusters"], first["weight"]) == (3, 2, pytest.approx(0.6))
    assert (first["n_views_sure"], first["n_views_unsure"], first["top_views"]) == (1, 1, ["a", "b", "c"])
    assert [cluster["size"] for cluster in first["clusters"]] == [2, 2]
    assert first["clusters"][0]["probability"] == pytest.approx(0.8)
    assert first["clusters"][0]["unsure"] == pytest.approx(0.5)
    assert second["probability"] == pytest.approx(0.875)
    assert (third["n_clusters"], third["probability"]) == (1, 1.0)


def test_views_with_their_pattern_and_the_next_one(model):
    model.view_responsibilities_[0] = [0.6, 0.1, 0.3]
    assert summarise(model)["views"]["rows"][0] == {
        "name": "a",
        "pattern": 0,
        "responsibility": 0.6,
        "rival": 2,
        "rival_probability": 0.3,
        "n_clusters": 2,
        "weight": 1.0,
    }
    assert summarise(model)["views"]["n_unsure"] == 1


def test_the_most_uncertain_sample_and_its_rival(model):
    rows = summarise(model)["uncertain"]
    assert [row["sample"] for row in rows] == ["1", "0", "2", "3"]
    assert rows[1] == {
        "sample": "0",
        "probability": pytest.approx((3 * 0.9 + 0.5) / 4),
        "consensus": int(model.labels_[0]),
        "pattern": 1,
        "cluster": 0,
        "cluster_probability": 0.5,
        "rival": 1,
        "rival_probability": 0.4,
    }


def test_an_assigned_cluster_need_not_be_the_most_probable(model):
    model.pattern_labels_[1, 0] = 2
    row = next(row for row in summarise(model)["uncertain"] if row["sample"] == "0")
    assert (row["cluster"], row["cluster_probability"], row["rival"]) == (2, pytest.approx(0.1), 0)


def test_consensus_and_its_exclusions(model):
    consensus = summarise(model)["consensus"]
    assert (consensus["n_included"], consensus["excluded"], consensus["n_excluded"]) == (4, ["flat"], 1)
    P = model.consensus_.coassignment.toarray()
    for cluster in consensus["clusters"]:
        members = np.flatnonzero(model.labels_ == cluster["index"])
        assert cluster["size"] == len(members)
        pairs = [P[i, j] for i in members for j in members if i != j]
        assert cluster["coassignment"] == (pytest.approx(np.mean(pairs)) if pairs else None)


def test_settings_say_what_auto_stood_for(model):
    settings = {setting["name"]: setting for setting in summarise(model)["settings"]}
    values = {name: setting["value"] for name, setting in settings.items()}
    assert values["n_clusters"] == "3"
    assert values["similarity"] == "auto: Readings(scale='mixed', features=((1, 'as they are'),), mean=0.4)"
    assert values["divergence"] == "auto: forward then reverse"
    assert values["response"] == "auto: learned then identity"
    assert (values["penalty"], values["search"]) == ("auto: labels", "auto: moves")
    assert values["temperature"] == "auto: 12.5"
    assert (settings["temperature"]["given"], settings["temperature"]["meant"]) == ("auto", "12.5")
    assert (settings["n_init"]["given"], settings["n_init"]["meant"]) == ("3", None)
    assert set(settings) == set(LatentSimplexPosition().get_params())


def test_settings_that_were_given_stand_alone(model):
    model.set_params(divergence="forward", response="learned", similarity="diffusion", temperature=3.0)
    settings = {setting["name"]: setting["value"] for setting in summarise(model)["settings"]}
    assert (settings["divergence"], settings["response"]) == ("forward", "learned")
    assert (settings["similarity"], settings["temperature"]) == ("diffusion", "3.0")


def test_settings_of_clusters_that_were_drawn_as_they_were_found(model):
    model.similarity_ = Readings("fine", ((1, "as they are"),))
    settings = {setting["name"]: setting["value"] for setting in summarise(model)["settings"]}
    assert (settings["divergence"], settings["response"]) == ("auto: forward", "auto: learned")


def test_a_summary_is_plain_json(model):
    assert json.loads(json.dumps(summarise(model))) == summarise(model)


def test_an_unfitted_model_has_no_report(tmp_path):
    with pytest.raises(NotFittedError):
        write_report(LatentSimplexPosition(), tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_a_description_for_the_terminal(model):
    model.start_agreement_ = np.array([1.0, 0.95, 0.45])
    lines = describe(summarise(model)).splitlines()
    assert lines[0] == "4 samples in 5 views, 3 patterns"
    assert lines[1].startswith("pattern 0: 3 views, weight 0.60, 2 clusters, mean probability")
    assert lines[3] == "pattern 2: 1 view, weight 0.20, 1 cluster"
    assert lines[-2] == "consensus: 3 clusters from 4 views, 1 view excluded"
    course, stability = lines[-1].split("; ")
    assert course == "EM converged after 2 iterations, loss 15"
    assert stability == "1 of 2 other starts clustered alike, mean NMI 0.70"


# The audit


def test_the_audit_is_that_of_the_consensus(model):
    rows = audited.audited(model)["patterns"]
    expected = audit_consensus(model)
    assert [row["index"] for row in rows] == [0, 1]
    for row in rows:
        assert row["share"] == expected.patterns["share"][row["index"]]
        assert row["label_agreement"] == expected.patterns["label_agreement"][row["index"]]
    assert rows[1]["view_influence"] == expected.views["influence"][3]


def test_an_audit_that_would_take_long_is_left_to_the_reader(model, tmp_path, monkeypatch):
    assert "has a row for each view" in Elements(page_of(model, tmp_path)).text
    monkeypatch.setattr(audited, "MAX_WORK", 4 * 3 * 9 - 1)
    assert audited.audited(model) == {"patterns": [], "skipped": True}
    assert "takes a while to compute at this size" in Elements(page_of(model, tmp_path)).text


def test_one_pattern_has_nothing_to_audit(tmp_path):
    text = Elements(page_of(made_model([SURE, ONE], [0, 0, 1]), tmp_path)).text
    assert "All views that take part follow one pattern" in text


# The page


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
        "scikit-learn",
        "Journal of Machine Learning Research 21(38), 2020",
        "@article{duan2020latent,",
    ):
        assert words in text


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
    model.converged_ = False
    assert "raise max_iter" in Elements(page_of(model, tmp_path)).text


def test_a_page_warns_where_no_other_start_agrees(model, tmp_path):
    assert "No other start" not in Elements(page_of(model, tmp_path)).text
    model.start_agreement_ = np.array([1.0, 0.89, 0.4])
    assert "No other start came to the same clusters" in Elements(page_of(model, tmp_path)).text


def test_a_page_about_no_clusters(tmp_path):
    page = Elements(page_of(made_model([ONE], [0, 0]), tmp_path))
    assert "No view shows more than one cluster" in page.text
    assert "weight is 0: view0" in page.text
    assert "most uncertain" not in page.text
    assert (page.data["samples"]["listed"], page.data["consensus"]["shares"]) == (0, None)


def test_a_page_is_the_same_each_time(model, tmp_path):
    assert page_of(model, tmp_path) == page_of(model, tmp_path)


# Names, and what a browser may do


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


# The data for the script


def test_memberships_are_kept_to_the_16_bits_of_their_numbers():
    model = random_model(40, 2, 3, concentration=0.3)
    data = embedded.embedded(model, embedded.choose_samples(model))
    rows = decoded(data["samples"]["index"])
    assert sorted(rows.tolist()) == list(range(40))
    for W, labels, pattern in zip(model.memberships_, model.pattern_labels_, data["patterns"], strict=True):
        assert decoded(pattern["memberships"]).reshape(40, 3) / 65535 == pytest.approx(W[rows], abs=1 / 65535)
        assert decoded(pattern["labels"]).tolist() == labels[rows].tolist()


def test_only_certainty_is_kept_as_certain():
    levels = decoded(embedded.probabilities(np.array([0.0, 1e-300, 0.5, 1 - 1e-12, 1.0])))
    assert levels.tolist() == [0, 1, 32768, 65534, 65535]


@pytest.mark.parametrize(("top", "size"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_whole_numbers_take_the_bytes_they_need(top, size):
    column = embedded.indices(np.array([0, top]))
    assert column[0] == f"u{size}"
    assert decoded(column).tolist() == [0, top]


def test_figures_are_in_the_order_of_their_clusters(model):
    shown = embedded.choose_samples(model)
    for own, order in zip(model.pattern_labels_, shown.patterns, strict=True):
        assert (np.diff(own[shown.kept[order]]) >= 0).all()
    samples = shown.kept[shown.patterns[0]]
    assert samples.tolist() == [0, 1, 3, 2]


def test_views_keep_their_order_and_the_next_pattern(model):
    model.view_responsibilities_[0] = [0.6, 0.1, 0.3]
    views = embedded.embedded(model, embedded.choose_samples(model))["views"]
    assert views["names"] == ["a", "b", "c", "d", "flat"]
    assert decoded(views["pattern"]).tolist() == [0, 0, 0, 1, 2]
    assert (decoded(views["next"])[0], decoded(views["nextProbability"])[0] / 65535) == (
        2,
        pytest.approx(0.3, abs=1e-5),
    )
    assert decoded(views["weight"]).tolist() == [1, 1, 1, 1, 0]


def test_of_many_samples_the_least_sure_are_listed_and_an_even_choice_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "MAX_MEMBERSHIPS", 30_000)
    model = random_model(5000, 2, 5)
    shown = embedded.choose_samples(model)
    assert shown.n_listed == 30_000 // 10 - 600
    sure = np.mean([W.max(axis=1) for W in model.memberships_], axis=0)
    assert sorted(shown.kept[: shown.n_listed].tolist()) == sorted(
        np.argsort(sure)[: shown.n_listed].tolist()
    )
    assert len(set(shown.kept.tolist())) == len(shown.kept) <= 3000
    drawn = {frozenset(shown.kept[order].tolist()) for order in [shown.consensus, *shown.patterns]}
    assert [len(samples) for samples in drawn] == [600]
    text = Elements(page_of(model, tmp_path)).text
    assert "600 of 5,000 samples are drawn, chosen evenly" in text
    assert "The 2,400 least sure of 5,000 samples" in text


def test_all_of_few_samples_are_shown_without_a_note(tmp_path):
    assert "are drawn" not in Elements(page_of(random_model(600, 1, 3), tmp_path)).text


def test_only_so_many_views_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "MAX_LISTED_VIEWS", 300)
    monkeypatch.setattr("latentsimplex.report.page.MAX_LISTED_VIEWS", 300)
    page = Elements(page_of(made_model([SURE, ONE], [0] * 205 + [1] * 300), tmp_path))
    assert len(page.data["views"]["names"]) == len(decoded(page.data["views"]["pattern"])) == 300
    assert "The first 300 views of 505 are in this page" in page.text
    assert "and 288 more" in page.text


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


# The drawings


def picture(address):
    return imread(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,"))))


def test_a_still_heatmap_is_as_opaque_as_the_pair_is_probable():
    P = np.array([[1.0, 0.25, 0.0], [0.25, 0.5, 0.75], [0.0, 0.75, 1.0]])
    image = picture(figures.heatmap_picture(P))
    assert image.shape == (3, 3, 4)
    assert image[..., 3] == pytest.approx(P, abs=1 / figures.SHADES)


@pytest.mark.parametrize("n_clusters", [3, 40])
def test_still_bars_are_filled_by_the_probabilities(n_clusters):
    W = np.random.default_rng(0).dirichlet([0.3] * n_clusters, size=7)
    image = picture(figures.bars_picture(W))[..., :3]
    expected = {}
    for k in range(n_clusters):  # with many clusters a colour may stand for two of them
        expected[figures.colour(k)] = expected.get(figures.colour(k), 0) + W[:, k]
    for colour, share in expected.items():
        own = np.isclose(image, mpl.colors.to_rgb(colour), atol=0.01).all(axis=-1)
        assert own.mean(axis=0) == pytest.approx(share, abs=2 / figures.BAR_PIXELS)
    assert np.isclose(
        image[-1], [mpl.colors.to_rgb(figures.colour(k)) for k in (W > 0.01).argmax(axis=1)], atol=0.01
    ).all()


def rectangles(svg):
    return [a for tag, a in Elements(svg).elements if tag == "rect"]


def test_strips_and_frames_are_as_long_as_their_clusters():
    labels = np.array([0, 0, 0, 2])
    across, upright = rectangles(figures.strip(labels)), rectangles(figures.strip(labels, upright=True))
    assert [(a["x"], a["width"]) for a in across] == [("0%", "75%"), ("75%", "25%")]
    assert [(a["y"], a["height"]) for a in upright] == [("0%", "75%"), ("75%", "25%")]
    assert [a["fill"] for a in across] == [figures.colour(0), figures.colour(2)]
    assert [(a["x"], a["y"], a["width"], a["height"]) for a in rectangles(figures.frames(labels))] == [
        ("0%", "0%", "75%", "75%"),
        ("75%", "75%", "25%", "25%"),
    ]


def test_small_clusters_of_a_strip_have_no_number():
    labels = np.repeat([0, 1, 2], [50, 1, 49])
    assert Elements(figures.strip(labels)).text == "0 2"


def test_a_histogram_counts_the_samples_of_each_bin():
    svg = figures.histogram(np.array([0.01, 0.79, 0.81, 0.82, 1.0]), 0.8)
    assert Elements(svg).text == (
        "1 sample between 0.00 and 0.05 1 sample between 0.75 and 0.80 2 samples between 0.80 and 0.85 "
        "1 sample between 0.95 and 1.00"
    )
    assert [a["class"] for a in rectangles(svg)] == ["low", "low", "high", "high"]
    assert [a["height"] for a in rectangles(svg)] == ["50%", "50%", "100%", "50%"]


def test_a_simplex_has_samples_at_the_mean_of_their_corners():
    W = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0]])
    circles = [
        a for tag, a in Elements(figures.simplex(W, W.argmax(axis=1), "x < y")).elements if tag == "circle"
    ]
    first, second, third, between = [np.array([float(a["cx"]), float(a["cy"])]) for a in circles]
    sides = [np.linalg.norm(a - b) for a, b in ((first, second), (second, third), (third, first))]
    assert sides == pytest.approx([np.sqrt(3)] * 3, abs=0.01)
    assert between == pytest.approx((first + second) / 2, abs=0.002)
    assert [a["fill"] for a in circles[:3]] == [figures.colour(k) for k in range(3)]


def test_a_loss_curve_falls_from_its_highest_to_its_lowest():
    (line,) = [
        a for tag, a in Elements(figures.loss_curve(np.array([30.0, 20, 10]))).elements if tag == "polyline"
    ]
    assert line["points"] == "0.00,2.00 50.00,50.00 100.00,98.00"
    assert "polyline" not in figures.loss_curve(np.array([3.0]))
    assert figures.loss_curve(np.linspace(9, 1, 5000)).count(",") == figures.CURVE_POINTS


def test_thinning_keeps_clusters_in_proportion_and_the_ends():
    labels = np.repeat([1, 0], [900, 100])
    order = figures.display_order(labels, np.linspace(0, 1, 1000), 100)
    assert len(order) == len(set(order.tolist())) == 100
    assert (labels[order] == 0).sum() == pytest.approx(10, abs=1)
    assert (order[0], order[-1]) == (999, 0)
