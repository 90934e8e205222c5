"""Model files that were cut, bent, swapped, blown up or written to do harm, the same ones at every run.

``python hostile_models.py FOLDER`` loads all of them, in little memory, and prints how many were refused.
"""

import copy
import gzip
import io
import itertools
import json
import os
import pickle
import resource
import signal
import struct
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from latentsimplex import load
from latentsimplex.inputs.named_table import NamedTable
from latentsimplex.results.save_load import SCHEMA, save_results
from latentsimplex.results.zip_archive import HEADER, pack_archive, read_arrays, read_header
from made_model import random_model, with_references

MEMORY = 2**30
"""What loading may take beyond what Python and its libraries have, in bytes of address space."""
HELD = 250 * 2**20
"""What it may really hold at any time, in bytes."""
SECONDS = 5


def good_models(folder):
    """The bytes of models: one without names of samples, one with names and a table's features, one that predicts."""
    plain = random_model(12, 2, 3, random_state=0).results_
    named = random_model(
        8, 3, 2, seed=1, views=["a", "b", "c"], sample_names=[f"sample {i}" for i in range(8)]
    ).results_
    named = replace(named, feature_names=np.array(["x", "y", "z"], dtype=object))
    for k, results in enumerate([plain, named, placing_model().results_]):
        save_results(results, folder / f"good{k}")
    return [(folder / f"good{k}").read_bytes() for k in range(3)]


def placing_model():
    """A model that places new samples: of a wide view, and of one with categories and a constant feature."""
    rng, n = np.random.default_rng(2), 12
    cells = np.empty((n, 7), dtype=object)
    cells[:, :5] = rng.normal(size=(n, 5))
    cells[:, 5] = 1.0
    cells[:, 6] = ["red", "blue", "green"] * 4
    views = [rng.normal(size=(n, 300)), NamedTable(cells, list("abcdefg"))]
    return with_references(random_model(n, 2, 3, seed=2), views)


