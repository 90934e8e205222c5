"""What tests of reports share."""

import pytest

from made_model import made_model
from report.reading import ONE, SURE, THREE


@pytest.fixture
def model():
    """Three views of SURE, one of THREE and one without clusters."""
    names = ["a", "b", "c", "d", "flat"]
    return made_model([SURE, THREE, ONE], [0, 0, 0, 1, 2], view_names=names, n_clusters=3, n_patterns=4)
