# The verbs of daily life. Each makes the environment it needs.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
CHAPTER ?=
ONLY ?=
ALL ?=
ACCEPT ?=
BACKEND ?= cupy
COMPAT ?=
EDIT ?=
URL ?=
REASON ?=
VERSION ?=
DRY ?=
RESULT ?=
VERB ?= check

.DEFAULT_GOAL := help
.PHONY: help book lab test test-strict test-lab test-web check verify notebooks format bench lock lock-request test-oldest test-newest repeat test-cupy test-oracles cards test-colab test-hostile test-planted fuzz mutants noticed prove prove-all gpu release pdf address clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: $(VENV)/.ready-book  ## build the book and print the page to open
	@$(RUN) tools.steps book

lab: $(VENV)/.ready-lab  ## open JupyterLab on copies of the chapters in _build/lab, which stay (EDIT=1: on the chapters themselves)
	@$(RUN) tools.lab $(if $(EDIT),--edit)

test: $(VENV)/.ready  ## everything CI runs: check, slow tests, training, notebooks against their stored outputs, book, pages, browser
	@$(RUN) tools.steps format lint types tests notebooks claims ratchet learn book pages web

test-strict: $(VENV)/.ready  ## notebooks, and the claims in them, on a second array library that stands in for a GPU
	@$(RUN) tools.steps "strict notebooks"

test-lab: $(VENV)/.ready  ## run a chapter in JupyterLab in the system's Chromium, and change a parameter
	@$(RUN) tools.steps book lab

test-web: $(VENV)/.ready  ## build the book and try its pages in the system's Chromium, offline, as a reader would
	@$(RUN) tools.steps book web

check: $(VENV)/.ready  ## format, lint, types, unit tests, claims; the verb for daily life
	@$(RUN) tools.steps format lint types unit claims

verify: $(VENV)/.ready  ## run every claim and its control
	@$(VENV)/bin/attnsep verify --jobs 2

notebooks: $(VENV)/.ready  ## run the chapters (or CHAPTER=name) and store their outputs (REASON="claims: why" where a check became weaker)
	@$(RUN) tools.notebooks $(if $(CHAPTER),"$(CHAPTER)") $(if $(REASON),--reason "$(REASON)")

format: $(VENV)/.ready  ## put code and notebooks into the project's format
	@$(RUN) ruff format . && $(RUN) ruff check --fix .

bench: $(VENV)-oracles/.ready  ## time attention beside PyTorch, on a machine with nothing else to do, and store the table that the book shows; half an hour
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS \
	  $(VENV)-oracles/bin/attnsep bench --dtype float64 float32 --out lib/attnsep/bench/bench.json

lock: $(VENV)/.ready  ## pin the newest allowed versions in requirements.lock
	@$(RUN) tools.lock

lock-request:  ## offer a changed requirements.lock as a pull request from the branch `lock`; needs gh
	@if git diff --quiet requirements.lock; then echo "requirements.lock is as it was."; exit 0; fi; set -e; \
	git switch --quiet --force-create lock; \
	git commit --quiet --message "$(LOCKED)" requirements.lock; \
	git push --quiet --force origin lock; \
	if test "$$(gh pr list --head lock --state open --json number --jq length)" = 0; then \
	  gh pr create --head lock --title "$(LOCKED)" --body "make lock; make test passed with it."; fi

LOCKED := The newest allowed versions, by make lock

test-oldest: $(VENV)-oldest/.ready  ## unit tests, claims, training, notebooks with the oldest allowed versions (Python 3.11)
	@$(VENV)-oldest/bin/python -m tools.steps tests notebooks claims learn

test-newest: $(VENV)-newest/.ready  ## the same with the newest allowed versions, whatever the lock says
	@$(VENV)-newest/bin/python -m tools.steps tests notebooks claims learn

repeat: $(VENV)/.ready $(VENV)-oldest/.ready $(VENV)-newest/.ready  ## other random draws, libraries, threads and versions, chapters twice: what must not depend on luck; about an hour
	@for seed in $$(seq 20); do \
	  echo "--- seeds $$seed"; $(VENV)/bin/attnsep verify --jobs 2 --seeds $$seed || exit 1; done
	@for environment in $(VENV) $(VENV)-oldest $(VENV)-newest; do for library in numpy array_api_strict; do for threads in 1 2; do \
	  echo "--- $$environment, $$library, $$threads threads"; \
	  OMP_NUM_THREADS=$$threads $$environment/bin/attnsep verify --compare --backend $$library || exit 1; done; done; done
	@$(VENV)/bin/python -c "$$CHAPTERS_TWICE"

define CHAPTERS_TWICE
from tools.notebooks import CHAPTERS, executed, prepare
prepare()
for path in sorted(CHAPTERS.glob("*.ipynb")):
    print("--- twice:", path.name, flush=True)
    assert executed(path) == executed(path), "two executions differ"
