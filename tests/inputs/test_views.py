"""Every form that data may come in, and one clear sentence for every form that it may not."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from latentsimplex.inputs import NamedTable, with_samples
from latentsimplex.inputs.views import as_views

A = np.arange(12.0).reshape(4, 3)
B = np.arange(8.0).reshape(4, 2) ** 2


class Frame:
    """A frame that is not pandas: no index, columns as a plain list."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns
        self.shape = values.shape

    def to_numpy(self):
        return self.values


def assert_views(views, arrays, names):
    assert views.names == names
    assert len(views) == len(arrays)
    assert views.n_samples == len(arrays[0])
    assert views.widths == [a.shape[1] for a in arrays]
    for found, array in zip(views, arrays, strict=True):
        assert isinstance(found, np.ndarray)
        assert found.dtype == np.float64
        assert np.array_equal(found, array)


# Collections


@pytest.mark.parametrize("form", [list, tuple])
def test_sequence_of_arrays(form):
    assert_views(as_views(form([A, B])), [A, B], ["view0", "view1"])


def test_nested_lists_are_views_and_a_list_of_rows_is_one_table():
    assert_views(as_views([A.tolist(), B.tolist()]), [A, B], ["view0", "view1"])
    assert_views(as_views(A.tolist()), [A], ["view0"])


def test_dict_keeps_its_names_and_order():
    assert_views(as_views({"shape": B, "colour": A, 3: B}), [B, A, B], ["shape", "colour", "3"])


def test_three_dimensional_array():
    stack = np.stack([A, 2 * A])
    assert_views(as_views(stack), [A, 2 * A], ["view0", "view1"])


def test_list_of_frames_and_arrays():
    frames = [pd.DataFrame(A, columns=list("abc")), B, Frame(B, ["x", "y"])]
    views = as_views(frames)
    assert_views(views, [A, B, B], ["view0", "view1", "view2"])
    assert views.sample_names is None


def test_integers_and_booleans_are_numbers():
    assert_views(
        as_views([A.astype(int), B > 1, A.astype(np.float32)]), [A, B > 1, A], ["view0", "view1", "view2"]
    )
    assert_views(as_views(A.astype(object)), [A], ["view0"])


def test_views_are_indexed_like_a_list():
    views = as_views([A, B])
    assert np.array_equal(views[1], B)
    with pytest.raises(IndexError, match="view 2 of 2"):
        views[2]


# One table


def test_table_is_one_view():
    assert_views(as_views(A), [A], ["view0"])
    assert as_views(A).feature_names is None


def test_table_by_columns():
    assert_views(as_views(A, "columns"), [A[:, [0]], A[:, [1]], A[:, [2]]], ["x0", "x1", "x2"])


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series])
def test_table_by_groups_in_order_of_appearance(form):
    views = as_views(A, form(["late", "early", "late"]))
    assert_views(views, [A[:, [0, 2]], A[:, [1]]], ["late", "early"])


@pytest.mark.parametrize("frame", [pd.DataFrame, Frame], ids=["pandas", "another library"])
def test_frame_names_its_views(frame):
    table = frame(A, columns=["tp53", "brca1", "egfr"])
    assert_views(as_views(table, "columns"), [A[:, [0]], A[:, [1]], A[:, [2]]], ["tp53", "brca1", "egfr"])
    assert_views(as_views(table, [1, 0, 1]), [A[:, [0, 2]], A[:, [1]]], ["1", "0"])
    assert as_views(table).feature_names == ["tp53", "brca1", "egfr"]


def test_sample_names_come_from_the_index():
    frame = pd.DataFrame(A, index=["p1", "p2", "p3", "p4"])
    assert as_views(frame).sample_names == ["p1", "p2", "p3", "p4"]
    assert as_views([B, frame]).sample_names == ["p1", "p2", "p3", "p4"]
    assert as_views(pd.DataFrame(A)).sample_names is None


# Rows matched by name

