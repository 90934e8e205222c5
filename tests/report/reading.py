"""Reports as tests read them: elements, text and data of a page, and models to write pages about."""

import base64
import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from latentsimplex.report import write_report

SURE = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.05, 0.95]])
THREE = np.array([[0.5, 0.4, 0.1], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
ONE = np.ones((4, 1))


def page_of(model, tmp_path):
    write_report(model, tmp_path / "page")
    return (tmp_path / "page").read_text(encoding="utf-8")


def with_results(model, **changes):
    """Return the results of a model, but for what is changed."""
    return replace(model.results_, **changes)


class Elements(HTMLParser):
    """Every element of a page with its attributes, the text to read, and what the styles and scripts hold."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.inside = {"style": [], "script": []}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]].append(data)
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        return json.loads(self.inside["script"][0])


def decoded(column):
    kind, content = column
    return np.frombuffer(base64.b64decode(content), dtype=f"<{kind}")
