# Everything runs from a fresh checkout with Python 3.11 or newer and make; the first call fills .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BENCHMARKS := $(sort $(filter-out benchmarks/results_page.py,$(wildcard benchmarks/*.py)))

.PHONY: demo test test-slow test-browser test-lowest golden fresh-loops lint docs bench clean
.NOTPARALLEL:

demo: $(VENV)/core.stamp
	$(BIN)/latentsimplex demo --out demo

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -rs -n 2 --dist worksteal

test-slow: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -rs -m slow

# The report in Debian's Chromium, driven by Playwright; pictures of the page go to results/screenshots.
test-browser: $(VENV)/test.stamp
	LATENTSIMPLEX_SCREENSHOTS=results/screenshots $(BIN)/python -m pytest -q -rs -m browser tests/browser

# A small fit, plots, report and command line with the lowest versions that pyproject.toml allows.
test-lowest: $(LOWEST)/lowest.stamp
	$(LOWEST)/bin/python tests/lowest_versions.py

# What golden fits find, made anew: when results are meant to change. List in the commit what changed.
golden: $(VENV)/test.stamp
	$(BIN)/python tests/golden/fits.py

# Compiled loops, compiled anew: Numba does not see that a loop calls another one, in another file, which has changed.
fresh-loops:
	find src -name '*.nb[ic]' -delete

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The site, its gallery run anew; every snippet on its pages is tested by make test.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/test.stamp
	mkdir -p results/bench
	set -e; for script in $(BENCHMARKS); do \
		$(BIN)/python $$script --out results/bench/$$(basename $$script .py).json; \
	done

clean:
	rm -rf $(VENV) $(LOWEST) build dist demo results docs/_build docs/gallery docs/api/generated .pytest_cache .hypothesis .mypy_cache .ruff_cache src/*.egg-info

# Stamps are newer than pyproject.toml exactly when what it asks for is installed.
$(VENV)/core.stamp: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	$(BIN)/latentsimplex compile
	touch $@

$(VENV)/test.stamp: $(VENV)/core.stamp
	$(INSTALL) -e '.[test]'
	touch $@

$(VENV)/docs.stamp: $(VENV)/core.stamp
	$(INSTALL) -e '.[docs]'
	touch $@

$(VENV)/lint.stamp: $(VENV)/core.stamp
	$(INSTALL) -e '.[lint]'
	touch $@

$(LOWEST)/lowest.stamp: pyproject.toml tests/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tests/lowest_versions.py --list > $(LOWEST)/versions.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(LOWEST)/versions.txt -e .
	touch $@
