"""The records of a run: OUTPUT, SKIPPED and SUMMARY.md from what happened (SPEC §3)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from sitemon_spider.core.changes import wire_moment
from sitemon_spider.core.reasons import Baseline, Outcome, Reason, Stage, Status
from sitemon_spider.core.report import why_nothing

if TYPE_CHECKING:
    from collections import Counter
    from datetime import datetime

    from sitemon_spider.core.reading import SiteReading
    from sitemon_spider.core.robots import Robots
    from sitemon_spider.items import SiteRow

SKIPPED_PAGE = 10_000
"""Entries in one SKIPPED record; further ones go to SKIPPED-2 and so on."""

FIRST_ERRORS = 20
"""How many failed files of a site OUTPUT explains in a sentence each."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One address that was not read or not saved: an entry of SKIPPED."""

    address: str
    site: str
    stage: Stage
    reason: Reason
    detail: str | None = None
    found_in: str | None = None


@dataclass(frozen=True, slots=True)
class SiteEnd:
    """How a site ended: its row, and its reading if there was one."""

    row: SiteRow
    reading: SiteReading | None = None


@dataclass(slots=True)
class HostFacts:
    """What was learnt of one origin. `resume_at` is a moment of the event loop's clock.

    `fault` says why there was no answer to the request for robots.txt.
    """

    robots: Robots | None = None
    fault: str | None = None
    requests: int = 0
    resume_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """All that the records tell of."""

    run_id: str
    version: str
    user_agent: str
    started: datetime
    finished: datetime
    stop_reason: str | None
    feed_failed: str | None
    options: dict[str, Any]
    ends: list[SiteEnd]
    hosts: dict[str, HostFacts]
    skipped: list[Skipped]
    totals: Counter[str] = field(repr=False)


def result_of(facts: RunFacts) -> Status:
    """The run's result: failed only when every site failed (SPEC §2)."""
    statuses = {end.row.status for end in facts.ends}
    if facts.feed_failed or not statuses or statuses <= {Status.FAILED}:
        return Status.FAILED
    whole = statuses <= {Status.OK, Status.SKIPPED} and not facts.stop_reason
    return Status.OK if whole else Status.PARTIAL


def output(facts: RunFacts) -> bytes:
    """OUTPUT.json."""
    rows = [end.row for end in facts.ends]
    totals = {
        "sites": len(rows),
        "urlsListed": sum(row.urlsFound for row in rows),
        "changeRows": sum(row.changesPushed for row in rows),
        "urlRows": sum(row.urlsPushed for row in rows),
        "changesNotWritten": sum(row.changesDetected - row.changesPushed for row in rows),
        "duplicates": facts.totals["duplicates"],
        "invalid": facts.totals["invalid"],
        "filtered": sum(row.urlsFiltered for row in rows),
        "disallowed": facts.totals[f"skipped/{Reason.ROBOTS_DISALLOWED}"],
        "files": {o: n for o in Outcome if (n := facts.totals[f"files/{o}"])},
        "requests": facts.totals["requests"],
        "retries": facts.totals["retries"],
        "robotsFiles": facts.totals["robots_files"],
        "skippedByReason": {r: n for r in Reason if (n := facts.totals[f"skipped/{r}"])},
        "notes": {
            name.removeprefix("note/"): count
            for name, count in sorted(facts.totals.items())
            if name.startswith("note/")
        },
    }
    document = {
        "result": result_of(facts),
        "stopReason": facts.stop_reason,
        "error": facts.feed_failed,
        "runId": facts.run_id,
        "version": facts.version,
        "userAgent": facts.user_agent,
        "startedAt": wire_moment(facts.started),
        "finishedAt": wire_moment(facts.finished),
        "options": facts.options,
        "totals": totals,
        "charges": {},
        "sites": [_site(end) for end in facts.ends],
        "hosts": {origin: _host(host) for origin, host in sorted(facts.hosts.items())},
    }
    return _json(document)


