"""Cases of files given to the command line: damaged ones, hostile arrays, models, and what runs them."""

from __future__ import annotations

import gzip
import io
import pickle
import shutil
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

from hostile.call_cases import multi, named_anndata
from hostile.case import TRUTH, Case, D, E, N, Nonsense, Refused, fit
from latentsimplex.cli import main

IDS = [f"p{i}" for i in range(N)]
DAMAGES = 14
"""Damaged copies of each kind of file."""


def run_fit(files: dict[str, bytes], *options: str, agree: bool = True) -> None:
    """Run ``latentsimplex fit`` on files; where they hold the known clusters, they have to be found."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        paths = [folder / name for name in files]
        for path, content in zip(paths, files.values(), strict=True):
            path.write_bytes(content)
        extra = [str(folder / option) if (folder / option).exists() else option for option in options]
        given = [str(path) for path in paths if path.name not in options]
        command = ["fit", *given, *extra, "--n-init", "1", "--out", str(folder / "out")]
        done = CliRunner().invoke(main, command)
        if done.exit_code:
            check_refusal(done)
        for line in done.output.splitlines():
            if line.startswith("Warning: "):
                warnings.warn(line, stacklevel=2)
        if agree:
            check_labels(pd.read_csv(folder / "out" / "labels.csv"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_refusal(done: Any) -> None:
    """Raise what the command raised, or that it refused a file in one line."""
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    lines = [
        line for line in done.output.splitlines() if line and not line.startswith(("Usage", "Try", "Warning"))
    ]
    if done.exit_code not in (1, 2) or len(lines) != 1 or not lines[0].startswith("Error: "):
        raise RuntimeError(f"status {done.exit_code} and {lines}")
    raise Refused(lines[0])


def check_labels(labels: pd.DataFrame) -> None:
    """Refuse labels that are not the known ones, by the names of the samples or their order."""
    names = labels["sample"].astype(str)
    known = dict(zip(IDS, TRUTH, strict=True)) | {str(k): TRUTH[k] for k in range(N)}
    known |= {str(k + 100): TRUTH[k] for k in range(N)}
    truth = np.array([known[name] for name in names])
    found = labels["consensus"].to_numpy()
    if "pattern1" in labels or not ((found[:, None] == found) == (truth[:, None] == truth)).all():
        raise Nonsense("views with the same clusters, and others found")


def written(write: Callable[..., Any], *arguments: Any, **named: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer, *arguments, **named)
    return buffer.getvalue()


def frame(table: np.ndarray = D, order: Any = None, names: Any = IDS, **columns: Any) -> pd.DataFrame:
    """Return a frame with a column of names in front."""
    found = pd.DataFrame(table, columns=[f"x{j}" for j in range(table.shape[1])]).assign(**columns)
    if names is not None:
        found.insert(0, "id", list(names))
    return found if order is None else found.iloc[order]


def as_csv(*arguments: Any, **named: Any) -> bytes:
    options = {
        key: named.pop(key) for key in ("sep", "decimal", "encoding", "na_rep", "quoting") if key in named
    }
    encoding = options.pop("encoding", "utf-8")
    return frame(*arguments, **named).to_csv(index=False, **options).encode(encoding)


@cache
def containers() -> dict[str, bytes]:
    """Return an .h5ad and an .h5mu."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named_anndata().write(folder / "a.h5ad")
        multi(D).write(folder / "a.h5mu")
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    return found


