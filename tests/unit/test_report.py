"""The report says what the model holds, loads nothing, and lets no name out of its place."""

import base64
import io
import json
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.image import imread
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition
from latentsimplex.report import describe, figures, summarise, write_report
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
    """Every element of a page with its attributes, and the text outside styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
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
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


# The summary


def test_headline_counts_only_views_with_clusters(model):
    headline = summarise(model)["headline"]
    sure, three = (0.9 + 0.7 + 0.8 + 0.95) / 4, (0.5 + 1 + 1 + 1) / 4
    assert headline["probability"] == pytest.approx((3 * sure + three) / 4)
    assert headline["unsure"] == pytest.approx((3 * 1 / 4 + 1 / 4) / 4)
    assert (headline["n_samples"], headline["n_views"], headline["n_views_clustered"]) == (4, 5, 4)
    assert headline["n_clusters"] == [2, 3, 1]


def test_starts_agree_that_end_within_a_thousandth(model):
    headline = summarise(model)["headline"]
    assert (headline["n_agreeing"], headline["n_starts"]) == (2, 3)
    model.start_losses_ = np.array([-15.0, -14.99, -14.0])
    assert summarise(model)["headline"]["n_agreeing"] == 2


def test_patterns_and_their_clusters(model):
    first, second, third = summarise(model)["patterns"]
    assert (first["n_views"], first["n_clusters"], first["weight"]) == (3, 2, pytest.approx(0.6))
    assert [cluster["size"] for cluster in first["clusters"]] == [2, 2]
    assert first["clusters"][0]["probability"] == pytest.approx(0.8)
    assert first["clusters"][0]["unsure"] == pytest.approx(0.5)
    assert second["probability"] == pytest.approx(0.875)
    assert (third["n_clusters"], third["probability"]) == (1, 1.0)


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
    settings = {setting["name"]: setting["value"] for setting in summarise(model)["settings"]}
    assert settings["n_clusters"] == "3"
    assert settings["similarity"] == "auto: Readings(scale='mixed', features=((1, 'as they are'),), mean=0.4)"
    assert settings["divergence"] == "auto: forward then reverse"
    assert settings["response"] == "auto: learned then identity"
    assert (settings["penalty"], settings["search"]) == ("auto: labels", "auto: moves")
    assert settings["temperature"] == "auto: 12.5"
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


def test_a_default_fit_has_a_report(tmp_path):
    fit = LatentSimplexPosition(2, n_init=1, max_iter=3, random_state=0).fit([[0.0], [0.1], [5.0], [5.2]])
    assert "auto: labels" in Elements(page_of(fit, tmp_path)).text
    assert describe(summarise(fit)).startswith("4 samples in 1 view, 1 pattern")


def test_a_summary_is_plain_json(model):
    assert json.loads(json.dumps(summarise(model))) == summarise(model)


def test_an_unfitted_model_has_no_report(tmp_path):
    with pytest.raises(NotFittedError):
        write_report(LatentSimplexPosition(), tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_a_description_for_the_terminal(model):
    lines = describe(summarise(model)).splitlines()
    assert lines[0] == "4 samples in 5 views, 3 patterns"
    assert lines[1].startswith("pattern 0: 3 views, weight 0.60, 2 clusters, mean probability")
    assert lines[3] == "pattern 2: 1 view, weight 0.20, 1 cluster"
    assert lines[-2] == "consensus: 3 clusters from 4 views, 1 view excluded"
    assert lines[-1] == "EM converged after 2 iterations, loss 15; 2 of 3 starts within 0.1% of it"


# The page


def test_a_page_tells_what_the_summary_holds(model, tmp_path):
    text = Elements(page_of(model, tmp_path)).text
    for words in (
        "4 samples in 5 views: 3 patterns of clustering, 3 clusters in the consensus",
        "Over the 4 views with clusters",
        "1 view excluded: flat",
        "converged 2 iterations",
        "starts that agree 2 of 3",
        "The 4 most uncertain samples",
        "cluster 0 (0.50) cluster 1 (0.40)",
        "Its views show no clusters",
        "auto: forward then reverse",
        "scikit-learn",
        "Journal of Machine Learning Research 21(38), 2020",
    ):
        assert words in text


def test_a_page_has_each_patterns_figures(model, tmp_path):
    svgs = [a for tag, a in Elements(page_of(model, tmp_path)).elements if tag == "svg"]
    assert [svg["aria-label"] for svg in svgs] == [
        "Co-assignment of the consensus",
        "Co-assignment under pattern 0",
        "Memberships under pattern 0",
        "Co-assignment under pattern 1",
        "Memberships under pattern 1",
        "Loss over iterations",
    ]


def test_a_page_warns_of_a_fit_that_did_not_converge(model, tmp_path):
    assert "raise max_iter" not in Elements(page_of(model, tmp_path)).text
    model.converged_ = False
    assert "raise max_iter" in Elements(page_of(model, tmp_path)).text


def test_a_page_about_no_clusters(tmp_path):
    page = Elements(page_of(made_model([ONE], [0, 0]), tmp_path))
    assert "No view shows more than one cluster" in page.text
    assert "2 views excluded: view0" in page.text
    assert "most uncertain" not in page.text


def test_names_cannot_leave_their_place(tmp_path):
    hostile = made_model([SURE, ONE], [0, 1], view_names=[HOSTILE, HOSTILE + "2"], sample_names=[HOSTILE] * 4)
    plain = made_model([SURE, ONE], [0, 1], view_names=["a", "b"], sample_names=["c"] * 4)
    page, expected = Elements(page_of(hostile, tmp_path)), Elements(page_of(plain, tmp_path))
    assert page.elements == expected.elements
    assert page.text.count(HOSTILE) == 2 + 1 + 4


def test_a_name_that_is_half_a_character_is_replaced(tmp_path):
    page = page_of(made_model([SURE], [0], view_names=["a\ud800b"]), tmp_path)
    assert "a&#55296;b" in page


def test_a_page_loads_nothing(model, tmp_path):
    page = page_of(model, tmp_path)
    elements = Elements(page).elements
    assert not {tag for tag, _ in elements} & {"script", "link", "iframe", "object", "embed", "img"}
    targets = [
        value for _, a in elements for name, value in a.items() if name in ("src", "href", "xlink:href")
    ]
    targets += re.findall(r"url\(([^)]*)\)", page)
    assert len(targets) > 5
    assert [target[:40] for target in targets if not target.startswith(("#", "data:image/png;base64,"))] == []
    assert "@import" not in page


def test_a_page_is_the_same_each_time(model, tmp_path):
    assert page_of(model, tmp_path) == page_of(model, tmp_path)


def test_drawing_leaves_matplotlib_as_it_was(model, tmp_path):
    with mpl.rc_context({"font.size": 31, "text.usetex": True}):
        before = dict(mpl.rcParams)
        page = page_of(model, tmp_path)
        assert dict(mpl.rcParams) == before
    assert page == page_of(model, tmp_path)
    assert pyplot.get_fignums() == []


# Large fits


def test_many_views_are_cut_with_a_note(tmp_path):
    page = Elements(page_of(made_model([SURE, ONE], [0] * 205 + [1] * 300), tmp_path))
    assert "The first 200 of 505 views are listed" in page.text
    assert "view199" in page.text
    assert "view200 " not in page.text
    assert "300 views excluded" in page.text
    assert "and 100 more" in page.text


def test_many_samples_are_thinned_with_a_note(tmp_path):
    assert "are drawn" not in Elements(page_of(random_model(600, 1, 3), tmp_path)).text
    assert (
        "cluster. 600 of 700 samples are drawn" in Elements(page_of(random_model(700, 1, 3), tmp_path)).text
    )


def test_many_patterns_are_not_all_drawn(tmp_path):
    page = Elements(page_of(random_model(30, 14, 3), tmp_path))
    assert page.text.count("Not drawn: figures are kept to the 12 heaviest") == 2
    assert "Pattern 13" in page.text


def test_a_page_on_two_thousand_samples_in_six_views_stays_small(tmp_path):
    page = page_of(random_model(2000, 6, 10, concentration=0.5), tmp_path)
    assert len(page) < 3_000_000


# The drawings


def embedded_image(svg):
    (content,) = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)", svg)
    return imread(io.BytesIO(base64.b64decode(content)))


def test_a_heatmap_is_as_opaque_as_the_pair_is_probable():
    P = np.array([[1.0, 0.25, 0.0], [0.25, 0.5, 0.75], [0.0, 0.75, 1.0]])
    image = embedded_image(figures.heatmap(P, np.array([0, 0, 1]), "x"))
    assert image.shape == (3, 3, 4)
    assert image[..., 3] == pytest.approx(P, abs=1 / figures.LEVELS)


def test_membership_bars_are_filled_by_the_probabilities():
    image = embedded_image(figures.membership_bars(THREE, THREE.argmax(axis=1), "x"))
    colours = [mpl.colors.to_rgb(colour) for colour in figures.cluster_colours(3)]
    shares = np.array([np.isclose(image[..., :3], c, atol=0.01).all(axis=-1).mean(axis=0) for c in colours])
    assert pytest.approx(THREE, abs=1 / figures.BAR_PIXELS) == shares.T


def test_a_drawing_takes_the_colour_of_the_text_around_it():
    svg = figures.loss_curve(np.array([3.0, 1.0]), "x < y")
    assert "currentColor" in svg
    assert figures.INK not in svg
    assert 'aria-label="x &lt; y"' in svg


def test_thinning_keeps_clusters_in_proportion_and_the_ends():
    labels = np.repeat([1, 0], [900, 100])
    order = figures.display_order(labels, np.linspace(0, 1, 1000), 100)
    assert len(order) == len(set(order.tolist())) == 100
    assert (labels[order] == 0).sum() == pytest.approx(10, abs=1)
    assert (order[0], order[-1]) == (999, 0)
