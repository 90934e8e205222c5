"""Files of classes and of links."""

import pytest

from latentsimplex.files.known_files import read_labels_file, read_links_file


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
    with pytest.raises(ValueError, match=r"links\.tsv has no samples"):
        read_links_file(path)
    path.write_text("one\tother\na\n")
    with pytest.raises(ValueError, match=r"Line 2 of links\.tsv has 1 cells"):
        read_links_file(path)
