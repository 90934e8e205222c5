"""The paper's brain data: hippocampus samples of the Allen Institute's Aging, Dementia and TBI study.

The institute's terms keep the data out of the package, so they are read from wherever the user put them.
"""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from zipfile import BadZipFile

import numpy as np

from latentsimplex.datasets.load import parse_column

DOWNLOAD = "https://aging.brain-map.org/download/index"
EXPRESSION, SAMPLES = "fpkm_table_normalized.csv", "columns-samples.csv"
GENES, DONORS = "rows-genes.csv", "DonorInformation.csv"
COVARIATES = "brain_hip_covariates.csv"
"""Beside a file of arrays: a row per sample, with the columns of SAMPLES and DONORS."""
STRUCTURE = "HIP"
"""The hippocampus, in the download's acronyms."""

IDENTIFIERS = {
    *("rnaseq_profile_id", "donor_id", "donor_name", "name", "specimen_id", "specimen_name", "rna_well_id"),
    *("polygon_id", "structure_id", "structure_acronym", "structure_color", "structure_name", "control_set"),
}
"""Columns that name the sample, its donor, its place or its matched pair, and are no covariates."""

_MEND = f"download the gene expression matrix and the donor information from {DOWNLOAD} into one folder"


@dataclass(frozen=True, eq=False)
class Brain:
    """Gene expression in hippocampus samples, and covariates of the donors.

    Attributes
    ----------
    expression : ndarray, shape (n_samples, n_genes)
        Normalised FPKM values.
    genes : ndarray of str, shape (n_genes,)
        Gene symbols; where several genes share one, their identifiers follow it.
    samples : ndarray of str, shape (n_samples,)
        Identifiers of the RNA profiles.
    covariates : dict of str to ndarray, shape (n_samples,)
        Numeric ones are float with nan where missing, the others str with "" where missing. The ages that the
        study gives as bands, such as 90-94 and 100+, are the lower ends of those.
    description : str
        What the data are, whom to cite, and their terms.
    """

    expression: np.ndarray
    genes: np.ndarray
    samples: np.ndarray
    covariates: dict[str, np.ndarray]
    description: str


Row = Mapping[str, str]


def load_brain(path: str | os.PathLike[str]) -> Brain:
    """Load the hippocampus samples of the Aging, Dementia and TBI study from the user's own copy.

    Parameters
    ----------
    path : str or path
        A folder with the files of the study's download, fpkm_table_normalized.csv, columns-samples.csv,
        rows-genes.csv and DonorInformation.csv, of which the samples with the acronym HIP are taken; or an
        .npz file of arrays X (samples by genes), genes and sample_id, with brain_hip_covariates.csv beside it.

    Returns
    -------
    Brain

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is not what it should be.
    """
    path = Path(path)
    if path.is_dir():
        return _from_download(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}: {_MEND} and give that folder.")
    if path.suffix != ".npz":
        raise ValueError(f"{path} is neither a folder nor an .npz file: {_MEND} and give that folder.")
    return _from_arrays(path)


def _from_download(folder: Path) -> Brain:
    samples = _read_rows(folder / SAMPLES, ["rnaseq_profile_id", "donor_id", "structure_acronym"])
    samples = [row for row in samples if row["structure_acronym"] == STRUCTURE]
    if not samples:
        raise ValueError(
            f"{folder / SAMPLES} has no sample with the structure_acronym {STRUCTURE}: {_MEND}, unaltered."
        )
    donors = {row["donor_id"]: row for row in _read_rows(folder / DONORS, ["donor_id"])}
    _check_known({row["donor_id"] for row in samples}, donors, "donor_id", folder / DONORS)
    symbols = {
        row["gene_id"]: row["gene_symbol"] for row in _read_rows(folder / GENES, ["gene_id", "gene_symbol"])
    }
    names = [row["rnaseq_profile_id"] for row in samples]
    gene_ids, expression = _read_expression(folder / EXPRESSION, names)
    _check_known(gene_ids, symbols, "gene_id", folder / GENES)
    return _brain(
        expression,
        _unambiguous([symbols[gene] for gene in gene_ids], gene_ids),
        names,
        [{**row, **donors[row["donor_id"]]} for row in samples],
    )


