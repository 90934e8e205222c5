"""The page of results is what the commands write, and says today what it said when it was written."""

import json
import re
import sys
from pathlib import Path

import pytest

from latentsimplex.experiments.result import AIM

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import bars
import results_page
from results_page import COLUMNS, PAGE, SIZES, Part, _make_single_view_part, list_parts, make_rows

NEAR = 0.05
"""How far a number may be off on another machine."""
PAPER, DEFAULT = "paper settings", "default settings"


def read_section(text, name):
    """What is between the markers of a section."""
    return text.partition(f"<!-- results:{name} -->")[2].partition(f"<!-- end:{name} -->")[0].strip()


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def alike(written, measured):
    """Whether two texts have the same words, and numbers that are near."""
    numeral = re.compile(r"-?\d+\.\d+")
    numbers = [[float(x) for x in numeral.findall(text)] for text in (written, measured)]
    words = [numeral.sub("#", text) for text in (written, measured)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], abs=NEAR)


# The page in docs


def test_the_small_section_is_what_the_command_gives():
    written = read_section(PAGE.read_text(encoding="utf-8"), "small").splitlines()
    measured = results_page.make_section("small").splitlines()
    assert len(written) == len(measured)
    different = [
        f"{old}\n{new}"
        for old, new in zip(written, measured, strict=True)
        if not all(alike(*pair) for pair in zip(cells(old), cells(new), strict=True))
    ]
    assert not different, "run benchmarks/results_page.py --size small:\n" + "\n".join(different)


def test_the_page_has_all_sections():
    text = PAGE.read_text(encoding="utf-8")
    for name in ("small", "full", "bars"):
        assert read_section(text, name)
    assert text.split("<!--")[0] == results_page.TEMPLATE.split("<!--")[0]


@pytest.mark.parametrize(
    ("written", "measured", "same"),
    [("0.50", "0.54", True), ("0.50", "0.56", False), ("", "0.0", False), ("K-means", "Birch", False)],
)
def test_alike(written, measured, same):
    assert alike(written, measured) == same


# Writing


@pytest.fixture
def quick(monkeypatch):
    """One experiment that is quick: its only quantity is the seed."""
    ran = []

    def trial(seed):
        ran.append(seed)
        return {PAPER: {"x": seed}, DEFAULT: {"x": seed + 1}, AIM: {"x": 9.0}}

    monkeypatch.setattr(results_page, "list_parts", lambda of: [Part("made up", ["x"], {"x": 3.0}, trial)])
    return ran


def test_a_page_is_made_where_there_is_none(quick, tmp_path):
    lines = []
    page = tmp_path / "new" / "page.md"
    results_page.write_page(page, progress=lines.append)
    text = page.read_text(encoding="utf-8")
    assert "| made up | x | 3.000 | 0.000 | 1.000 |  |  | 9.000 |" in read_section(text, "small")
    assert "Not run yet" in read_section(text, "full")
    assert lines == ["results, small: made up"]
    assert quick == [0]


def test_one_section_is_rewritten_and_the_rest_stays(quick, tmp_path):
    page = tmp_path / "page.md"
    results_page.write_page(page, "small")
    before = page.read_text(encoding="utf-8")
    results_page.write_page(page, "full", n_seeds=2)
    after = page.read_text(encoding="utf-8")
    for name in ("small", "bars"):
        assert read_section(after, name) == read_section(before, name)
    assert "| 0.500 ± 0.707 | 1.500 ± 0.707 |" in read_section(after, "full")
    assert "2 seeds with 3 starts" in read_section(after, "full")
    results_page.write_page(page, "full", n_seeds=2)
    assert page.read_text(encoding="utf-8") == after


