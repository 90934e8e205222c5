"""A saved model comes back as it was; anything else in a file is refused in one sentence."""

import functools
import io
import json
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.datasets import running_example
from latentsimplex.estimator import FITTED
from latentsimplex.placing.comparison import Comparison
from latentsimplex.placing.references import References
from latentsimplex.placing.sample_memberships import Neighbourhood
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.parameters import UnstoredKernel
from latentsimplex.results.results import Results, Stage
from latentsimplex.results.save_load import SCHEMA, STAGES, load_results, save_results
from latentsimplex.results.zip_archive import HEADER, pack_archive, read_arrays, read_header
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling
from made_model import made_model

pytestmark = pytest.mark.usefixtures("one_cloud")

QUICK = {"n_clusters": 3, "n_init": 2, "max_iter": 4, "random_state": 0}


def correlation_kernel(view):
    return np.exp(-np.abs(view[:, :1] - view[:, :1].T))


def views(n_samples=24):
    return running_example(n_samples, separation=8, random_state=1).views


def frame():
    table = np.hstack(views())
    return pd.DataFrame(table, index=[f"s{i}" for i in range(len(table))], columns=list("abcdef"))


def with_a_constant_view():
    return [*views(), np.ones((24, 1))]


def fitted(data, **settings):
    """Return a quick fit with the paper's settings, which reads no clouds."""
    return LatentSimplexPosition.paper(**{**QUICK, **settings}).fit(data)


def default(data, **settings):
    return LatentSimplexPosition(**{**QUICK, **settings}).fit(data)


def fitted_with_a_warning(data):
    with pytest.warns(UserWarning, match="constant"):
        return fitted(data)


MODELS = {
    "views": lambda: fitted(views()),
    "default": lambda: default(views()),
    "default columns": lambda: default(frame(), views="columns", n_patterns=2),
    "default without clusters": lambda: default(np.random.default_rng(0).normal(size=(40, 1))),
    "a kernel of two": lambda: default(
        views(), similarity=AutoDiffusion("broad", ((1, "as they are"), (2, "one by one"))), temperature=2.0
    ),
    "dict": lambda: fitted(dict(zip(["ä", "b,\n", "<c>\ud800"], views(), strict=True))),
    "frame": lambda: fitted(frame(), views="columns"),
    "groups": lambda: fitted(frame(), views=np.array([0, 0, 1, 1, 2, 2])),
    "kernel": lambda: fitted(views(), similarity=LocalScaling(power=2.0, neighbour=7), memory_limit="1GB"),
    "precomputed": lambda: fitted([correlation_kernel(view) for view in views()], similarity="precomputed"),
    "per feature": lambda: fitted(views(), similarity=LocalScaling(per_feature=True)),
    "diffusion": lambda: fitted(views(), similarity=Diffusion(neighbours=5, mean=0.3, standardise=False)),
    "diffusion by shares": lambda: fitted(
        views(), similarity=Diffusion(neighbours=0.2, mean=0.3, balance=True, per_feature=True)
    ),
    "diffusion by roots": lambda: fitted(views(), similarity=Diffusion(neighbours="sqrt")),
    "learned": lambda: default(views(), similarity="diffusion"),
    "one constant": lambda: fitted_with_a_warning(with_a_constant_view()),
    "all constant": lambda: fitted_with_a_warning(np.ones((5, 2))),
    "paper": lambda: LatentSimplexPosition.paper(**QUICK, penalty=None, tol=np.float64(0.5)).fit(views()),
}


@functools.cache
def model_called(name):
    return MODELS[name]()


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    model_called("views").save(path)
    return path


def same(a, b):
    """Whether two fitted attributes are equal to the last bit."""
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return b.dtype == object and a.tolist() == b.tolist()
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, References | Comparison | Neighbourhood):
        # what references learn when they are asked is compared in place of how they do
        names = ("neighbourhoods" if field.name == "learn" else field.name for field in fields(a))
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, Consensus):
        return all(same(x, y) for x, y in zip(consensus_parts(a), consensus_parts(b), strict=True))
    return a == b


def consensus_parts(consensus):
    return consensus.labels, consensus.weights, consensus.coassignment.factor, consensus.excluded


UNSTORED = {"settings", "frame_library"}
"""What a file does not hold, or not as it was."""


def fitted_attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name != "results_"}


def record_of(model):
    return {
        name: getattr(model.results_, name) for name in {field.name for field in fields(Results)} - UNSTORED
    }


