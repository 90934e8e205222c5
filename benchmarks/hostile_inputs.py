"""Give the package what users and testers give it, wrong and right, and count what becomes of it.

==================== ==========================================================================================
outcome              meaning
==================== ==========================================================================================
fits                 as it ought to, with the known clusters where there are any; perhaps with a warning
refused              in one sentence of the package
refused wrongly      though it could have been fitted
traceback            an error of another library or from inside, or a warning about arithmetic
nonsense             a wrong answer, or what ought to be refused taken in silence
hang                 longer than a minute, or the end of the process
==================== ==========================================================================================

The last four are faults. Cases are the same in each run: calls (tables, cells, options, methods) and files for the
command line, from the modules in ``hostile``. They run one after the other in a process of their own.

    python benchmarks/hostile_inputs.py --out hostile.json
    python benchmarks/hostile_inputs.py --only "views=" --verbose
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import resource
import time
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hostile import call_cases, cell_cases, file_cases, option_cases, table_cases, text_cases
from hostile.case import FAULTS, OUTCOMES, Case, Outcome, run_case

PATIENCE = 60
"""Seconds after which a case hangs; of the first case of a process five times as many, to compile loops."""
MEMORY = 12 * 10**9
"""Bytes of address space that a case may take."""
KINDS = {
    "calls": (*table_cases.FAMILIES, *cell_cases.FAMILIES, *option_cases.FAMILIES, *call_cases.FAMILIES),
    "files": (*file_cases.FAMILIES, *text_cases.FAMILIES),
}


def list_cases(kind: str) -> list[Case]:
    """Return all cases of a kind, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(itertools.chain.from_iterable(family() for family in KINDS[kind]))


def work(kind: str, pipe: Connection) -> None:
    """Run cases by their number, as they are asked for."""
    cases = list_cases(kind)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
        pipe.send(len(cases))
        while (k := pipe.recv()) is not None:
            pipe.send(tuple(run_case(cases[k])))


class Worker:
    """A process that runs cases, started anew after one that never ended."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(self.kind, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()
        self.is_warm = False

    def run(self, k: int) -> Outcome:
        """Return what becomes of a case, or that nothing did."""
        self.pipe.send(k)
        try:
            if self.pipe.poll(PATIENCE if self.is_warm else 5 * PATIENCE):
                self.is_warm = True
                return Outcome(*self.pipe.recv())
            said = "no end"
        except EOFError:
            said = "the process died"
        self.process.kill()
        self.process.join()
        self.start()
        return Outcome("hang", said)


def count_outcomes(kind: str, only: str, verbose: bool) -> dict[str, dict[str, str]]:
    """Run all cases of a kind, print faults as they are found, and return what became of each case."""
    names = [case.name for case in list_cases(kind)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"Several cases are called {twice[0]!r}: give them names of their own.")
    worker, found = Worker(kind), {}
    for k, name in enumerate(names):
        if only not in name:
            continue
        started = time.perf_counter()
        outcome = worker.run(k)
        found[name] = {**outcome._asdict(), "seconds": f"{time.perf_counter() - started:.2f}"}
        if verbose or outcome.kind in FAULTS:
            print(f"  {outcome.kind}: {name}: {outcome.said}", flush=True)
    worker.pipe.send(None)
    worker.process.join()
    return found


def main() -> None:
    """Run the cases of one kind or both, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--only", default="", help="run the cases whose names hold this")
    parser.add_argument("--verbose", action="store_true", help="print every case, not faults alone")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    found = {}
    for kind in arguments.kinds:
        found[kind] = count_outcomes(kind, arguments.only, arguments.verbose)
        counts = Counter(each["kind"] for each in found[kind].values())
        print(
            f"{len(found[kind])} {kind}: " + ", ".join(f"{counts[each]} {each}" for each in OUTCOMES),
            flush=True,
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
