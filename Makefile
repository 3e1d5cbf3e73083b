# The verbs of daily life. Each makes the environment it needs.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
CHAPTER ?=

.DEFAULT_GOAL := help
.PHONY: help book test check verify notebooks format lock clean

help:  ## list the verbs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

book: $(VENV)/.ready  ## build the book and print the page to open
	@$(RUN) tools.steps book

test: $(VENV)/.ready  ## everything CI runs: check, notebooks against their stored outputs, book, pages
	@$(RUN) tools.steps format lint unit claims notebooks book pages

check: $(VENV)/.ready  ## format, lint, unit tests, claims; the verb for daily life
	@$(RUN) tools.steps format lint unit claims

verify: $(VENV)/.ready  ## run every claim and its control
	@$(VENV)/bin/attnsep verify

notebooks: $(VENV)/.ready  ## run the chapters (or CHAPTER=name) and store their outputs
	@$(RUN) tools.notebooks $(CHAPTER)

format: $(VENV)/.ready  ## put code and notebooks into the project's format
	@$(RUN) ruff format . && $(RUN) ruff check --fix .

lock: $(VENV)/.ready  ## pin the newest allowed versions in requirements.lock
	@$(RUN) tools.lock

clean:  ## remove the environment and all that was built
	rm -rf $(VENV) _build .pytest_cache .ruff_cache lib/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml requirements.lock tools/environment.py
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "This project needs Python 3.11 or newer, but there is no '$(PYTHON)' here. Name another one: make PYTHON=python3.12 <verb>" >&2; exit 1; }
	@$(PYTHON) tools/environment.py $(VENV)