endef
export CHAPTERS_TWICE

test-cupy: $(VENV)-cupy/.ready  ## the same with CuPy installed and no GPU: NumPy must take over and say so
	@$(VENV)-cupy/bin/python -m tools.steps fallback tests notebooks claims

test-oracles: $(VENV)-oracles/.ready  ## sparsemax, entmax, sigmoid, elu against PyTorch and the package entmax
	@$(VENV)-oracles/bin/python -m tools.steps oracles

cards: $(VENV)-cards/.ready  ## judge the attentions of examples, which others wrote, and store their cards; ten minutes
	@$(VENV)-cards/bin/python -m tools.cards

test-colab: $(VENV)/.ready $(VENV)-colab/.ready  ## open every chapter (or CHAPTER=name) alone, with Colab's versions and without the library; ten minutes
	@$(RUN) tools.launch $(VENV)-colab $(if $(CHAPTER),"$(CHAPTER)")

test-hostile:  ## make check (or VERB=test) in a copy where folder, user, home, language and settings are unusual; five minutes
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py
	@$(PYTHON) -m tools.hostile $(VERB)

test-planted: $(VENV)/.ready  ## make test in a copy with one fault for each of its steps: does each step report its own? ten minutes
	@$(RUN) tools.planted

fuzz: $(VENV)/.ready  ## 300 random inputs for every public function and verb; make check has a few fixed ones
	@$(RUN) tools.steps fuzz

mutants: $(VENV)-mutants/.ready  ## change the library in one place at a time (or ONLY=module, ONLY=stale): do the tests notice? an hour
	@$(VENV)-mutants/bin/python -m tools.mutants $(if $(ONLY),"$(ONLY)")

noticed: $(VENV)/.ready  ## change each number that a claim states, break each function that it tests: does its check notice? those that changed (ALL=1: all, an hour; ACCEPT=1: store also where less is noticed)
	@$(RUN) tools.noticed $(if $(ALL),--all) $(if $(ACCEPT),--accept)

prove:  ## let Coq check the proofs of proofs/, list their axioms, compare what they say with the book; a minute (ACCEPT="labels": both sides were read)
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py
	@PYTHONPATH="$(CURDIR)/lib" $(PYTHON) -m tools.prove $(if $(ACCEPT),--accept "$(ACCEPT)")

prove-all:  ## let Coq's second kernel check them again, and break definitions and hypotheses: does a proof break? half an hour
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py
	@PYTHONPATH="$(CURDIR)/lib" $(PYTHON) -m tools.prove --all

gpu:  ## run all on a GPU with PYTHON's own packages and store the result (README: On a GPU)
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py
	@PYTHONPATH="$(CURDIR)/lib:$(COMPAT):$$PYTHONPATH" $(PYTHON) -m tools.gpu --backend "$(BACKEND)" --result "$(RESULT)"

release: $(VENV)/.ready  ## write VERSION=2.0 wherever it stands, tag it, put PDF and zip of the book into dist (DRY=1: leave files and history)
	@$(RUN) tools.release "$(VERSION)" $(if $(DRY),--dry-run)

pdf: $(VENV)/.ready  ## print the book as _build/book.pdf; needs Chromium, takes a few minutes
	@$(RUN) tools.steps book && $(RUN) tools.pdf _build/html _build/book.pdf

address: $(VENV)/.ready  ## write the repository's public address, URL=https://host/owner/name, wherever it belongs
	@$(RUN) tools.address "$(URL)"

clean:  ## remove the environments and all that was built, but not the copies in _build/lab
	rm -rf dist $(WHOLE:/.ready=) .mypy_cache .pytest_cache .ruff_cache lib/*.egg-info
	for path in _build/*; do test "$$path" = _build/lab || rm -rf "$$path"; done
	@if test -e _build/lab; then echo "_build/lab was kept: what you changed there is nowhere else."; else rm -rf _build; fi
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

FIND_PYTHON = command -v $(PYTHON) >/dev/null 2>&1 || { echo "This project needs Python 3.11 or newer, but there is no '$(PYTHON)' here. Name another one: make PYTHON=python3.12 <verb>" >&2; exit 1; }

# What an environment has is known to tools/environment.py, which adds what is missing; the times of files say nothing,
# because git rewrites them.
PARTS := $(VENV)/.ready-book $(VENV)/.ready-lab
WHOLE := $(addsuffix /.ready,$(VENV) $(addprefix $(VENV)-,oldest newest cupy oracles cards mutants colab))
.PHONY: $(PARTS) $(WHOLE)

$(PARTS):
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py $(@D) $(@F:.ready-%=%)

$(WHOLE):
	@$(FIND_PYTHON)
	@$(PYTHON) tools/environment.py $(@D)
