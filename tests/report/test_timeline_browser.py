"""The page of a timeline in a real browser: ten thousand edges are drawn, and keys move among them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ninja_builds import build_ninja_text, log_text, many, samples_text, scheduled

from tests.browser import Browser, browser
from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.ninja_log import parse_ninja_log
from torchbuild.report.samples import parse_samples
from torchbuild.report.timeline import timeline_of
from torchbuild.report.timeline_html import timeline_html

PIXELS = """(() => {
  const canvas = document.getElementById("lanes");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return [...seen];
})()"""
SAID = "document.getElementById('said').textContent"
FOCUS = "document.getElementById('lanes').focus()"
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of ten thousand edges on eight slots, with a graph and samples."""
    edges = scheduled(many(10_000), 8)
    line = timeline_of(
        parse_ninja_log(log_text(edges)),
        title="ten thousand",
        graph=parse_build_ninja(build_ninja_text([edge[0] for edge in edges])),
        samples=parse_samples(samples_text(edges[-1][2] / 1000)),
    )
    path = tmp_path_factory.mktemp("page") / "timeline.html"
    path.write_text(timeline_html(line), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all."""
    with browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_drawn_and_fetches_nothing(page: Path, chromium: Browser, dark: bool) -> None:
    """Without an error, in the colours that the person's system has, from one file alone."""
    chromium.told.clear()
    chromium.open(page, dark=dark)

    assert chromium.value("document.documentElement.dataset.drawn") == "10000"
    assert len(chromium.value(PIXELS)) > 8
    ground = chromium.value("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(15, 19, 24)" if dark else "rgb(255, 255, 255)")
    assert chromium.picture().startswith(b"\x89PNG")
    assert chromium.fetched() == {page.as_uri()}
    assert chromium.wrong() == []


def test_keys_move_zoom_and_choose(page: Path, chromium: Browser) -> None:
    """All that a mouse can do: each key changes what is seen, and what is chosen is told."""
    chromium.open(page)
    chromium.value(FOCUS)
    seen = []
    for key in ("+", "ArrowRight", "-", "0", "n", "ArrowDown", "l"):
        chromium.press(key)
        chromium.value(DRAWN)
        seen.append((hashlib.sha256(str(chromium.value("document.getElementById('lanes').toDataURL()")).encode()).hexdigest(), chromium.value(SAID)))  # fmt: skip
    pictures = [picture for picture, _ in seen]

    assert len({*pictures[:4]}) == 4
    assert [said.rpartition("slot ")[2][:1] for _, said in seen[4:6]] == ["1", "2"]
    assert "on the longest way" in seen[6][1]
    chromium.press("Escape")
    assert chromium.value(SAID) == "Nothing is chosen."


def test_an_edge_is_found_by_name_and_shown(page: Path, chromium: Browser) -> None:
    """What is typed is found among all; the button of a table's row leads to it in the picture."""
    chromium.open(page)
    chromium.value("document.getElementById('text').focus()")
    chromium.press(*"file77.c")

    assert chromium.value("document.getElementById('found').textContent") == "1 edges"
    slowest = chromium.value("document.querySelector('tbody td.path').textContent")
    chromium.value("document.querySelector('button[data-edge]').click()")
    assert str(chromium.value(SAID)).startswith(f"{slowest}: ")
    assert chromium.value("document.activeElement.id") == "lanes"
