# make demo and make test set everything up on a fresh machine; nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check -q install -c constraints.txt
BENCHMARK ?= tworoom
MINUTES ?= 20
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
COVERED := --cov --cov-report=term --cov-fail-under=95

.PHONY: demo test lint fuzz bench browser docs wheel-test clean

demo: $(VENV)/ready
	$(BIN)/metro demo --benchmark $(BENCHMARK)

test: lint wheel-test
	METRO_ALL_EXTRAS=1 $(BIN)/pytest -n 2 $(COVERED)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Kills, several writers, damaged and crafted files for MINUTES; a slice is in make test.
fuzz: $(VENV)/ready
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES)

docs: $(VENV)/ready
	$(BIN)/python tools/paper_map.py
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/licences.py
	PYTHONPATH=. $(BIN)/python tools/performance.py
	$(BIN)/python tools/results.py
	$(BIN)/python tools/cards.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict
	@echo "open build/site/index.html"

# For tests/report/test_html.py, which is left out without it. Never fails: the other tests
# do not need it.
browser:
	@if command -v chromium > /dev/null; then echo "chromium is there"; \
	elif ($(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq chromium) \
		> /dev/null 2>&1; then echo "chromium is installed"; \
	else echo "No chromium: apt could not install it, and the report is not tested" \
		"in a browser."; fi

# Peers and us on the same data, about ten minutes; the larger runs are in the docs.
bench: $(VENV)/ready
	$(PIP) -e ".[bench]" --no-build-isolation
	$(BIN)/metro bench --num-frames 200000 -o out/bench

# A user's install: the wheel alone, in a venv of its own, used from another directory.
wheel-test: $(VENV)/ready
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel . > build/wheel/log
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip --disable-pip-version-check -q install \
		-c constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/metro --help > /dev/null
	cd build/wheel && venv/bin/python ../../tests/bare_install.py

$(VENV)/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) hatchling editables
	$(PIP) torch==2.13.0  # first: asked for by others it comes with gigabytes of CUDA
	$(PIP) --no-build-isolation -e ".[dev,h5,swm]"
	touch $@

clean:
	rm -rf $(VENV) build out .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
