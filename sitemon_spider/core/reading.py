"""SiteReading: what this run knows of one site: its tree of files, a verdict each, and the limits.

A reading grows by `admit` (the children of a file become nodes, some of them to be requested) and
`absorb` (a file's verdict and URLs are taken in). It is done when its frontier is empty.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import numpy as np

from sitemon_spider.core.columns import NOTHING, Listing
from sitemon_spider.core.filters import Pattern, keeps
from sitemon_spider.core.reasons import Kind, Outcome, Reason, StopReason
from sitemon_spider.core.urls import InvalidUrl, absolute, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sitemon_spider.core.columns import Keys
    from sitemon_spider.core.snapshot import FileEntry, Snapshot, Via
    from sitemon_spider.core.targets import SiteTarget
    from sitemon_spider.items import SitemapFile

COMMON_PATHS = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemap_index.xml.gz",
    "/sitemaps.xml",
    "/sitemap/sitemap.xml",
    "/sitemap/index.xml",
    "/sitemap1.xml",
    "/sitemap.txt",
    "/sitemap.php",
)
"""Where sites keep a sitemap that robots.txt does not name, the most common first (SPEC §1)."""

SETTLING = "(settling)"
"""Stands in the frontier until it is known that no other input is the same [C16]."""

MAX_FURTHER_HOSTS = 25
"""How many hosts beside the site's own are contacted for its files [R4]."""

OUT_OF_SCOPE = frozenset({Reason.MAX_DEPTH, Reason.FILTERED, Reason.ROBOTS_DISALLOWED})
"""Why a file may be left out by choice, not by a fault [C13]; robots only since first seen."""

