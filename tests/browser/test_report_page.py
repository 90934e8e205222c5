"""The report in a real browser: it loads, fits its window, follows light and dark, and runs nothing."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.image import imread

from made_model import made_model, random_model

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
DARK = "--blink-settings=preferredColorScheme=0"
PROBE = """<script>
document.title = JSON.stringify([innerWidth, document.documentElement.scrollWidth]);
</script>"""


@pytest.fixture(scope="module", autouse=True)
def _browser():
    if CHROMIUM is None:
        # where everything is checked, a missing browser must not pass for a page that works
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium on this machine")


def browse(page, tmp_path, *flags, width=1200):
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2400",
        *flags,
    ]
    return subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout


def screenshot(page, tmp_path, *flags):
    picture = tmp_path / "page.png"
    browse(page, tmp_path, f"--screenshot={picture}", *flags)
    return imread(picture)[..., :3]


@pytest.fixture
def page(tmp_path):
    """A report on 700 samples in four views that follow three patterns."""
    random = random_model(700, 2, 4)
    memberships = [*random.memberships_, np.ones((700, 1))]
    model = made_model(memberships, [0, 0, 1, 2], view_names=["colour", "shape", "sound", "x" * 150])
    model.report(tmp_path / "page.html")
    return tmp_path / "page.html"


def test_the_page_loads_with_its_content(page, tmp_path):
    dom = browse(page, tmp_path, "--dump-dom")
    assert "<title>700 samples in 4 views: a latentsimplex report</title>" in dom
    for section in ("views", "consensus", "patterns", "uncertain", "course", "settings", "cite"):
        assert f'<section id="{section}">' in dom
    assert dom.count("<svg ") == 6
    assert "colour</bdi>" in dom


def test_the_page_is_drawn_in_light_and_in_dark(page, tmp_path):
    light, dark = screenshot(page, tmp_path), screenshot(page, tmp_path, DARK)
    assert light.shape == dark.shape == (2400, 1200, 3)
    assert light.mean() > 0.8
    assert dark.mean() < 0.35
    for picture in (light, dark):
        # the blue of heatmaps and the reddish second cluster of the bars
        assert (picture[..., 2] - picture[..., 0] > 0.3).mean() > 0.005
        assert (picture[..., 0] - picture[..., 2] > 0.5).mean() > 0.002


@pytest.mark.parametrize("width", [1200, 500])
def test_nothing_sticks_out_of_the_window(width, page, tmp_path):
    probed = page.read_text().replace("</body>", PROBE + "</body>")
    page.write_text(re.sub("<meta http-equiv[^>]*>", "", probed))
    dom = browse(page, tmp_path, "--dump-dom", width=width)
    inner, content = map(int, re.search(r"<title>\[(\d+),(\d+)\]", dom).groups())
    assert inner == width
    assert content <= inner


def test_a_hostile_name_stays_text(tmp_path):
    hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    W = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    made_model([W], [0], view_names=[hostile], sample_names=[hostile] * 3).report(tmp_path / "page.html")
    dom = browse(tmp_path / "page.html", tmp_path, "--dump-dom")
    assert "<title>3 samples in 1 view" in dom
    assert "owned" in dom
    assert "<img" not in dom
    assert "<script" not in dom
