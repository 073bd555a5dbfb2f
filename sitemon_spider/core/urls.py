"""Identity of URLs: when two spellings name one page [C2], row by row and a column at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote_to_bytes

import idna
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from sitemon_spider.core.reasons import Reason

if TYPE_CHECKING:
    import numpy.typing as npt

# Unicode's White_Space property, and the characters that take no room: soft hyphen, zero-width
# space and joiners, direction marks and embeddings, word joiner and its kin, byte order mark.
BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
    "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
# C0, DEL, C1, the two Unicode line breaks, and halves of characters that UTF-8 cannot write.
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# RFC 3986 appendix B, a match for any text; each part keeps its delimiter, so that one that is
# there and empty differs from none.
_PARTS: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL
)
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:]*)(?::([0-9]*))?")
_HOST: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_HOST_LENGTH: Final = 253
_AUTHORITY_LENGTH: Final = 2_048  # what sitemaps.org allows a whole loc
_DEFAULT_PORTS: Final = {"http:": 80, "https:": 443}
_HIGHEST_PORT: Final = 65_535

# What stands in a path or a query as it is (RFC 3986 §3.3, §3.4): pchar, "/" and "?".
_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_LEGAL: Final = _UNRESERVED + "!$&'()*+,;=" + ":@/?"
_ILLEGAL: Final = re.compile(f"[^%{re.escape(_LEGAL)}]+")
_ESCAPES: Final = re.compile(r"%(?:[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*)?")
_NEEDLESS: Final = re.compile("|".join(f"%{ord(char):02X}" for char in _UNRESERVED))

# The same for whole buffers: 0 legal, 1 illegal, 2 the percent sign.
_CLASSES: Final = bytes(2 if c == 0x25 else chr(c) not in _LEGAL for c in range(256))
_ILLEGAL_BYTE: Final = 1
_ESCAPE_BYTE: Final = 2
_NO_HEX: Final = 256
_HEX: Final = np.array(
    [int(chr(c), 16) if chr(c) in "0123456789ABCDEFabcdef" else _NO_HEX for c in range(256)],
    np.int32,
)
_UPPER: Final = np.frombuffer(bytes(range(256)).upper(), np.uint8)
_ODD_VALUE: Final = np.array([chr(c) in _UNRESERVED for c in range(_NO_HEX)] + [True])
_SAMPLES: Final = 16  # rows whose origins a column is tried for; most files hold one origin

_Parts = tuple[str, str, str, str, str]


class InvalidUrl(ValueError):  # noqa: N818  # the vocabulary says invalid, not error
    """An address that cannot name a page of the web.

    `reason` is `INVALID_CHARACTER` (control characters, line breaks or tabs inside) or
    `INVALID_ADDRESS` (anything else). The text says what is wrong and never quotes the address,
    so that nothing a site writes gets into a log line [S3].
    """

    def __init__(self, reason: Reason, fault: str) -> None:
        super().__init__(fault)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class NormalizedUrls:
    """A file's URLs after `normalize`.

    `locs` are the valid rows in their order, absolute and trimmed, otherwise as listed; `keys` the
    `key` of each one's identity. `valid` says of each row that came in whether it is among them,
    None when all are. `invalid` holds (loc as written, reason) of the others, in their order.
    """

    locs: pa.StringArray
    keys: npt.NDArray[np.uint64]
    valid: npt.NDArray[np.bool_] | None
    invalid: tuple[tuple[str, Reason], ...]


def absolute(loc: str, base: str) -> str:
    """Return the URL that rows show for a listed address: trimmed, absolute, else as listed [C2].

    A relative or scheme-relative `loc` is resolved against `base`, the absolute address of the
    file that lists it (RFC 3986 §5.2); nothing is re-encoded. User information is kept: in a page's
    URL it is part of what the site says. Raises InvalidUrl for what is no http(s) URL with a valid
    host and port, for characters no URL can hold, and for a reference to the file itself (§4.4),
    such as an empty one.
    """
    return "".join(_absolute(loc, base))


def identity(url: str) -> str:
    """Return the spelling that all spellings of one page share [C2], an ASCII URL itself.

    RFC 3986 §6.2.2 with the http(s) rules of §6.2.3 that cannot change meaning; `url` is absolute.
    An empty query keeps its "?" (§6.2.3 says that it cannot be taken as equivalent). A "%" that
    begins no escape is illegal and becomes "%25", so that "100%" and "100%25" are one: left as it
    is, it could form an escape with decoded digits behind it ("%%34%31"), and normalising twice
    would name another page. Raises InvalidUrl like `absolute`.
    """
    return _identity(_parts(url))


def origin(url: str) -> str:
    """Return `scheme://host[:port]` of an absolute URL, spelled as in its identity.

    The key of sites, robots.txt files and hosts (RFC 6454 §4); user information is no part of it.
    Raises InvalidUrl like `absolute`.
    """
    scheme, authority, *_ = _parts(url)
    return _authority(scheme, authority)[0]


def key(identity: str) -> int:
    """Return the 64-bit number that stands for an identity in columns: its xxh3-64."""
    return xxhash.xxh3_64_intdigest(identity.encode())


def normalize(locs: pa.StringArray | pa.ChunkedArray[pa.StringScalar], base: str) -> NormalizedUrls:
    """Turn the listed addresses of a file into `absolute` URLs and the `key` of their `identity`.

    Rows that are proved to be their own identity by looking at the column's bytes as a whole cost a
    fraction of a microsecond, the others a few; both ways give the same. `base` is the file's final
    address. Rows that are invalid, or null, are left out and named; nothing is raised for them.
    """
    listed = locs.combine_chunks() if isinstance(locs, pa.ChunkedArray) else locs
    trimmed = cast("pa.StringArray", pc.utf8_trim(listed, characters=BLANKS))
    spelled, unproved = _proved(trimmed, base)
    rows = np.flatnonzero(unproved)
    replaced: dict[int, str] = {}
    invalid: dict[int, Reason] = {}
    for row, loc in zip(rows.tolist(), trimmed.take(rows).to_pylist(), strict=True):
        try:
            parts = _absolute(loc or "", base)
            spelled[row] = _identity(parts).encode()
        except InvalidUrl as error:
            invalid[row] = error.reason
            continue
        if (url := "".join(parts)) != loc:
            replaced[row] = url
    urls = _replace(trimmed, replaced)
    valid = None
    if invalid:
        valid = np.ones(len(urls), np.bool_)
        valid[list(invalid)] = False
        urls, spelled = urls.filter(pa.array(valid)), spelled[valid]
    keys = np.fromiter(map(xxhash.xxh3_64_intdigest, spelled), np.uint64, len(spelled))
    named = tuple((listed[row].as_py() or "", reason) for row, reason in invalid.items())
    return NormalizedUrls(urls, keys, valid, named)


def _parts(url: str) -> _Parts:
    """Split into "scheme:", "//authority", path, "?query", "#fragment" (RFC 3986 §3)."""
    if not url.isprintable() and _FORBIDDEN.search(url):
        raise InvalidUrl(Reason.INVALID_CHARACTER, "the address holds a control character")
    scheme, authority, path, query, fragment = _PARTS.findall(url)[0]
    return scheme, authority, path, query, fragment


def _absolute(loc: str, base: str) -> _Parts:
    """Return the parts of a listed address as `absolute` joins them, all of them checked."""
    scheme, authority, path, query, fragment = _parts(loc.strip(BLANKS))
    if not scheme:
        if not authority + path + query:
            raise InvalidUrl(Reason.INVALID_ADDRESS, "the address is empty")
        scheme, authority, path, query = _resolved(authority, path, query, base)
    _authority(scheme, authority)
    return scheme, authority, path, query, fragment


def _identity(parts: _Parts) -> str:
    """Join the parts of an absolute URL as `identity` spells them."""
    scheme, authority, path, query, _ = parts
    _, prefix = _authority(scheme, authority)
    path = _without_dots(_spelled(path))  # in this order: "%2E%2E" counts as dots
    return prefix + (path or "/") + _spelled(query)


def _resolved(authority: str, path: str, query: str, base: str) -> tuple[str, str, str, str]:
    """Resolve a reference without a scheme (RFC 3986 §5.2.2, §5.2.3); the fragment is its own."""
    scheme, base_authority, base_path, _, _ = _parts(base)
    if not authority:
        authority = base_authority
        if not path:
            return scheme, authority, base_path, query
        if not path.startswith("/"):
            path = (base_path[: base_path.rfind("/") + 1] or "/") + path
    return scheme, authority, _without_dots(path), query


@lru_cache(maxsize=1024)
def _authority(scheme: str, authority: str) -> tuple[str, str]:
    """Return the origin, and what the path follows: the same with user information.

    Remembered, since a sitemap names few hosts.
    """
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the scheme is neither http nor https")
    if len(authority) > _AUTHORITY_LENGTH:  # what is remembered stays small
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the host is too long")
    if "\\" in authority:  # browsers end the host there and would name another one than we do
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the host holds a backslash")
    user, at, server = authority.removeprefix("//").rpartition("@")
    match = _SERVER.fullmatch(server)
    if match is None:
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the host or the port is not valid")
    host = _host(match[1])
    port = _port(match[2] or "")
    if port not in {None, _DEFAULT_PORTS[scheme]}:
        host = f"{host}:{port}"
    user = _spelled(user).replace("@", "%40")
    return f"{scheme}//{host}", f"{scheme}//{user}{at}{host}"


def _host(host: str) -> str:
    """Return a host in lower case, as A-labels, without the trailing dot (RFC 3986 §3.2.2).

    UTS 46 §4 maps, and every label it lets through is encoded. The stricter registry rules of
    IDNA2008 (RFC 5892) are not asked: hosts such as `☕.example`, `r3---sn.example` and
    `a_b.example` are in use.
    """
    if host.startswith("["):
        try:
            IPv6Address(host[1:-1])
        except AddressValueError as error:
            raise InvalidUrl(Reason.INVALID_ADDRESS, "the host is no IPv6 address") from error
        return host.lower()
    try:
        name = unquote_to_bytes(host).decode() if "%" in host else host
        name = idna.uts46_remap(name, std3_rules=False).removesuffix(".")
    except UnicodeError as error:  # IDNAError is one
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the host is no domain name") from error
    if len(name) <= _HOST_LENGTH:  # Punycode takes quadratic time
        name = ".".join(map(_a_label, name.split(".")))
    if len(name) > _HOST_LENGTH or not _HOST.fullmatch(name):
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the host is no domain name")
    return name


def _a_label(label: str) -> str:
    """Encode a mapped label as the DNS is asked for it (RFC 5890 §2.3.2.1, RFC 3492)."""
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _port(digits: str) -> int | None:
    """Read the number of a port, None where it is empty (RFC 3986 §3.2.3)."""
    if not digits:
        return None
    number = digits.lstrip("0")  # port 0 is no port (RFC 6335 §6)
    if not number or int(number) > _HIGHEST_PORT:
        raise InvalidUrl(Reason.INVALID_ADDRESS, "the port is not valid")
    return int(number)


def _spelled(component: str) -> str:
    """Give every character of a component its one spelling (RFC 3986 §2.1, §6.2.2.1, §6.2.2.2)."""
    if "%" in component:
        component = _ESCAPES.sub(_escapes, component)
    return _ILLEGAL.sub(_encoded, component)


def _escapes(run: re.Match[str]) -> str:
    """Spell adjacent escapes: upper case, unreserved characters as such; a lone "%" is escaped."""
    text = run[0]
    return "%25" if text == "%" else _NEEDLESS.sub(_decoded, text.upper())


def _decoded(escape: re.Match[str]) -> str:
    return chr(int(escape[0][1:], 16))


def _encoded(run: re.Match[str]) -> str:
    return "%" + run[0].encode().hex("%").upper()


def _without_dots(path: str) -> str:
    """Remove the segments "." and ".." of a path that is empty or begins with "/" (§5.2.4)."""
    if "/." not in path:
        return path
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def _proved(
    column: pa.StringArray, base: str
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    """Return the bytes of each row, and which rows are not proved to be their own identity.

    Proved is a row that begins with a canonical origin and "/", holds legal characters and upper-
    cased needful escapes only, and nowhere "/.". Lower-case escapes are corrected on the way, which
    changes no length.
    """
    offsets, raw = _buffers(column)
    text = np.frombuffer(raw, np.uint8)
    classes = np.frombuffer(raw.translate(_CLASSES), np.uint8)
    unproved = ~_begins_with_origin(column, base)
    for odd in (
        np.flatnonzero(classes == _ILLEGAL_BYTE),
        np.flatnonzero((text[:-1] == ord("/")) & (text[1:] == ord("."))),
        _correct_escapes(text, np.flatnonzero(classes == _ESCAPE_BYTE), offsets),
    ):
        if odd.size:
            unproved |= np.diff(np.searchsorted(odd, offsets)) > 0
    rows = pa.BinaryArray.from_buffers(
        pa.binary(), len(column), [None, pa.py_buffer(offsets.data), pa.py_buffer(raw)]
    )
    return rows.to_numpy(zero_copy_only=False), unproved


def _buffers(column: pa.StringArray) -> tuple[npt.NDArray[np.int32], bytearray]:
    """Copy offsets, from 0 on, and bytes; two more bytes are room for an escape cut short."""
    _, starts, data = (memoryview(buffer or b"") for buffer in column.buffers())
    offsets = np.frombuffer(starts, np.int32, len(column) + 1, column.offset * 4)
    return offsets - offsets[0], bytearray(data[offsets[0] : offsets[-1]]) + bytes(2)


def _begins_with_origin(column: pa.StringArray, base: str) -> npt.NDArray[np.bool_]:
    """Tell which rows begin with the origin of the file or of rows sampled all over it."""
    sampled = column.take(np.arange(0, len(column), max(1, len(column) // _SAMPLES)))
    begins = np.zeros(len(column), np.bool_)
    for prefix in {_canonical_origin(url) for url in [base, *sampled.to_pylist()]}:
        if prefix:
            matches = pc.starts_with(column, pattern=f"{prefix}/").fill_null(False)
            begins |= matches.to_numpy(zero_copy_only=False)
    return begins


def _canonical_origin(url: str | None) -> str | None:
    try:
        return origin(url or "")
    except InvalidUrl:
        return None


def _correct_escapes(
    text: npt.NDArray[np.uint8], at: npt.NDArray[np.intp], offsets: npt.NDArray[np.int32]
) -> npt.NDArray[np.intp]:
    """Upper-case the sound escapes among the percent signs `at`; return where the others stand."""
    if not at.size:
        return at
    begins = np.zeros(len(text), np.bool_)
    begins[offsets] = True
    value = np.minimum(_HEX[text[at + 1]] * 16 + _HEX[text[at + 2]], _NO_HEX)
    odd: npt.NDArray[np.bool_] = _ODD_VALUE[value] | begins[at + 1] | begins[at + 2]
    for digit in (1, 2):
        place = at[~odd] + digit
        text[place] = _UPPER[text[place]]
    return at[odd]


def _replace(column: pa.StringArray, texts: dict[int, str]) -> pa.StringArray:
    """Put other texts into some rows (row numbers ascending)."""
    if not texts:
        return column
    mask = np.zeros(len(column), np.bool_)
    mask[list(texts)] = True
    others = pa.array(texts.values(), pa.string())
    return cast("pa.StringArray", pc.replace_with_mask(column, pa.array(mask), others))