def assert_same_fit(model, again, but=frozenset()):
    """Assert that what a model shows, and its record, are those of another, but for what is named."""
    expected, found = fitted_attributes(model), fitted_attributes(again)
    assert set(found) == set(expected)
    assert {name for name in expected if not same(expected[name], found[name])} == set(but)
    expected, found = record_of(model), record_of(again)
    apart = {name for name in expected if not same(expected[name], found[name])}
    assert apart == {FITTED[name] for name in but} & set(expected)


# What comes back


@pytest.mark.parametrize("name", MODELS)
def test_every_fitted_attribute_comes_back_to_the_last_bit(name, tmp_path):
    model = model_called(name)
    model.save(tmp_path / "model")
    assert_same_fit(model, load(tmp_path / "model"))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "groups"])
def test_parameters_come_back(name, tmp_path):
    model = model_called(name)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").get_params() == model.get_params()


def test_learned_responses_come_back(tmp_path):
    model = model_called("learned")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").responses_
    assert [B.shape for B in again] == [(g, g) for g in model.n_clusters_]
    assert any(not np.array_equal(B, np.eye(len(B))) for B in again)
    for found, expected in zip(again, model.responses_, strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", ["default", "default columns", "a kernel of two"])
def test_what_the_data_chose_comes_back(name, tmp_path):
    model = model_called(name)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again.similarity_, AutoDiffusion)
    assert again.similarity_ == model.similarity_
    assert again.similarity == model.similarity
    assert (type(again.temperature_), again.temperature_) == (float, model.temperature_)
    assert again.start_agreement_.shape == model.start_agreement_.shape
    X = views()[0]
    assert np.array_equal(again.similarity_.exponents(X), model.similarity_.exponents(X))


@pytest.mark.parametrize("name", MODELS)
def test_starts_agree_with_the_one_that_was_kept(name):
    model = model_called(name)
    found = model.start_agreement_
    assert found.shape == model.start_losses_.shape
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    assert found[model.start_losses_.argmin()] == pytest.approx(1)


def test_group_labels_come_back_as_a_list(tmp_path):
    model_called("groups").save(tmp_path / "model")
    assert load(tmp_path / "model").views == [0, 0, 1, 1, 2, 2]


def test_a_loaded_model_answers_like_the_saved_one(saved):
    model, again = model_called("views"), load(saved)
    assert np.array_equal(again.view_labels_, model.view_labels_)
    assert np.array_equal(
        again.coassignment(view="view2").toarray(), model.coassignment(view="view2").toarray()
    )
    assert np.array_equal(again.consensus([1, 0, 2]).labels, model.consensus([1, 0, 2]).labels)


def test_a_loaded_model_fits_again_to_the_same_result(saved):
    assert_same_fit(model_called("views"), clone(load(saved)).fit(views()))


def test_a_consensus_of_the_users_weights_comes_back(tmp_path):
    model = model_called("views")
    found = replace(model.results_, consensus=model.consensus([0.0, 0.25, 3.0]))
    save_results(found, tmp_path / "model")
    again = load(tmp_path / "model").consensus_
    assert again.weights.tolist() == [0.0, 0.25, 3.0]
    assert again.excluded == ["view0"]


def test_results_come_back_without_an_estimator(saved):
    checked = []
    found = load_results(saved, checked.append)
    assert isinstance(found, Results)
    assert checked == [found.settings]
    assert np.array_equal(found.labels, model_called("views").labels_)


def test_loading_leaves_the_global_generator_alone(tmp_path):
    model = model_called("views")
    save_results(
        replace(model.results_, settings={**model.results_.settings, "random_state": None}),
        tmp_path / "model",
    )
    generator = np.random.mtrand._rand
    before = generator.get_state()[2]
    assert load(tmp_path / "model").random_state is None
    assert generator.get_state()[2] == before


def test_what_is_shown_is_not_stored_a_second_time(saved):
    """Labels, numbers of clusters and the like follow from the rest, and cannot contradict it."""
    names = read_header(saved.read_bytes())["arrays"]
    assert {name.partition("/")[0] for name in names} >= {"memberships", "responses", "consensus"}
    assert not {"labels", "n_clusters", "view_labels", "loss"} & set(names)


