# Every target builds .venv by itself; `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SCRAPYD := .venv-scrapyd/bin
SCRAPYD_READY := .venv-scrapyd/.ready

.PHONY: help setup crawl demo actor actor-schema actor-lock scrapyd scrapyd-venv test actor-test crash bench bench-peers lint types format docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

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

scrapyd: $(SCRAPYD_READY) ## start a Scrapyd, deploy to it, crawl the demo's shop there, stop it
	$(SCRAPYD)/python -m tests.scrapyd.demo

scrapyd-venv: $(SCRAPYD_READY) ## build .venv-scrapyd: Scrapyd and what the project needs on a node

$(SCRAPYD_READY): pyproject.toml
	$(PYTHON) -m venv .venv-scrapyd
	$(SCRAPYD)/pip install --quiet --upgrade 'pip>=26.2'
	$(SCRAPYD)/pip install --quiet --only-deps .
	$(SCRAPYD)/pip install --quiet --group scrapyd
	touch $(SCRAPYD_READY)

actor: $(READY) ## run the Actor here on the demo's shop, two days in a row
	$(BIN)/python -m tests.apify.demo

actor-schema: $(READY) ## write the Actor's input form and check all its schemas (needs npx)
	$(BIN)/python -m sitemon_spider.apify.schema
	APIFY_CLI_DISABLE_TELEMETRY=1 npx --yes apify-cli@1.10.0 validate-schema

actor-lock: $(READY) ## resolve what the Actor's image installs
	$(BIN)/python .actor/lock.py

test: $(READY) ## run the tests (ARGS=… for pytest)
	$(BIN)/pytest $(ARGS)

actor-test: $(READY) ## run the tests of the Actor, which is not whole yet
	$(BIN)/pytest tests/apify $(ARGS)

crash: $(READY) ## kill N runs at random (SEED=…): nothing may be lost or told twice
	$(BIN)/python -m tests.crash $(or $(N),100) $(or $(SEED),1)

bench: $(READY) ## measure sitemon: stages, and whole runs of FILES="1 4 20" x 50,000 URLs
	$(BIN)/python -m benchmarks.run $(FILES)

bench-peers: $(READY) .venv-peers/.ready ## measure sitemon beside its peers, as ratios
	$(BIN)/python -m benchmarks.peers

.venv-peers/.ready:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet scrapy lxml ultimate-sitemap-parser advertools trafilatura crawlee
	touch $@

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
	rm -rf .venv .venv-scrapyd .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