def _from_arrays(path: Path) -> Brain:
    try:
        with np.load(path, allow_pickle=False) as archive:
            expression, genes, samples = (archive[name] for name in ("X", "genes", "sample_id"))
    except (ValueError, KeyError, EOFError, BadZipFile):
        raise ValueError(
            f"{path} does not hold the arrays X, genes and sample_id: give a file that does, or a folder with "
            f"the files from {DOWNLOAD}."
        ) from None
    if expression.shape != (len(samples), len(genes)) or expression.dtype.kind not in "iuf":
        raise ValueError(
            f"{path} has an array X of {expression.dtype} and shape {expression.shape}: numbers of shape "
            f"({len(samples)}, {len(genes)}) must go with its sample_id and genes."
        )
    file = path.with_name(COVARIATES)
    rows = {row["rnaseq_profile_id"]: row for row in _read_rows(file, ["rnaseq_profile_id"])}
    names = [str(sample) for sample in samples]
    _check_known(names, rows, "rnaseq_profile_id", file)
    _check_finite(expression, path)
    return _brain(expression, list(map(str, genes)), names, [rows[name] for name in names])


def _brain(expression: np.ndarray, genes: Sequence[str], names: Sequence[str], rows: Sequence[Row]) -> Brain:
    columns = {name: [row[name] for row in rows] for name in rows[0] if name not in IDENTIFIERS}
    if "age" in columns:
        columns["age"] = [re.sub(r"^(\d+)(-\d+|\+)$", r"\1", age) for age in columns["age"]]
    return Brain(
        expression=np.ascontiguousarray(expression, dtype=np.float64),
        genes=np.array(genes),
        samples=np.array(names),
        covariates={name: parse_column(tuple(column)) for name, column in columns.items()},
        description="Normalised FPKM of genes in hippocampus samples of aged brains, and covariates of their donors. "
        f"Allen Institute for Brain Science, Aging, Dementia and TBI Study, {DOWNLOAD}; J. A. Miller and others, eLife "
        "6, 2017, e31126. The institute's terms of use allow research and other non-commercial use.",
    )


def _read_rows(path: Path, needed: Sequence[str]) -> list[Row]:
    """Return the rows of a comma-separated file by column name, once it has the columns that are needed."""
    with _opened(path) as file:
        header, *rows = list(csv.reader(file)) or [[]]
    absent = [name for name in needed if name not in header]
    if absent:
        raise ValueError(f"{path} has no column {' and no column '.join(absent)}: {_MEND}, unaltered.")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path} has {len(row)} cells in row {i + 2} and {len(header)} columns: {_MEND}, unaltered."
            )
    return [dict(zip(header, row, strict=True)) for row in rows]


def _read_expression(path: Path, samples: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return gene identifiers and values (samples, genes) from a table of genes by all the study's samples.

    Only the columns of these samples are kept: the whole table is several times as wide.
    """
    with _opened(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is no row, which is an error below
        header = next(csv.reader(file), [])
        _check_known(samples, header[1:], "rnaseq_profile_id", path)
        columns = [0, *(header.index(sample, 1) for sample in samples)]
        try:
            table = np.loadtxt(file, delimiter=",", usecols=columns, ndmin=2, comments=None, quotechar='"')
        except ValueError as error:
            # what NumPy adds after the first sentence is advice to programmers
            why = str(error).split(";")[0].rstrip(".")
            raise ValueError(f"{path} is not a table of numbers ({why}): {_MEND}, unaltered.") from None
    if not table.size:
        raise ValueError(f"{path} has no genes: {_MEND}, unaltered.")
    _check_finite(table, path)
    return [f"{gene:.0f}" for gene in table[:, 0]], table[:, 1:].T


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            yield file
    except FileNotFoundError:
        mend = _MEND
        if path.name == COVARIATES:
            mend = f"put it beside the arrays, or give a folder with the files from {DOWNLOAD}"
        raise FileNotFoundError(f"There is no {path.name} in {path.parent}: {mend}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: {_MEND}, unaltered.") from None


def _check_known(wanted: Iterable[str], known: Iterable[str], what: str, path: Path) -> None:
    """Raise if something that one file names is missing from another."""
    missing = sorted(set(wanted) - set(known))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(f"{path} lacks the {what} {missing[0]}{more}: all files must be of one download.")


def _check_finite(values: np.ndarray, path: Path) -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"{path} has values that are missing or infinite: {_MEND}, unaltered.")


def _unambiguous(symbols: Sequence[str], identifiers: Sequence[str]) -> list[str]:
    """Return gene symbols, followed by the gene's identifier where another gene has the same.

    >>> _unambiguous(["A", "B", "A"], ["1", "2", "3"])
    ['A 1', 'B', 'A 3']
    """
    times = Counter(symbols)
    return [
        symbol if times[symbol] == 1 else f"{symbol} {identifier}".strip()
        for symbol, identifier in zip(symbols, identifiers, strict=True)
    ]
