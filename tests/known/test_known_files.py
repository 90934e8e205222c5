"""Files of classes and of links."""

import pytest

from latentsimplex.known.known_files import read_labels_file, read_links_file


def test_classes_of_one_column_or_of_one_that_is_named(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("sample,kind\na,cat\nb,\nc,dog\n")
    assert read_labels_file(str(path)) == {"a": "cat", "b": None, "c": "dog"}
    path.write_text("sample,kind,age\na,cat,3\nb,dog,NA\n")
    assert read_labels_file(f"{path}:age") == {"a": "3", "b": None}
    with pytest.raises(ValueError, match="has these columns beside that of samples: kind, age"):
        read_labels_file(str(path))
    with pytest.raises(ValueError, match="FILE:COLUMN"):
        read_labels_file(f"{path}:colour")


def test_links_are_lines(tmp_path):
    path = tmp_path / "links.tsv"
    path.write_text("one\tother\tthird\na\tb\t\nc\td\te\n")
    assert read_links_file(path) == [["a", "b"], ["c", "d", "e"]]
    path.write_text("one\tother\n")
    with pytest.raises(
        ValueError, match=r"links\.tsv has the one line 'one,other': give a line of column names, such"
    ):
        read_links_file(path)
    path.write_text("")
    with pytest.raises(
        ValueError, match=r"links\.tsv has no lines: give a line of column names, such as sample,other"
    ):
        read_links_file(path)
    path.write_text("one\tother\na\n")
    with pytest.raises(ValueError, match=r"Line 2 of links\.tsv has 1 cells"):
        read_links_file(path)


@pytest.mark.parametrize(("samples", "a", "b"), [({"anna", "bert", "carl"}, "anna", "bert"), ((), "4", "0")])
def test_files_without_a_line_of_column_names(tmp_path, samples, a, b):
    path = tmp_path / "some.csv"
    for text, read, names in (
        (f"{a},{b}\n{b},{a}\n", lambda: read_links_file(path, samples), "sample,other"),
        (f"{a},cat\n{b},dog\n", lambda: read_labels_file(str(path), samples), "sample,class"),
    ):
        path.write_text(text)
        line = text.partition("\n")[0]
        said = f"^The first line of some.csv is '{line}', which reads as an entry: .* such as {names}"
        with pytest.raises(ValueError, match=said):
            read()
        path.write_text(f"{names}\n{text}")
        assert len(read()) == 2


def test_a_first_line_of_other_words_is_one_of_column_names(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("anna,other\nanna,bert\n")
    assert read_links_file(path, {"anna", "bert"}) == [["anna", "bert"]]
    path.write_text(",\nanna,bert\n")
    assert read_links_file(path, {"anna", "bert"}) == [["anna", "bert"]]
