"""Model files: whatever was saved comes back bit for bit, and whatever else is in a file does no harm."""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import hostile_models
from latentsimplex import load
from latentsimplex.results.zip_archive import pack_archive, read_arrays, read_header
from made_model import made_model

numbers = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(0, exclude_min=True, allow_infinity=False)
names = st.text(st.characters(), max_size=8)  # with surrogates and control characters


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
def test_thousands_of_hostile_files_are_refused_or_harmless(tmp_path):
    done = subprocess.run(
        [sys.executable, hostile_models.__file__, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PYTHONPATH": str(Path(hostile_models.__file__).parent), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert sum(count for kind in found["kinds"].values() for count in kind.values()) >= 1000
    for kind in ("truncated", "spliced", "bombs", "bent_arrays", "strange_headers"):
        assert found["kinds"][kind]["loaded"] == 0
    for kind, counts in found["kinds"].items():
        assert counts["refused"] >= 9, kind
    assert found["held"] < hostile_models.HELD
    # nothing but what we wrote: no entry was unpacked, no planted object unpickled
    assert {path.name for path in tmp_path.iterdir()} == {"good0", "good1", "good2", "hostile", "again"}


@st.composite
def models(draw):
    """Models of any small shape, with any names and any numbers that a fit could have ended with."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 4), min_size=d, max_size=d))
    memberships = [rng.dirichlet([draw(st.sampled_from([0.01, 1.0]))] * g, size=n) for g in sizes]
    if draw(st.booleans()):
        memberships = [np.asfortranarray(W) for W in memberships]
    views = [*range(d), *draw(st.lists(st.integers(0, d - 1), max_size=4))]
    model = made_model(
        memberships,
        views,
        view_names=draw(st.lists(names, min_size=len(views), max_size=len(views))),
        sample_names=draw(st.none() | st.lists(names, min_size=n, max_size=n)),
        random_state=draw(st.none() | st.integers(0, 2**32 - 1)),
        tol=draw(positive),
        memory_limit=draw(st.none() | st.integers(1) | st.sampled_from(["2GB", "1.5MB"])),
        views=draw(st.sampled_from(["whole", "columns"]) | st.lists(names | st.integers())),
    )
    results = model.results_
    found = {"temperature": draw(positive), "evidence": draw(st.none() | positive)}
    curve = np.array(draw(st.lists(numbers, min_size=3, max_size=3)))
    stages = (*results.stages[:-1], replace(results.stages[-1], **found))
    return model._show(replace(results, loss_curve=curve, stages=stages))


@settings(max_examples=60, deadline=None)
@given(models())
def test_every_model_comes_back_bit_for_bit(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        again = load(Path(folder) / "model")
        again.save(Path(folder) / "again")
        assert (Path(folder) / "model").read_bytes() == (Path(folder) / "again").read_bytes()
    assert again.get_params() == model.get_params()
    assert again.view_names_in_.tolist() == model.view_names_in_.tolist()
    if model.sample_names_in_ is None:
        assert again.sample_names_in_ is None
    else:
        assert again.sample_names_in_.tolist() == model.sample_names_in_.tolist()
    pairs = [(again.loss_curve_, model.loss_curve_), (again.labels_, model.labels_)]
    pairs += [*zip(again.memberships_, model.memberships_, strict=True)]
    pairs += [(again.consensus_.coassignment.factor, model.consensus_.coassignment.factor)]
    pairs += [(np.array([again.loss_, again.temperature_]), np.array([model.loss_, model.temperature_]))]
    assert again.stages_ == model.stages_
    for found, expected in pairs:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
        assert found.flags.writeable


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("abc_/", min_size=1, max_size=6), st.lists(numbers | st.integers(-9, 9), max_size=5)
    ),
    st.sampled_from(["<f8", ">f8", "<f4", "<i8", ">i4", "|i1"]),
    st.booleans(),
)
def test_every_archive_of_numbers_comes_back(columns, dtype, turned):
    """Whatever machine it was written on, arrays keep their type, the order of bytes, and their values."""
    arrays = {name: np.array(values).clip(-100, 100).astype(dtype) for name, values in columns.items()}
    if turned:
        arrays = {name: np.asfortranarray(np.stack([array, array])) for name, array in arrays.items()}
    content = pack_archive({"any": "header"}, arrays)
    assert read_header(content)["any"] == "header"
    found = read_arrays(content)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype.str, found[name].shape) == (array.dtype.str, array.shape)
        assert found[name].tobytes() == array.tobytes()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY"]))
def test_any_bytes_are_refused_in_one_sentence(noise, beginning):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(beginning + noise)
        with pytest.raises(ValueError) as raised:
            load(path)
    assert str(raised.value).startswith(repr(str(path)))
    assert str(raised.value).isprintable()
