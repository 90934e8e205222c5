"""The report as a reader meets it: it loads, says the right thing, fits its window, and runs nothing of others."""

import csv
import re

import numpy as np
import pytest
from matplotlib.image import imread

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.plots.palette import cluster_colour
from latentsimplex.report.wording import probability
from made_model import made_model, random_model
from report.reading import decoded

pytestmark = pytest.mark.browser

WORDS = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\u202eevil"


def blurred(n_samples, n_clusters, rng):
    """Memberships of clusters that overlap a little."""
    labels = rng.integers(0, n_clusters, n_samples)
    return np.array([rng.dirichlet(np.where(np.arange(n_clusters) == k, 4, 0.2)) for k in labels])


def several(n_samples=90, sample_names=None, view_names=None):
    """Four views of three patterns: three clusters, two clusters, none."""
    rng = np.random.default_rng(3)
    memberships = [blurred(n_samples, 3, rng), blurred(n_samples, 2, rng), np.ones((n_samples, 1))]
    names = view_names or ["colour", "shape", "sound", "noise"]
    return made_model(memberships, [0, 0, 1, 2], view_names=names, sample_names=sample_names)


def fitted(tmp_path):
    data = running_example(n_samples=45, separation=8, random_state=0)
    model = LatentSimplexPosition(n_clusters=3, n_patterns=3, n_init=2, max_iter=20, random_state=0)
    model.fit(data.views).save(tmp_path / "fit.model")
    return load(tmp_path / "fit.model")


def with_long_names():
    names = ["w " * 90, "ÄöЖ中文שלום" * 20, "x" * 300, "y" * 150]
    return several(
        sample_names=[f"{'a_sample_with_a_long_name_' * 5}{i}" for i in range(90)], view_names=names
    )


MODELS = {
    "loaded": fitted,
    "several": lambda _: several(),
    "no-clusters": lambda _: made_model([np.ones((30, 1))], [0]),
    "three-samples": lambda _: made_model([np.array([[0.9, 0.1], [0.5, 0.5], [0, 1.0]])], [0]),
    "twelve-patterns": lambda _: random_model(60, 12, 5),
    "thirty-clusters": lambda _: random_model(700, 2, 30, concentration=0.1),
    "long-names": lambda _: with_long_names(),
}


@pytest.fixture
def report(tmp_path):
    def write(model):
        model.report(tmp_path / "page.html")
        return tmp_path / "page.html"

    return write


def tip(page):
    return " ".join(page.locator("#tip").inner_text().split())


def point_at(page, plot, size, column, row=None):
    """Move the pointer to the middle of a cell of a figure with so many columns."""
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    down = 0.5 if row is None else (row + 0.5) / size
    page.mouse.move(box["x"] + box["width"] * (column + 0.5) / size, box["y"] + box["height"] * down)


def display_order(labels, sureness):
    """The order in which a figure says its samples are, found anew."""
    return sorted(range(len(labels)), key=lambda i: (labels[i], -sureness[i]))


# It loads


@pytest.mark.parametrize("name", MODELS)
def test_a_page_loads_without_complaint_and_asks_for_nothing(name, tmp_path, report, visit, shoot):
    seen = visit(report(MODELS[name](tmp_path)))
    shoot(seen.ready(), name)
    assert seen.complaints == []
    assert seen.requests == [seen.path.as_uri()]


@pytest.mark.parametrize("width", [1200, 500])
@pytest.mark.parametrize("name", ["several", "twelve-patterns", "long-names"])
def test_nothing_sticks_out_of_the_window(name, width, tmp_path, report, visit, shoot):
    page = visit(report(MODELS[name](tmp_path)), width=width).ready()
    assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    shoot(page, f"{name}-{width}")


def test_the_page_is_drawn_in_light_and_in_dark(report, visit, shoot):
    path = report(several())
    pictures = {}
    for dark in (False, True):
        page = visit(path, dark=dark).ready()
        pictures[dark] = imread(shoot(page, "dark" if dark else "light"))[..., :3]
    assert pictures[False].shape == pictures[True].shape
    assert pictures[False].mean() > 0.8
    assert pictures[True].mean() < 0.3
    for picture in pictures.values():
        # the blue of heatmaps and the orange of the second cluster
        assert (picture[..., 2] - picture[..., 0] > 0.3).mean() > 0.01
        assert (picture[..., 0] - picture[..., 2] > 0.5).mean() > 0.004


