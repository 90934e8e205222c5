"""The way of a default fit through the house: rooms are entered in order, and a reader turns few pages.

``docs/principles.md`` draws this way. What is counted are the functions of the package by their first call: how many
files they are in, and how often the file changes from one first call to the next.
"""

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import latentsimplex
from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example

ROOT = Path(latentsimplex.__file__).parent
WAY = ["inputs", "similarity", "pairs", "model", "auto", "neighbours", "search", "results", "placing"]
"""The rooms that a default fit enters, in order; base, which all stand on, is left out. Neighbours are found where
clusters are looked for, and what places new samples is kept last, though its room stands before that of results, which
hold it."""
MOST_FILES, MOST_CHANGES = 62, 188
"""Version 0.1.0 had 42 files and 143 changes by this count; evidence for clusters, absent samples and new samples came
since: 62 and 186 in all. Compiled loops are not traced: 20 changes are of what NumPy does in their place where there
are few views. Processors round differently, and two changes more are seen on some."""


def first_calls(call):
    """Return (file, function) of each function of the package by its first call; comprehensions are part of theirs."""
    order = {}

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<"):
            order.setdefault((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(order)


@pytest.fixture(scope="module")
def way():
    """The first calls of a small default fit, on one thread, after one that has compiled and cached what it needs."""
    views = running_example(n_samples=60, separation=8, random_state=0).views
    model = LatentSimplexPosition(3, 3, n_init=1, random_state=0, n_jobs=1)
    model.fit(views)
    return first_calls(lambda: model.fit(views))


def test_rooms_are_first_entered_in_order(way):
    rooms = dict.fromkeys(file.split("/")[0] for file, _ in way if "/" in file)
    assert [room for room in rooms if room != "base"] == WAY


def test_one_driver_leads_the_way(way):
    """Rooms are first entered from stages.py or by way of the room before: the estimator and options come first."""
    top = dict.fromkeys(file for file, _ in way if "/" not in file)
    assert list(top)[:3] == ["estimator.py", "options.py", "stages.py"]


def test_a_reader_turns_few_pages(way):
    files = [file for file, _ in way]
    changes = sum(one != other for one, other in pairwise(files))
    assert len(set(files)) <= MOST_FILES, sorted(set(files))
    assert changes <= MOST_CHANGES


def test_the_way_is_drawn_as_it_is(way):
    """The files that docs/principles.md names along the way are entered in the order in which it names them."""
    text = (Path(__file__).parents[1] / "docs" / "principles.md").read_text(encoding="utf-8")
    drawn = re.search(r"## How a fit runs\n(.*?)\n## ", text, re.DOTALL)[1]
    named = list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", drawn)))
    entered = list(dict.fromkeys(file for file, _ in way))
    assert len(named) > 15
    places = [entered.index(file) for file in named]
    assert places == sorted(places), [file for file in named if file not in entered]