def whole_files() -> dict[str, bytes]:
    """Return a good file of each kind."""
    return {
        "a.csv": as_csv(),
        "a.tsv": as_csv(sep="\t"),
        "a.csv.gz": gzip.compress(as_csv(), mtime=0),
        "a.npy": written(np.save, D),
        "a.npz": written(np.savez, left=D, right=E, samples=IDS),
        "b.npz": written(np.savez_compressed, D),
        "a.parquet": written(lambda buffer: frame().to_parquet(buffer)),
        **containers(),
    }


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Return content with a bit flipped, a piece cut out, repeated or put in, or cut short."""
    kind, at, length = rng.integers(6), int(rng.integers(len(content))), int(rng.integers(1, 40))
    head, tail = content[:at], content[at:]
    return [
        head,
        head + bytes([tail[0] ^ (1 << int(rng.integers(8)))]) + tail[1:],
        head + tail[length:],
        head + tail[:length] + tail,
        head + rng.bytes(length) + tail,
        head + bytes(length) + tail[length:],
    ][kind]


def damaged() -> Iterator[Case]:
    """Damaged files of every kind; what is still a table is fitted, whatever is in it."""
    for name, content in whole_files().items():
        yield Case(f"whole {name}", lambda n=name, c=content: run_fit({n: c}), "fits")
        for seed in range(DAMAGES):
            bad = damage(content, np.random.default_rng([seed, len(name)]))
            yield Case(f"damaged {name} {seed}", lambda n=name, b=bad: run_fit({n: b}, agree=False), "any")
        for length in (0, 1, 2, 10, len(content) // 2, len(content) - 1):
            expected = "refused" if length < 10 else "any"
            yield Case(
                f"{name} cut to {length}",
                lambda n=name, c=content[:length]: run_fit({n: c}, agree=False),
                expected,
            )
        for other in ("a.npy", "a.csv", "a.parquet", "a.h5ad", "b.npz"):
            if other.split(".", 1)[1] != name.split(".", 1)[1] and not {other, name} <= {"a.csv", "a.tsv"}:
                bad = whole_files()[other]
                expected = "any" if {name[-3:], other[-3:]} <= {"npy", "npz"} else "refused"
                yield Case(
                    f"{other} named {name}", lambda n=name, b=bad: run_fit({n: b}, agree=False), expected
                )


def said(words: str, body: bytes = b"", version: int = 1) -> bytes:
    """Return a file of NumPy whose header is any text."""
    padded = words.encode("latin-1") + b" " * (63 - (len(words) + 10) % 64) + b"\n"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", len(padded))
        + padded
        + body
    )


class Planted:
    """Raises an error where it is unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemError('pickle ran')",)


