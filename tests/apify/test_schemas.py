"""The Actor's forms: made from the options, naming what rows and records hold."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from typing import Any

import pytest

from sitemon_spider.apify.schema import FILE, SECTIONS, input_schema
from sitemon_spider.items import ChangeRow, SiteRow, UrlRow
from sitemon_spider.options import Options
from tests.crawl import ROOT


def actor(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / ".actor" / name).read_text("utf-8"))
    return document


def test_the_input_form_is_current() -> None:
    assert FILE.read_text("utf-8") == input_schema(), "run `make actor-schema`"


def test_every_option_has_a_field_and_every_section_begins_with_one() -> None:
    form = actor("input_schema.json")["properties"]
    assert set(form) == {field.alias for field in Options.model_fields.values()}
    captions = [field["sectionCaption"] for field in form.values() if "sectionCaption" in field]
    assert set(captions) <= {*SECTIONS, "More"}
    assert all(field["title"] and field["description"] for field in form.values())


def test_a_first_run_with_the_prefilled_form_costs_cents() -> None:
    """§1: it saves a baseline of one site; with URLs asked for it stops at 1,000."""
    form = actor("input_schema.json")["properties"]
    values = {n: f.get("prefill", f.get("default")) for n, f in form.items()}
    options = Options.read({n: v for n, v in values.items() if v is not None})
    assert (options.output_mode, options.first_run, len(options.sites)) == (
        "changes_only",
        "baseline",
        1,
    )
    assert options.max_urls == 1_000
    assert options.max_urls * 0.0003 < 1


@pytest.mark.parametrize(
    ("view", "row"), [("changes", ChangeRow), ("urls", UrlRow), ("sites", SiteRow)]
)
def test_a_view_shows_fields_of_its_row(view: str, row: type) -> None:
    views = actor("dataset_schema.json")["views"]
    assert set(views) == {"changes", "urls", "sites", "statusChecks"}
    shown = views[view]["transformation"]["fields"]
    assert set(shown) <= {field.name for field in fields(row)}
    assert list(views[view]["display"]["properties"]) == shown


def test_the_image_is_locked_and_holds_no_tools() -> None:
    """Every dependency of the package and its extra stands in the lock, with version and hash."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["apify"]]
    lines = (ROOT / ".actor/requirements.txt").read_text("utf-8").splitlines()[1:]
    assert all("==" in line and "--hash=sha256:" in line for line in lines)
    locked = {line.partition("==")[0] for line in lines}
    assert {name.partition(">")[0].partition("[")[0] for name in wanted} <= locked
    assert not {"pytest", "hypothesis", "ruff", "mypy", "scrapyd"} & locked
    docker = (ROOT / ".actor/Dockerfile").read_text("utf-8")
    assert "FROM apify/actor-python:3.13" in docker
    assert "USER myuser" in docker
    assert actor("actor.json")["defaultMemoryMbytes"] == 1024
