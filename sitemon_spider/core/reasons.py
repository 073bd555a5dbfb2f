"""The closed vocabularies of a run: nothing else in the project invents one of these words.

Each word that a user meets in a row or a record stands here once, with the sentence that explains
it. Notes (oddities of a file that cost no URL) are open-ended counters and stand with the reader
that makes them.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How the reading of a site ended (SPEC §2)."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


class Baseline(StrEnum):
    """What the reading was compared with (SPEC §2); null where nothing could be read."""

    CREATED = "created"
    COMPARED = "compared"
    NOT_TRACKED = "not-tracked"
    UNKNOWN = "unknown"


class ChangeType(StrEnum):
    """What happened to a URL (SPEC §2)."""

    ADDED = "added"
    REMOVED = "removed"
    LASTMOD_CHANGED = "lastmod_changed"


class StopReason(StrEnum):
    """Why a reading or a run ended before everything was read or delivered (SPEC §2)."""

    MAX_URLS = "max-urls"
    MAX_SITEMAPS = "max-sitemaps"
    MAX_ROWS = "max-rows"
    CHARGE_LIMIT = "charge-limit"
    ABORTED = "aborted"
    TIME_LIMIT = "time-limit"

    @property
    def stops_the_run(self) -> bool:
        """Whether it cuts readings short [C15]; a limit of the reading itself does not."""
        return self in {StopReason.CHARGE_LIMIT, StopReason.ABORTED, StopReason.TIME_LIMIT}


class Reason(StrEnum):
    """Why a site, a file or an address was not read (`errorType` and the codes of SKIPPED)."""

    NO_SITEMAP = "no_sitemap"
    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    BLOCKED = "blocked"
    HTML_PAGE = "html_page"
    LOGIN_PAGE = "login_page"
    CAPTCHA = "captcha"
    NOT_FOUND = "not_found"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    TOO_LARGE = "too_large"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNSAFE_XML = "unsafe_xml"
    NOT_A_SITEMAP = "not_a_sitemap"
    PRIVATE_ADDRESS = "private_address"
    MAX_DEPTH = "max_depth"
    REDIRECT_LOOP = "redirect_loop"
    RATE_LIMITED = "rate_limited"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    STALE = "stale"
    TOO_MANY_HOSTS = "too_many_hosts"
    MAX_SITEMAPS = "max_sitemaps"
    MAX_URLS = "max_urls"
    TOO_MANY_FAILED = "too_many_failed"
    SITE_DISALLOWS_ALL = "site_disallows_all"
    INVALID_ADDRESS = "invalid_address"
    INVALID_CHARACTER = "invalid_character"
    DUPLICATE_INPUT = "duplicate_input"
    FILTERED = "filtered"
    STOPPED = "stopped"
    NETWORK = "network"
    HTTP_ERROR = "http_error"
    LOCKED = "locked"
    SNAPSHOT_DAMAGED = "snapshot_damaged"
    SNAPSHOT_NEWER = "snapshot_newer"
    FEED_FAILED = "feed_failed"
    STORE_FAILED = "store_failed"

    @property
    def sentence(self) -> str:
        """One sentence a person understands (the row's `error`)."""
        return SENTENCES[self]

    @property
    def is_passing(self) -> bool:
        """Whether the same request may well succeed later: such a fault proves nothing [C14]."""
        return self in PASSING


SENTENCES: dict[Reason, str] = {
    Reason.NO_SITEMAP: "No sitemap with URLs was found: robots.txt names none that could be read and the common paths hold none.",
    Reason.ROBOTS_DISALLOWED: "robots.txt forbids this address to sitemon.",
    Reason.ROBOTS_UNREACHABLE: "robots.txt could not be read (server error or no answer), so nothing of this origin may be requested in this run.",
    Reason.BLOCKED: "The server refused sitemon (401 or 403, or a challenge page).",
    Reason.HTML_PAGE: "The server answered with an HTML page instead of a sitemap.",
    Reason.LOGIN_PAGE: "The server answered with a login page instead of a sitemap.",
    Reason.CAPTCHA: "The server answered with a CAPTCHA or a challenge page instead of a sitemap.",
    Reason.NOT_FOUND: "The server has no such file (404 or 410).",
    Reason.SERVER_ERROR: "The server failed to answer (5xx).",
    Reason.TIMEOUT: "The server did not answer in time.",
    Reason.DNS: "The host name could not be resolved.",
    Reason.TLS: "The TLS connection could not be made; the certificate may be invalid.",
    Reason.TOO_LARGE: "The file is larger than 50 MiB after unpacking; only its beginning was read.",
    Reason.TRUNCATED: "The file ends before its end; only the entries before the cut were read.",
    Reason.EMPTY: "The server answered with an empty body.",
    Reason.UNSAFE_XML: "The file declares XML entities of its own, which sitemon refuses to expand.",
    Reason.NOT_A_SITEMAP: "The file is not a sitemap in any known form.",
    Reason.PRIVATE_ADDRESS: "The address is not on the public internet or not on an allowed port, so it was not contacted.",
    Reason.MAX_DEPTH: "The file lies deeper than maxSitemapDepth levels of sitemap index.",
    Reason.REDIRECT_LOOP: "More than five redirects, or a circle of them.",
    Reason.RATE_LIMITED: "The server asked to slow down (429) and went on doing so.",
    Reason.CRAWL_DELAY_TOO_LONG: "robots.txt asks for a longer Crawl-delay than the policy accepts.",
    Reason.STALE: "The server sent an older copy than the one already known (Last-Modified went backwards).",
    Reason.TOO_MANY_HOSTS: "The site's sitemaps lie on more than 25 further hosts.",
    Reason.MAX_SITEMAPS: "The limit maxSitemapsPerSite was reached before this file.",
    Reason.MAX_URLS: "The limit maxUrlsPerSite was reached before this file was read to its end.",
    Reason.TOO_MANY_FAILED: "More of the site's files failed than maxFailedSitemapsPercent allows, so the reading was neither compared nor saved.",
    Reason.SITE_DISALLOWS_ALL: "robots.txt forbids the whole site to sitemon.",
    Reason.INVALID_ADDRESS: "This is not an address of a website or of a sitemap.",
    Reason.INVALID_CHARACTER: "The address contains a control or an invisible character.",
    Reason.DUPLICATE_INPUT: "Another input of this run leads to the same sitemaps; that one was read.",
    Reason.FILTERED: "The file was left out by a filter on sitemap addresses.",
    Reason.STOPPED: "The run was stopped before this was read.",
    Reason.NETWORK: "The connection failed or broke off.",
    Reason.HTTP_ERROR: "The server answered with a status that is neither a file nor a known refusal.",
    Reason.LOCKED: "Another run is reading this site for the same monitor.",
    Reason.SNAPSHOT_DAMAGED: "The saved snapshot of this site cannot be read; it was left as it is. startOver=true begins a new one.",
    Reason.SNAPSHOT_NEWER: "The saved snapshot was written by a newer sitemon; it was left as it is. Update sitemon, or begin a new one with startOver=true.",
    Reason.FEED_FAILED: "A feed could not be written whole, so nothing of this run was saved; the next run reports its changes again.",
    Reason.STORE_FAILED: "The snapshot could not be saved; the next run reports the changes again.",
}  # fmt: skip

PASSING = frozenset(
    {
        Reason.ROBOTS_UNREACHABLE,
        Reason.SERVER_ERROR,
        Reason.TIMEOUT,
        Reason.DNS,
        Reason.TLS,
        Reason.TRUNCATED,
        Reason.RATE_LIMITED,
        Reason.STALE,
        Reason.BLOCKED,
        Reason.CAPTCHA,
        Reason.NETWORK,
        Reason.HTTP_ERROR,
        Reason.STOPPED,
        Reason.STORE_FAILED,
    }
)


class Stage(StrEnum):
    """Where an address of SKIPPED was given up (SPEC §3)."""

    INPUT = "input"
    ROBOTS = "robots.txt"
    SITEMAP = "sitemap"
    URL = "url"
    SITE = "site"


class Outcome(StrEnum):
    """How the request of one sitemap file ended (ARCHITECTURE §3)."""

    READ = "read"
    UNCHANGED = "unchanged"
    CUT = "cut"
    FAILED = "failed"
    REFUSED = "refused"


class Kind(StrEnum):
    """What a sitemap file turned out to be, by its bytes."""

    URLSET = "urlset"
    NEWS = "news"
    INDEX = "index"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    ROBOTS = "robots"

    @property
    def ages(self) -> bool:
        """Whether the file lists recent items only, so that leaving it says nothing [C6]."""
        return self in {Kind.NEWS, Kind.RSS, Kind.ATOM}
