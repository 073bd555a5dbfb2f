"""What travels the chain: the rows a user gets, by their wire names, and an item a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

    from sitemon_spider.core.columns import UrlColumns
    from sitemon_spider.core.reasons import Kind, Outcome, Reason


@dataclass(slots=True, kw_only=True)
class ChangeRow:
    """One change of one URL (SPEC §2). Moments are UTC with milliseconds; lastmods as listed."""

    type: Literal["change"] = "change"
    site: str
    url: str
    changeType: str  # noqa: N815 - wire names are camelCase, here alone
    lastmodBefore: str | None  # noqa: N815
    lastmodAfter: str | None  # noqa: N815
    sitemap: str | None
    detectedAt: str  # noqa: N815
    firstSeenAt: str | None  # noqa: N815
    movedFrom: str | None = None  # noqa: N815
    moveEvidence: str | None = None  # noqa: N815
    changedFields: list[str] | None = None  # noqa: N815


@dataclass(slots=True, kw_only=True)
class UrlRow:
    """One listed URL (SPEC §2)."""

    type: Literal["url"] = "url"
    site: str
    url: str
    lastmod: str | None
    lastmodIso: str | None  # noqa: N815
    sitemap: str
    discoveredVia: str  # noqa: N815
    scrapedAt: str  # noqa: N815


@dataclass(slots=True, kw_only=True)
class SiteRow:
    """How one input site fared: free, one an input, always the last row of its site (SPEC §2)."""

    type: Literal["site"] = "site"
    site: str
    input: str
    status: str
    baseline: str | None = None
    urlsFound: int = 0  # noqa: N815
    urlsFiltered: int = 0  # noqa: N815
    urlsLearnt: int = 0  # noqa: N815
    sitemapsRead: int = 0  # noqa: N815
    sitemapsUnchanged: int = 0  # noqa: N815
    sitemapsFailed: int = 0  # noqa: N815
    complete: bool = False
    removalsDetected: bool = False  # noqa: N815
    removalsHeld: int = 0  # noqa: N815
    removalsWithheld: int = 0  # noqa: N815
    movesWaiting: int = 0  # noqa: N815
    lastmodUniform: bool = False  # noqa: N815
    addressChange: dict[str, str | int] | None = None  # noqa: N815
    added: int = 0
    removed: int = 0
    moved: int = 0
    lastmodChanged: int = 0  # noqa: N815
    metadataChanged: int = 0  # noqa: N815
    changesDetected: int = 0  # noqa: N815
    changesPushed: int = 0  # noqa: N815
    urlsPushed: int = 0  # noqa: N815
    stopReason: str | None = None  # noqa: N815
    errorType: str | None = None  # noqa: N815
    error: str | None = None
    checkedAt: str  # noqa: N815


Row = ChangeRow | UrlRow | SiteRow

ROW_FIELDS = tuple(
    dict.fromkeys(field.name for row in (ChangeRow, UrlRow, SiteRow) for field in fields(row))
)
"""The union of all rows' fields in a fixed order: the columns of a CSV feed."""


@dataclass(slots=True, kw_only=True, eq=False)
class SitemapFile:
    """One requested file of a site's tree, read or not: each request yields exactly one.

    `url` is the address as requested, `final_url` the one after redirects, `children` the
    addresses that an index lists, absolute. `locs` and `lastmods` are the columns as read, row by
    row; stage normalize replaces them by `urls`, whose first `read_rows` rows were read now (a cut
    file carries its stored URLs behind them).
    """

    site: str
    url: str
    outcome: Outcome
    depth: int
    via: str
    final_url: str | None = None
    kind: Kind | None = None
    reason: Reason | None = None
    detail: str | None = None
    status: int | None = None
    children: tuple[str, ...] = ()
    locs: pa.StringArray | None = None
    lastmods: pa.StringArray | None = None
    urls: UrlColumns | None = None
    read_rows: int = 0
    segment: str | None = None
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    notes: Counter[str] = field(default_factory=Counter)
