# Every target builds .venv by itself; `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup crawl demo test crash lint types format docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(READY) ## build .venv from pyproject.toml

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --editable . --group dev
	touch $(READY)

crawl: $(READY) ## crawl SITES=a.example,b.example [OUT=changes.jsonl] [ARGS='-a name=value']
	@test -n "$(SITES)" || { echo "Say which sites: make crawl SITES=https://astro.build"; exit 2; }
	$(BIN)/scrapy crawl sitemon -a sites='$(SITES)' $(if $(OUT),-O '$(OUT)') $(ARGS)

demo: $(READY) ## serve a small changing site on loopback, crawl it twice, show the changes
	$(BIN)/python -m tests.demo

test: $(READY) ## run the tests (ARGS=… for pytest)
	$(BIN)/pytest $(ARGS)

crash: $(READY) ## kill N runs at random (SEED=…): nothing may be lost or told twice
	$(BIN)/python -m tests.crash $(or $(N),100) $(or $(SEED),1)

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

format: $(READY) ## apply ruff's fixes and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## write the generated pages anew
	$(BIN)/python -m docs.generate

clean: ## remove what the targets built
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