def test_a_page_reads_without_scripts(report, visit, shoot):
    page = visit(report(several()), scripts=False).page
    shoot(page, "without-scripts")
    for l in range(3):
        assert page.locator(f"#pattern-{l}").is_visible()
    assert page.locator("#pattern-0 .heat img").evaluate("i => [i.naturalWidth, i.clientWidth > 100]") == [
        90,
        True,
    ]
    assert page.locator("#view-list tbody tr").all_inner_texts()[0].split()[:2] == ["colour", "0"]
    assert not page.locator("[role=tablist]").is_visible()
    assert not page.locator("input[type=search]").first.is_visible()


# Tabs


def selected(page):
    tabs = page.locator("[role=tab]").evaluate_all(
        "tabs => tabs.map(t => [t.getAttribute('aria-selected'), t.tabIndex])"
    )
    (chosen,) = [l for l, tab in enumerate(tabs) if tab == ["true", 0]]
    assert all(tab == ["false", -1] for l, tab in enumerate(tabs) if l != chosen)
    visible = [l for l in range(len(tabs)) if page.locator(f"#pattern-{l}").is_visible()]
    assert visible == [chosen]
    return chosen


def test_tabs_follow_the_mouse(report, visit):
    page = visit(report(several())).ready()
    assert selected(page) == 0
    page.get_by_role("tab", name="Pattern 1").click()
    assert selected(page) == 1


def test_tabs_follow_the_keyboard(report, visit):
    page = visit(report(several())).ready()
    page.locator("#tab-0").focus()
    for key, expected in [("ArrowRight", 1), ("End", 2), ("ArrowRight", 0), ("ArrowLeft", 2), ("Home", 0)]:
        page.keyboard.press(key)
        assert selected(page) == expected
        assert page.evaluate("document.activeElement.id") == f"tab-{expected}"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "pattern-0"


def test_a_link_to_a_pattern_opens_its_tab(report, visit, wait_until):
    page = visit(report(several())).ready()
    page.locator("#view-list tbody a", has_text="1").click()
    assert selected(page) == 1
    wait_until(page, "document.querySelector('#patterns').getBoundingClientRect().top < 200")


# Figures


def test_pointing_at_a_heatmap_names_the_pair_and_its_probability(report, visit, shoot):
    names = [f"person {i}" for i in range(90)]
    model = several(sample_names=names)
    page = visit(report(model)).ready()
    for l in (0, 1):
        W, labels = model.memberships_[l], model.pattern_labels_[l]
        order = display_order(labels, W[np.arange(90), labels])
        page.locator(f"#tab-{l}").click()
        for column, row in [(3, 80), (0, 1), (89, 45), (17, 20)]:
            point_at(page, page.locator(f"#pattern-{l} .heat .plot"), 90, column, row)
            i, j = order[row], order[column]
            said = re.fullmatch(
                r"share a cluster with probability (\S+) (.+): cluster (\d) \((\S+)\) (.+): cluster (\d) \((\S+)\)",
                tip(page),
            )
            assert said.group(2, 5) == (names[i], names[j])
            assert said.group(3, 6) == (str(labels[i]), str(labels[j]))
            assert said.group(1) == probability(W[i] @ W[j])
            assert said.group(4, 7) == (probability(W[i, labels[i]]), probability(W[j, labels[j]]))
    shoot(page, "pointing-at-a-pair", whole=False)


def test_pointing_at_the_diagonal_names_one_sample(report, visit):
    model = several()
    page = visit(report(model)).ready()
    labels = model.pattern_labels_[0]
    first = display_order(labels, model.memberships_[0][np.arange(90), labels])[0]
    point_at(page, page.locator("#pattern-0 .heat .plot"), 90, 0, 0)
    assert tip(page).startswith(f"{first}: cluster 0 (")
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()