NOT_REACHED = frozenset({Reason.MAX_SITEMAPS, Reason.MAX_URLS, Reason.STOPPED})
"""Why a file was not requested although it is wanted: a limit or a stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one site's reading (SPEC §1)."""

    max_urls: int
    max_sitemaps: int
    max_depth: int
    try_common_paths: bool
    include: Pattern | None = None
    exclude: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One file of the tree before it is read: `address` is its identity, `url` as listed."""

    address: str
    url: str
    depth: int
    via: Via
    probe: bool = False


@dataclass(slots=True)
class FileVerdict:
    """What became of one file. `listing` are the URLs read now; None = the stored ones count."""

    node: Node
    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    kind: Kind | None = None
    children: tuple[str, ...] = ()
    listing: Listing | None = None
    read_rows: int = 0
    segment: str | None = None
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    final_url: str | None = None
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def read_in_full(self) -> bool:
        """Whether the run knows all that the file lists now."""
        return self.outcome in {Outcome.READ, Outcome.UNCHANGED}

    @property
    def missing(self) -> bool:
        """Whether the server says that there is no such file (404, 410) [C5]."""
        return self.reason is Reason.NOT_FOUND

    @property
    def failed(self) -> bool:
        """Whether it was requested and could not be read in full by a fault."""
        return self.outcome is Outcome.FAILED or (
            self.outcome is Outcome.CUT and self.reason is not Reason.MAX_URLS
        )


class SiteReading:
    """The view that a run has of one site (ARCHITECTURE §7).

    Enters: a target, the site's snapshot or None, the limits. Leaves: a verdict a file. `stop`
    is set by a limit of the reading, `cut_short` by a stop of the run [C15].
    """

    def __init__(
        self, target: SiteTarget, previous: Snapshot | None, limits: Limits, now: datetime
    ) -> None:
        self.target = target
        self.previous = previous
        self.limits = limits
        self.now = now
        self.frontier: set[str] = {SETTLING}
        self.nodes: dict[str, Node] = {}
        self.verdicts: dict[str, FileVerdict] = {}
        self.roots: dict[str, Via] = {}
        self.roots_from: Literal["robots", "snapshot", "fallback", "direct"] | None = None
        self.robots: SitemapFile | None = None
        self.stop: StopReason | None = None
        self.cut_short = False
        self.fault: tuple[Reason, str] | None = None
        self.duplicate_of: str | None = None
        self.finals: dict[str, str] = {}
        self.rebaseline = False
        self.probes: list[FileVerdict] = []
        self.invalid: Counter[Reason] = Counter()
        self.skipped: list[tuple[str, Reason, str | None]] = []
        self.duplicates = 0
        self.requested = 0
        self._hosts: set[str] = set()
        self._paths = iter(COMMON_PATHS)
        self._root_ends: dict[str, tuple[Outcome, Reason | None]] = {}
        self._rows = 0
        self._keys: list[Callable[[], Keys]] = []
        self._unique: Keys | None = None
        self._finals: dict[str, str] = {}

    # --- the tree -------------------------------------------------------------------------------

    def begin(self) -> Node | None:
        """The first request: a direct address, or robots.txt, which is the tree's root [C14].

        None when a filter leaves out the direct address; the reading is done then.
        """
        target = self.target
        if target.direct:
            self.roots_from = "direct"
            nodes = self._root_nodes([target.url], "direct")
            if not nodes:
                self.frontier.clear()
            return nodes[0] if nodes else None
        return self._expect(
            Node(f"{target.key}/robots.txt", f"{target.key}/robots.txt", 0, "robots.txt")
        )

    def admit(self, file: SitemapFile) -> list[Node]:
        """The nodes to request because of `file`: its admitted children, roots, the next path."""
        if file.kind is Kind.ROBOTS:
            return self._admit_roots(file)
        address = identity(file.url)
        node = self.nodes[address]
        if node.probe:
            if file.outcome is not Outcome.READ:
                return self._next_probe()
            self.roots[address] = "common-path"
        if address in self.roots:
            self._root_ends[address] = (file.outcome, file.reason)
            if self._named_roots_failed_for_good():
                return self._next_probe()
        return self._admit_children(self._children_of(file, node), node)

    def _admit_roots(self, robots: SitemapFile) -> list[Node]:
        self.robots = robots
        if robots.outcome is not Outcome.READ:
            return []
        stored = self.previous.known_roots(self.now) if self.previous else {}
        if robots.children:
            self.roots_from = "robots"
            # [C14] the first roots named by robots.txt after common paths are a new baseline.
            self.rebaseline = bool(stored) and set(stored.values()) == {"common-path"}
            return self._root_nodes(robots.children, "robots.txt")
        if stored:
            self.roots_from = "snapshot"
            return [node for url, via in stored.items() for node in self._root_nodes([url], via)]
        return self._next_probe()

    def _root_nodes(self, urls: Iterable[str], via: Via) -> list[Node]:
        nodes = []
        for url in urls:
            node = self._admit_one(url, self.target.key, depth=0, via=via)
            if node:
                nodes.append(node)
        for url in urls:
            address = self._address(url, self.target.key)
            if address:
                self.roots.setdefault(address, via)
        return nodes

    def _next_probe(self) -> list[Node]:
        """The next common path, one at a time (SPEC `tryCommonPaths`)."""
        if not self.limits.try_common_paths or self.target.direct:
            return []
        for path in self._paths:
            address = identity(self.target.key + path)
            if address not in self.nodes:
                self.roots_from = "fallback"
                return [self._expect(Node(address, address, 0, "common-path", probe=True))]
        return []

    def _named_roots_failed_for_good(self) -> bool:
        """[C14]: on a first run, common paths also when every named sitemap failed for good."""
        return (
            self.previous is None
            and self.roots_from == "robots"
            and self._root_ends.keys() == self.roots.keys()
            and all(
                outcome is Outcome.FAILED and reason is not None and not reason.is_passing
                for outcome, reason in self._root_ends.values()
            )
        )

    def _children_of(self, file: SitemapFile, node: Node) -> tuple[str, ...]:
        """The addresses that `file` lists; what was stored stands where it was not read [C5]."""
        stored = self._entry(node.address)
        kept = stored.children if stored and not stored.gone else ()
        if file.outcome is Outcome.READ:
            return file.children
        if file.outcome is Outcome.CUT:
            return (*file.children, *kept)
        return kept

    def _admit_children(self, children: tuple[str, ...], parent: Node) -> list[Node]:
        nodes = []
        for child in children:
            node = self._admit_one(child, parent.url, depth=parent.depth + 1, via=parent.via)
            if node:
                nodes.append(node)
        return nodes

    def _admit_one(self, url: str, base: str, *, depth: int, via: Via) -> Node | None:
        """Register a listed file once; None when it needs no request of its own."""
        address = self._address(url, base)
        if address is None or address in self.nodes or address in self._finals:
            return None
        node = Node(address, absolute(url, base), depth, via)
        self.nodes[address] = node
        reason = self._left_out(node)
        if reason is None:
            self.requested += 1
            return self._expect(node)
        self._leave_out(node, reason)
        return None

    def _address(self, url: str, base: str) -> str | None:
        try:
            return identity(absolute(url, base))
        except InvalidUrl as error:
            self.skipped.append((url[:500], error.reason, base))
            return None

    def _expect(self, node: Node) -> Node:
        self.nodes[node.address] = node
        self.frontier.add(node.address)
        return node

    def _left_out(self, node: Node) -> Reason | None:
        """Why a listed file is not requested, by choice or by a limit."""
        limits = self.limits
        if node.depth > limits.max_depth:
            return Reason.MAX_DEPTH
        # [C13]: include filters judge the children an index lists, exclude filters every file.
        include = limits.include if node.depth else None
        if not keeps(node.address, include, limits.exclude):
            return Reason.FILTERED
        if self.requested >= limits.max_sitemaps:
            self.stop = self.stop or StopReason.MAX_SITEMAPS
            return Reason.MAX_SITEMAPS
        if self.above_max_urls:
            return Reason.MAX_URLS
        host = urlsplit(node.address).hostname or ""
        own = urlsplit(self.target.key).hostname
        if host != own and host not in self._hosts:
            if len(self._hosts) >= MAX_FURTHER_HOSTS:
                return Reason.TOO_MANY_HOSTS
            self._hosts.add(host)
        return None

    def _leave_out(self, node: Node, reason: Reason) -> None:
        """A verdict without a request; what a left-out index listed stays listed, left out too."""
        failed = reason is Reason.TOO_MANY_HOSTS
        outcome = Outcome.FAILED if failed else Outcome.REFUSED
        self.skipped.append((node.url, reason, None))
        entry = self._entry(node.address)
        children = entry.children if entry and not entry.gone else ()
        self.verdicts[node.address] = FileVerdict(
            node, outcome, reason, kind=entry.kind if entry else None, children=children
        )
        for child in children:
            address = self._address(child, node.url)
            if address and address not in self.nodes:
                below = Node(address, child, node.depth + 1, node.via)
                self.nodes[address] = below
                self._leave_out(below, reason)

    def _entry(self, address: str) -> FileEntry | None:
        return self.previous.files.get(address) if self.previous else None

    def keep_filtered(self) -> None:
        """Keep the stored files that a filter leaves out, though nothing lists them now [C13].

        Filters judge addresses, so what they hide is not gone when an index drops it.
        """
        if self.previous is None or (self.limits.include is None and self.limits.exclude is None):
            return
        roots = {self._address(root.url, root.url) for root in self.previous.manifest.roots}
        for address, entry in self.previous.files.items():
            include = None if address in roots else self.limits.include
            left_out = not keeps(address, include, self.limits.exclude)
            if left_out and not entry.gone and address not in self.nodes:
                node = Node(address, entry.url, 0 if address in roots else 1, "robots.txt")
                self.nodes[address] = node
                self._leave_out(node, Reason.FILTERED)

    # --- verdicts -------------------------------------------------------------------------------

    def absorb(self, file: SitemapFile) -> bool:
        """Take in one file's verdict; True when the frontier is empty: the reading is done."""
        if file.reason is Reason.STOPPED:
            self.cut_short = True
        if file.kind is Kind.ROBOTS:
            self.frontier.discard(f"{self.target.key}/robots.txt")
            return not self.frontier
        address = identity(file.url)
        self.frontier.discard(address)
        node = self.nodes[address]
        entry = self._entry(address)
        if file.reason is Reason.ROBOTS_DISALLOWED and entry and not entry.out_of_scope:
            file.outcome = Outcome.FAILED  # It was read before: robots.txt takes it away [C13].
        verdict = FileVerdict(
            node,
            file.outcome,
            file.reason,
            file.detail,
            kind=file.kind or (entry.kind if entry else None),
            children=self._children_of(file, node),
            segment=file.segment,
            digest=file.digest,
            etag=file.etag,
            last_modified=file.last_modified,
            final_url=file.final_url,
            notes=file.notes,
        )
        if file.urls is not None:
            verdict.listing = file.urls.listing
            verdict.read_rows = file.read_rows
        elif file.outcome is Outcome.UNCHANGED and entry is not None:
            verdict.segment, verdict.read_rows = entry.segment, entry.rows
        if node.probe and file.outcome is not Outcome.READ:
            self.probes.append(verdict)
        else:
            self.verdicts[address] = verdict
        return not self.frontier

    def alias_of(self, address: str, final: str) -> str | None:
        """The other file that `final`, an address after redirects, already is; None if it is new.

        A file is fetched once a site: an alias lists that file instead of its URLs again.
        """
        if final == address:
            return None
        if final in self.nodes:
            return final
        first = self._finals.setdefault(final, address)
        return None if first == address else first

    @property
    def above_max_urls(self) -> bool:
        """Whether more unique URLs were met than `maxUrlsPerSite` [C10]."""
        return self.stop is StopReason.MAX_URLS

    def room_for(self, count: int, keys: Callable[[], Keys]) -> int:
        """How many leading rows of a file fit under `maxUrlsPerSite`; counts them [C10].

        `keys` gives the file's keys, each once; it is asked only when the rows of all files
        together pass the limit, because until then nothing has to be proved unique. Exactly the
        limit with nothing left unread is not above it.
        """
        limit = self.limits.max_urls
        self._rows += count
        if self._rows <= limit and self._unique is None:
            self._keys.append(keys)
            return count
        if self._unique is None:
            known = [NOTHING.keys, *(earlier() for earlier in self._keys)]
            self._unique = np.unique(np.concatenate(known))
            self._keys.clear()
        mine = keys()
        fits = len(self._unique) + np.cumsum(~np.isin(mine, self._unique)) <= limit
        room = count if fits.all() else int(np.argmin(fits))
        self._unique = np.union1d(self._unique, mine[:room])
        if room < count:
            self.stop = StopReason.MAX_URLS
        return room

    # --- one of two inputs [C16] ----------------------------------------------------------------

    def roots_answered(self) -> bool:
        """Whether every root has been answered, so that it is known where the redirects lead."""
        return not any(
            address in self.frontier and (node := self.nodes.get(address)) and node.depth == 0
            for address in self.frontier - {SETTLING}
        )

    def note_final(self, address: str, final: str | None) -> None:
        """Where a root's redirects led."""
        if address in self.roots and final is not None:
            self.finals[address] = final
