"""The brain data are read from a folder like the study's download, or refused in one sentence; values are made up."""

import csv

import numpy as np
import pytest

from latentsimplex.datasets import load_brain
from latentsimplex.datasets.allen import COVARIATES, DONORS, DOWNLOAD, EXPRESSION, GENES, SAMPLES

SAMPLE_ROWS = [
    ["rnaseq_profile_id", "donor_id", "donor_name", "structure_acronym", "hemisphere"],
    ["101", "1", "H.1", "HIP", "left"],
    ["102", "1", "H.1", "FWM", "left"],
    ["103", "2", "H.2", "TCx", "right"],
    ["104", "3", "H.3", "HIP", "right"],
    ["105", "2", "H.2", "HIP", "left"],
]
DONOR_ROWS = [
    ["donor_id", "name", "age", "sex", "apo_e4_allele", "control_set", "dsm_iv_clinical_diagnosis"],
    ["3", "H.3", "100+", "F", "", "8", "Alzheimer's Disease, other"],
    ["1", "H.1", "77", "M", "Y", "9", "No Dementia"],
    ["2", "H.2", "90-94", "M", "N", "9", "No Dementia"],
    ["4", "H.4", "95-99", "F", "N", "9", "No Dementia"],
]
GENE_ROWS = [
    ["gene_id", "chromosome", "gene_entrez_id", "gene_symbol", "gene_name"],
    ["499304662", "1", "1", "GFAP", 'a name, with "quotes"'],
    ["499304660", "1", "2", "SNAP", "one"],
    ["499304661", "1", "3", "SNAP", "another of the same symbol"],
]
VALUE_ROWS = [
    ["gene_id \\ rnaseq_profile_id", "105", "103", "101", "102", "104"],
    ["499304660", "1.5", "9", "2.5", "9", "3.5"],
    ["499304661", "0", "9", "0.25", "9", "1e2"],
    ["499304662", "7", "9", "8", "9", "9"],
]
DOWNLOADED = {SAMPLES: SAMPLE_ROWS, DONORS: DONOR_ROWS, GENES: GENE_ROWS, EXPRESSION: VALUE_ROWS}


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL if path.name == EXPRESSION else csv.QUOTE_MINIMAL).writerows(
            rows
        )


@pytest.fixture
def folder(tmp_path):
    for name, rows in DOWNLOADED.items():
        write(tmp_path / name, rows)
    return tmp_path


@pytest.fixture
def arrays(tmp_path):
    """A file of arrays whose samples are in another order than the covariates' rows."""
    np.savez(
        tmp_path / "some.npz",
        X=np.array([[2.5, 0.25], [1.5, 0.0]]),
        genes=np.array(["GFAP", "SNAP"]),
        sample_id=np.array([101, 105]),
    )
    rows = [
        ["rnaseq_profile_id", "donor_id", "age", "sex", "Batch"],
        ["105", "2", "90-94", "F", "b"],
        ["101", "1", "77", "M", "a"],
    ]
    write(tmp_path / COVARIATES, rows)
    return tmp_path / "some.npz"


# What is read


def test_a_folder_like_the_download_gives_its_hippocampus_samples(folder):
    brain = load_brain(str(folder))
    assert brain.samples.tolist() == ["101", "104", "105"]
    assert brain.genes.tolist() == ["SNAP 499304660", "SNAP 499304661", "GFAP"]
    np.testing.assert_array_equal(brain.expression, [[2.5, 0.25, 8], [3.5, 100, 9], [1.5, 0, 7]])
    assert brain.expression.flags.c_contiguous


def test_covariates_follow_the_samples_and_leave_identifiers_out(folder):
    covariates = load_brain(folder).covariates
    assert list(covariates) == ["hemisphere", "age", "sex", "apo_e4_allele", "dsm_iv_clinical_diagnosis"]
    assert covariates["sex"].tolist() == ["M", "F", "M"]
    assert covariates["hemisphere"].tolist() == ["left", "right", "left"]
    assert covariates["apo_e4_allele"].tolist() == ["Y", "", "N"]
    assert covariates["dsm_iv_clinical_diagnosis"][1] == "Alzheimer's Disease, other"


def test_bands_of_age_are_their_lower_ends(folder):
    age = load_brain(folder).covariates["age"]
    assert (age.dtype, age.tolist()) == (np.float64, [77, 100, 90])


def test_a_byte_order_mark_is_no_part_of_a_name(folder):
    text = (folder / DONORS).read_text(encoding="utf-8")
    (folder / DONORS).write_text(text, encoding="utf-8-sig")
    assert load_brain(folder).samples.tolist() == ["101", "104", "105"]


def test_arrays_are_matched_with_the_covariates_beside_them(arrays):
    brain = load_brain(arrays)
    assert brain.samples.tolist() == ["101", "105"]
    assert brain.genes.tolist() == ["GFAP", "SNAP"]
    assert {name: column.tolist() for name, column in brain.covariates.items()} == {
        "age": [77, 90],
        "sex": ["M", "F"],
        "Batch": ["a", "b"],
    }


