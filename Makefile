# Each target sets up all it needs: a virtual environment in .venv, from any Python 3.11+ on PATH (or PYTHON=…).
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
# Holdfast alone; and all that working on it takes.
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
BIN := $(VENV)/bin

# The clients that Holdfast is tested with, newest first. CI runs the first, `make nightly` all.
SUPPORTED_CLIENTS := 2.1.332 2.1.197
CLIENTS := $(firstword $(SUPPORTED_CLIENTS))
# Without compiled files, every process of every run would compile all tests anew, 18 seconds each. Empty counts as unset.
export PYTHONDONTWRITEBYTECODE :=
PLATFORM := $(shell uname -s | tr A-Z a-z)-$(subst aarch64,arm64,$(subst x86_64,x64,$(shell uname -m)))

.PHONY: demo test pytest coverage lint nightly long matrix hooks simulate score mutants bench client clients sdk-types requirements plugin browser reference picture docs wheels release clean

demo: $(INSTALLED)
	@$(BIN)/holdfast demo

# The tests, with ruff and mypy beside them. `make test ALL=1` adds the tests marked `slow`, which start many processes.
# Each test runs once.
test: $(READY)
	@$(MAKE) --no-print-directory -j2 lint pytest

pytest: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not $(if $(ALL),,slow and not )nightly"

# How much of the code the quick tests run in their own processes. Counting takes a third more time.
coverage: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --cov -m "not slow and not nightly"

# What takes too long for each push: see .ci/nightly.
nightly: $(READY)
	@SUPPORTED_CLIENTS="$(SUPPORTED_CLIENTS)" .ci/nightly

# The tests marked `nightly`.
long: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m nightly

# The tests on every Python that tox.ini names and this machine has.
matrix: .tox/.ready
	@echo "All tests on each Python; this takes many minutes …"
	$(BIN)/python -m tox

.tox/.ready: $(READY)
	@echo "Fetching tox …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check tox
	@mkdir -p .tox && touch $@

# Runs ruff and mypy before each commit.
hooks: $(READY)
	@echo "Fetching pre-commit …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pre-commit
	$(BIN)/pre-commit install

lint: $(READY)
	@echo "ruff, then mypy, which takes a minute the first time …"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pyright, which a test runs on handlers beside mypy (needs npm).
.pyright/.ready:
	@echo "Pyright, once …"
	@mkdir -p .pyright
	@cd .pyright && npm install --silent --no-audit --no-fund --prefix . pyright@1.1.408
	@touch $@

# The table of docs/requirements.md, each requirement with the verdict of its tests.
requirements: $(READY)
	@echo "The tests of the requirements; this takes minutes …"
	@$(BIN)/python -m tests.requirements.table --run

# What is generated from the program: pages of docs/reference, hooks/hooks.json and settings.example.json.
reference: $(READY)
	@echo "The pages and the registration that are generated from the program …"
	@$(BIN)/python -m tools.pages

# The README's picture: a session before and after a compaction, exported from the demo.
picture: $(READY)
	@echo "The demo, for the picture …"
	@$(BIN)/python -m tools.pages --picture

# The documentation as a site in .site, which can be read and searched without a network; any warning is an error.
docs: .zensical/.ready
	.zensical/bin/zensical build --clean --strict
	@.zensical/bin/python -m tools.pages.search
	@echo "The site is in .site: open .site/index.html"

.zensical/.ready:
	@echo "What builds the site, once …"
	@$(PYTHON) -m venv --clear .zensical
	@.zensical/bin/python -m pip install --quiet --disable-pip-version-check zensical==0.0.73
	@touch $@

# Builds sdist, wheel and a wheel with a relay for each platform in dist/, checks what they hold, and tries those for this
# machine in an empty home. It uploads nothing.
release: .release/.ready
	@.release/bin/python -m tools.release

# Only builds them.
wheels: .release/.ready
	@.release/bin/python -m tools.release --only-build

.release/.ready: pyproject.toml
	@echo "What builds and checks, and a C compiler for every platform, once …"
	@$(PYTHON) -m venv --clear .release
	@.release/bin/python -m pip install --quiet --disable-pip-version-check build==1.6.1 twine==7.0.0 ziglang==0.17.1
	@.release/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# How much survives a hundred compactions with 250 facts planted, in every row.
simulate: $(READY)
	@$(BIN)/python -m tools.survival --cycles 100 --facts 250

# Writes the score's table into docs/survival-score.md.
score: $(READY)
	@echo "Every row in every format, killed at many writes; this takes many minutes …"
	@$(BIN)/python -m tools.survival --write

# Which of 200 planted bugs the tests find: 100 drawn with a fixed seed, and 100 chosen ones. It takes hours.
mutants: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check mutmut==3.8.1
	$(BIN)/python -m tools.mutants

