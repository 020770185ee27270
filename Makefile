# Everything runs in a virtual environment of its own; nothing else on the machine is touched.
PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY_VENV := $(VENV)/.ready-venv
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

.PHONY: scan test test-large lint types layers unit browser shells bench bench-readme update-golden docs wheel clean

scan: $(READY)
	@$(BIN)/palaver scan

test: lint types layers unit

lint: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY_DEV)
	$(BIN)/basedpyright --pythonpath $(BIN)/python

layers: $(READY_DEV)
	$(BIN)/lint-imports

unit: $(READY_DEV) browser shells
	$(BIN)/python -m pytest -n auto

# What the tests assert, at the sizes of real archives; takes minutes and some gigabytes.
test-large: $(READY_DEV)
	$(BIN)/python -m pytest -m large

# Some tests open pages in a real browser; nothing is downloaded where there is one already.
browser: $(READY_DEV)
	@$(BIN)/python tests/browsing.py >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then root="env"; else root="sudo -n env"; fi; \
		command -v apt-get >/dev/null && $$root true 2>/dev/null \
			&& $$root apt-get update -qq >/dev/null \
			&& $$root DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
				chromium fonts-dejavu-core >/dev/null; \
		$(BIN)/python tests/browsing.py >/dev/null || \
			echo "no browser for the tests: install Chromium or Chrome, or name one in PALAVER_BROWSER" >&2; \
	}

# Completion is tested in real shells, the manual page with a real reader of it, and `replay` with the real curl.
shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null && command -v mandoc >/dev/null && command -v curl >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then root="env"; else root="sudo -n env"; fi; \
		command -v apt-get >/dev/null && $$root true 2>/dev/null \
			&& $$root apt-get update -qq >/dev/null \
			&& $$root DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
				zsh fish mandoc curl >/dev/null; \
		command -v zsh >/dev/null && command -v fish >/dev/null && command -v mandoc >/dev/null && command -v curl >/dev/null || \
			echo "the tests need zsh, fish, mandoc and curl: install them with your package manager" >&2; \
	}

# ONLY names the platform, or a part of its name, whose expected output is written.
ONLY ?= golden
update-golden: $(READY_DEV)
	$(BIN)/python -m pytest -q --update-golden -k "test_golden and $(ONLY)" tests/test_importers.py

docs: $(READY_DEV)
	$(BIN)/python docs/build.py

# SCALE says where the curve of memory ends, in MB: 10000 is 10 GB.
SCALE ?= 1000
bench: $(READY_DEV)
	$(BIN)/python benchmarks/run.py --scale $(SCALE)

bench-readme: $(READY_DEV)
	$(BIN)/python benchmarks/tables.py benchmarks/data/results.json benchmarks/README.md

wheel: $(READY_VENV)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

$(READY_VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "palaver needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@touch $@

$(READY): $(READY_VENV) pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(READY_DEV): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) dist build site .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# Outputs that README and the first steps show, as the commands print them now; review the difference.
update-shown: $(READY_DEV)
	$(BIN)/python -m pytest -q --update-golden -k what_it_shows tests/test_readme.py

# The pictures of docs/images/; needs Chromium for the page. ONLY_PICTURES names some: show report.
screenshots: $(READY_DEV) browser
	$(BIN)/python docs/screenshots.py $(ONLY_PICTURES)

# The documentation as a site in site/, which works offline; a broken link stops it.
site: $(READY_DEV)
	$(BIN)/python docs/site_pages.py

.PHONY: update-shown screenshots site