@pytest.mark.parametrize("name", MODELS)
def test_the_stages_of_a_fit_come_back(name, tmp_path):
    model = model_called(name)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").stages_
    assert isinstance(again, tuple)
    assert again == model.stages_
    for stage in again:
        assert isinstance(stage, Stage)
        assert type(stage.temperature) is float
        assert type(stage.n_views) is int
        assert stage.evidence is None or type(stage.evidence) is float


def test_a_fit_that_chose_its_similarity_has_evidence_for_it_in_its_file(tmp_path):
    model_called("default").save(tmp_path / "model")
    search, refinement = read_header((tmp_path / "model").read_bytes())["stages"]
    assert (search["name"], refinement["name"]) == ("search", "refinement")
    assert search["evidence"] == model_called("default").stages_[0].evidence > 1
    assert refinement["evidence"] is None
    assert search["similarity"]["kernel"] == refinement["similarity"]["kernel"] == "AutoDiffusion"


def test_how_much_was_shown_of_a_fit_is_not_stored(tmp_path, capsys):
    model = fitted(views(), verbose=True)
    model.save(tmp_path / "model")
    assert capsys.readouterr().err
    assert "verbose" not in read_header((tmp_path / "model").read_bytes())["parameters"]
    assert load(tmp_path / "model").verbose is False


def test_the_parameters_of_a_file_are_those_of_the_fit(tmp_path):
    model = fitted(views()).set_params(n_init=9, n_clusters=2)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.n_init, again.n_clusters) == (QUICK["n_init"], QUICK["n_clusters"])


@pytest.mark.parametrize("name", ["model", "model.zip", "model.tar.gz", "no extension", ".hidden"])
def test_the_path_is_used_as_given(name, tmp_path):
    model_called("views").save(str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert load(str(tmp_path / name)).n_samples_ == 24


def test_saving_twice_gives_the_same_bytes(saved, tmp_path):
    load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_a_file_holds_json_and_plain_arrays_only(saved):
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read(HEADER))
        names = {f"{name}.npy" for name in header["arrays"]} | {HEADER}
        assert set(archive.namelist()) == names
        for name in names - {HEADER}:
            assert np.load(io.BytesIO(archive.read(name)), allow_pickle=False).dtype.kind in "if"
    assert (header["format"], header["schema"]) == ("latentsimplex model", SCHEMA)


# What a file cannot hold


class Distances:
    def exponents(self, X):
        return np.abs(X[:, 0][:, None] - X[:, 0])[np.triu_indices(len(X), 1)]


@pytest.mark.parametrize(
    ("kernel", "description"),
    [
        (correlation_kernel, "the function correlation_kernel"),
        (Distances(), "a Distances object"),
        (LocalScaling(metric=lambda x, y: abs(x - y).sum()), "LocalScaling(quantile=0.1"),
    ],
    ids=["function", "object", "metric"],
)
def test_a_kernel_of_the_users_own_leaves_its_description(kernel, description, tmp_path):
    model = fitted(views(), similarity=kernel)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_fit(model, again, but={"similarity_", "stages_"})
    assert isinstance(again.similarity_, UnstoredKernel)
    assert (replace(again.stages_[0], similarity=None),) == (replace(model.stages_[0], similarity=None),)
    assert again.similarity_ == again.similarity
    # an address in memory would make equal models differ
    assert ("0x" in again.similarity.description) == isinstance(kernel, LocalScaling)
    assert description in again.similarity.description
    again.save(tmp_path / "again")
    again = load(tmp_path / "again")
    with pytest.raises(ValueError, match=r"set_params\(similarity=") as error:
        clone(again).fit(views())
    assert description in str(error.value)


@pytest.mark.parametrize(
    ("state", "kept"),
    [(np.int64(7), 7), (None, None), (np.random.default_rng(0), None), (np.random.RandomState(0), None)],
    ids=["int", "none", "generator", "random state"],
)
def test_only_a_seed_is_kept_of_a_random_state(state, kept, tmp_path):
    fitted(views(), random_state=state).save(tmp_path / "model")
    assert load(tmp_path / "model").random_state == kept


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        LatentSimplexPosition().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_parameter_that_cannot_be_stored_leaves_the_older_file(saved):
    before, found = saved.read_bytes(), load(saved).results_
    found = replace(found, settings={**found.settings, "memory_limit": [object()]})
    with pytest.raises(ValueError, match=r"memory_limit=.* cannot be stored"):
        save_results(found, saved)
    assert saved.read_bytes() == before


# What is refused


