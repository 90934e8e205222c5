"""Every form that data may come in, and one clear sentence for every form that it may not."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

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
    "nan": (WITH_NAN, r"X contains NaN: 1 of its 12 values are not finite numbers; fill them in"),
    "nan in a view": ([A, WITH_NAN], r"views\[1\] contains NaN"),
    "nan in a frame": (pd.DataFrame(WITH_NAN), "X contains NaN"),
    "infinity": ({"a": WITH_INFINITY}, r"views\['a'\] contains infinity \(inf\): 1 of its 12 values"),
    "empty view": ([A, A[:, :0]], r"views\[1\] has 0 feature\(s\) \(shape=\(4, 0\)\).*leave out empty views"),
    "empty table": (A[:, :0], r"X has 0 feature\(s\)"),
    "no views": ([], "no views .*pass at least one table of samples"),
    "no views in a dict": ({}, "no views"),
    "no views in an array": (np.empty((0, 4, 2)), "no views"),
    "strings": (np.array([["a"], ["b"]]), "X holds <U1 values: encode text and dates as numbers first"),
    "strings in a frame": (
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        "X holds values that are not numbers .*encode",
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
    "nothing": (None, r"X has 0 dimension\(s\)"),
    "a string": ("data.csv", "X holds <U8 values"),
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


def test_refused_objects():
    with pytest.raises(TypeError, match=r"X holds values that are not numbers .*encode or fill them first"):
        as_views(np.array([[1.0, None], [{}, 2.0]], dtype=object))


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
        ValueError, match=f'views={views!r} is .*"whole", "columns" or one group label per column'
    ):
        as_views(A, views)


def test_row_names_must_agree():
    a = pd.DataFrame(A, index=list("wxyz"))
    with pytest.raises(
        ValueError, match=r"views\[1\] and views\[0\] have different row names \(the same in another"
    ):
        as_views([a, a.iloc[::-1]])
    other = pd.DataFrame(B, index=list("stuv"))
    with pytest.raises(ValueError, match=r"views\['b'\] and views\['a'\] .*keep the samples they share"):
        as_views({"a": a, "b": other})


def test_missing_values_are_found_however_they_are_marked():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    masked = np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4)
    for table in (frame, masked):
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