def test_a_page_without_markers_is_refused_before_anything_is_run(quick, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Mine\n")
    with pytest.raises(ValueError, match=r"no section between <!-- results:small --> and"):
        results_page.write_page(page)
    assert page.read_text() == "# Mine\n"
    assert quick == []


def test_a_small_page_says_what_it_leaves_out():
    text = SIZES["small"].describe(1)
    assert text.endswith("Left out: separation 1, table 1 (a), table 1 (c), table 1 (e).")
    assert "Left out" not in SIZES["full"].describe(3)


# Rows


def rows_with(peers, **keywords):
    ours = {PAPER: {"x": 0.5}, DEFAULT: {"x": 0.6}, AIM: {"x": 1.0}}
    part = Part("made up", ["x", "y"], {}, lambda seed: {}, **keywords)
    return make_rows(part, [{**ours, **{name: {"x": value} for name, value in peers.items()}}])


@pytest.mark.parametrize(("keywords", "best"), [({}, ["0.700", "B"]), ({"lower": ["x"]}, ["0.100", "C"])])
def test_the_best_peer_is_the_highest_or_the_lowest(keywords, best):
    row, blank = rows_with({"A": 0.4, "B": 0.7, "C": 0.1}, **keywords)
    assert len(row) == len(COLUMNS)
    assert row == ["made up", "x", "", "0.500", "0.600", *best, "1.000"]
    assert blank == ["made up", "y", *[""] * 6]


def test_of_peers_that_are_alike_the_first_is_shown():
    assert rows_with({"A": 0.7, "B": 0.7 + 1e-12})[0][6] == "A"


def test_all_experiments_of_the_paper_have_a_part():
    names = [part.name for part in list_parts(SIZES["full"])]
    assert names[:3] == [
        "running example",
        "consensus example, separation 1",
        "consensus example, separation 3",
    ]
    assert names[3:9] == [f"table 1 ({setting})" for setting in "abcdef"]
    assert names[9:] == ["2,000 views", "table 2, digits"]


def test_table1_stands_beside_the_paper():
    part = _make_single_view_part(SIZES["small"], "f")
    assert part.paper == {"NMI": 0.42, "median absolute deviation": 0.06}


# The battery


def made_line(case, seed, settings, **result):
    return [case, seed, settings, {**result, "secs": 2.0}]


def test_rendering_takes_means_over_seeds_and_names_what_is_missing(tmp_path):
    lines = [
        made_line("t1b", 0, {"g": 2}, nmi=0.8, bayes=0.9, mad=0.01, ratio=0.5, k=2),
        made_line("t1b", 1, {"g": 2}, nmi=0.9, bayes=0.9, mad=0.01, ratio=0.7, k=1),
        made_line("t1b", 0, {"g": 6}, nmi=0.9, bayes=0.9, mad=0.01, ratio=0.7, k=2),
        made_line("t1a", 0, {"g": 2}, nmi=1.0, bayes=1.0, mad=0.0, ratio=166278.6, k=2),
        made_line("digits", 0, {"g": 10, "keep": 1}, nmi=0.96, brier=0.012, auc=None, k=[10]),
        made_line("cons", 0, {"sep": 3}, ok=True, k=[2, 2] + [1] * 8),
        made_line("run", 0, {}, error="Traceback"),
    ]
    file, page = tmp_path / "bars.jsonl", tmp_path / "page.md"
    file.write_text("\n".join(map(json.dumps, lines)))
    text = bars.render(bars.read(file))
    assert (
        "| (b) | 2 | 0.850 ± 0.071 | 0.900 ± 0.000 | 0.010 ± 0.000 | 0.600 ± 0.141 | 1 of 2 | 1 of 1 |"
        in text
    )
    assert "| (a) | 1 | 1.000 | 1.000 | 0.000 |  | 1 of 1 |  |" in text
    assert "| digits | g=10 | 0 | 10 | NMI of the consensus 0.960, Brier 0.0120 | 2 |" in text
    assert "| consensus example, separation 3 | exactly the noise excluded | 1 of 1 | all |" in text
    assert "Failed, and not counted: run with seed 0." in text
    missing = text.split("Not measured: ")[1]
    assert "t1a (g=6)" in missing
    assert "digits (g=20)" in missing
    assert "digits (g=10);" not in missing
    assert not page.exists()


def test_the_data_that_do_not_travel_are_run_only_where_their_folder_is_given(tmp_path):
    names = {job[0] for job in bars.jobs(1, None)}
    assert not names & set(bars.UNBUNDLED)
    assert {job[0] for job in bars.jobs(1, tmp_path)} == names | set(bars.UNBUNDLED)


def test_every_case_can_be_measured(tmp_path):
    for case, _, _ in bars.jobs(1, tmp_path):
        assert callable(bars.measured(case, tmp_path))
    with pytest.raises(KeyError):
        bars.measured("nothing", None)


def test_a_job_that_fails_says_how(monkeypatch):
    monkeypatch.setattr(bars, "fit", lambda *arguments, **settings: 1 / 0)
    case, seed, settings, result = bars.run_job(("noise2", 3, {}))
    assert (case, seed, settings) == ("noise2", 3, {})
    assert "ZeroDivisionError" in result["error"]