def assert_refused(path, match):
    """Assert that loading fails with one sentence that names the file and says what is wrong."""
    with pytest.raises(ValueError, match=match) as error:
        load(path)
    message = str(error.value)
    assert message.startswith(repr(str(path)))
    assert "\n" not in message
    assert message.endswith(".")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("path", [None, 3.5, 7, [], object()], ids=["None", "float", "int", "list", "object"])
def test_what_is_no_path_is_refused(path, saved):
    model = load(saved)
    for use in (load, model.save, model.report):
        with pytest.raises(TypeError, match=r"The path is .*: give text or a pathlib\.Path\."):
            use(path)


def test_a_folder_is_no_model(tmp_path):
    assert_refused(tmp_path, "it is a folder")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such file")
def test_a_file_without_an_end_is_not_read():
    assert_refused(Path("/dev/zero"), "it is no plain file")


def test_a_link_to_a_model_is_a_model(saved, tmp_path):
    (tmp_path / "link").symlink_to(saved)
    assert_same_fit(model_called("views"), load(tmp_path / "link"))


@pytest.mark.parametrize(("n_samples", "n_views"), [(20_000, 4), (20, 50_000)])
def test_large_models_that_pack_well_are_not_taken_for_bombs(n_samples, n_views, tmp_path):
    W = np.eye(4)[np.arange(n_samples) * 4 // n_samples]
    made_model([W], np.zeros(n_views, dtype=int), views=["a"] * n_views).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.memberships_[0], W)
    assert again.view_responsibilities_.shape == (n_views, 1)


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
def test_a_truncated_file(share, saved):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    assert_refused(saved, "not all of one")


def model_or_message(path):
    try:
        return load(path)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("offset", range(0, 200, 9))
def test_a_flipped_byte_is_refused_or_harmless(offset, saved):
    """All flips but those in bytes that zip readers skip must be noticed."""
    content = saved.read_bytes()
    refused = 0
    for position in range(offset, len(content), 200):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        saved.write_bytes(damaged)
        outcome = model_or_message(saved)
        if isinstance(outcome, str):
            assert outcome.startswith(repr(str(saved)))
            refused += 1
        else:
            assert_same_fit(model_called("views"), outcome)
    # names of arrays and their checksums are what counts; how much of the file is times and flags depends on the fit
    assert refused > 0.6 * len(content) / 200


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", b"<html></html>", bytes(1000)])
def test_a_file_of_another_kind(content, saved):
    saved.write_bytes(content)
    assert_refused(saved, "no zip archive")


def test_a_zip_archive_of_another_kind(saved):
    with saved.open("wb") as file:
        np.savez(file, x=np.arange(3))
    assert_refused(saved, r"without model\.json")


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000], ids=["cut", "not text", "deep"])
def test_a_header_that_is_not_json(content, saved):
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr(HEADER, content)
    assert_refused(saved, "is damaged")


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"format": "other model", "schema": 1}'])
def test_a_header_of_another_program(content, saved):
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr(HEADER, content)
    assert_refused(saved, "is not a model")


def test_a_newer_schema_asks_for_an_upgrade(saved):
    header = read_header(saved.read_bytes()) | {"schema": SCHEMA + 1, "package_version": "9.8"}
    saved.write_bytes(pack_archive(header, {}))
    assert_refused(saved, rf"schema {SCHEMA + 1} of latentsimplex 9\.8.*upgrade")


@pytest.mark.parametrize("schema", range(1, SCHEMA))
def test_an_older_schema_asks_for_another_fit(schema, saved):
    """Arrays and all: what earlier drafts wrote is not what is read now."""
    header = read_header(saved.read_bytes()) | {"schema": schema, "package_version": "0.1.0"}
    arrays = {f"{name}_": array for name, array in read_arrays(saved.read_bytes()).items()}
    for content in (pack_archive(header, arrays), pack_archive(header, {})):
        saved.write_bytes(content)
        assert_refused(
            saved,
            f"it has schema {schema} of an earlier draft, not {SCHEMA}; fit the model again",
        )


def test_a_newer_schema_with_much_to_say_is_still_one_line(saved):
    header = read_header(saved.read_bytes()) | {"schema": 10**40, "package_version": "9\n\x1b[31m" * 500}
    saved.write_bytes(pack_archive(header, {}))
    with pytest.raises(ValueError, match="upgrade latentsimplex") as error:
        load(saved)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


