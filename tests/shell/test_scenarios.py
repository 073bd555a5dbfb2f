"""The tracking rules at work: histories of a site, served day by day over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.world import Site, World, load_scenarios, serve_scenario_day

if TYPE_CHECKING:
    from tests.conftest import MakeMonitor

WAITS_FOR_MOVED = {
    "trailing slash and https",
    "slug, once on each side; ambiguous slugs stay two rows",
    "alternates pair; redirect comes first",
    "the host changes for most of the removed",
    "a host change of a whole site is address pairs, not a mass loss",
}
"""Scenarios that pair moved URLs [C9], which is not built yet."""

SCENARIOS = [s for s in load_scenarios() if s["name"] not in WAITS_FOR_MOVED]


def by_url(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["url"], row["changeType"]))


def like(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the fields that the scenario speaks of."""
    names = {row["url"]: list(row) for row in expected}
    return by_url(
        [{name: row[name] for name in names.get(row["url"], ("changeType", "url"))} for row in rows]
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s["name"])
def test_scenario(scenario: dict[str, Any], monitor: MakeMonitor) -> None:
    with World(Site({}, name="site")) as world:
        site = world.sites[0]
        job = monitor(sites=[site.url], **scenario["options"])
        for number, day in enumerate(scenario["days"]):
            serve_scenario_day(day, site)
            settings = {}
            if "stop" in day:
                settings["ADDONS"] = json.dumps({"tests.crawl.WithStop": 0})
                settings["SITEMON_TEST_STOP"] = day["stop"]
            if "deliver" in day:
                settings |= {
                    "SITEMON_SINK": "tests.crawl.BudgetSink",
                    "SITEMON_SINK_BUDGET": day["deliver"],
                }
            run = job.run(now=day["now"], settings=settings, **day.get("options", {}))
            assert like(run.changes, day["rows"]) == by_url(day["rows"]), f"day {number}\n{run.log}"
            site_fields = {name: run.site[name] for name in day["site"]}
            assert site_fields == day["site"], f"day {number}\n{run.log}"