def test_pointing_at_the_consensus_gives_its_average(report, visit):
    model = several()
    page = visit(report(model)).ready()
    P = model.consensus_.coassignment.toarray()
    labels = model.labels_
    others = [(labels == labels[i]) & (np.arange(90) != i) for i in range(90)]
    own = [P[i, others[i]].mean() for i in range(90)]
    order = display_order(labels, own)
    for column, row in [(10, 70), (40, 41)]:
        point_at(page, page.locator("#consensus .heat .plot"), 90, column, row)
        i, j = order[row], order[column]
        assert tip(page) == (
            f"share a cluster with probability {probability(P[i, j])} {i}: consensus cluster {labels[i]} "
            f"{j}: consensus cluster {labels[j]}"
        )


def test_pointing_at_bars_lists_the_clusters_of_a_sample(report, visit, shoot):
    model = several()
    page = visit(report(model)).ready()
    W, labels = model.memberships_[0], model.pattern_labels_[0]
    order = display_order(labels, W[np.arange(90), labels])
    for column in (0, 29, 55, 89):
        point_at(page, page.locator("#pattern-0 .bars .plot"), 90, column)
        i = order[column]
        ranked = [k for k in np.argsort(-W[i]) if W[i, k] >= 0.005]
        lines = [f"cluster {k} {probability(W[i, k])}{' assigned' if k == labels[i] else ''}" for k in ranked]
        assert tip(page) == " ".join([str(i), *lines])
    shoot(page, "pointing-at-a-bar", whole=False)


def test_pointing_at_the_simplex_names_the_sample(report, visit):
    model = several()
    page = visit(report(model)).ready()
    W, labels = model.memberships_[0], model.pattern_labels_[0]
    order = display_order(labels, W[np.arange(90), labels])
    loneliest = max(range(90), key=lambda place: np.sort(np.abs(W - W[order[place]]).sum(axis=1))[1])
    page.locator(f"#pattern-0 circle[data-i='{loneliest}']").hover()
    assert tip(page).split()[0] == str(order[loneliest])


def test_arrow_keys_move_through_a_heatmap(report, visit):
    model = several()
    page = visit(report(model)).ready()
    labels = model.pattern_labels_[0]
    order = display_order(labels, model.memberships_[0][np.arange(90), labels])
    page.locator("#pattern-0 .heat .plot").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert f" {order[0]}: cluster" in tip(page)
    assert f" {order[1]}: cluster" in tip(page)
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_heatmap_is_as_opaque_as_its_pairs_are_probable(report, visit, wait_until):
    model = several()
    page = visit(report(model)).ready()
    wait_until(page, "document.querySelector('#pattern-1 .bars canvas').width === 90")
    alpha = page.locator("#pattern-1 .heat canvas").evaluate(
        "c => Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).filter((_, i) => i % 4 === 3)"
    )
    W, labels = model.memberships_[1], model.pattern_labels_[1]
    W = W[display_order(labels, W[np.arange(90), labels])]
    assert np.reshape(alpha, (90, 90)) / 255 == pytest.approx(W @ W.T, abs=0.003)


# Tables


def cells(page, table, column=1):
    return page.locator(f"#{table} tbody tr:not(.spacer) td:nth-child({column})").all_inner_texts()


