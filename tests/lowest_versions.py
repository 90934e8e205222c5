"""The lowest versions that pyproject.toml allows: listed, and tried with a fit, plots, a report and the command line.

python tests/lowest_versions.py --list     # numpy==1.26 and so on, for pip
python tests/lowest_versions.py            # with these installed, try the package (make test-lowest)
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
import warnings
from importlib.metadata import version
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest_versions() -> dict[str, str]:
    """Return the lowest version of each library that the plain install needs."""
    dependencies = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    return dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", each).groups() for each in dependencies)


def check_installed() -> None:
    """Refuse to try anything but the lowest versions."""
    for library, lowest in lowest_versions().items():
        found = version(library)
        if not re.fullmatch(rf"{re.escape(lowest)}(\.0)*", found):
            raise SystemExit(f"{library} {found} is installed, and {lowest} is the lowest: make test-lowest.")


def try_package(folder: Path) -> None:
    """Fit, draw, report, save, load and call the command line, with warnings as errors."""
    import numpy as np
    from click.testing import CliRunner

    from latentsimplex import LatentSimplexPosition, load, plots
    from latentsimplex.cli import main
    from latentsimplex.datasets import running_example

    data = running_example(n_samples=60, separation=8, random_state=0)
    model = LatentSimplexPosition(random_state=0).fit(data.views)
    assert model.view_patterns_.tolist() == [0, 0, 1], model.view_patterns_
    assert model.n_clusters_.tolist() == [3, 2], model.n_clusters_
    paper = LatentSimplexPosition.paper(3, 2, n_init=1, max_iter=20, random_state=0).fit(data.views)
    assert paper.loss_curve_[-1] < paper.loss_curve_[0]
    for draw in (
        plots.plot_coassignment,
        plots.plot_membership_bars,
        plots.plot_simplex,
        plots.plot_consensus,
    ):
        draw(model).figure.savefig(folder / f"{draw.__name__}.png")
    model.report(folder / "report.html")
    model.save(folder / "fit.model")
    assert (load(folder / "fit.model").labels_ == model.labels_).all()
    np.savez(folder / "views.npz", **{f"view{v}": view for v, view in enumerate(data.views)})
    done = CliRunner().invoke(main, ["fit", str(folder / "views.npz"), "--out", str(folder / "fit")])
    assert done.exit_code == 0, done.output
    assert (folder / "fit" / "report.html").stat().st_size > 10_000


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        sys.stdout.write(
            "\n".join(f"{library}=={lowest}" for library, lowest in lowest_versions().items()) + "\n"
        )
    else:
        check_installed()
        import matplotlib

        matplotlib.use("Agg")
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("error", UserWarning)
            # The lowest matplotlib calls what the newest pyparsing, which pip chooses for it, calls deprecated.
            warnings.filterwarnings("ignore", message=".*deprecated", module="matplotlib|pyparsing")
            try_package(Path(folder))
        sys.stdout.write("A fit, plots, a report and the command line work with the lowest versions.\n")
