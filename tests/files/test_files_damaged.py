"""Damaged and hostile files end in one sentence, soon, and without taking much memory."""

import gzip
import io
import itertools
import pickle
import struct
import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from latentsimplex.files import delimited_text
from latentsimplex.files.data_files import read_data

NUMBERS = np.arange(24.0).reshape(6, 4) / 7
PATIENCE, MOST_BYTES = 5.0, 50 * 10**6


def refuse(path, message=".", error=ValueError, **options):
    """Read a file, which has to end in one sentence of this kind."""
    with pytest.raises(error, match=message) as raised:
        read_data([path], **options)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith((path.name, "Line", "The first line", "The column", f"'{path.stem}'"))


def bytes_of(write, *arguments, **named):
    buffer = io.BytesIO()
    write(buffer, *arguments, **named)
    return buffer.getvalue()


def write_parquet(buffer):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(NUMBERS, list("abcdef"), [f"x{j}" for j in range(4)]).to_parquet(buffer)


TEXT = "who,age,the size\n" + "".join(f"p{i},{i}.5,-{i}e-3\n" for i in range(6))
WHOLE = {
    "a.csv": lambda: TEXT.encode(),
    "a.tsv": lambda: TEXT.replace(",", "\t").encode(),
    "a.csv.gz": lambda: gzip.compress(TEXT.encode()),
    "a.npy": lambda: bytes_of(np.save, NUMBERS),
    "a.npz": lambda: bytes_of(np.savez, left=NUMBERS, right=NUMBERS.astype(int), samples=list("abcdef")),
    "b.npz": lambda: bytes_of(np.savez_compressed, NUMBERS),
    "a.parquet": lambda: bytes_of(write_parquet),
}


def damage(content, rng):
    """Return content with a few bytes changed, cut out, repeated or put in, or cut short."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(content) + 1))
        length = int(rng.integers(1, 9))
        noise = [bytes(length), b"\xff" * length, rng.bytes(length), b'"', b"\n", b"9" * 20, b"-"]
        kind = rng.integers(4)
        if kind == 0:
            content[at : at + length] = noise[rng.integers(len(noise))]
        elif kind == 1:
            content[at:at] = noise[rng.integers(len(noise))]
        elif kind == 2:
            content[at:at] = content[at // 2 : at // 2 + 40]
        else:
            del content[at : at + (length if rng.random() < 0.7 else len(content))]
    return bytes(content)


@pytest.mark.parametrize("name", WHOLE)
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, name):
    whole, rng, sentences = WHOLE[name](), np.random.default_rng(len(name)), []
    path = tmp_path / name
    path.write_bytes(whole)
    read_data([path])
    for _ in range(80):
        path.write_bytes(damage(whole, rng))
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_data([path], memory_limit=10**6)
            except (ValueError, MemoryError) as error:
                sentences.append(str(error))
        assert time.monotonic() - started < PATIENCE
    assert len(sentences) > 10
    for sentence in sentences:
        assert 0 < len(sentence) < 600
        assert "\n" not in sentence


@pytest.fixture
def little_memory():
    """Whatever is read, only so much is allocated."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def described(shape, kind="'<f8'"):
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}"