def edited(saved, change):
    """Rewrite a model file after ``change(header, arrays)``, its checksums and its list of arrays in order."""
    content = saved.read_bytes()
    header, arrays = read_header(content), read_arrays(content)
    change(header, arrays)
    text = json.dumps(
        header | {"arrays": read_header(pack_archive({}, arrays))["arrays"]}
    )  # which may hold NaN
    saved.write_bytes(pack_archive({}, arrays))
    replace_entry(saved, HEADER, text)


def with_similarity(encoded):
    """Return a change of the header: its first stage has another similarity."""
    return lambda h: h["stages"][0].update(similarity=encoded)


def automatic(**changes):
    """Return how a file writes a similarity that the data chose, with changes; None leaves a field out."""
    given = {"scale": "local", "features": [[1, "as they are"]], **changes}
    return {
        "kernel": "AutoDiffusion",
        "fields": {name: value for name, value in given.items() if value is not None},
    }


HEADER_CHANGES = {
    "schema": lambda h: h.update(schema="2"),
    "schema of zero": lambda h: h.update(schema=0),
    "schema of another type": lambda h: h.update(schema=True),
    "no parameters": lambda h: h.pop("parameters"),
    "no numbers": lambda h: h.update(numbers=[]),
    "no names": lambda h: h.pop("names"),
    "a number of another type": lambda h: h["numbers"].update(n_features=1.5),
    "a truth of another type": lambda h: h["numbers"].update(converged=1),
    "a number that is missing": lambda h: h["numbers"].pop("n_samples"),
    "another number of samples": lambda h: h["numbers"].update(n_samples=25),
    "another number of patterns": lambda h: h["numbers"].update(n_patterns=10**12),
    "a negative number of patterns": lambda h: h["numbers"].update(n_patterns=-1),
    "no view names": lambda h: h["names"].update(view_names=None),
    "a view name too many": lambda h: h["names"]["view_names"].append("x"),
    "names that are numbers": lambda h: h["names"].update(view_names=[1, 2, 3]),
    "too few sample names": lambda h: h["names"].update(sample_names=["a"]),
    "too many feature names": lambda h: h["names"].update(feature_names=["a"] * 7),
    "an unknown parameter": lambda h: h["parameters"].update(colour=1),
    "an unknown kernel": lambda h: h["parameters"].update(similarity={"kernel": "os.system", "fields": {}}),
    "a kernel's unknown field": lambda h: h["parameters"].update(
        similarity={"kernel": "LocalScaling", "fields": {"x": 1}}
    ),
    "a kernel's bad field": lambda h: h["parameters"].update(
        similarity={"kernel": "LocalScaling", "fields": {"quantile": 2.0}}
    ),
    "a diffusion out of range": lambda h: h["parameters"].update(
        similarity={"kernel": "Diffusion", "fields": {"mean": 2.0}}
    ),
    "a seed of another type": lambda h: h["parameters"].update(random_state="7"),
    "a parameter that is a list": lambda h: h["parameters"].update(n_clusters=[3]),
    "a parameter that is a kernel": lambda h: h["parameters"].update(n_clusters={"unstored": "x"}),
    "no clusters": lambda h: h["parameters"].update(n_clusters=0),
    "starts that are a fraction": lambda h: h["parameters"].update(n_init=1.5),
    "a negative temperature": lambda h: h["parameters"].update(temperature=-1.0),
    "an unknown option": lambda h: h["parameters"].update(divergence="sideways"),
    "an unknown device": lambda h: h["parameters"].update(device="abacus"),
    "a limit that is no memory": lambda h: h["parameters"].update(memory_limit="lots"),
    "no similarity": lambda h: h["parameters"].update(similarity=None),
    "a negative seed": lambda h: h["parameters"].update(random_state=-1),
    "a cut into views that is a number": lambda h: h["parameters"].update(views=3),
    "a truth of a kernel that is text": lambda h: h["parameters"].update(
        similarity={"kernel": "LocalScaling", "fields": {"standardise": "no"}}
    ),
    "no features": lambda h: h["numbers"].update(n_features=0),
    "more views than there are": lambda h: h["stages"][0].update(n_views=4),
    "a mean that is text": with_similarity(automatic(mean="half")),
    "a kind without features": with_similarity(automatic(features=[[0, "as they are"]])),
    "labels of columns that are lists": lambda h: h["parameters"].update(views=[["a"]]),
    "no stages": lambda h: h.pop("stages"),
    "stages that are none": lambda h: h.update(stages=None),
    "stages that are not a list": lambda h: h.update(stages=h["stages"][0]),
    "an empty list of stages": lambda h: h.update(stages=[]),
    "a stage that is a list": lambda h: h["stages"].append([]),
    "a stage that is a name": lambda h: h["stages"].append("search"),
    "a stage without anything": lambda h: h["stages"].append({}),
    "a stage with more to say": lambda h: h["stages"][0].update(colour="red"),
    "a similarity that is a name": with_similarity("diffusion"),
    "an unknown similarity": with_similarity({"kernel": "Other", "fields": {}}),
    "a similarity without fields": with_similarity({"kernel": "AutoDiffusion"}),
    "a similarity with more to say": with_similarity({**automatic(), "unstored": "x"}),
    "a similarity of nothing": with_similarity({}),
    "a kernel that is described by a number": with_similarity({"unstored": 1}),
    "no scale": with_similarity(automatic(scale=None)),
    "an unknown scale": with_similarity(automatic(scale="vast")),
    "an unknown comparison": with_similarity(automatic(features=[[1, "backwards"]])),
    "a comparison of nothing": with_similarity(automatic(features=[])),
    "comparisons that are no pairs": with_similarity(automatic(features=[1, 2])),
    "neighbours of another type": with_similarity({"kernel": "Diffusion", "fields": {"neighbours": [2]}}),
    "a temperature that is not a number": lambda h: h["stages"][0].update(temperature=float("nan")),
    "an infinite temperature": lambda h: h["stages"][0].update(temperature=float("inf")),
    "a number of views that is a truth": lambda h: h["stages"][0].update(n_views=True),
    "evidence that is not a number": lambda h: h["stages"][0].update(evidence=float("nan")),
}