def test_views_are_sorted_by_what_their_head_says(report, visit):
    names = ["gene10", "gene9", "Gene1", "other"]
    page = visit(report(several(view_names=names))).ready()
    assert cells(page, "view-list") == names
    head = page.locator("#view-list th").first
    head.get_by_role("button").click()
    assert cells(page, "view-list") == ["Gene1", "gene9", "gene10", "other"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert cells(page, "view-list") == ["other", "gene10", "gene9", "Gene1"]
    page.locator("#view-list select").select_option("excluded")
    assert cells(page, "view-list") == ["other"]
    assert page.locator("#view-list [role=status]").inner_text() == "1 of 4 views"


def doubt(model, i):
    """The pattern that is least sure of a sample, its cluster there and the next one, found anew."""
    l = min((0, 1), key=lambda l: model.memberships_[l][i].max())
    w = model.memberships_[l][i]
    first, second = (f"cluster {k} ({probability(w[k])})" for k in np.argsort(-w)[:2])
    return str(l), first, second


def test_a_sample_is_found_by_name_and_shown_under_every_pattern(report, visit, shoot):
    model = several(sample_names=[f"person {i:02d}" for i in range(90)])
    page = visit(report(model)).ready()
    sureness = np.average(
        [
            W[np.arange(90), labels]
            for W, labels in zip(model.memberships_[:2], model.pattern_labels_, strict=False)
        ],
        axis=0,
        weights=[2, 1],
    )
    least = np.argsort(sureness)[:10]
    assert cells(page, "sample-list")[:10] == [f"person {i:02d}" for i in least]
    doubts = [doubt(model, i) for i in least]
    assert {l for l, _, _ in doubts} == {"0", "1"}
    assert list(zip(*[cells(page, "sample-list", c)[:10] for c in (4, 5, 6)], strict=True)) == doubts
    page.locator("#sample-list input").fill("PERSON 07")
    assert cells(page, "sample-list") == ["person 07"]
    assert cells(page, "sample-list", 2) == [probability(sureness[7])]
    page.get_by_role("button", name="person 07").click()
    card = " ".join(page.locator("#sample-card").inner_text().split())
    assert card.startswith(f"person 07 consensus cluster {model.labels_[7]} pattern 0")
    for l in (0, 1):
        k = model.pattern_labels_[l][7]
        assert f"pattern {l} cluster {k} ({probability(model.memberships_[l][7, k])})" in card
    page.locator("#sample-card").scroll_into_view_if_needed()
    shoot(page, "one-sample", whole=False)


def test_the_keyboard_goes_from_sample_to_sample_as_rows_come_and_go(report, visit):
    model = random_model(500, 1, 3)
    page = visit(report(model)).ready()
    page.locator("#sample-list tbody button").first.focus()
    for _ in range(35):
        page.keyboard.press("Tab")
        page.wait_for_timeout(20)  # nobody is quicker, and rows come when the browser has drawn
    least_sure = np.argsort(model.memberships_[0].max(axis=1))
    assert page.evaluate("document.activeElement.textContent") == str(least_sure[35])
    assert page.locator("#sample-list tbody tr").count() < 60
    assert str(least_sure[0]) not in cells(page, "sample-list")


def saved_rows(page, table):
    """The file that a table's button gives, as dicts."""
    with page.expect_download() as waiting:
        page.locator(f"#{table} .save").click()
    path = waiting.value.path()
    with open(path, newline="", encoding="utf-8") as file:
        return waiting.value.suggested_filename, list(csv.DictReader(file))


def test_tables_are_downloaded_as_they_are_listed(report, visit):
    model = several(view_names=["one, two", 'a "b"', "plain", "flat"])
    seen = visit(report(model))
    page = seen.ready()
    name, views = saved_rows(page, "view-list")
    assert name == "views.csv"
    assert [row["view"] for row in views] == ["one, two", 'a "b"', "plain", "flat"]
    assert [int(row["pattern"]) for row in views] == model.view_patterns_.tolist()
    assert [float(row["consensus_weight"]) for row in views] == model.consensus_.weights.tolist()
    page.locator("#sample-list select").select_option("1")
    name, samples = saved_rows(page, "sample-list")
    assert {int(row["sample"]) for row in samples} == set(np.flatnonzero(model.labels_ == 1).tolist())
    for row in samples:
        i = int(row["sample"])
        assert int(row["pattern1"]) == model.pattern_labels_[1, i]
        assert float(row["pattern0_probability"]) == pytest.approx(model.memberships_[0][i].max(), abs=2e-5)
    assert seen.complaints == []


# The data


def data_of(model):
    rng = np.random.default_rng(1)
    first, second = model.pattern_labels_[:2]
    return {
        "colour": rng.normal(size=(90, 4)) + np.outer(first, [3, 0, 0, -3]),
        "shape": rng.normal(size=(90, 3)) + 2 * (first == 1)[:, None],
        "sound": rng.normal(size=(90, 2)) + 3 * second[:, None],
        "noise": rng.normal(size=(90, 2)),
    }


@pytest.fixture
def of_data(tmp_path, visit):
    """A visit to the report of a model with its data."""

    def write(model, **window):
        model.report(tmp_path / "page.html", data_of(model))
        return visit(tmp_path / "page.html", **window)

    return write


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (500, False)])
def test_a_page_with_data_fits_its_window(width, dark, of_data, shoot):
    seen = of_data(several(), width=width, dark=dark)
    page = seen.ready()
    assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    cut = "Array.from(document.querySelectorAll('.scroll.whole')).filter(d => d.scrollHeight > d.clientHeight).length"
    assert page.locator(".scroll.whole").count() >= 2  # features that set clusters apart, and stages
    assert page.evaluate(cut) == 0  # no row is cut off
    shoot(page, f"data-{width}-{'dark' if dark else 'light'}")
    assert seen.complaints == []