def _site(end: SiteEnd) -> dict[str, Any]:
    reading = end.reading
    document: dict[str, Any] = asdict(end.row)
    document |= {"roots": [], "rootsFrom": None, "files": [], "firstErrors": []}
    document["noSitemapReason"] = None
    if reading is None:
        return document
    document["roots"] = [
        {"url": reading.nodes[address].url, "discoveredVia": via}
        for address, via in reading.roots.items()
    ]
    document["rootsFrom"] = reading.roots_from
    document["files"] = [
        {
            "url": verdict.node.url,
            "finalUrl": verdict.final_url,
            "kind": verdict.kind,
            "outcome": verdict.outcome,
            "reason": verdict.reason,
            "urls": verdict.read_rows,
            "notes": dict(verdict.notes),
        }
        for verdict in reading.verdicts.values()
    ]
    document["firstErrors"] = [
        {"url": v.node.url, "errorType": v.reason, "detail": v.detail}
        for v in [*reading.verdicts.values(), *reading.probes]
        if v.failed
    ][:FIRST_ERRORS]
    if end.row.status == Status.FAILED:
        document["noSitemapReason"] = why_nothing(reading)[0]
    return document


def _host(host: HostFacts) -> dict[str, Any]:
    robots = host.robots
    return {
        "requests": host.requests,
        "robotsStatus": robots.status if robots else None,
        "robotsVerdict": robots.verdict if robots else None,
        "robotsError": host.fault,
        "robotsGroup": robots.group if robots else None,
        "crawlDelay": robots.crawl_delay if robots else None,
        "crawlDelayAsked": robots.asked_delay if robots else None,
        "robotsNotes": dict(robots.notes) if robots else {},
    }


def skipped_pages(facts: RunFacts) -> list[tuple[str, bytes]]:
    """SKIPPED.json, SKIPPED-2.json, …: names and bytes; one page at least."""
    entries = [
        {
            "address": skipped.address,
            "site": skipped.site,
            "stage": skipped.stage,
            "reason": skipped.reason,
            "detail": skipped.detail,
            "foundIn": skipped.found_in,
        }
        for skipped in facts.skipped
    ]
    pages = [entries[at : at + SKIPPED_PAGE] for at in range(0, len(entries), SKIPPED_PAGE)]
    names = ["SKIPPED.json", *(f"SKIPPED-{n}.json" for n in range(2, len(pages) + 1))]
    return list(zip(names, [_json(page) for page in pages or [[]]], strict=True))


def summary(facts: RunFacts) -> bytes:
    """SUMMARY.md, for people."""
    rows = [end.row for end in facts.ends]
    lines = [
        f"# sitemon run {_cell(facts.run_id)}",
        "",
        f"Result: **{result_of(facts)}**"
        + (f", stopped: {facts.stop_reason}" if facts.stop_reason else "")
        + f". {len(rows)} {'site' if len(rows) == 1 else 'sites'}, "
        f"{facts.totals['requests']} requests, "
        f"{wire_moment(facts.started)} to {wire_moment(facts.finished)}.",
        "",
    ]
    if facts.feed_failed:
        lines += [f"**Nothing was saved:** {_cell(facts.feed_failed)}", ""]
    lines += [
        "| site | status | URLs | added | removed | lastmod changed | held back | files failed |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        status = row.status
        if row.baseline == Baseline.CREATED:
            status += " (baseline saved)"
        held = row.removalsHeld + row.removalsWithheld
        cells = [row.urlsFound, row.added, row.removed, row.lastmodChanged, held]
        cells.append(row.sitemapsFailed)
        lines.append(
            f"| {_cell(row.site)} | {status} | " + " | ".join(f"{n:,}" for n in cells) + " |"
        )
    faults = [end for end in facts.ends if end.row.error]
    if faults:
        lines += ["", "## What went wrong", ""]
        lines += [f"* {_cell(end.row.site)}: {_cell(end.row.error or '')}" for end in faults]
    return ("\n".join(lines) + "\n").encode()


def _cell(text: str) -> str:
    """Text from outside as inert Markdown: no markup, no table or line of its own [S3]."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    for char in "\\`*_[]<>|#!&":
        printable = printable.replace(char, f"\\{char}")
    return printable


def _json(document: object) -> bytes:
    # ASCII only: no control or direction-changing character of a site reaches a terminal [S3].
    return json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n"