@pytest.mark.parametrize("change", HEADER_CHANGES.values(), ids=HEADER_CHANGES)
def test_a_header_that_does_not_fit(change, saved):
    edited(saved, lambda header, arrays: change(header))
    assert_refused(saved, "is damaged")


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("value", [..., None, 3, -3, 0.5, -0.5, "text", True, [], {}], ids=repr)
def test_a_stage_with_something_missing_or_of_another_type(name, value, saved):
    """Every part of a stage is there, and is what it may be; ... leaves it out."""
    if value is not ... and STAGES[name](value):
        value = [value]
    edited(saved, lambda header, _: header["stages"][0].update({name: None if value is ... else value}))
    if value is ...:
        edited(saved, lambda header, _: header["stages"][0].pop(name))
    assert_refused(saved, "is damaged")


def test_stages_are_one_for_each_field_of_the_record():
    assert list(STAGES) == [field.name for field in fields(Stage)]


ARRAY_CHANGES = {
    "an array that is missing": lambda a: a.pop("consensus/labels"),
    "memberships that are missing": lambda a: a.pop("memberships/0"),
    "responses that are missing": lambda a: a.pop("responses/0"),
    "a response too large": lambda a: a.update({"responses/0": np.eye(len(a["responses/0"]) + 1)}),
    "a response that is not square": lambda a: a.update({"responses/0": a["responses/0"][1:]}),
    "floats for integers": lambda a: a.update({"consensus/labels": a["consensus/labels"].astype(float)}),
    "text": lambda a: a.update(loss_curve=a["loss_curve"].astype(str)),
    "a shape of its own": lambda a: a.update({"consensus/labels": a["consensus/labels"][:-1]}),
    "an axis too many": lambda a: a.update({"consensus/labels": a["consensus/labels"][None]}),
    "rows of another number": lambda a: a.update({"memberships/0": a["memberships/0"][1:]}),
    "a column too many": lambda a: a.update(
        {"memberships/0": np.hstack([a["memberships/0"], np.zeros((24, 1))])}
    ),
    "agreements that are missing": lambda a: a.pop("start_agreement"),
    "an agreement too many": lambda a: a.update(start_agreement=np.ones(3)),
    "agreements that are integers": lambda a: a.update(start_agreement=np.ones(2, dtype=int)),
    "memberships that are not numbers": lambda a: a["memberships/0"].fill(np.nan),
    "memberships that do not add up": lambda a: a["memberships/0"].fill(0.9),
    "negative memberships": lambda a: a.update(
        {"memberships/0": a["memberships/0"] * 3 - 2 / a["memberships/0"].shape[1]}
    ),
    "responsibilities that do not add up": lambda a: a["view_responsibilities"].fill(0.2),
    "a loss that is infinite": lambda a: a["loss_curve"].fill(np.inf),
    "a loss that is not a number": lambda a: a["loss_curve"].fill(np.nan),
    "curves of other lengths": lambda a: a.update(loss_curve=np.append(a["loss_curve"], 0.0)),
    "curves without an entry": lambda a: a.update(loss_curve=np.empty(0), expected_loss_curve=np.empty(0)),
    "starts past the last view": lambda a: a["initial_view_patterns"].fill(99),
    "starts before all": lambda a: a["initial_view_patterns"].fill(-3),
    "negative weights of views": lambda a: a["consensus/weights"].fill(-1.0),
    "no rank": lambda a: a.update({"consensus/factor": a["consensus/factor"][:, :0]}),
    "a pattern past the last": lambda a: a["view_patterns"].fill(9),
    "a negative pattern": lambda a: a["view_patterns"].fill(-1),
    "a cluster past the last": lambda a: a["pattern_labels"].fill(9),
    "responses that are no similarities": lambda a: a["responses/0"].fill(2.0),
    "agreements above one": lambda a: a["start_agreement"].fill(1.5),
    "a pattern that is not the most probable": lambda a: a.update(
        view_responsibilities=np.eye(a["view_responsibilities"].shape[1])[(a["view_patterns"] + 1) % 2]
    ),
    "a pattern that no view follows": lambda a: a.update(
        view_patterns=0 * a["view_patterns"],
        view_responsibilities=np.eye(a["view_responsibilities"].shape[1])[0 * a["view_patterns"]],
    ),
    "a consensus of nothing": lambda a: a["consensus/weights"].fill(0.0),
    "vast weights of views": lambda a: a["consensus/weights"].fill(1e300),
    "a consensus cluster without samples": lambda a: a["consensus/labels"].fill(1),
    "a consensus above one": lambda a: a["consensus/factor"].fill(0.9),
    "a consensus below zero": lambda a: a["consensus/factor"].fill(-0.1),
    "a consensus that is all zero": lambda a: a["consensus/factor"].fill(0.0),
    "floats of half precision": lambda a: a.update(pattern_weights=a["pattern_weights"].astype("<f2")),
    "a consensus cluster past the last": lambda a: a["consensus/labels"].fill(10**9),
}