# What events cost, beside programs that do nothing and other frameworks; on the real client if make clients fetched it.
# Writes docs/benchmarks.md.
bench: $(READY) .bench/.ready
	tests/client/alone $(BIN)/python -m tools.bench

# The frameworks that are compared, each of one version; what cannot be fetched is left out and named in the page.
.bench/.ready: $(wildcard tools/bench/jobs/*.*)
	@echo "The frameworks that are compared, once; this takes a minute or two …"
	@rm -rf .bench && mkdir -p .bench/js
	-$(PYTHON) -m venv .bench/venv
	-.bench/venv/bin/python -m pip install --quiet --disable-pip-version-check cchooks==0.1.5 claude-hook-utils==0.4.0
	cp tools/bench/jobs/*.mjs tools/bench/jobs/*.ts .bench/js
	-cd .bench/js && npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --omit=peer --prefix . \
		cc-hooks-ts@2.1.251 @mizunashi_mana/claude-code-hook-sdk@6.0.0 reflect-metadata@0.2.2 \
		@goodfoot/claude-code-hooks@1.9.0 @esbuild/$(PLATFORM)@0.24.2
	-cd .bench/js && node node_modules/@goodfoot/claude-code-hooks/dist/cli.js -i 'claude-code-hooks.ts' -o built/hooks.json
	@touch $@

# The relays of the plugin, and its packages locked for every platform (from the registry). `make reference` writes its
# registration.
plugin: $(READY) .release/.ready
	@echo "The relay for each platform, twice; then uv, and the packages locked from the registry …"
	.release/bin/python -m tools.release.relays
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python plugin/lock.py

# The real client, the newest one and under its Python SDK, against a scripted model on loopback. `make client ALL=1` adds
# the tests marked `nightly`. To try other versions: make client CLIENTS="2.1.400 2.1.401"
client: $(READY) clients
	HOLDFAST_CLIENT_VERSIONS="$(CLIENTS)" tests/client/alone $(BIN)/python -m pytest tests/client -n 2 \
		--dist worksteal --timeout 200 -W default $(if $(ALL),,-m "not nightly")

# Fetches them from the package registries; needs npm.
clients: $(CLIENTS:%=.clients/%/package/claude) .clients/sdk/.ready sdk-types

# The newest TypeScript SDK's declarations, each time: a test compares their list of events with ours.
sdk-types:
	@rm -rf .clients/types && mkdir -p .clients/types
	@cd .clients/types && npm pack --silent @anthropic-ai/claude-agent-sdk@latest >/dev/null && \
		tar xzf *.tgz package/sdk.d.ts package/package.json && rm *.tgz || \
		echo "The newest agent SDK could not be fetched, so its events are not compared." >&2

.clients/sdk/.ready:
	@echo "The client's Python SDK …"
	@$(PYTHON) -m venv --clear .clients/sdk
	@.clients/sdk/bin/python -m pip install --quiet --disable-pip-version-check --no-binary claude-agent-sdk claude-agent-sdk
	@touch $@

.clients/%/package/claude:
	@echo "Claude Code $* from the registry …"
	@mkdir -p .clients/$*
	cd .clients/$* && npm pack --silent @anthropic-ai/claude-code-$(PLATFORM)@$* && tar xzf *.tgz && rm *.tgz

# The report in a real browser without a window; HOLDFAST_BROWSER names one, else Chromium is fetched (needs npm).
# With HOLDFAST_PICTURE=docs/report.png it takes the report's picture in docs/guides/history.md again.
browser: $(READY) .browser/.ready $(if $(HOLDFAST_BROWSER),,.browser/chromium)
	$(BIN)/python -m pytest tests/browser -p no:xdist --timeout 120

.browser/.ready: $(READY)
	@echo "What drives a browser, once …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,browser]'
	@mkdir -p .browser && touch $@

.browser/chromium:
	@echo "Chromium, once …"
	@mkdir -p .browser/packages
	cd .browser/packages && npm install --silent --no-audit --no-fund --prefix . @sparticuz/chromium
	cd .browser/packages && TMPDIR=$(CURDIR)/.browser node -e 'import("@sparticuz/chromium").then((it) => it.default.executablePath())'

clean:
	rm -rf $(VENV) .site .zensical .release .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "Holdfast needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up .venv, once. An environment for $(PYTHON) …"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "Holdfast and the packages it needs …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(INSTALLED)

$(READY): $(INSTALLED)
	@echo "What the tests need, once; this takes a minute or two …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: rotel==0.0.1a15 || \
		echo "rotel can't be installed here, so no test sends telemetry to a real collector." >&2
	@touch $(READY)
