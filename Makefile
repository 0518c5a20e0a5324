# Paddock: the commands for developers and CI. `make help` lists them.
# Needs Python 3.11 or newer, make and git. Everything else goes into .venv, from uv.lock.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo build test test-fast test-full test-clients test-install test-deps bundle check format bench screenshots clean

UV_VERSION := 0.13.8
PYTHON ?=
HOME_PORT ?= 8888
PORT ?= 8000
LLM_PORT ?= 8080
BRIDGE_PORT ?= 8765
SHARE ?=
ARGS ?=

PY := .venv/bin/python
READY := .venv/.ready
# A tenth of the suite's work is writing and removing files: keep them in memory if there is room.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 2000000 { print "/dev/shm" }')
# Four test files run at a time, slow ones first: half of the time they wait for a disk, a child or a clock. Two browser files run at the same time.
SPREAD := TMPDIR="$(or $(TMPDIR),$(MEMORY))" $(PY) -m pytest -o tmp_path_retention_policy=failed --dist loadfile --no-loadscope-reorder -n
NONE_IS_FINE := || [ $$? = 5 ]
# Without cached bytecode every program of the suite would start seconds later.
export PYTHONDONTWRITEBYTECODE :=
CODE := course paddock runtime build.py bench deploy tests tools training

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name what; do \
	  printf '  make %-12s %s\n' "$$name" "$$what"; done

setup: $(READY)  ## install the pinned dependencies into .venv (instant when nothing changed)

