"""What a robots.txt allows, asks for and lists: (status, body) in, `Robots` out ([R1], [R3]).

Lines, groups and precedence follow RFC 9309 and, where it is silent, google/robotstxt. Protego 0.7
differs from both in every step; text rewritten to bring it round would need this reader, these
groups and this normal form anyway, so the rules are matched here too. Its differences:

* lines: it breaks them at U+2028, U+0085, VT and FF as well; a BOM hides the first line; it knows
  ``disallow`` but not ``disallowed``;
* groups: a Crawl-delay or an unknown line ends a run of User-agent lines (google/robotstxt: only
  Allow and Disallow do); ``sitemon/1.0`` does not name ``sitemon``, ``site*mon`` does;
* equality: a character that delimits equals its escape (``?`` and ``%3F``, ``&`` and ``%26``), yet
  ``/`` in a query does not (§2.2.2, second example); octets that are not UTF-8 are all equal; a
  final ``$`` is also taken literally;
* precedence: ``?`` counts three octets, so ``Disallow: /*?`` beats ``Allow: /abc`` for ``/abc?x``.

The tests hold this matcher against Protego where the two must agree.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AGENT = "sitemon"
"""Our product token (RFC 9309 §2.2.1)."""

MAX_BYTES = 500 * 1024
"""What is read of a file, the least that RFC 9309 §2.5 permits and where Google cuts."""

MAX_DELAY = 30.0
"""The longest Crawl-delay honoured, in seconds [R3]."""

Verdict = Literal["rules", "no-rules", "unreachable"]


@dataclass(frozen=True, slots=True, eq=False)
class Robots:
    """What the robots.txt of one origin says; made by `read_robots`.

    `verdict` is "rules" (follow them), "no-rules" (everything is allowed) or "unreachable"
    (everything is forbidden). `sitemaps` are absolute, in their order, without duplicates. All
    but `sitemaps` concern the group that applies to `AGENT`; delays are in seconds.
    """

    verdict: Verdict
    status: int | None
    """The HTTP status, None when there was no answer."""
    sitemaps: tuple[str, ...] = ()
    crawl_delay: float | None = None
    """As honoured: cut to `MAX_DELAY`."""
    asked_delay: float | None = None
    """As asked, before the cut."""
    group: str | None = None
    """The User-agent name of the group that applies: our own, "*", or None."""
    disallows_all: bool = False
    """Nothing is allowed: a Disallow covers every path and no Allow can win against it."""
    disallows_root: bool = False
    """A Disallow covers every path, whatever Allow lines stand beside it."""
    notes: Counter[str] = field(default_factory=Counter)
    """Oddities that were tolerated, by name."""
    _groups: dict[str, _Group] = field(default_factory=dict, repr=False)
    _matchers: dict[str, _Matcher] = field(default_factory=dict, repr=False)

    def allows(self, url: str, agent: str = AGENT) -> bool:
        """Whether `agent` may request `url` (absolute; the origin is the caller's concern)."""
        if self.verdict != "rules":
            return self.verdict == "no-rules"
        path = _path(url)
        group = self.group_of(agent)
        # The file that holds the rules is always allowed (RFC 9309 §2.2.2).
        return group is None or path == "/robots.txt" or self._matcher(group).allows(path)

    def group_of(self, agent: str) -> str | None:
        """Name the group that applies to `agent`: its own token, else "*", else None (§2.2.1)."""
        return self.group if agent == AGENT else _group_of(agent, self._groups)

    def _matcher(self, group: str) -> _Matcher:
        if group not in self._matchers:
            self._matchers[group] = _Matcher(self._groups[group])
        return self._matchers[group]


def read_robots(
    status: int | None, body: bytes, address: str, *, content_type: str | None = None
) -> Robots:
    """Judge the answer to a request for robots.txt; any bytes are accepted, nothing is raised.

    `status` is that of the last answer, None for none (timeout, DNS, reset). `body` is unpacked;
    a caller that limits the transfer hands in more than `MAX_BYTES`, so that the cut is seen.
    `address` is the final one after redirects: relative Sitemap lines start there.
    """
    verdict = _verdict(status)
    if verdict != "rules":
        return Robots(verdict, status)
    notes: Counter[str] = Counter()
    text = _text(body, notes)
    groups, listed = _read_records(text, notes)
    if _is_page(text, content_type, read=bool(groups or listed)):
        return Robots("no-rules", status, notes=Counter(html_page=1))
    sitemaps = tuple(dict.fromkeys(_sitemaps(listed, address, notes)))
    name = _group_of(AGENT, groups)
    group = groups[name] if name else _Group()
    asked = _asked_delay(group, notes)
    matcher = _Matcher(group)
    notes.update(joined_groups=sum(run.joined for run in group.runs))
    return Robots(
        verdict,
        status,
        sitemaps,
        crawl_delay=None if asked is None else min(asked, MAX_DELAY),
        asked_delay=asked,
        group=name,
        disallows_all=matcher.disallows_all,
        disallows_root=matcher.disallows_root,
        notes=+notes,
        _groups=groups,
        _matchers={name: matcher} if name else {},
    )


def _verdict(status: int | None) -> Verdict:
    """Read a status as RFC 9309 §2.3.1 does, and 429 as Google does: as a server error."""
    if status is None or status == 429:
        return "unreachable"
    if 200 <= status <= 299:
        return "rules"
    return "no-rules" if 400 <= status <= 499 else "unreachable"


# --- bytes to text -------------------------------------------------------------------------------

_STRAY_OCTET = re.compile("[\udc80-\udcff]")


def _text(body: bytes, notes: Counter[str]) -> str:
    """Decode the first `MAX_BYTES`; an octet that is not UTF-8 becomes its escape.

    A path in another charset then still matches the octets a server of that charset uses.
    """
    head = body[:MAX_BYTES]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        notes["utf16"] += 1
        text = head.decode("utf-16", "ignore")
    else:
        text = head.decode("utf-8", "surrogateescape")
        text, stray = _STRAY_OCTET.subn(lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", text)
        notes.update(bad_bytes=stray)
    if text.startswith("\ufeff"):
        notes["bom"] += 1
        text = text[1:]
    # NUL is no character of a robots.txt (§2.2); without it UTF-16 that lacks a BOM reads as well.
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    if len(body) > MAX_BYTES:
        notes["too_long"] += 1
        text = text[: text.rfind("\n") + 1]  # half a rule is another rule
    return text


_PAGE_TAG = re.compile(r"<(?:!doctype\s+html|html|head|body|title|meta|script)\b", re.IGNORECASE)


def _is_page(text: str, content_type: str | None, *, read: bool) -> bool:
    """Whether a text is an HTML page; `read` tells whether a record was found in it.

    Many servers label a true robots.txt text/html, and some print markup (a warning) before it.
    """
    start = text.lstrip()[:2048]
    if not start.startswith("<"):
        return False
    labelled = content_type is not None and "html" in content_type.lower()
    return bool(_PAGE_TAG.search(start)) or (labelled and not read)


# --- text to records and groups ------------------------------------------------------------------

# The names google/robotstxt takes for a record: it compares beginnings and knows these
# misspellings; those of Crawl-delay are Protego's and the field's.
_FIELD = re.compile(
    r"(?P<agent>user[- ]?agent)|(?P<allow>allow)"
    r"|(?P<disallow>disallow|dissallow|dissalow|disalow|diasllow|disallaw)"
    r"|(?P<sitemap>site-?map)|(?P<delay>crawl[-_ ]?delay)"
)
_PROPER_NAMES = frozenset({"user-agent", "allow", "disallow", "sitemap", "crawl-delay"})
# A BOM in mid-file, stray octets: never part of a name.
_NO_NAME = re.compile("%[0-9A-F]{2}|[^ -~]")


@dataclass(slots=True)
class _Run:
    """A run of User-agent lines and the rules that follow it (RFC 9309 §2.1).

    Kept once for all its names, so that thousands of names before thousands of rules cost a sum
    and no product.
    """

    rules: list[tuple[bool, str]] = field(default_factory=list)
    """(is Allow, path pattern as written)."""
    ended: bool = False
    """An Allow or Disallow was seen: the next User-agent line begins another run."""
    interrupted: bool = False
    """Another record stands among the User-agent lines."""
    joined: bool = False
    """A User-agent line went on with the run after another record."""


@dataclass(slots=True)
class _Group:
    """All runs that name one agent, and the Crawl-delays asked of it."""

    runs: list[_Run] = field(default_factory=list)
    delays: list[list[str]] = field(default_factory=list)

    def join(self, run: _Run, delays: list[str]) -> None:
        """Take part in a run, once, and in the delays to come, once."""
        if not self.runs or self.runs[-1] is not run:
            self.runs.append(run)
        if not self.delays or self.delays[-1] is not delays:
            self.delays.append(delays)


def _read_records(text: str, notes: Counter[str]) -> tuple[dict[str, _Group], list[str]]:
    """Sort the lines of a robots.txt into groups and the values of its Sitemap lines.

    A Crawl-delay does not end a run for the rules, but it does for the delays: in the field it
    often stands alone under one agent, followed by the group of the next, and is meant for the one.
    """
    groups: dict[str, _Group] = {}
    sitemaps: list[str] = []
    delays: list[str] = []
    run: _Run | None = None
    for line in text.split("\n"):
        record = _record(line, notes)
        if record is None:
            continue
        kind, value = record
        if kind == "agent":
            if run is None or run.ended:
                run, delays = _Run(), []
            elif delays:
                delays = []
            run.joined |= run.interrupted
            token = _product_token(value)
            if token:
                groups.setdefault(token, _Group()).join(run, delays)
        elif run is None and kind in ("allow", "disallow", "delay"):
            notes["outside_group"] += 1
        elif run is not None and kind in ("allow", "disallow"):
            run.ended = True
            run.rules.append((kind == "allow", value))
        else:
            if kind == "sitemap":
                sitemaps.append(value)
            elif kind == "delay":
                delays.append(value)
            if run is not None:
                run.interrupted = True
    return groups, sitemaps


def _record(line: str, notes: Counter[str]) -> tuple[str, str] | None:
    """Return (kind, value) of a line, None for one that is no record (comment, blank, prose)."""
    line = line.partition("#")[0]
    words = line.split()
    # google/robotstxt: white space stands for a missing colon when there are exactly two words.
    # A colon in an address or in a path is not the one that is missing.
    colonless = (
        len(words) == 2
        and ":" not in words[0]
        and (":" not in words[1] or words[1].lower().startswith(("/", "*", "http://", "https://")))
    )
    if colonless:
        name, value = words
    else:
        name, colon, value = line.partition(":")
        if not colon:
            return None
    name = _NO_NAME.sub("", name).strip().lower()
    found = _FIELD.match(name)
    if found is None or found.lastgroup is None:
        return "other", ""
    notes["no_colon"] += colonless
    notes["misspelt_directive"] += name not in _PROPER_NAMES
    return found.lastgroup, value.strip()


def _product_token(agent: str) -> str:
    """Return the product token an agent's name begins with, in lower case; "*" for everyone.

    It ends at the first character that a token cannot hold; "*" followed by white space and words
    is still "*" (google/robotstxt). A value that begins otherwise names nobody: "".
    """
    if agent.startswith("*") and not agent[1:2].strip():
        return "*"
    found = re.match("[A-Za-z_-]*", agent)
    return found[0].lower() if found else ""


def _group_of(agent: str, groups: dict[str, _Group]) -> str | None:
    """Choose by the agent's own token, else "*", else nothing applies (RFC 9309 §2.2.1)."""
    token = _product_token(agent)
    if token in groups:
        return token
    return "*" if "*" in groups else None


# --- rules ---------------------------------------------------------------------------------------


# A row of stars is one, so that every part takes up room and matching costs the path's length.
_STARS = re.compile(r"\*+")


class _Rule(NamedTuple):
    """One Allow or Disallow, its pattern in normal form."""

    rank: tuple[int, bool]
    """(octets, is Allow): of the rules that match, the one of highest rank decides."""
    head: str
    """What stands before the first "*", or all."""
    middle: tuple[str, ...]
    """What stands between two "*"."""
    tail: str | None
    """What stands after the last "*"; None without any."""
    anchored: bool
    """It ends in "$"."""
    queried: bool
    """It holds a "?", so what follows that can only match in the query."""

    def matches(self, path: str) -> bool:
        """Whether it matches, in one pass: for each part the first place that is left will do."""
        if not path.startswith(self.head):
            return False
        place = len(self.head)
        if self.tail is None:
            return not self.anchored or place == len(path)
        for part in self.middle:
            place = path.find(part, place)
            if place < 0:
                return False
            place += len(part)
        if self.anchored:
            return len(path) - place >= len(self.tail) and path.endswith(self.tail)
        return path.find(self.tail, place) >= 0

    @property
    def is_beginning(self) -> bool:
        """Whether it is matched by comparing the beginning alone."""
        return self.tail is None and not self.anchored

    def covers_everything(self) -> bool:
        """Whether it matches every path: what matches "/" without its end matches all."""
        open_ended = not self.anchored or self.tail == ""
        return open_ended and self._replace(anchored=False).matches("/")


def _rule(pattern: str, *, allow: bool) -> _Rule:
    """Read a path pattern; a "$" that does not end it is an ordinary character (§2.2.3)."""
    anchored = pattern.endswith("$")
    literals = map(_normal, pattern.removesuffix("$").split("*"))
    normal = _open_query("*".join(literals))
    head, *parts = _STARS.split(normal)
    tail = parts.pop() if parts else None
    rank = (len(normal) + anchored, allow)
    return _Rule(rank, head, tuple(parts), tail, anchored, "?" in normal)


class _Matcher:
    """The rules of one group: the longest pattern that matches decides, Allow wins a tie (§2.2.2).

    Plain beginnings are found by lookup, one a length; the others are tried from the longest down.
    """

    __slots__ = ("_beginnings", "_lengths", "_patterns", "disallows_all", "disallows_root")

    def __init__(self, group: _Group) -> None:
        lines = (line for run in group.runs for line in run.rules)
        rules = {_rule(pattern, allow=allow) for allow, pattern in _with_index_pages(lines)}
        ranked = sorted(rules, key=lambda rule: rule.rank)
        # In rising order, so that of two equal beginnings the Allow is the one that stays.
        self._beginnings = {rule.head: rule.rank[1] for rule in ranked if rule.is_beginning}
        self._lengths = sorted({len(head) for head in self._beginnings}, reverse=True)
        self._patterns = [rule for rule in reversed(ranked) if not rule.is_beginning]
        bans = [rule.rank for rule in ranked if not rule.rank[1] and rule.covers_everything()]
        allows = [rule.rank for rule in ranked if rule.rank[1]]
        self.disallows_root = bool(bans)
        self.disallows_all = bool(bans) and max(allows, default=(0, True)) < bans[-1]

    def allows(self, path: str) -> bool:
        """Whether a path (with query, in normal form) may be requested."""
        opened = _open_query(path)
        best = (0, True)
        for length in self._lengths:
            head = opened[:length]
            allow = self._beginnings.get(head)
            if allow is not None:
                best = (len(head), allow)
                break
        for rule in self._patterns:
            if rule.matches(opened if rule.queried else path):
                return max(best, rule.rank)[1]
        return best[1]


def _with_index_pages(lines: Iterable[tuple[bool, str]]) -> Iterator[tuple[bool, str]]:
    """Leave out what begins no path, an empty pattern too; allow a folder with its index page.

    The latter is google/robotstxt's; an empty Allow or Disallow is no rule (RFC 9309 §2.2).
    """
    for allow, pattern in lines:
        if not pattern.startswith(("/", "*")):
            continue
        yield allow, pattern
        folder, _, page = pattern.rpartition("/")
        if allow and page.startswith("index.htm"):
            yield allow, f"{folder}/$"


# --- the normal form of paths --------------------------------------------------------------------

# RFC 9309 §2.2.2 makes escaped and raw characters equal, unreserved ones and reserved ones. The
# reserved ones that delimit in a path or a query (/ ? # [ ] & = + ;) differ from their escapes all
# the same (RFC 3986 §2.2), and so do * and $, which are special in a pattern (§2.2.3).
_DECODED = frozenset(f"{string.ascii_letters}{string.digits}-._~:@!'(),".encode())
_IS_NORMAL = re.compile(r"[A-Za-z0-9\-._~:@!'(),/?&=+;]*").fullmatch
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~:@!'(),/?&=+;\[\]]")
_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?(?://[^/?#]*)?([^#]*)")


def _path(url: str) -> str:
    """Return the path and query of an absolute address in normal form; "/" when it has none."""
    found = _PATH.match(url)
    path = _normal(found[1]) if found else ""
    return path if path.startswith("/") else f"/{path}"


def _normal(text: str) -> str:
    """Escape what must be and unescape what need not be: equal paths become equal texts."""
    if _IS_NORMAL(text):
        return text
    return _ESCAPE.sub(_normal_escape, text.encode("utf-8", "surrogatepass")).decode("ascii")


def _normal_escape(found: re.Match[bytes]) -> bytes:
    octets = found[0]
    if len(octets) == 1:
        return b"%%%02X" % octets[0]
    octet = int(octets[1:], 16)
    return bytes((octet,)) if octet in _DECODED else octets.upper()


def _open_query(path: str) -> str:
    """Unescape "/" after the first "?", where it delimits nothing (RFC 3986 §3.4).

    So `?u=https://e.com` and `?u=https%3A%2F%2Fe.com` are equal (RFC 9309 §2.2.2, second example).
    """
    if "%2F" not in path:
        return path
    before, mark, query = path.partition("?")
    return before + mark + query.replace("%2F", "/")


# --- other records -------------------------------------------------------------------------------

_DELAY = re.compile(
    r"([0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]{1,3})?\s*"
    r"(?:(ms|milliseconds?)|s|secs?|seconds?)?",
    re.IGNORECASE,
)


def _asked_delay(group: _Group, notes: Counter[str]) -> float | None:
    """Return the delay a group asks for, in seconds; of several the longest.

    No standard tells which counts. Protego and urllib take the last, but a group may be merged
    from several whose order means nothing (§2.2.1), and the longest cannot offend.
    """
    values = [value for delays in group.delays for value in delays]
    delays = [seconds for value in values if (seconds := _seconds(value)) is not None]
    asked = max(delays, default=None)
    notes.update(
        crawl_delay_invalid=len(values) - len(delays),
        crawl_delay_cut=asked is not None and asked > MAX_DELAY,
    )
    return asked


def _seconds(value: str) -> float | None:
    """Read a Crawl-delay: finite and not negative, "0,5", "10s" and "500ms" tolerated [R3]."""
    found = _DELAY.fullmatch(value[:100])
    if found is None:
        return None
    number, power, milli = found.groups()
    seconds = float(number.replace(",", ".") + (power or "")) / (1000 if milli else 1)
    return seconds if math.isfinite(seconds) else None


_SEPARATOR = re.compile(r"\s+|[,;](?=https?://)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_BEGINNING = re.compile(r"https?://|//?[^\s/]", re.IGNORECASE)
_FILE = re.compile(r"\.(?:xml|txt|gz)$", re.IGNORECASE)
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
_WRAPPING = "\"'`<>“”‘’«»,;"


def _sitemaps(values: list[str], address: str, notes: Counter[str]) -> Iterator[str]:
    """Yield the absolute addresses of Sitemap lines; sitemaps.org wants full ones, one a line."""
    for value in values:
        for token in _addresses(value):
            absolute = _absolute(token, address)
            if absolute is None:
                notes["bad_sitemap"] += 1
                continue
            notes["relative_sitemap"] += not _ADDRESS.match(token)
            yield absolute


def _addresses(value: str) -> list[str]:
    """Split the value of a Sitemap line: it may hold several addresses, or one with blanks."""
    addresses: list[str] = []
    for piece in _SEPARATOR.split(_UNSEEN.sub("", value)):
        token = piece.strip(_WRAPPING)
        if not token:
            continue
        if not addresses or _BEGINNING.match(token):
            addresses.append(token)
        elif not _FILE.search(addresses[-1]):
            addresses[-1] += f"%20{token}"
        elif _FILE.search(token):
            addresses.append(token)  # a second file; anything else is a remark
    return addresses


def _absolute(token: str, address: str) -> str | None:
    """Resolve an address of a Sitemap line; None when it leads to nothing on the web."""
    try:
        host = urlsplit(address).hostname or ""
        named = token.partition("/")[0].lower()
        if named.removeprefix("www.") == host.removeprefix("www."):
            token = f"//{token}"  # a site that forgot the scheme before its own name
        absolute = token if _ADDRESS.match(token) else urljoin(address, token)
        parts = urlsplit(absolute)
    except ValueError:
        return None
    leads_somewhere = parts.scheme in ("http", "https") and parts.hostname and absolute != address
    return absolute if leads_somewhere else None