def zipped(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def arrays() -> Iterator[Case]:
    """Arrays of NumPy with hostile headers, of other types and shapes."""
    form = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
    headers = {
        "huge": form % ("<f8", "False", (2**40, 3)),
        "negative": form % ("<f8", "False", (-1, 3)),
        "objects": form % ("|O", "False", (N, 3)),
        "no shape": "{'descr': '<f8'}",
        "code": "{'descr': __import__('os').system('true')}",
        "deep": "(" * 5000,
        "empty": "",
        "text": "'text'",
        "unknown type": form % ("<q9", "False", (N, 3)),
        "wide void": form % ("V1000000000", "False", (1,)),
        "no order": form % ("<f8", "None", (N, 3)),
        "floats in shape": form % ("<f8", "False", (24.0, 3)),
        "many axes": form % ("<f8", "False", (1,) * 70),
        "overflow": form % ("<f8", "False", (2**63, 2**63)),
        "zero": form % ("<f8", "False", (0, 3)),
        "subarray": "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (24, 3)}",
        "fields": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (72,)}",
    }
    for what, words in headers.items():
        yield Case(
            f".npy header {what}",
            lambda w=words: run_fit({"a.npy": said(w, D.tobytes())}, agree=False),
            "refused",
        )
        bad = zipped({"a.npy": said(words, D.tobytes())})
        yield Case(f".npz header {what}", lambda b=bad: run_fit({"a.npz": b}, agree=False), "refused")
    for version in (0, 4, 255):
        bad = said(headers["huge"], D.tobytes(), version)
        yield Case(f".npy version {version}", lambda b=bad: run_fit({"a.npy": b}, agree=False), "refused")
    kinds: dict[str, tuple[Any, str]] = {
        "float32": (D.astype("f4"), "fits"),
        "float16": (D.astype("f2"), "fits"),
        "big endian": (D.astype(">f8"), "fits"),
        "integers": (D.astype(int), "fits"),
        "fortran": (np.asfortranarray(D), "fits"),
        "stack": (np.stack([D, E]), "fits"),
        "1-D": (D[:, 0], "refused"),
        "0-D": (np.array(1.0), "refused"),
        "4-D": (D[None, None], "refused"),
        "nan": (D * np.nan, "refused"),
        "inf": (D * np.inf, "refused"),
        "huge": (D * 1e200, "refused"),
        "complex": (D + 1j, "refused"),
        "text": (D.astype(str), "refused"),
        "dates": (D.astype(int).astype("M8[D]"), "refused"),
        "booleans": (D > 5, "any"),
        "records": (np.zeros(N, "f8,f8"), "refused"),
        "one row": (D[:1], "refused"),
        "no rows": (D[:0], "refused"),
        "longdouble": (D.astype("g"), "fits"),
    }
    for what, (array, expected) in kinds.items():
        yield Case(
            f".npy of {what}",
            lambda a=array, e=expected: run_fit({"a.npy": written(np.save, a)}, agree=e == "fits"),
            expected,
        )
    evil = written(np.save, np.array([Planted()], dtype=object), allow_pickle=True)
    yield Case("pickle in .npy", lambda: run_fit({"a.npy": evil}, agree=False), "refused")
    yield Case("pickle alone", lambda: run_fit({"a.npy": pickle.dumps(Planted())}, agree=False), "refused")
    yield Case("pickle in .npz", lambda: run_fit({"a.npz": zipped({"a.npy": evil})}, agree=False), "refused")
    bomb = zipped({"a.npy": said(form % ("<f8", "False", (2**26, 1)), bytes(2**29))})
    yield Case(
        "bomb in .npz", lambda: run_fit({"a.npz": bomb}, "--memory-limit", "200MB", agree=False), "refused"
    )
    sets: dict[str, tuple[dict[str, Any], str]] = {
        "other lengths": ({"a": D, "b": E[1:]}, "refused"),
        "labels beside": ({"a": D, "y": TRUTH}, "refused"),
        "names too few": ({"a": D, "samples": IDS[1:]}, "refused"),
        "names twice": ({"a": D, "samples": ["x"] * N}, "any"),
        "nothing": ({}, "refused"),
        "names alone": ({"samples": np.array(IDS)}, "refused"),
        "stack beside": ({"a": np.stack([D, E]), "b": D}, "refused"),
        "names of two axes": ({"a": D, "samples": D}, "refused"),
        "good": ({"a": D, "b": E, "samples": IDS}, "fits"),
        "integer names": ({"a": D, "samples": np.arange(N)}, "fits"),
    }
    for what, (members, expected) in sets.items():
        yield Case(
            f".npz: {what}",
            lambda m=members, e=expected: run_fit({"a.npz": written(np.savez, **m)}, agree=e == "fits"),
            expected,
        )


def models() -> Iterator[Case]:
    """Damaged models, for ``latentsimplex info`` and ``report``."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    fit([D, E]).save(folder / "m")
    content = (folder / "m").read_bytes()
    shutil.rmtree(folder)
    yield Case("whole model", lambda: run_model(content), "fits")
    for seed in range(24):
        bad = damage(content, np.random.default_rng([seed, 7]))
        yield Case(f"damaged model {seed}", lambda b=bad: run_model(b), "any")
    for name, other in whole_files().items():
        yield Case(f"{name} as a model", lambda b=other: run_model(b), "refused")


def run_model(content: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        path = Path(folder, "fit.model")
        path.write_bytes(content)
        for command in ("info", "report"):
            done = CliRunner().invoke(main, [command, str(path)])
            if done.exit_code:
                check_refusal(done)


FAMILIES = (damaged, arrays, models)