# The system's Python comes first, because distributions use profile-guided optimization: a default
# pyenv build is a third slower. PYTHON=... names another.
# uv is taken from the PATH only in the pinned version, else pip puts it into .venv/tools, where the
# exact sync does not remove it. VIRTUAL_ENV and UV_PYTHON of the caller must not choose another place.
# CMAKE_ARGS leaves out what Python never loads of llama.cpp, which halves the time to compile it; CMake
# splits it at spaces, so a checkout below a folder with a space in its name does without.
$(READY): pyproject.toml uv.lock
	@set -eu; unset VIRTUAL_ENV UV_PYTHON; \
	export UV_PROJECT_ENVIRONMENT=.venv UV_PYTHON_DOWNLOADS=never; \
	fail() { printf 'setup: %s\n' "$$1" >&2; exit 1; }; \
	works() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if ! works $(PY); then \
	  python=; \
	  for name in $(or $(PYTHON),/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python); do \
	    if works "$$name"; then python=$$name; break; fi; done; \
	  [ -n "$$python" ] || fail 'no Python 3.11 or newer found; name it: make PYTHON=/path/to/python3.12'; \
	  rm -rf .venv; "$$python" -m venv --without-pip .venv \
	    || fail "'$$python -m venv' failed; on Debian or Ubuntu: apt-get install python3-venv"; \
	fi; \
	python=$$($(PY) -c 'import os, sys; print(os.path.realpath(sys.executable))'); \
	uv=.venv/tools/bin/uv; \
	pinned() { case "$$("$$1" --version 2>/dev/null)" in "uv $(UV_VERSION)"*) return 0;; esac; return 1; }; \
	if ! pinned $$uv && pinned uv; then uv=uv; fi; \
	if ! pinned $$uv; then \
	  rm -rf .venv/tools; $(PY) -m ensurepip >/dev/null 2>&1 || true; pip=; \
	  for name in $(PY) "$$python" python3; do \
	    if "$$name" -m pip --version >/dev/null 2>&1; then pip=$$name; break; fi; done; \
	  if [ -n "$$pip" ]; then \
	    echo "setup: installing uv $(UV_VERSION) into .venv/tools"; \
	    "$$pip" -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
	      --target .venv/tools "uv==$(UV_VERSION)" || fail 'pip could not install uv; see its message above'; \
	  elif command -v uv >/dev/null 2>&1; then uv=uv; \
	  else fail 'this Python has neither pip nor ensurepip; on Debian or Ubuntu: apt-get install python3-venv'; fi; \
	fi; \
	case "$(CURDIR)" in *' '*) ;; *) \
	  export CMAKE_ARGS="$${CMAKE_ARGS--DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/runtime/llm/llama-build.cmake}";; esac; \
	how='the first time it compiles llama.cpp: some minutes'; engine=; \
	if ! command -v "$${CC:-cc}" >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1; then \
	  how='there is no C compiler, so llama.cpp comes prebuilt'; \
	  engine='--extra prebuilt --config-settings-package llama-cpp-python:wheel.cmake=false'; fi; \
	echo "setup: installing the dependencies of uv.lock into .venv ($$how)"; \
	$$uv sync --locked --quiet --no-install-project --extra all $$engine; \
	if [ -z "$$engine" ] && ! ls .venv/lib/python*/site-packages/llama_cpp/lib/* >/dev/null 2>&1; then \
	  echo 'setup: the cache of uv holds llama.cpp uncompiled; compiling it anew'; \
	  $$uv cache clean --quiet llama-cpp-python; \
	  $$uv sync --locked --quiet --no-install-project --extra all --reinstall-package llama-cpp-python; fi
	@touch $@

# Job control gives the server the terminal, so Ctrl-C reaches the server alone: it stops in order and
# make ends with its exit status, 0. Without a terminal the shell has no job control to switch on.
demo: $(READY)  ## run everything, with one page to open (HOME_PORT=8888, PORT=8000, LLM_PORT=8080, BRIDGE_PORT=8765; SHARE=1: phones may watch); Ctrl-C ends all
	@if [ -t 0 ]; then set -m; fi; $(PY) -m runtime.demo --home-port $(HOME_PORT) --course-port $(PORT) --llm-port $(LLM_PORT) --bridge-port $(BRIDGE_PORT) $(if $(SHARE),--share); exit $$?

build: $(READY)  ## build the course into site/
	@$(PY) build.py build $(ARGS)

test: $(READY)  ## run the whole test suite (ARGS="-k name" is passed to pytest)
	@output=$$(mktemp); trap 'rm -f "$$output"' EXIT; \
	{ $(SPREAD) 2 -m browser -o testpaths=tests/browser $(ARGS) $(NONE_IS_FINE); } >"$$output" 2>&1 & \
	browsers=$$!; failed=0; \
	{ $(SPREAD) 4 -m 'not browser' $(ARGS) $(NONE_IS_FINE); } || failed=$$?; \
	wait $$browsers || failed=$$?; \
	cat "$$output"; exit $$failed

test-fast: $(READY)  ## run the suite without crash, soak and browser tests
	@$(SPREAD) 4 -m 'not slow and not browser' $(ARGS)

test-full: $(READY)  ## run the suite with ten times as many kills, random edits and random requests
	@PADDOCK_TEST_EFFORT=10 $(MAKE) test

test-clients: $(READY)  ## run stock OpenAI clients against the server, in .venv-clients (500 MB on disk)
	@set -eu; unset VIRTUAL_ENV UV_PYTHON; uv=.venv/tools/bin/uv; [ -x $$uv ] || uv=uv; \
	UV_PROJECT_ENVIRONMENT=.venv-clients UV_PYTHON_DOWNLOADS=never $$uv sync --locked --quiet --no-install-project --only-group clients
	@.venv-clients/bin/python -m pytest --confcutdir tests/clients --timeout 600 \
	  -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning tests/clients $(ARGS)

test-install: $(READY)  ## install wheels and a bundle into empty environments and start their programs (minutes; needs a package index)
	@PADDOCK_TEST_INSTALL=1 $(PY) -m pytest tests/install $(ARGS)

# InfluxDB 1 is not in every release of Debian and Ubuntu; missing packages are skipped.
test-deps:  ## install the system packages of the browser and outlet tests (Debian or Ubuntu, root or sudo)
	@set -eu; lacking=; \
	PATH="$$PATH:/usr/sbin"; \
	command -v chromedriver >/dev/null 2>&1 || lacking='chromium chromium-driver'; \
	command -v mosquitto >/dev/null 2>&1 || lacking="$$lacking mosquitto"; \
	command -v influxd >/dev/null 2>&1 || lacking="$$lacking influxdb"; \
	if [ -z "$$lacking" ]; then echo 'test-deps: everything is there already'; exit 0; fi; \
	fail() { printf 'test-deps: %s; the tests that need %s will be skipped\n' "$$1" "$$lacking" >&2; exit 1; }; \
	command -v apt-get >/dev/null 2>&1 || fail 'no apt-get here: install them by hand'; \
	as=; if [ "$$(id -u)" != 0 ]; then as='sudo -n'; $$as true 2>/dev/null || fail 'needs root or sudo'; fi; \
	$$as apt-get update -q; \
	apt-cache show influxdb >/dev/null 2>&1 || lacking=$${lacking% influxdb}; \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$lacking || fail 'apt-get failed'

check: $(READY)  ## lint, format, types, import borders, and the course itself
	@$(PY) -m ruff check $(CODE)
	@$(PY) -m ruff format --check $(CODE)
	@$(PY) -m mypy
	@.venv/bin/lint-imports
	@$(PY) -m runtime.llm.generate --check
	@$(PY) -m runtime.bridge.generate --check
	@$(PY) -m course.read.export --check
	@$(PY) build.py check --strict
	@$(PY) build.py fmt --check

bundle: $(READY)  ## pack wheels, built course and models into dist/, for installation without a network
	@$(PY) -m tools.bundle $(ARGS)

format: $(READY)  ## apply the formatter and the safe lint fixes
	@$(PY) -m ruff check --fix $(CODE)
	@$(PY) -m ruff format $(CODE)

screenshots: $(READY)  ## take a picture of each page of the bridge, in pictures/ (needs Chromium: make test-deps)
	@$(PY) -m tools.screenshots $(ARGS)

bench: $(READY)  ## measure every published figure and its peer, one table (ARGS="course vbo" chooses)
	@$(PY) -m bench $(ARGS)

clean:  ## remove build output and caches, keep .venv and the data of the demo (.demo)
	@rm -rf dist site .site.* .course-cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