SHUFFLED = [2, 0, 3, 1]
INDICES = {
    "range": range(4),
    "shifted range": range(1, 5),
    "every second": range(0, 8, 2),
    "shuffled": [3, 1, 0, 2],
    "text": list("wxyz"),
    "dates": pd.date_range("2020", periods=4),
    "pairs": pd.MultiIndex.from_product([["a", "b"], [0, 1]]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_rows_in_another_order_are_put_into_that_of_the_first_view(index):
    first, second = pd.DataFrame(A, index=index), pd.DataFrame(B, index=index)
    views = as_views({"a": first, "b": second.iloc[SHUFFLED], "c": second})
    assert_views(views, [A, B, B], ["a", "b", "c"])
    assert views.sample_names == [str(name) for name in first.index]


@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
def test_sorted_rows_are_the_same_samples():
    frame = pd.DataFrame(A[SHUFFLED])
    assert_views(as_views({"a": frame, "b": frame.sort_values(0)}), [A[SHUFFLED]] * 2, ["a", "b"])
    named = NamedTable(sparse.csr_array(A), ["x", "y", "z"], ["2", "0", "3", "1"])
    views = as_views([pd.DataFrame(B), named])
    assert_views(views, [B, A[[1, 3, 0, 2]]], ["view0", "view1"])
    assert views.load(1).has_canonical_format


def test_of_similarities_rows_and_columns_are_put_in_order():
    S = np.arange(16.0).reshape(4, 4) / 16
    first, second = pd.DataFrame(S, index=list("wxyz")), pd.DataFrame(S, list("wxyz"), list("wxyz"))
    moved = second.iloc[SHUFFLED, SHUFFLED]
    assert_views(as_views([first, moved], precomputed=True), [S, S], ["view0", "view1"])
    assert_views(
        as_views([first, moved.set_axis(range(4), axis=1)], precomputed=True), [S, S], ["view0", "view1"]
    )
    assert_views(as_views([first, moved]), [S, S], ["view0", "view1"])  # distances of one's own


def test_a_count_from_zero_in_every_view_is_no_names():
    for index in (range(4), np.arange(4), pd.RangeIndex(4), np.arange(4, dtype="uint8")):
        assert as_views([pd.DataFrame(A, index=index), pd.DataFrame(B), B]).sample_names is None
    assert as_views(pd.DataFrame(A).iloc[SHUFFLED]).sample_names == ["2", "0", "3", "1"]
    assert as_views(pd.DataFrame(A, index=["0", "1", "2", "3"])).sample_names == ["0", "1", "2", "3"]


DIFFERENT_NAMES = {
    "other names": (
        [list("wxyz"), list("wxst")],
        r"views\[1\] lacks 2 of the 4 samples of views\[0\], such as 'y', and has 2 that are not in views\[0\], such "
        "as 's': name samples alike in all views, or fit with join=\"inner\" to keep those",
    ),
    "a count beside names": ([range(4), list("wxyz")], "lacks 4 of the 4 .* such as '0', .* such as 'w'"),
    "a shifted count": ([range(4), range(1, 5)], r"lacks 1 of the 4 samples of views\[0\], such as '0'"),
    "fewer rows": ([list("wxyz"), list("xyz")], r"views\[1\] lacks 1 of the 4 samples of views\[0\], such as 'w'"),
    "more rows": ([list("wxyz"), list("vwxyz")], r"views\[0\] lacks 1 of the 5 samples of views\[1\], such as 'v'"),
    "repeated": ([list("wxyz"), list("wxyy")], r"views\[1\] has 'y' more than once among its row names"),
    "repeated alike": ([list("wxyy"), list("wxyy")], r"views\[0\] has 'y' more than once"),
    "counts of other lengths": ([range(4), range(3)], r"views\[1\] has 3 rows and views\[0\] has 4"),
    "an array beside two orders": (
        [list("wxyz"), None, list("zyxw")],
        r"views\[1\] has no row names, and views\[0\] and views\[2\] have theirs in different orders",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT_NAMES)
def test_different_names_are_never_matched_by_position(case):
    indices, message = DIFFERENT_NAMES[case]
    frames = [
        A if index is None else pd.DataFrame(np.ones((len(index), 2)), index=index) for index in indices
    ]
    with pytest.raises(ValueError, match=message):
        as_views(frames)


def test_repeated_names_of_one_table_are_only_repeated():
    assert as_views(pd.DataFrame(A, index=list("aabb"))).sample_names == list("aabb")


# Sparse


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "bsr"])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
def test_sparse_tables(container, form):
    table = container(A).asformat(form)
    assert_views(as_views(table), [A], ["view0"])
    assert_views(as_views([table, B]), [A, B], ["view0", "view1"])
    assert_views(as_views({"s": table}), [A], ["s"])
    assert_views(as_views(table, "columns"), [A[:, [0]], A[:, [1]], A[:, [2]]], ["x0", "x1", "x2"])
    assert_views(as_views(table, ["a", "b", "a"]), [A[:, [0, 2]], A[:, [1]]], ["a", "b"])


def test_sparse_tables_warn_once():
    with pytest.warns(UserWarning, match="Sparse views are made dense one at a time") as caught:
        as_views([sparse.csr_array(A), sparse.csc_array(B)])
    assert len(caught) == 1


# Precomputed


def test_precomputed_forms():
    S = np.eye(4)
    assert_views(as_views(S, precomputed=True), [S], ["view0"])
    assert_views(as_views(np.stack([S, S / 2]), precomputed=True), [S, S / 2], ["view0", "view1"])
    assert_views(as_views([S, S / 2], precomputed=True), [S, S / 2], ["view0", "view1"])
    assert_views(as_views({"s": S}, precomputed=True), [S], ["s"])


# What is refused


WITH_NAN, WITH_INFINITY = A.copy(), A.copy()
WITH_NAN[1, 2] = np.nan
WITH_INFINITY[0, 0] = -np.inf

REFUSED = {
    "rows": (
        [A, B, B[:3]],
        r"views\[2\] has 3 rows and views\[0\] has 4: all views must describe the same samples\.",
    ),
    "rows of a dict": ({"a": A, "b": B[:3]}, r"views\['b'\] has 3 rows and views\['a'\] has 4: all views"),
    "nan": (WITH_NAN, r"X contains NaN: 1 of its 12 values are not finite numbers; fit with missing=.pairwise"),
    "nan in a view": ([A, WITH_NAN], r"views\[1\] contains NaN"),
    "nan in a frame": (pd.DataFrame(WITH_NAN), "X contains NaN"),
    "infinity": ({"a": WITH_INFINITY}, r"views\['a'\] contains infinity \(inf\): 1 of its 12 .*; replace them"),
    "empty view": ([A, A[:, :0]], r"views\[1\] has 0 feature\(s\) \(shape=\(4, 0\)\).*leave out empty views"),
    "empty table": (A[:, :0], r"X has 0 feature\(s\)"),
    "no views": ([], "no views .*pass at least one table of samples"),
    "no views in a dict": ({}, "no views"),
    "no views in an array": (np.empty((0, 4, 2)), "no views"),
    "strings": (np.array([["a"], ["b"]]), "X holds <U1 values: encode text and dates as numbers first"),
    "names in a frame": (
        pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}),
        "The column 'b' has 3 different texts in 3 samples, so it says who a sample is",
    ),
    "text of digits in a frame": (
        pd.DataFrame({"a": [1.0, 2.0], "b": ["1", "2"]}),
        "The column 'b' of X holds object values, such as '1', and views are made of numbers: encode it",
    ),
    "dates": ([A, np.full((4, 1), "2020-01-01", dtype="datetime64[D]")], r"views\[1\] holds datetime64\[D\] values"),
    "complex": (A * 1j, "Complex data not supported: X holds complex numbers"),
    "one sample": (A[:1], r"X has 1 sample\(s\).*minimum of 2 is required"),
    "no samples": (A[:0], r"X has 0 sample\(s\)"),
    "one sample in a view": ([A[:1], B[:1]], r"views\[0\] has 1 sample\(s\)"),
    "a vector": (A[0], r"X has 1 dimension\(s\): a view is a 2-D table .*reshape\(-1, 1\)"),
    "vectors": ([A[0], A[0]], r"views\[0\] has 1 dimension\(s\)"),
    "four dimensions": (A[None, None], r"X has 4 dimension\(s\)"),
    "a number": (3.0, r"X has 0 dimension\(s\)"),
    "nothing": (None, "X is None: give a table"),
    "no view": ([A, None], r"views\[1\] is None: give a table .* Only predict takes None"),
    "a generator": ((row for row in A), "X is a generator, which is no table"),
    "text among objects": (np.array([["1"], [2]], dtype=object), "X holds str values, such as '1': encode text"),
    "records": (np.zeros(4, dtype=[("a", float)]), "X holds .* values: encode"),
    "large numbers": (A * 1e300, r"X holds numbers larger than 1e\+150, whose squares overflow: choose a larger unit"),
    "large numbers in a stack": (np.stack([A, A * -1e300]), r"views\[1\] holds numbers larger than 1e\+150"),
    "small numbers": (A * 1e-200, r"X holds no number beyond 1e-150, and .* vanish: choose a smaller unit"),
    "small numbers in a stack": (np.stack([A, A * 1e-200]), r"views\[1\] holds no number beyond 1e-150"),
    "large integers": ([[10**400], [1]], "X holds numbers larger than"),
    "integers that are just large": ([[10**301], [1]], "X holds numbers larger than"),
    "large integers in a frame": (pd.DataFrame({"a": pd.Series([10**400, 1], dtype=object)}), "numbers larger than"),
    "a sparse vector": ([sparse.coo_array([1.0, 2.0])], r"views\[0\] has 1 dimension\(s\)"),
    "ragged rows": ([[1.0, 2.0], [3.0]], "X has rows of different lengths"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_data(case):
    data, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        as_views(data)


@pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")
def test_refused_sparse_data():
    with pytest.raises(ValueError, match="X contains NaN"):
        as_views(sparse.csr_array(WITH_NAN))
    with pytest.raises(ValueError, match=r"views\[1\] has 3 rows and views\[0\] has 4"):
        as_views([A, sparse.csr_array(A[:3])])


SERIES = {
    "dates": pd.to_datetime(["2020", "2021"]),
    "a missing date": pd.to_datetime(["2020", None]),
    "dates with a zone": pd.to_datetime(["2020", "2021"]).tz_localize("UTC"),
    "spans of time": pd.to_timedelta([1, 2]),
    "periods": pd.period_range("2020", periods=2),
    "complex": [1j, 2],
    "mixed": np.array([1, "2"], dtype=object),
    "dates among objects": np.array([1, pd.Timestamp("2020")], dtype=object),
    "missing dates among objects": np.array([1, pd.NaT], dtype=object),
    "complex among objects": np.array([1, 2j], dtype=object),
    "text of digits": ["1", "2"],
}


@pytest.mark.parametrize("values", SERIES.values(), ids=SERIES)
def test_columns_of_a_frame_are_refused_by_their_type(values):
    frame = pd.DataFrame({"age": [3.0, 4.0], "visit": values})
    message = f"The column 'visit' of X holds {frame['visit'].dtype} values".replace("[", r"\[")
    with pytest.raises(ValueError, match=message):
        as_views(frame)
    with pytest.raises(ValueError, match=r"The column 'visit' of views.*, the first of 2 such columns, and"):
        as_views([frame, pd.concat([frame, frame], axis=1)][::-1])


def test_columns_of_polars_are_refused_by_their_type():
    polars = pytest.importorskip("polars")
    day = datetime.datetime(2020, 1, 1)
    for values, kind in (
        ([day.date(), day.date()], "Date"),
        ([day, None], "Datetime"),
        ([day - day, None], "Duration"),
        ([day.time(), None], "Time"),
        (["1", "2"], "String"),
        (polars.Series([1, "2"], dtype=polars.Object), "Object"),
    ):
        frame = polars.DataFrame({"age": [3.0, 4.0], "visit": values})
        with pytest.raises(ValueError, match=f"The column 'visit' of X holds {kind}.* values, and views are"):
            as_views(frame)
        with pytest.raises(ValueError, match=f"The column 'visit' of the frame holds {kind}"):
            with_samples(frame, "age")


def test_numbers_of_any_type_are_taken():
    kinds = ["int8", "uint64", "float32", "bool", "Int64", "boolean", "Float32", "Sparse[float]", object]
    frame = pd.DataFrame({str(kind): pd.Series([1, 0]).astype(kind) for kind in kinds})
    frame["decimals"] = [Decimal(1), Decimal(0)]
    assert_views(as_views(frame), [np.outer([1.0, 0.0], np.ones(len(kinds) + 1))], ["view0"])
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"a": [1, 0], "b": [True, False], "c": [Decimal(1), Decimal(0)], "d": [1.0, 0.0]}
    )
    for data in (frame, frame.lazy(), [frame.lazy()]):
        assert_views(as_views(data), [np.outer([1.0, 0.0], np.ones(4))], ["view0"])