def test_the_description_cites_the_study(folder, arrays):
    assert load_brain(folder).description == load_brain(arrays).description
    assert DOWNLOAD in load_brain(folder).description


# What is refused


def refused(path, kind=ValueError):
    """The one sentence that refuses a path."""
    with pytest.raises(kind) as error:
        load_brain(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_a_path_that_is_not_there_says_where_the_data_are(tmp_path):
    message = refused(tmp_path / "nowhere", FileNotFoundError)
    assert message.startswith(f"There is no {tmp_path / 'nowhere'}: download the gene expression matrix")
    assert DOWNLOAD in message


def test_another_file_is_refused(folder):
    assert "is neither a folder nor an .npz file" in refused(folder / SAMPLES)


@pytest.mark.parametrize("name", DOWNLOADED)
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    message = refused(folder, FileNotFoundError)
    assert message.startswith(f"There is no {name} in {folder}: download")
    assert DOWNLOAD in message


@pytest.mark.parametrize(
    ("name", "column"),
    [
        (SAMPLES, "rnaseq_profile_id"),
        (SAMPLES, "donor_id"),
        (SAMPLES, "structure_acronym"),
        (DONORS, "donor_id"),
        (GENES, "gene_id"),
        (GENES, "gene_symbol"),
    ],
)
def test_a_missing_column_is_named(name, column, folder):
    header, *rows = DOWNLOADED[name]
    write(folder / name, [[f"{cell}?" if cell == column else cell for cell in header], *rows])
    assert f"{folder / name} has no column {column}: download" in refused(folder)


@pytest.mark.parametrize("name", DOWNLOADED)
def test_an_empty_file_is_refused(name, folder):
    (folder / name).write_text("")
    assert str(folder / name) in refused(folder)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        (
            SAMPLES,
            [row for row in SAMPLE_ROWS if "HIP" not in row],
            "has no sample with the structure_acronym HIP",
        ),
        (SAMPLES, [*SAMPLE_ROWS, ["106", "1", "H.1", "HIP", "left"]], "lacks the rnaseq_profile_id 106"),
        (SAMPLES, [*SAMPLE_ROWS, ["106", "1"]], "has 2 cells in row 7 and 5 columns"),
        (DONORS, DONOR_ROWS[:2], "lacks the donor_id 1 and 1 more"),
        (GENES, GENE_ROWS[:-1], "lacks the gene_id 499304661: all files must be of one download"),
        (EXPRESSION, VALUE_ROWS[:1], "has no genes"),
        (EXPRESSION, [*VALUE_ROWS, ["499304663", "x", "9", "x", "9", "x"]], "is not a table of numbers"),
        (EXPRESSION, [*VALUE_ROWS, ["499304663", "1"]], "is not a table of numbers"),
        (EXPRESSION, [*VALUE_ROWS, ["499304663", "1", "9", "nan", "9", "1"]], "missing or infinite"),
        (EXPRESSION, [row[:-1] for row in VALUE_ROWS], "lacks the rnaseq_profile_id 104"),
    ],
)
def test_files_that_do_not_fit_are_refused(name, rows, message, folder):
    write(folder / name, rows)
    assert message in refused(folder)


def test_bytes_that_are_no_text_are_refused(folder):
    (folder / DONORS).write_bytes(b"donor_id,n\xff\xfe\n")
    assert "is not text in UTF-8" in refused(folder)


@pytest.mark.parametrize("content", [b"", b"something else", None], ids=["empty", "foreign", "other arrays"])
def test_an_npz_file_without_the_arrays_is_refused(content, arrays):
    if content is None:
        np.savez(arrays, X=np.zeros((2, 2)))
    else:
        arrays.write_bytes(content)
    assert "does not hold the arrays X, genes and sample_id" in refused(arrays)


def test_arrays_that_do_not_fit_each_other_are_refused(arrays):
    np.savez(arrays, X=np.zeros((3, 2)), genes=np.array(["a", "b"]), sample_id=np.array([101, 105]))
    assert "shape (3, 2): numbers of shape (2, 2) must go with its sample_id and genes" in refused(arrays)


def test_arrays_with_missing_values_are_refused(arrays):
    np.savez(arrays, X=np.full((1, 1), np.nan), genes=np.array(["a"]), sample_id=np.array([101]))
    assert "missing or infinite" in refused(arrays)


def test_arrays_need_their_covariates(arrays):
    covariates = arrays.with_name(COVARIATES)
    write(covariates, [["rnaseq_profile_id", "sex"], ["101", "M"]])
    assert f"{covariates} lacks the rnaseq_profile_id 105" in refused(arrays)
    covariates.unlink()
    message = refused(arrays, FileNotFoundError)
    assert message.startswith(f"There is no {COVARIATES} in {arrays.parent}: put it beside the arrays")
