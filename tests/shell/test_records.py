"""What a run leaves behind: rows, records, history, stats, exit codes (SPEC §3)."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sitemon_spider.items import ROW_FIELDS
from tests.world import NOT_FOUND, Page, Site, World, blog, dead, index, robots, shop, urlset

if TYPE_CHECKING:
    from tests.conftest import MakeMonitor


def mixed() -> Site:
    """A site with something of everything."""
    return Site(
        {
            "/robots.txt": robots(
                ["/sitemap.xml"], rules="User-agent: *\nDisallow: /closed\n", delay=0.01
            ),
            "/sitemap.xml": index(["/a.xml", "/b.xml", "/gone.xml", "/closed.xml", "/out.xml"]),
            "/a.xml": urlset(["/1", "/2", "/2", "mailto:me@a.example", "/hidden"]),
            "/b.xml": urlset(["/2", "/3"]).but(fault="short", keep=-20),
            "/gone.xml": NOT_FOUND,
            "/closed.xml": urlset(["/4"]),
            "/out.xml": urlset(["/5"]),
        }
    )


OPTIONS: dict[str, Any] = {
    "firstRun": "report",
    "excludeRegex": "hidden",
    "sitemapExcludeRegex": "out",
    "maxRetries": 0,
}


# ---------------------------------------------------------------------------- OUTPUT


def test_output_tells_the_whole_run(monitor: MakeMonitor) -> None:
    with World(mixed()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], **OPTIONS).run()
        count = len(site.requests)
    output = run.records["OUTPUT.json"]
    assert (output["result"], output["stopReason"], output["error"]) == ("partial", None, None)
    assert output["startedAt"] == output["finishedAt"] == "2026-10-01T06:00:00.000Z"
    assert run.folder is not None
    assert output["runId"] == run.folder.name
    totals = output["totals"]
    assert totals["sites"] == 1
    assert totals["urlsListed"] == run.site["urlsFound"] == 3
    assert totals["changeRows"] == len(run.changes) == 2
    assert (totals["invalid"], totals["duplicates"], totals["filtered"]) == (1, 1, 1)
    assert totals["disallowed"] == 1
    assert totals["files"] == {"read": 3, "cut": 1, "failed": 1, "refused": 1}
    assert (totals["requests"], totals["robotsFiles"], totals["retries"]) == (count, 1, 0)
    reasons = {"robots_disallowed", "filtered", "not_found", "truncated", "invalid_address"}
    assert set(totals["skippedByReason"]) == reasons
    assert "charges" in output


def test_output_tells_each_site(monitor: MakeMonitor) -> None:
    """Its row plus roots and how they were found, files with counts, first errors."""
    with World(mixed()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url], **OPTIONS).run()
    (told,) = run.records["OUTPUT.json"]["sites"]
    assert {name: told[name] for name in run.site} == run.site
    assert told["roots"] == [{"url": site.address("/sitemap.xml"), "discoveredVia": "robots.txt"}]
    assert told["rootsFrom"] == "robots"
    verdicts = {f["url"].removeprefix(site.url): (f["outcome"], f["urls"]) for f in told["files"]}
    assert verdicts == {
        "/sitemap.xml": ("read", 0),
        "/a.xml": ("read", 3),
        "/b.xml": ("cut", 1),
        "/gone.xml": ("failed", 0),
        "/closed.xml": ("refused", 0),
        "/out.xml": ("refused", 0),
    }
    assert {error["errorType"] for error in told["firstErrors"]} == {"truncated", "not_found"}
    assert told["noSitemapReason"] is None


def test_output_says_why_a_site_has_no_sitemap(monitor: MakeMonitor) -> None:
    with World(dead(), Site({"/robots.txt": robots()})) as world:
        run = monitor(sites=[site.url for site in world.sites]).run()
    why = [site["noSitemapReason"] for site in run.records["OUTPUT.json"]["sites"]]
    assert why == ["robots_unreachable", "no_sitemap"]


def test_sites_stand_in_the_order_of_the_input(monitor: MakeMonitor) -> None:
    with World(Site({}, refuses=True), blog(), shop()) as world:
        sites = [world.sites[n].url for n in (2, 0, 1)]
        run = monitor(sites=sites).run()
    assert [site["site"] for site in run.records["OUTPUT.json"]["sites"]] == sites


# ---------------------------------------------------------------------------- SKIPPED


def test_skipped_names_each_address_and_why(monitor: MakeMonitor) -> None:
    with World(mixed()) as world:
        site = world.sites[0]
        run = monitor(sites=[site.url, "ftp://a.example"], **OPTIONS).run()
    skipped = run.records["SKIPPED.json"]
    told = {
        (entry["address"].removeprefix(site.url), entry["stage"], entry["reason"])
        for entry in skipped
    }
    assert told == {
        ("ftp://a.example", "input", "invalid_address"),
        ("mailto:me@a.example", "url", "invalid_address"),
        ("/b.xml", "sitemap", "truncated"),
        ("/gone.xml", "sitemap", "not_found"),
        ("/closed.xml", "sitemap", "robots_disallowed"),
        ("/out.xml", "sitemap", "filtered"),
    }
    assert len(skipped) == len(told)
    (invalid,) = [entry for entry in skipped if entry["stage"] == "url"]
    assert invalid["foundIn"] == site.address("/a.xml")
    assert {entry["site"] for entry in skipped} == {site.url, "ftp://a.example"}


def test_skipped_goes_on_on_further_pages(monitor: MakeMonitor) -> None:
    """10,000 entries a page; past 50,000 they are only counted."""
    bad = urlset([f"mailto:{n}@a.example" for n in range(50_001)] + ["/a"])
    with World(Site({"/robots.txt": robots(["/s.xml"]), "/s.xml": bad})) as world:
        run = monitor(sites=[world.sites[0].url]).run()
    names = ["SKIPPED.json", *(f"SKIPPED-{n}.json" for n in range(2, 6))]
    assert sorted(run.records) == sorted([*names, "OUTPUT.json", "SUMMARY.md"])
    assert [len(run.records[name]) for name in names] == [10_000] * 5
    entries = [entry["address"] for name in names for entry in run.records[name]]
    assert len(set(entries)) == 50_000
    assert run.records["OUTPUT.json"]["totals"]["skippedByReason"] == {"invalid_address": 50_001}


# ---------------------------------------------------------------------------- SUMMARY, history


def test_summary_is_for_people(monitor: MakeMonitor) -> None:
    with World(shop(), dead()) as world:
        job = monitor(sites=[site.url for site in world.sites])
        assert "(baseline saved)" in job.run().records["SUMMARY.md"]
        world.day(2)
        summary = job.run().records["SUMMARY.md"]
    assert summary.startswith("# sitemon run ")
    assert "| ok | 30 | 1 | 1 | 1 | 0 | 0 |" in summary
    assert "## What went wrong" in summary
    assert "robots.txt could not be read" in summary


def test_each_run_of_a_site_is_a_line_of_its_history_for_ever(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        runs = [job.run(), job.run(), job.run(startOver=True)]
        world.sites[0].set("/sitemap.xml", Page(status=503))
        runs.append(job.run())
    (history,) = job.state.glob("*/sites/*/history.jsonl")
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    assert [line["status"] for line in lines] == ["ok", "ok", "ok", "failed"]
    assert [line["baseline"] for line in lines] == ["created", "compared", "created", None]
    assert [line["runId"] for line in lines] == [run.folder.name for run in runs if run.folder]
    assert {name: lines[0][name] for name in runs[0].site} == runs[0].site


def test_the_records_of_the_last_100_runs_are_kept(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        folder = job.state / "default" / "runs"
        for number in range(105):
            old = folder / f"old-{number:03}"
            old.mkdir(parents=True)
            (old / "OUTPUT.json").write_text("{}")
            os.utime(old, (number, number))
        run = job.run()
    kept = {path.name for path in folder.iterdir()}
    assert run.folder is not None
    assert kept == {run.folder.name, *(f"old-{n:03}" for n in range(6, 105))}


# ---------------------------------------------------------------------------- rows and feeds


def test_a_csv_has_one_header_for_all_rows(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url], firstRun="report", outputMode="urls_and_changes")
        run = job.run(feed="csv")
    assert run.feed is not None
    with run.feed.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(ROW_FIELDS)
    assert Counter(row["type"] for row in rows) == {"change": 5, "url": 5, "site": 1}
    assert run.folder is not None
    assert not (run.folder / "rows.jsonl").exists()


def test_a_json_feed_is_one_list(monitor: MakeMonitor) -> None:
    with World(blog()) as world:
        run = monitor(sites=[world.sites[0].url], firstRun="report").run(feed="json")
    assert run.feed is not None
    rows = json.loads(run.feed.read_text())
    assert [row["type"] for row in rows] == ["change"] * 5 + ["site"]


def test_feeds_of_the_settings_replace_the_default_one(monitor: MakeMonitor) -> None:
    """[D8]: and what is appended to is kept."""
    with World(blog()) as world:
        job = monitor(sites=[world.sites[0].url])
        feed = job.folder / "all.jsonl"
        feeds = json.dumps({str(feed): {"format": "jsonlines"}})
        folders = [job.run(feed=None, settings={"FEEDS": feeds}).folder for _ in range(2)]
    assert [json.loads(line)["baseline"] for line in feed.read_text().splitlines()] == [
        "created",
        "compared",
    ]
    assert not any((folder / "rows.jsonl").exists() for folder in folders if folder)


def test_the_site_row_is_the_last_of_its_site(monitor: MakeMonitor) -> None:
    """SPEC §2: one an input in every mode, also where many sites are read side by side."""
    for mode in ("changes_only", "urls_and_changes", "urls_only"):
        with World(*(blog() for _ in range(5)), dead()) as world:
            job = monitor(sites=[site.url for site in world.sites], outputMode=mode)
            run = job.run(firstRun="report")
        last = {row["site"]: row["type"] for row in run.rows}
        assert last == dict.fromkeys((site.url for site in world.sites), "site")
        assert len(run.sites) == 6


def test_every_row_has_all_fields_of_its_kind(monitor: MakeMonitor) -> None:
    with World(blog(), dead()) as world:
        sites = [site.url for site in world.sites]
        job = monitor(sites=[*sites, "ftp://x"], outputMode="urls_and_changes", firstRun="report")
        run = job.run()
    for kind in ("change", "url", "site"):
        assert len({tuple(row) for row in run.rows if row["type"] == kind}) == 1


# ---------------------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("sites", "code", "result"),
    [
        ([blog], 0, "ok"),
        ([blog, dead], 0, "partial"),
        ([dead], 1, "failed"),
        ([dead, dead], 1, "failed"),
        ([mixed], 0, "partial"),
    ],
)
def test_a_run_fails_only_when_every_site_failed(
    monitor: MakeMonitor, sites: list[Any], code: int, result: str
) -> None:
    """SPEC §2: the exit code."""
    with World(*(make() for make in sites)) as world:
        run = monitor(sites=[site.url for site in world.sites]).run()
    assert (run.exit_code, run.records["OUTPUT.json"]["result"]) == (code, result)


def test_stats_count_what_happened_and_what_was_odd(monitor: MakeMonitor) -> None:
    """ARCHITECTURE §7: `sitemon/<noun>/<reason>`, and `sitemon/note/<code>` for oddities."""
    odd = Page(b"<urlset><url><loc>/relative?a=1&b=2</loc></url></urlset>", gzip=2)
    pages = {
        "/robots.txt": robots(["/s.xml"], rules="User-agent: *\nDissalow: /x\n"),
        "/s.xml": odd,
    }
    with World(Site(pages), dead()) as world:
        run = monitor(sites=[site.url for site in world.sites]).run()
    stats = {k: v for k, v in run.stats.items() if k.startswith("sitemon/")}
    assert stats["sitemon/result"] == "partial"
    assert (stats["sitemon/sites/ok"], stats["sitemon/sites/failed"]) == (1, 1)
    assert stats["sitemon/files/read"] == 2
    assert stats["sitemon/requests"] == 3
    assert stats["sitemon/note/gzip_double"] == 1
    assert stats["sitemon/note/misspelt_directive"] == 1
    notes = run.records["OUTPUT.json"]["totals"]["notes"]
    assert {f"sitemon/note/{code}": n for code, n in notes.items()} == {
        k: v for k, v in stats.items() if k.startswith("sitemon/note/")
    }
    assert len(notes) >= 3
