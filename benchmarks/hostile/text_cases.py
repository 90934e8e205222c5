"""Cases of tables in text and parquet files, as programs and people write them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from hostile.case import PERM, TRUTH, Case, D, E, N
from hostile.file_cases import IDS, as_csv, containers, frame, run_fit, written


def texts() -> Iterator[Case]:
    """Tables in text, as programs and people write them."""
    plain = as_csv()
    words = [("low", "high")[k] for k in TRUTH]
    holes = np.where(np.random.default_rng(3).random(D.shape) < 0.1, np.nan, D)
    good: dict[str, tuple[dict[str, bytes], tuple[str, ...]]] = {
        "semicolons": ({"a.csv": as_csv(sep=";")}, ()),
        "decimal commas": ({"a.csv": as_csv(sep=";", decimal=",")}, ()),
        "tabs": ({"a.csv": as_csv(sep="\t")}, ()),
        "BOM": ({"a.csv": b"\xef\xbb\xbf" + plain}, ()),
        "CRLF": ({"a.csv": plain.replace(b"\n", b"\r\n")}, ()),
        "quotes": ({"a.csv": as_csv(quoting=1)}, ()),
        "no last line end": ({"a.csv": plain.rstrip()}, ()),
        "blank lines": ({"a.csv": plain + b"\n\n"}, ()),
        "integer ids": (
            {"a.csv": as_csv(names=range(100, 100 + N)), "b.csv": as_csv(E, PERM, range(100, 100 + N))},
            (),
        ),
        "ids as floats": (
            {"a.csv": as_csv(names=range(100, 100 + N)), "b.csv": as_csv(E, PERM, np.arange(100.0, 100 + N))},
            (),
        ),
        "text ids": ({"a.csv": plain, "b.csv": as_csv(E, PERM)}, ()),
        "csv and parquet": (
            {"a.csv": plain, "b.parquet": written(lambda b: frame(E, PERM).to_parquet(b))},
            (),
        ),
        "csv and tsv.gz": ({"a.csv": plain, "b.tsv.gz": gzip.compress(as_csv(E, PERM, sep="\t"))}, ()),
        "missing, pairwise": ({"a.csv": as_csv(holes)}, ("--missing", "pairwise")),
        "NA, pairwise": ({"a.csv": as_csv(holes, na_rep="NA")}, ("--missing", "pairwise")),
        "words": ({"a.csv": as_csv(mood=words)}, ()),
        "words and holes": ({"a.csv": as_csv(holes, mood=words)}, ("--missing", "pairwise")),
        "index named": ({"a.csv": as_csv(note=range(N))}, ("--index", "id")),
        "dropped": ({"a.csv": as_csv(when=["2024-01-01"] * N)}, ("--drop", "when")),
        "no index": ({"a.csv": as_csv(names=None)}, ("--no-index",)),
        "columns": ({"a.csv": plain}, ("--views", "columns")),
        "groups": ({"a.csv": plain, "g.csv": b"column,view\nx0,u\nx1,u\nx2,v\n"}, ("--views", "g.csv")),
        "capital name": ({"a.CSV": plain}, ()),
        "spaces in names": ({"my data.csv": plain}, ()),
        "pandas index": ({"a.csv": frame().set_index("id").to_csv().encode()}, ()),
        "count of rows": (
            {"a.csv": frame().to_csv().encode(), "b.csv": frame(E, PERM).to_csv().encode()},
            (),
        ),
        "R": ({"a.csv": plain.replace(b"id,", b"", 1)}, ()),
        "parquet": (
            {
                "a.parquet": written(lambda b: frame().to_parquet(b)),
                "b.parquet": written(lambda b: frame(E, PERM).to_parquet(b)),
            },
            (),
        ),
        "parquet, index": (
            {
                "a.parquet": written(lambda b: frame().set_index("id").to_parquet(b)),
                "b.parquet": written(lambda b: frame(E, PERM).set_index("id").to_parquet(b)),
            },
            (),
        ),
        "parquet, words": ({"a.parquet": written(lambda b: frame(mood=words).to_parquet(b))}, ()),
        "booleans": ({"a.csv": as_csv(flag=TRUTH == 1)}, ()),
        "h5ad, layers": ({"a.h5ad": containers()["a.h5ad"]}, ("--views", "layers")),
        "h5ad, layer": ({"a.h5ad": containers()["a.h5ad"]}, ("--layer", "scaled")),
        "h5ad, var": ({"a.h5ad": containers()["a.h5ad"]}, ("--views", "set")),
        "h5ad, obsm": ({"a.h5ad": containers()["a.h5ad"]}, ("--views", "obsm")),
    }
    for what, (files, options) in good.items():
        agree = what not in ("R",)
        yield Case(f"text: {what}", lambda f=files, o=options, a=agree: run_fit(f, *o, agree=a), "fits")
    mixed = plain.replace(b"p3,", b"p3,abc", 1)
    bad: dict[str, tuple[dict[str, bytes], tuple[str, ...]]] = {
        "missing": ({"a.csv": as_csv(holes)}, ()),
        "UTF-16": ({"a.csv": as_csv(encoding="utf-16")}, ()),
        "Latin-1": ({"a.csv": as_csv(names=["ä" + i for i in IDS], encoding="latin-1")}, ()),
        "no header": ({"a.csv": plain.split(b"\n", 1)[1]}, ("--no-index",)),
        "a typo": ({"a.csv": mixed}, ()),
        "no samples": ({"a.csv": plain.split(b"\n")[0]}, ()),
        "one sample": ({"a.csv": b"\n".join(plain.split(b"\n")[:2])}, ()),
        "short line": ({"a.csv": plain + b"p99,1\n"}, ()),
        "long line": ({"a.csv": plain + b"p99,1,2,3,4,5\n"}, ()),
        "NUL": ({"a.csv": plain + b"p\0,1,2,3\n"}, ()),
        "infinite": ({"a.csv": plain + b"p99,inf,2,3\n"}, ()),
        "1e400": ({"a.csv": plain + b"p99,1e400,2,3\n"}, ()),
        "1e200": ({"a.csv": plain + b"p99,1e200,2,3\n"}, ()),
        "dates": ({"a.csv": as_csv(when=[f"2024-01-{i + 1:02d}" for i in range(N)])}, ()),
        "only words": ({"a.csv": as_csv(np.empty((N, 0)), mood=[f"w{i}" for i in range(N)])}, ()),
        "hexadecimal": ({"a.csv": plain + b"p99,0x1f,2,3\n"}, ()),
        "underscores": ({"a.csv": plain + b"p99,1_0,2,3\n"}, ()),
        "open quote": ({"a.csv": plain + b'p99,"1,2,3\n' + plain}, ()),
        "HTML": ({"a.csv": b"<html><body><table></table></body></html>"}, ()),
        "JSON": ({"a.csv": json.dumps({"a": [1, 2]}).encode()}, ()),
        "same name twice": ({"a.csv": plain, "a.tsv": plain}, ()),
        "other ids": ({"a.csv": plain, "b.csv": as_csv(names=[f"q{i}" for i in range(N)])}, ()),
        "id twice": ({"a.csv": plain, "b.csv": as_csv(order=[0, 0, *range(2, N)])}, ()),
        "unknown index": ({"a.csv": plain}, ("--index", "nope")),
        "unknown drop": ({"a.csv": plain}, ("--drop", "nope")),
        "unknown views": ({"a.csv": plain}, ("--views", "nope")),
        "index of npy": ({"a.npy": written(np.save, D)}, ("--index", "id")),
        "groups lack": ({"a.csv": plain, "g.csv": b"column,view\nx0,u\n"}, ("--views", "g.csv")),
        "groups unknown": ({"a.csv": plain, "g.csv": b"column,view\nzz,u\n"}, ("--views", "g.csv")),
        "groups empty": ({"a.csv": plain, "g.csv": b""}, ("--views", "g.csv")),
        "groups of bytes": ({"a.csv": plain, "g.csv": bytes(100)}, ("--views", "g.csv")),
        "unknown kind": ({"a.xlsx": plain}, ()),
        "no kind": ({"data": plain}, ()),
        "layer of csv": ({"a.csv": plain}, ("--layer", "x")),
        "unknown layer": ({"a.h5ad": containers()["a.h5ad"]}, ("--layer", "nope")),
        "gzip of nothing": ({"a.csv.gz": gzip.compress(b"")}, ()),
        "gzip bomb": ({"a.csv.gz": gzip.compress(bytes(2**28))}, ()),
        "gzip of one line": ({"a.csv.gz": gzip.compress(b"a," * 2**25)}, ()),
        "little memory": ({"a.csv": plain}, ("--memory-limit", "1KB")),
        "similarity of a table": ({"a.csv": plain}, ("--similarity", "precomputed")),
        "parquet dates": (
            {"a.parquet": written(lambda b: frame(when=pd.date_range("2024", periods=N)).to_parquet(b))},
            (),
        ),
        "parquet lists": ({"a.parquet": written(lambda b: frame(many=[[1]] * N).to_parquet(b))}, ()),
        "parquet, missing": ({"a.parquet": written(lambda b: frame(holes).to_parquet(b))}, ()),
        "parquet of nothing": ({"a.parquet": written(lambda b: pd.DataFrame().to_parquet(b))}, ()),
        "points and commas": ({"a.csv": as_csv(sep=";") + b"p99;1,5;2,5;3,5\n"}, ()),
        "clusters 0": ({"a.csv": plain}, ("--clusters", "0")),
        "seed -1": ({"a.csv": plain}, ("--seed", "-1")),
        "device": ({"a.csv": plain}, ("--device", "tpu")),
        "both index": ({"a.csv": plain}, ("--index", "id", "--no-index")),
    }
    for what, (files, options) in bad.items():
        yield Case(f"text: {what}", lambda f=files, o=options: run_fit(f, *o, agree=False), "refused")


FAMILIES = (texts,)
