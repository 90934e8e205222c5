"""The page of results: the paper's numbers, those of its settings and of the defaults here, the best peer, the ceiling.

The page has sections between comments, each written by a command of its own, so that one can be renewed
without the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from latentsimplex.base.checks import check_count
from latentsimplex.base.whole_files import whole_file
from latentsimplex.experiments.model import DEFAULT_SETTINGS, PAPER_SETTINGS
from latentsimplex.experiments.result import AIM, Progress, Record, be_silent, spread
from latentsimplex.experiments.results_parts import SIZES, Part, Records, list_parts

COLUMNS = ("experiment", "quantity", "paper", "`paper()`", "default", "best peer", "which peer", "ceiling")


def write_page(
    path: Path, size: str = "small", n_seeds: int | None = None, progress: Progress | None = None
) -> None:
    """Run the experiments of a size and rewrite its section of the page; the other sections stay as they are.

    Parameters
    ----------
    path : Path
        The page; made, with its folder, if missing.
    size : "small" or "full"
        A few samples, for a quick check, or as many as the paper has, which takes much longer.
    n_seeds : int or None
        Repetitions; None is 1 for a small page and 3 for a full one.
    progress : callable or None
        Called with a line before each part.
    """
    path = Path(path)
    text = path.read_text(encoding="utf-8") if path.exists() else TEMPLATE
    replace_section(text, size, "")  # a page without the markers is refused before anything is run
    body = make_section(size, n_seeds, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(replace_section(text, size, body), encoding="utf-8")


def make_section(size: str, n_seeds: int | None = None, progress: Progress | None = None) -> str:
    """Return the section of a size: what was run, and the table in Markdown."""
    of = SIZES[size]
    seeds = range(of.n_seeds if n_seeds is None else check_count("n_seeds", n_seeds))
    rows: list[list[str]] = []
    say = progress or be_silent
    for part in list_parts(of):
        say(f"results, {size}: {part.name}")
        rows += make_rows(part, [part.run_seed(seed) for seed in seeds])
    return f"{of.describe(len(seeds))}\n\n{make_markdown(COLUMNS, rows)}"


def replace_section(text: str, name: str, body: str) -> str:
    """Return a page with other text between the markers of a section.

    >>> replace_section("a <!-- results:x -->old<!-- end:x --> b", "x", "new")
    'a <!-- results:x -->\\n\\nnew\\n\\n<!-- end:x --> b'
    """
    before, begin, rest = text.partition(f"<!-- results:{name} -->")
    _, end, after = rest.partition(f"<!-- end:{name} -->")
    if not end:
        raise ValueError(
            f"The page has no section between <!-- results:{name} --> and <!-- end:{name} -->: "
            "put the two comments where it should be, or name a page that does not exist."
        )
    return f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}"


def make_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(make_markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def format_mean(records: Sequence[Record], quantity: str) -> str:
    """Return the mean of a quantity over seeds, with the sd where there are several; blank if undefined.

    >>> format_mean([{"x": 1.0}, {"x": 2.0}], "x"), format_mean([{"x": 1 / 3}], "x"), format_mean([{}], "x")
    ('1.500 ± 0.707', '0.333', '')
    """
    mean, sd = spread(records, quantity)
    if mean is None:
        return ""
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def make_rows(part: Part, measured: Sequence[Records]) -> list[list[str]]:
    """Return a row of text for each quantity of an experiment."""
    ours = (PAPER_SETTINGS, DEFAULT_SETTINGS)
    names = [name for name in measured[0] if name not in (*ours, AIM)]
    rows = []
    for quantity in part.quantities:
        paper = f"{part.paper[quantity]:.3f}" if quantity in part.paper else ""
        found = [format_mean([records[name] for records in measured], quantity) for name in ours]
        peer = _find_best_peer(measured, names, quantity, lower=quantity in part.lower)
        ceiling = format_mean([records[AIM] for records in measured], quantity)
        rows.append([part.name, quantity, paper, *found, *peer, ceiling])
    return rows


def _find_best_peer(
    measured: Sequence[Records], names: Sequence[str], quantity: str, *, lower: bool
) -> tuple[str, str]:
    """Return what the best peer has, on average over seeds, and its name; blanks if none measures it."""
    means = {name: spread([records[name] for records in measured], quantity)[0] for name in names}
    # of peers that are alike up to rounding the first is shown, on any machine
    rounded = {name: round(float(mean), 3) for name, mean in means.items() if mean is not None}
    if not rounded:
        return "", ""
    best = (min if lower else max)(rounded, key=lambda name: rounded[name])
    return format_mean([records[best] for records in measured], quantity), best


TEMPLATE = """# Results

What the paper reports, what its settings (`LatentSimplexPosition.paper()`) and the defaults give here, the best
other method (peer) measured on the same data, and a ceiling that no method can beat: the truth, or the score of the
labels that are most probable under the true densities. Peers are scikit-learn's clusterers, given the true number of
clusters where they take one; where P is compared with the oracle's, a Gaussian mixture is one too. "Mean deviation
over that of hard labels" is a ratio: below 1, probabilities are closer to the oracle's than hard labels are. A blank
is a number that the paper does not give, that no peer has, or that is not defined.

## Small

Written by `latentsimplex results --size small`; the tests run it again and compare. With so few samples these numbers
show whether the code still gives the same results, not how good they are.

<!-- results:small -->
<!-- end:small -->

## Full size

Written by `latentsimplex results --size full`, which takes a quarter of an hour on two cores.

<!-- results:full -->

Not run yet for this version: what has been measured at full size is in the next section.

<!-- end:full -->

## Measured at full size

Written by `benchmarks/bars.py --render`, from runs of the default settings.

<!-- results:bars -->
<!-- end:bars -->
"""