class Loud:
    """What pickle would run."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize("inside", [False, True], ids=["npy", "npz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(described("(1000000, 1000000)"), bytes(64)), "too short for an array of the shape"),
        (npy(described("(10**9, 10**9)"), bytes(64)), "."),
        (npy(described(f"({2**62}, {2**62})"), bytes(64)), "too short"),
        (npy(described("(-1, 2)"), bytes(64)), "which is empty"),
        (npy(described(f"(0, {10**18})")), "which is empty"),
        (npy(described(f"({10**18},)", "'<U0'")), "too short"),
        (npy(described("(2, 4)"), bytes(60)), "too short"),
        (npy(described("(True, 8)"), bytes(8)), "."),
        (npy(described("(2, 4)", "'|O'"), pickle.dumps(Loud())), "holds Python objects"),
        (npy(described("(2, 4)", "[('a', 'O')]"), pickle.dumps(Loud())), "holds Python objects"),
        (npy(described("(2, 4)", "'<q8'"), bytes(64)), "."),
        (npy(described("(2, 4)", "'<M8[s]'"), bytes(64)), "holds datetime64"),
        (npy(described("(2, 0)")), "which is empty"),
        (npy(described("()"), bytes(8)), "has 0 axes"),
        (npy("{" * 5000), "."),
        (npy("(" * 9000), "."),
        (npy("[" + "'a'," * 10000), "."),
        (npy("__import__('os').abort()"), "."),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "."),
        (b"\x93NUMPY\x03\x00\x10\x00\x00\x00", "."),
        (b"\x93NUMPY\x09\x00", "."),
        (b"\x93NUMPY", "."),
        (pickle.dumps(Loud()), "."),
        (b"", "."),
    ],
    ids=itertools.count(),
)
def test_hostile_arrays(tmp_path, little_memory, content, message, inside):
    if inside:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("a.npy", content)
    else:
        (tmp_path / "a.npy").write_bytes(content)
    refuse(tmp_path / f"a.{'npz' if inside else 'npy'}", message)


def test_a_small_archive_of_much_is_refused_before_it_is_unpacked(tmp_path, little_memory):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(npy(described("(100, 200000)")))
        for _ in range(160):
            member.write(bytes(10**6))
    assert path.stat().st_size < 10**6
    message = r"a\.npz holds more than 0\.1 GB: give fewer samples or features, or raise --memory-limit\."
    refuse(path, message, MemoryError, memory_limit=10**8)


@pytest.mark.parametrize("samples", [np.zeros((6, 2)), np.array(7)])
def test_names_that_are_no_list(tmp_path, samples):
    np.savez(tmp_path / "a.npz", a=NUMBERS, samples=samples)
    with pytest.raises(ValueError, match=r"'samples' in a\.npz has [02] axes: give one name for each sample"):
        read_data([tmp_path / "a.npz"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3,4\x00\n", "Line 3 of a.csv has a NUL byte"),
        (bytes(10000), "has a NUL byte"),
        ("a,b\n1,2\n".encode("utf-16"), "not text in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "NUL byte"),
        ("größe,b\n1,2\n".encode("cp1252"), "not text in UTF-8"),
        (b'a,b\n1,"' + b"x" * 200000, "field larger than field limit"),
        (b'a,b\n1.5,"2\n3,4\n' + b"5,6\n" * 100, "which is not a number"),
        (b"a,b\n1.5,2\n2.5," + b"x" * 100000 + b"\n", "xx…xx"),
        (b"a,b\n1,2\n3,4,5\n", "Line 3 of a.csv has 3 cells"),
        (b"\x1f\x8b\x08\x00", "UTF-8"),
        (b"PK\x03\x04\x14\x00", "NUL byte"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "UTF-8"),
        (b"\xef\xbb\xbf", "has no samples"),
        (b"\n" * 1000, "has no samples"),
    ],
)
def test_hostile_text(tmp_path, little_memory, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    refuse(tmp_path / "a.csv", message)


def test_text_without_end(tmp_path, monkeypatch, little_memory):
    """What a small compressed file may hold."""
    monkeypatch.setattr(delimited_text, "MOST_LETTERS", 10**6)
    monkeypatch.setattr(delimited_text, "MOST_LINES", 10**4)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1.5,2\n" + b"1," * 10**7, 1))
    refuse(path, r"Line 3 of a\.csv\.gz has more than 1,000,000 letters")
    path.write_bytes(gzip.compress(b"9" * 10**7, 1))
    refuse(path, r"Line 1 of a\.csv\.gz has more than")
    for endless in (b"\n", b"1.5,2\n"):
        path.write_bytes(gzip.compress(b"a,b\n" + endless * 10**5, 1))
        refuse(path, r"a\.csv\.gz has more than 10,000 lines")
    refuse(path, r"a\.csv\.gz holds more than 0\.0001 GB", MemoryError, memory_limit=10**5)
    path.write_bytes(gzip.compress(b"who,b\n" + (b"a" * 10**5 + b",1\n") * 100, 1))
    refuse(path, r"holds more than 0\.001 GB", MemoryError, memory_limit=10**6)


def test_parquet_of_much_is_refused_before_it_is_unpacked(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    zeros = pyarrow.array(np.zeros(10**6))
    parquet.write_table(pyarrow.table({"x": zeros, "y": zeros}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10**5
    refuse(tmp_path / "a.parquet", r"a\.parquet holds more than 0\.001 GB", MemoryError, memory_limit=10**6)