def test_arrays_with_three_axes_of_other_libraries():
    xarray = pytest.importorskip("xarray")
    stack = np.stack([A, 2 * A])
    assert_views(as_views(xarray.DataArray(stack)), [A, 2 * A], ["view0", "view1"])
    assert_views(as_views(xarray.DataArray(A)), [A], ["view0"])


def test_tensors():
    torch = pytest.importorskip("torch")
    stack = torch.tensor(np.stack([A, 2 * A]), requires_grad=True)
    assert_views(as_views(stack), [A, 2 * A], ["view0", "view1"])
    assert_views(as_views([stack[0], stack[1].to(torch.bfloat16)]), [A, 2 * A], ["view0", "view1"])
    assert_views(as_views(stack[0]), [A], ["view0"])
    with pytest.raises(ValueError, match="Complex data not supported"):
        as_views(stack[0].to(torch.complex64))
    assert_views(as_views(stack[0].to_sparse()), [A], ["view0"])
    with pytest.raises(
        ValueError, match=r"X is a tensor that cannot be read .*: give one that holds numbers"
    ):
        as_views(torch.zeros(4, 2, device="meta"))


def test_a_query_that_cannot_be_computed_is_one_sentence():
    polars = pytest.importorskip("polars")
    with pytest.raises(
        ValueError, match=r"X is a LazyFrame that polars cannot compute \(.*nothing"
    ) as raised:
        as_views(polars.LazyFrame({"a": [1.0, 2.0]}).select("nothing"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacks_of_either_precision_are_taken_without_a_warning(dtype):
    stack = np.stack([A, 2 * A]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_views(as_views(stack), [A, 2 * A], ["view0", "view1"])


def test_refused_objects():
    with pytest.raises(TypeError, match=r"X holds values that are not numbers .*encode or fill them first"):
        as_views(np.array([[1.0, None], [{}, 2.0]], dtype=object))
    span = np.timedelta64(1, "D")  # which NumPy counts among whole numbers
    for data in ([[span], [2.0]], np.array([[span], [2.0]], dtype=object)):
        with pytest.raises((TypeError, ValueError), match=r"X holds .*timedelta"):
            as_views(data)


@pytest.mark.parametrize(
    "views", ["columns", ["a", "b", "a"], np.array([0, 1, 1])], ids=["columns", "list", "array"]
)
@pytest.mark.parametrize("data", [[A, A], {"a": A}, np.stack([A, A])], ids=["list", "dict", "3-D"])
def test_only_a_table_can_be_cut(data, views):
    with pytest.raises(
        ValueError, match=r"cuts one 2-D table into views, but the data already hold . views: leave"
    ):
        as_views(data, views)


def test_a_precomputed_similarity_cannot_be_cut():
    with pytest.raises(
        ValueError, match=r"views=\'columns\' cuts a table .*a 2-D array is one n x n similarity"
    ):
        as_views(np.eye(3), "columns", precomputed=True)


@pytest.mark.parametrize("n_labels", [0, 2, 4])
def test_one_group_label_per_column(n_labels):
    with pytest.raises(
        ValueError, match=f"{n_labels} group labels and the table has 3 columns: give one label"
    ):
        as_views(A, ["a"] * n_labels)


@pytest.mark.parametrize("views", ["genes", None, 3])
def test_unknown_way_to_cut(views):
    with pytest.raises(
        ValueError, match=f'views={views!r} is .*"whole", "columns", "discover" or one group label per column'
    ):
        as_views(A, views)


def test_missing_values_are_found_however_they_are_marked():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    masked = np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4)
    objects = np.array([[1, 2], [pd.NA, 3], [4, 5]], dtype=object)
    for table in (frame, masked, objects, objects.tolist(), pd.DataFrame(objects)):
        with pytest.raises(ValueError, match="contains NaN: 1 of its 6 values"):
            as_views(table)


def test_sparse_integers_become_floats():
    with pytest.warns(UserWarning, match="Sparse views"):
        views = as_views([sparse.csr_array(np.eye(3, dtype=int))])
    assert views[0].dtype == np.float64


def test_the_library_of_frames_in_data():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = {"x": [1.0, 2.0]}
    for library in (pandas, polars):
        name, data = library.__name__, library.DataFrame(frame)
        assert as_views(data).frame_library == name
        assert as_views(data, "columns").frame_library == name
        assert as_views([np.zeros((2, 1)), data]).frame_library == name
        assert as_views((data,)).frame_library == name
        assert as_views({"a": np.zeros((2, 1)), "b": data}).frame_library == name
    both = [polars.DataFrame(frame), pandas.DataFrame(frame)]
    assert as_views(both).frame_library == "polars"  # the first


@pytest.mark.parametrize(
    "data", [np.ones((2, 2)), [np.ones((2, 1))], {"a": [[1.0], [2.0]]}, np.ones((2, 2, 1))]
)
def test_data_without_frames(data):
    assert as_views(data).frame_library is None


# Categories


def mixed_frame(library):
    return library.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, 4.0],
            "colour": ["red", "blue", "red", None],
            "flag": [True, False, True, False],
        }
    )


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_text_of_a_frame_is_categories(name):
    frame = mixed_frame(pytest.importorskip(name))
    views = as_views(frame, missing="pairwise")
    assert views.widths == [3]
    assert views.name_features(0) == ["size", "colour=red", "flag"]
    assert views.feature_names == ["size", "colour", "flag"]
    assert np.isnan(views[0]).sum() == 1
    assert views.has_missing
    scale, centre = views.find_units(0)
    np.testing.assert_allclose(views[0][:3] * scale + centre, [[1, 1, 1], [2, 0, 0], [3, 1, 1]])
    columns = as_views(frame, "columns", missing="pairwise")
    assert (columns.names, columns.widths) == (["size", "colour", "flag"], [1, 1, 1])
    groups = as_views(frame, {"looks": ["colour", "flag"], "size": ["size"]}, missing="pairwise")
    assert [groups.name_features(v) for v in range(2)] == [["colour=red", "flag"], ["size"]]