def entries_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    """A zip archive of (name, content) pairs, of which several may have the same name."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


# Bytes


def flipped(content, rng):
    """One to eight bits are not what they were."""
    for _ in range(200):
        damaged = bytearray(content)
        for position in rng.integers(len(content), size=rng.integers(1, 9)):
            damaged[position] ^= 1 << int(rng.integers(8))
        yield bytes(damaged)


def truncated(content, rng):
    for length in rng.integers(len(content), size=30):
        yield content[:length]
        yield content[length:]


def spliced(content, rng):
    """A piece is missing, there twice, zero, noise or elsewhere."""
    for _ in range(20):
        a, b = sorted(rng.integers(len(content), size=2).tolist())
        piece = content[a:b]
        yield content[:a] + content[b:]
        yield content[:b] + piece + content[b:]
        yield content[:a] + bytes(b - a) + content[b:]
        yield content[:a] + rng.bytes(b - a) + content[b:]
        yield piece + content[:a] + content[b:]


# Entries


def rearranged(content, rng):
    """Entries are missing, renamed, empty, there twice, or packed in other ways."""
    entries = list(entries_of(content).items())
    for k, (name, old) in enumerate(entries):
        others = entries[:k] + entries[k + 1 :]
        another = others[int(rng.integers(len(others)))][1]
        yield zipped(others)
        yield zipped([*others, (name.upper(), old)])
        yield zipped([*others, (name, b"")])
        yield zipped([*entries, (name, another)])
        yield zipped([(name, another), *entries])
        yield zipped([*others, (name + "\x00.txt", old)])
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield zipped(entries, method)


def swapped(content, rng):
    """An entry is what another should be, which nobody can tell where both have the same type and shape."""
    entries = entries_of(content)
    for name, other in itertools.permutations(entries, 2):
        if rng.random() < 0.25:
            yield zipped((entries | {name: entries[other]}).items())


def with_strange_names(content, rng):
    """Entries that would land elsewhere if anybody unpacked them, and links."""
    entries = list(entries_of(content).items())
    names = [
        "../../ran",
        "/ran",
        "C:\\ran",
        "..\\ran",
        "a/" * 500 + "ran",
        "ran\n",
        "\x1b[2J",
        "\u202eran",
    ]
    for name in names:
        yield zipped([*entries, (name, b"ran")])
        listed = json.loads(dict(entries)[HEADER])
        listed["arrays"][name] = {"dtype": "<i8", "shape": [1]}
        yield zipped([(HEADER, json.dumps(listed)), *entries[1:], (f"{name}.npy", npy(np.arange(1)))])
    for name, old in entries:
        link = zipfile.ZipInfo(name)
        link.external_attr = 0o120777 << 16
        yield zipped([(link, "/etc/passwd"), *[each for each in entries if each[0] != name]])
        yield zipped([(link, old), *[each for each in entries if each[0] != name]])


def with_false_sizes(content, rng):
    """The list at the end of the archive gives sizes, checksums, places and flags that are not so."""
    fields = {"flags": (8, "<H"), "method": (10, "<H"), "crc": (16, "<I"), "packed": (20, "<I")}
    fields |= {"size": (24, "<I"), "place": (42, "<I")}
    positions = [k for k in range(len(content)) if content[k : k + 4] == b"PK\x01\x02"]
    for position in positions:
        for (offset, form), value in itertools.product(fields.values(), (1, 0xFFFFFFF0)):
            damaged = bytearray(content)
            struct.pack_into(
                form, damaged, position + offset, value & (0xFFFF if form == "<H" else 0xFFFFFFFF)
            )
            yield bytes(damaged)


def bombs(content, rng):
    """Entries of a gigabyte in a small file, which say so, or say that they are small."""
    entries = entries_of(content)
    header = json.loads(entries[HEADER])
    for name, size in itertools.product([HEADER, "consensus/labels.npy"], [2**30, 2**29, 200]):
        yield bomb(entries, name, 2**30, size)
    header["arrays"]["consensus/labels"]["shape"] = [2**27]
    header["numbers"]["n_samples"] = 2**27
    yield bomb(entries | {HEADER: json.dumps(header).encode()}, "consensus/labels.npy", 2**30, 2**30)
    yield zipped([(HEADER, b'{"format": [' + b"[]," * 2**21 + b"0]}")])
    yield zipped([(f"{k}.npy", b"") for k in range(20_000)])


def bomb(entries, name, real, said):
    """An archive with an entry of zeros, packed to a thousandth, that says that it has another size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = piece * (real // 2**24) + packer.flush()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, content in entries.items():
            if other != name:
                archive.writestr(other, content)
    small = buffer.getvalue()
    end = small.rindex(b"PK\x05\x06")
    listing = struct.unpack_from("<HHII", small, end + 8)
    local, central, label = b"PK\x03\x04", b"PK\x01\x02", name.encode()
    common = struct.pack("<HHHHHIII", 20, 0, 8, 0, 33, 0, len(packed), said) + struct.pack("<H", len(label))
    entry = local + common + struct.pack("<H", 0) + label + packed
    listed = (
        central + struct.pack("<H", 20) + common + struct.pack("<HHHHII", 0, 0, 0, 0, 0, listing[3]) + label
    )
    directory = small[listing[3] : end] + listed
    place = listing[3] + len(entry)
    tail = b"PK\x05\x06" + struct.pack(
        "<HHHHIIH", 0, 0, listing[0] + 1, listing[1] + 1, len(directory), place, 0
    )
    return small[: listing[3]] + entry + directory + tail


# Arrays


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npy_saying(words, body=b"", version=1):
    """A file of NumPy's whose words before the numbers are any text."""
    padded = words.encode("latin-1") + b" " * (63 - (len(words) + 10) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(padded))
    return b"\x93NUMPY" + bytes([version, 0]) + length + padded + body


class Planted:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def bent_arrays(content, rng):
    """Entries that say that they are of other types and shapes, hold objects, or stop short."""
    entries = entries_of(content)
    objects = io.BytesIO()
    np.save(objects, np.array([Planted("ran")], dtype=object), allow_pickle=True)
    said = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    for name in [name for name in entries if name != HEADER]:
        old = entries[name]
        body = old[10 + struct.unpack_from("<H", old, 8)[0] :]
        array = np.load(io.BytesIO(old))
        for bent in (
            objects.getvalue(),
            old[:-1],
            old + b"\x00",
            b"",
            npy(np.asfortranarray(array[..., None, None])),
            npy(array.astype(">i4")),
            npy_saying(said % ("<f8", "False", (2**40,)), body),
            npy_saying(said % ("<f8", "True", (-1,)), body),
            npy_saying(said % ("|O", "False", array.shape), pickle.dumps(Planted("ran"))),
            npy_saying(said % ("V1000000000", "False", (1,)), body),
            npy_saying("(" * 5000, body),
            npy_saying("{'descr': __import__('os').system('touch ran')}", body),
            npy_saying(said % ("<f8", "False", array.shape), body, version=2),
            npy_saying(said % ("<f8", "False", array.shape), body, version=255),
        ):
            yield zipped((entries | {name: bent}).items())


def bent_values(content, rng):
    """Arrays that are whole and listed as they are, with values that no fit has."""
    header, arrays = read_header(content), read_arrays(content)
    for name, array in ((name, array) for name, array in arrays.items() if array.size):
        kinds = (
            [np.nan, np.inf, -1.0, 1e300 if array.itemsize == 8 else 1e38, 0.3, 2.0]
            if array.dtype.kind == "f"
            else [-7, 10**9, 2**62, -(2**63), 1]
        )
        for value in kinds:
            bent = array.copy()
            bent.flat[int(rng.integers(bent.size))] = value
            yield pack_archive(header, arrays | {name: bent})
            yield pack_archive(header, arrays | {name: np.full_like(array, value)})
        for bent in (array[:0], array[:-1], array.T[..., None], array.astype("<f2"), array.astype("S3")):
            yield pack_archive(header, arrays | {name: np.ascontiguousarray(bent)})


# The header

VALUES = [
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1e308,
    float("nan"),
    float("-inf"),
    "",
    "x" * 5000,
    "\x1b[2J\n",
    [],
    {},
]
VALUES += [
    -5,
    0.5,
    1.0,
    "auto",
    "columns",
    [[]],
    [None] * 50,
    {"kernel": "os.system", "fields": {"command": "touch ran"}},
    {"unstored": "x"},
]


def paths_of(value, path=()):
    """Every place in a JSON value."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from paths_of(part, (*path, key))


def bent_headers(content, rng):
    """A value somewhere in the header is another one, or missing."""
    entries = entries_of(content)
    header = json.loads(entries[HEADER])
    for path in paths_of(header):
        for k in [*rng.choice(len(VALUES), size=2, replace=False).tolist(), None]:
            bent = copy.deepcopy(header)
            place = bent
            for key in path[:-1]:
                place = place[key]
            if k is None:
                del place[path[-1]]
            else:
                place[path[-1]] = VALUES[k]
            yield zipped((entries | {HEADER: json.dumps(bent).encode()}).items())


def crowded_headers(content, rng):
    """A part of the header holds something that nobody asked for."""
    entries = entries_of(content)
    header = json.loads(entries[HEADER])
    for path in [(), *paths_of(header)]:
        crowded = copy.deepcopy(header)
        place = crowded
        for key in path:
            place = place[key]
        if isinstance(place, dict):
            place["extra"] = VALUES[int(rng.integers(len(VALUES)))]
        elif isinstance(place, list):
            place.append(VALUES[int(rng.integers(len(VALUES)))])
        else:
            continue
        yield zipped((entries | {HEADER: json.dumps(crowded).encode()}).items())


def strange_headers(content, rng):
    entries = entries_of(content)
    header = json.loads(entries[HEADER])
    texts = [
        json.dumps(header | {"schema": schema})
        for schema in (0, -1, *range(1, SCHEMA), SCHEMA + 1, 99, str(SCHEMA), float(SCHEMA), True, None)
    ]
    texts += [
        entries[HEADER].decode().replace(f'"schema": {SCHEMA}', f'"schema": {"9" * digits}')
        for digits in (50, 4000, 5000)
    ]
    texts += [
        json.dumps(header | {"schema": 99, "package_version": "9\n" * 10_000}),
        "[" * 200_000,
        "{",
        "null",
    ]
    texts += ['{"a":' * 100_000, "\ufeff{}", '"text"', "NaN", "1" * 100_000, "[" + "1," * 100_000 + "1]"]
    texts += [
        json.dumps({"format": "latentsimplex model", "schema": SCHEMA, "arrays": {"x": shape}})
        for shape in VALUES
    ]
    texts += [entries[HEADER].decode() + "{}", "{" + entries[HEADER].decode() + "}"]
    for text in texts:
        yield zipped((entries | {HEADER: text.encode("utf-8", "surrogatepass")}).items())


# Files of others


def foreign(content, rng):
    yield from (
        b"",
        b"PK",
        b"PK\x05\x06" + bytes(18),
        b"\x93NUMPY",
        b"<html></html>",
        bytes(1000),
        b"\x89HDF\r\n\x1a\n",
    )
    yield pickle.dumps(Planted("ran"))
    yield gzip.compress(content)
    yield content + content
    yield b"#!/bin/sh\ntouch ran\n" + content
    for _ in range(10):
        yield rng.bytes(int(rng.integers(1, 5000)))
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([Planted("ran")], dtype=object))
    yield buffer.getvalue()


BYTES = [
    flipped,
    truncated,
    spliced,
    rearranged,
    with_strange_names,
    with_false_sizes,
    bombs,
    foreign,
]
"""A file that is loaded though this happened to it is the good one: what was changed means nothing."""
CONTENTS = [swapped, bent_arrays, bent_values, bent_headers, crowded_headers, strange_headers]
"""A file that is loaded though this happened to it is a model, if another one."""
KINDS = BYTES + CONTENTS
ALSO_NAMED = [flipped, bent_values, bent_headers]
"""What a model with more names is tried with too."""
ALSO_PLACING = [flipped, swapped, bent_arrays, bent_values, bent_headers]
"""What a model that predicts is tried with too."""


def corpus(folder):
    """Yield the kind and the bytes of every file, and the bytes that the model in it may have (None is any)."""
    tried = (KINDS, ALSO_NAMED, ALSO_PLACING)
    for seed, (content, kinds) in enumerate(zip(good_models(folder), tried, strict=True)):
        for kind in kinds:
            for hostile in kind(content, np.random.default_rng(seed)):
                yield kind.__name__, hostile, content if kind in BYTES else None


# What may happen


def outcome(path, allowed):
    """Return "refused" or "loaded", and assert that it was done as is documented."""
    try:
        model = load(path)
    except ValueError as error:
        message = str(error)
        assert message.startswith(repr(str(path))), message
        assert message.isprintable(), message
        assert len(message) < 400, message
        return "refused"
    again = path.with_name("again")
    check_model(model, again)
    assert allowed is None or again.read_bytes() == allowed
    return "loaded"


def check_model(model, path):
    """Assert that a model is one: its parts agree, it answers, and it comes back from a file of its own."""
    n_views, n = len(model.view_names_in_), model.n_samples_
    assert model.view_labels_.shape == (n_views, n)
    for W, g in zip(model.memberships_, model.n_clusters_, strict=True):
        assert W.shape == (n, g)
        np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(model.coassignment().row(0)).all()
    assert len(model.consensus_.labels) == n
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.get_params() == model.get_params()
    assert again.stages_ == model.stages_


def forbid(event, arguments):
    """Stop Python where something runs that was in a file, or anything is written but our own."""
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    strange = writes and not Path(str(arguments[0])).name.endswith(("hostile", "again"))
    if strange or event in (
        "pickle.find_class",
        "os.system",
        "subprocess.Popen",
        "socket.connect",
        "os.exec",
    ):
        os.write(2, f"A file made Python do this: {event} {arguments}\n".encode())
        os._exit(99)


def memory(kind):
    """What the system says of the memory of this process, in bytes: VmSize is all, VmHWM the most that was held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) * 1024


def too_long(number, frame):
    os.write(2, b"A file took too long.\n")
    os._exit(98)


def main(folder):
    """Load the corpus from a folder, and print how many of each kind were refused and loaded."""
    warnings.simplefilter("error")
    os.chdir(folder)
    files = list(corpus(folder))
    load(folder / "good0")

    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + MEMORY,) * 2)
    Path("/proc/self/clear_refs").write_text("5")  # forget the most that was held so far
    before = memory("VmHWM")
    signal.signal(signal.SIGALRM, too_long)
    sys.addaudithook(forbid)
    found = Counter()
    path = folder / "hostile"
    for kind, content, allowed in files:
        path.write_bytes(content)
        signal.alarm(SECONDS)
        found[kind, outcome(path, allowed)] += 1
        signal.alarm(0)
    held = memory("VmHWM") - before
    report = {
        kind.__name__: {how: found[kind.__name__, how] for how in ("refused", "loaded")} for kind in KINDS
    }
    sys.stdout.write(json.dumps({"kinds": report, "held": held}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