@pytest.mark.parametrize("change", ARRAY_CHANGES.values(), ids=ARRAY_CHANGES)
def test_an_array_that_does_not_fit(change, saved):
    edited(saved, lambda header, arrays: change(arrays))
    assert_refused(saved, "is damaged")


def replace_entry(saved, name, content):
    with zipfile.ZipFile(saved) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(saved, "w") as archive:
        for entry, old in entries.items():
            archive.writestr(entry, content if entry == name else old)


class Planted:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_an_array_of_objects_is_refused_and_not_unpickled(saved, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Planted(tmp_path / "ran")], dtype=object), allow_pickle=True)
    replace_entry(saved, "consensus/labels.npy", buffer.getvalue())
    assert_refused(saved, "is damaged")
    assert not (tmp_path / "ran").exists()


def npy_claiming(shape):
    buffer = io.BytesIO()
    header = {"descr": "<i8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(8)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x93NUMPY", npy_claiming((10**15,)), npy_claiming((24,)), npy_claiming((-1,))],
    ids=["empty", "cut", "huge", "short", "negative"],
)
def test_an_entry_that_is_no_array(content, saved):
    replace_entry(saved, "consensus/labels.npy", content)
    assert_refused(saved, "is damaged")


def test_an_array_other_than_the_header_lists(saved):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(24, dtype=np.int32))
    replace_entry(saved, "consensus/labels.npy", buffer.getvalue())
    assert_refused(saved, "consensus/labels is not of the shape and type")


def test_a_table_with_categories_comes_back(tmp_path):
    """A column of categories is one column, though it becomes a feature for each of them."""
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=60)
    frame = pd.DataFrame(6 * rng.normal(size=(3, 2))[groups] + rng.normal(size=(60, 2)), columns=["a", "b"])
    model = LatentSimplexPosition(random_state=0).fit(frame.assign(kind=np.array(list("xyz"))[groups]))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_features_in_ == 3
    assert again.feature_names_in_.tolist() == ["a", "b", "kind"]
    assert np.array_equal(again.labels_, model.labels_)