def test_features_are_searched_and_downloaded(of_data):
    model = several()
    page = of_data(model).ready()
    page.locator("#feature-list select").select_option("1")
    page.locator("#feature-list input").fill("shape")
    name, rows = saved_rows(page, "feature-list")
    frame = model.describe_clusters(data_of(model))
    expected = frame[(frame["cluster"] == 1) & (frame["view"] == "shape")]
    assert name == "cluster_features.csv"
    assert [row["feature"] for row in rows] == expected["feature"].tolist()
    assert [float(row["effect"]) for row in rows] == pytest.approx(expected["effect"].tolist(), rel=1e-5)
    assert [float(row["mean_inside"]) for row in rows] == pytest.approx(
        expected["mean_inside"].tolist(), rel=1e-5
    )


def test_the_scatter_is_coloured_by_the_clusters_that_are_chosen(of_data):
    model = several()
    page = of_data(model).ready()
    circle = page.locator("svg.scatter circle").first
    row = int(circle.get_attribute("data-i"))
    index = page.evaluate("JSON.parse(document.getElementById('report-data').textContent).samples.index")
    i = int(decoded(index)[row])
    assert circle.get_attribute("fill") == cluster_colour(model.labels_[i])
    circle.hover(force=True)
    assert "consensus cluster" in tip(page)
    page.locator("#colour-by").select_option("1")
    assert circle.get_attribute("fill") == cluster_colour(model.pattern_labels_[1, i])
    assert page.locator(".legend").inner_text().split() == ["0", "1"]


# Print


def test_print_has_every_pattern_and_no_controls(report, visit, shoot):
    page = visit(report(several()), width=720, dark=True).ready()
    page.emulate_media(media="print")
    for l in range(3):
        assert page.locator(f"#pattern-{l}").is_visible()
        assert page.locator(f"#pattern-{l} > h3").inner_text() == f"Pattern {l}"
    for hidden in ("nav", "[role=tablist]", ".controls >> nth=0"):
        assert not page.locator(hidden).is_visible()
    assert len(cells(page, "sample-list")) == 40
    assert "At most 40 of 90 samples are printed." in page.locator("#samples").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    picture = imread(shoot(page, "print"))[..., :3]
    assert picture.mean() > 0.8
    assert (page.pdf()[:5], len(page.pdf()) > 50_000) == (b"%PDF-", True)


# Names that would be more


def test_a_hostile_name_stays_text(report, visit):
    model = several(view_names=[WORDS] * 4, sample_names=[WORDS] * 90)
    seen = visit(report(model))
    page = seen.ready()
    page.locator("#sample-list input").fill("onerror")
    page.locator("#sample-list tbody button").first.click()
    point_at(page, page.locator("#pattern-0 .heat .plot"), 90, 3, 50)
    assert tip(page).count(WORDS) == 2
    page.wait_for_timeout(100)
    assert page.title() == "90 samples in 4 views: a latentsimplex report"
    assert cells(page, "view-list")[0] == WORDS
    assert page.locator("#sample-card h3").inner_text() == WORDS
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert seen.complaints == []
    assert seen.requests == [seen.path.as_uri()]


def test_the_page_lets_no_other_script_run(report, visit):
    page = visit(report(several())).ready()
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.ran") is None
    assert page.evaluate("fetch('data:text/plain,x').then(() => 'fetched', () => 'refused')") == "refused"