def test_text_that_pyarrow_holds_is_categories_too():
    pytest.importorskip("pyarrow")
    frame = mixed_frame(pd).convert_dtypes(dtype_backend="pyarrow")
    found, expected = as_views(frame, missing="pairwise"), as_views(mixed_frame(pd), missing="pairwise")
    assert found.name_features(0) == expected.name_features(0)
    np.testing.assert_array_equal(found[0], expected[0])
    frame["colour"] = frame["colour"].astype("category")
    np.testing.assert_array_equal(as_views(frame, missing="pairwise")[0], expected[0])


def test_a_frame_with_samples_keeps_its_categories():
    frame = mixed_frame(pytest.importorskip("polars")).with_columns(who=np.array(["a", "b", "c", "d"]))
    views = as_views([with_samples(frame, "who")], missing="pairwise")
    assert views.sample_names == ["a", "b", "c", "d"]
    assert views.name_features(0) == ["size", "colour=red", "flag"]


@pytest.mark.parametrize("kind", ["Table", "RecordBatch"])
def test_tables_of_pyarrow_are_read_as_frames_of_pandas(kind):
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.0], "y": [0, 3, 7]}, index=["a", "b", "c"])
    table = getattr(pyarrow, kind).from_pandas(frame)
    for data, expected in (
        (table, frame),
        ([table, table], [frame, frame]),
        ({"one": table}, {"one": frame}),
    ):
        found, same = as_views(data), as_views(expected)
        assert (found.names, found.sample_names) == (same.names, ["a", "b", "c"])
        assert found.name_features(0) == ["x", "y"]
        assert found.frame_library == "pandas"
        np.testing.assert_array_equal(found[0], same[0])
    assert as_views(table, "columns").names == ["x", "y"]
