"""Bundled real data; data/LICENCES.md gives the origin and licence of each file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

_DATA = files("latentsimplex.datasets") / "data"

# In the paper's order.
_DIGIT_VIEWS = {
    "fou": "76 Fourier coefficients of the character shapes",
    "fac": "216 profile correlations",
    "kar": "64 Karhunen-Loève coefficients",
    "pix": "240 pixel averages in windows of 2 x 3",
    "zer": "47 Zernike moments",
    "mor": "6 morphological features",
}


@dataclass(frozen=True, eq=False)
class Digits:
    """Handwritten digits in six views.

    Attributes
    ----------
    views : dict of str to ndarray, shape (2000, n_features)
        The features by name, in the paper's order: fou, fac, kar, pix, zer, mor.
    labels : ndarray of int, shape (2000,)
        The digit that each sample shows.
    view_descriptions : dict of str to str
        What each view measures.
    description : str
        What the data are, whom to cite, and their licence.
    """

    views: dict[str, np.ndarray]
    labels: np.ndarray
    view_descriptions: dict[str, str]
    description: str


@dataclass(frozen=True, eq=False)
class Leukaemia:
    """Gene expression and clinical covariates of leukaemia patients.

    Attributes
    ----------
    expression : ndarray, shape (128, 1000)
        One row a patient, one column a gene.
    genes : ndarray of str, shape (1000,)
        The columns' names: probe sets of the microarray, so one gene can have several.
    samples : ndarray of str, shape (128,)
        The patients' identifiers.
    covariates : dict of str to ndarray, shape (128,)
        Numeric ones are float with nan where missing, the others str with "" where missing.
    description : str
        What the data are, whom to cite, and their licence.
    """

    expression: np.ndarray
    genes: np.ndarray
    samples: np.ndarray
    covariates: dict[str, np.ndarray]
    description: str


@dataclass(frozen=True, eq=False)
class TwoTruths:
    """Samples that can rightly be clustered in two ways.

    Attributes
    ----------
    views : dict of str to ndarray, shape (n_samples, n_features)
        The features by name.
    labels : ndarray of int, shape (2, n_samples)
        The two clusterings.
    label_names : tuple of str
        What each clustering tells apart.
    description : str
        What the data are, whom to cite, and their licence.
    """

    views: dict[str, np.ndarray]
    labels: np.ndarray
    label_names: tuple[str, str]
    description: str


def load_digits(*, shuffle: bool = True, random_state: int | np.random.Generator | None = 0) -> Digits:
    """Load the UCI Multiple Features digits: 2,000 samples, ten digits, six views.

    The file is sorted by digit, which any order-sensitive step could exploit unnoticed. Samples are therefore
    shuffled, by default with a fixed seed so that every call gives the same order.

    Parameters
    ----------
    shuffle : bool
        Whether to shuffle. False keeps the order of the file, sorted by digit.
    random_state : int, Generator or None
        Of the shuffle.

    Returns
    -------
    Digits

    Examples
    --------
    >>> digits = load_digits()
    >>> {name: view.shape[1] for name, view in digits.views.items()}
    {'fou': 76, 'fac': 216, 'kar': 64, 'pix': 240, 'zer': 47, 'mor': 6}
    """
    arrays = _read_arrays("mfeat.npz")
    order = np.arange(len(arrays["y"]))
    if shuffle:
        order = np.random.default_rng(random_state).permutation(order)
    return Digits(
        # The file keeps whole numbers as small integers; on those a user's arithmetic could overflow.
        views={name: arrays[name][order].astype(np.float64, order="C") for name in _DIGIT_VIEWS},
        labels=arrays["y"][order].astype(np.intp),
        view_descriptions=dict(_DIGIT_VIEWS),
        description="UCI Multiple Features: 2,000 handwritten digits from Dutch utility maps, 200 of each of 0 to 9, "
        "in six views. M. van Breukelen, R. P. W. Duin, D. M. J. Tax and J. E. den Hartog, Kybernetika 34(4), 1998, "
        "381-386. https://doi.org/10.24432/C5HC70, CC BY 4.0.",
    )


def load_leukaemia() -> Leukaemia:
    """Load expression of 1,000 genes in 128 leukaemia patients, with their clinical covariates.

    It stands in for the paper's brain data, whose terms keep them out of the package. Genes were screened in
    the same way, by standard deviation over median, and each is likewise meant to be a view.

    Returns
    -------
    Leukaemia

    Examples
    --------
    >>> leukaemia = load_leukaemia()
    >>> leukaemia.expression.shape, len(leukaemia.covariates)
    ((128, 1000), 21)
    >>> leukaemia.covariates["sex"][:3], leukaemia.covariates["age"][:3]
    (array(['M', 'M', 'F'], dtype='<U1'), array([53., 19., 52.]))
    """
    arrays = _read_arrays("leukaemia.npz")
    names, *rows = csv.reader((_DATA / "leukaemia_covariates.csv").read_text(encoding="utf-8").splitlines())
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    del columns["sample"]  # the file's row names, which the arrays hold too and in the same order
    return Leukaemia(
        expression=np.ascontiguousarray(arrays["X"]),
        genes=arrays["probes"],
        samples=arrays["samples"],
        covariates={name: parse_column(column) for name, column in columns.items()},
        description="Expression in 128 patients with acute lymphoblastic leukaemia of the 1,000 probe sets with the "
        "largest standard deviation relative to their median, and 21 clinical covariates. S. Chiaretti and others, "
        "Blood 103(7), 2004, 2771-2778; from the Bioconductor package ALL, Artistic-2.0.",
    )


def load_stick_figures() -> TwoTruths:
    """Load 900 images of stick figures, whose upper and lower bodies are posed independently.

    Each of the 20 image rows is a view of 20 pixels. Rows 0 to 9 show the upper body, which alone tells the
    first truth, and rows 10 to 19 the lower, which alone tells the second.

    Returns
    -------
    TwoTruths

    Examples
    --------
    >>> figures = load_stick_figures()
    >>> len(figures.views), figures.views["row 0"].shape, figures.label_names
    (20, (900, 20), ('upper body', 'lower body'))
    """
    arrays = _read_arrays("stick_figures.npz")
    images = arrays["X"].reshape(-1, 20, 20).astype(np.float64)
    return TwoTruths(
        views={f"row {i}": np.ascontiguousarray(images[:, i]) for i in range(20)},
        labels=arrays["Y"].T.astype(np.intp, order="C"),
        label_names=("upper body", "lower body"),
        description="Dancing stick figures: 900 images of 20 x 20 pixels, one hundred of each of three poses of the "
        "upper body with three of the lower. S. Günnemann, I. Färber, M. Rüdiger and T. Seidl, KDD 2014; from the "
        "Python package ClustPy, BSD-3-Clause.",
    )


def load_fruit() -> TwoTruths:
    """Load six features of 105 images of fruit, which have a colour and a kind.

    The file names neither features nor clusters. The first feature runs like a hue, and by it the clusters of
    the first truth are green, red and yellow; those of the second are then apples, which come in all three
    colours, bananas, of which none are red, and grapes, of which none are yellow. Each feature is a view, and
    feature 3 is zero but for rounding, that is noise.

    Returns
    -------
    TwoTruths

    Examples
    --------
    >>> fruit = load_fruit()
    >>> len(fruit.views), fruit.views["feature 0"].shape, fruit.label_names
    (6, (105, 1), ('colour', 'kind'))
    """
    arrays = _read_arrays("fruit.npz")
    return TwoTruths(
        views={f"feature {j}": np.ascontiguousarray(arrays["X"][:, [j]]) for j in range(6)},
        labels=arrays["Y"].T.astype(np.intp, order="C"),
        label_names=("colour", "kind"),
        description="Six features of 105 images of apples, bananas and grapes in green, red and yellow. J. Hu, Q. "
        "Qian, J. Pei, R. Jin and S. Zhu, Knowledge and Information Systems 51(3), 2017, 991-1021; from the Python "
        "package ClustPy, BSD-3-Clause.",
    )


def _read_arrays(name: str) -> dict[str, np.ndarray]:
    """All arrays of a bundled file, by name."""
    with (_DATA / name).open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return dict(archive)


def parse_column(column: tuple[str, ...]) -> np.ndarray:
    """A column of text as float with nan for empty entries, or as it is where any entry is not a number."""
    try:
        return np.array([float(entry or "nan") for entry in column])
    except ValueError:
        return np.array(column)
