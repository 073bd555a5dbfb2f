"""Input lines become targets or named rejections; and which addresses are public."""

from __future__ import annotations

import re
import socket
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.urls import InvalidUrl, identity, origin

SITEMAP_PATH = re.compile(
    r"(\.xml|\.xml\.gz|\.txt|\.txt\.gz|\.rss|\.atom|/feed|/rss|/atom)/?$|sitemap", re.IGNORECASE
)
"""Which paths are read as given; any other path of a site is ignored (SPEC `sites`)."""

NAT64 = ip_network("64:ff9b::/96")
"""RFC 6052: an IPv4 address in the last 32 bits of an IPv6 one."""


@dataclass(frozen=True, slots=True)
class SiteTarget:
    """One input of a run. `key` names its snapshot: an origin, or a direct sitemap's identity [C1].

    `url` is what is requested first: the origin, or the sitemap as given.
    """

    key: str
    input: str
    url: str
    direct: bool


@dataclass(frozen=True, slots=True)
class Rejection:
    """An input that is not read, and why; its line is kept without a password."""

    input: str
    reason: Reason
    detail: str


def read_target(line: str, *, direct: bool, allow_private: bool = False) -> SiteTarget | Rejection:
    """The target that an input line names; `direct` reads any path as given (`sitemapUrls`)."""
    text = line.strip()
    if any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} for char in text):
        return Rejection(line, Reason.INVALID_CHARACTER, "a control or invisible character")
    address = text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) else f"https://{text}"
    try:
        parts = urlsplit(address)
        if parts.scheme.lower() not in {"http", "https"}:
            return Rejection(line, Reason.INVALID_ADDRESS, "only http and https are read")
        if "@" in parts.netloc:
            return Rejection(
                without_password(line),
                Reason.INVALID_ADDRESS,
                "a user name or password in the address",
            )
        site, url = origin(address), identity(address)
    except (InvalidUrl, ValueError):
        return Rejection(line, Reason.INVALID_ADDRESS, "not an address of a website")
    if " " in text:
        return Rejection(line, Reason.INVALID_ADDRESS, "a blank inside the address")
    if not allow_private and not may_be_public(urlsplit(site).hostname or ""):
        return Rejection(line, Reason.PRIVATE_ADDRESS, "a private or reserved address")
    path = urlsplit(url).path
    if direct or (path != "/robots.txt" and SITEMAP_PATH.search(path)):
        return SiteTarget(url, line, address.partition("#")[0], direct=True)
    return SiteTarget(site, line, site, direct=False)


def without_password(line: str) -> str:
    """An input line as it may be shown: what stands before an @ of its host is starred [S3]."""
    return re.sub(r"^(\s*[^/]*//)?[^/@]+(?=@)", r"\1***", line)


def may_be_public(host: str) -> bool:
    """Whether a host of an address may be contacted as far as its name tells [S1].

    Every name but that of this machine may be: its addresses are checked when it is connected to.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return is_public(host.strip("[]"))
    except ValueError:
        pass
    try:
        # inet_aton knows the old forms of IPv4 addresses: 2130706433, 0x7f.1, 127.1.
        return is_public(socket.inet_ntoa(socket.inet_aton(host)))
    except (OSError, UnicodeEncodeError):
        return True


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet [S1]. Raises ValueError on another text.

    An IPv6 address that carries an IPv4 address (mapped, 6to4, Teredo, NAT64) is as public as that.
    """
    ip = ip_address(address.partition("%")[0])
    return all(_is_global(each) for each in (ip, *_carried(ip)))


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv6Address) and (ip.ipv4_mapped or ip in NAT64):
        return True  # Judged by the address it carries.
    return ip.is_global and not ip.is_multicast


def _carried(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(ip, IPv4Address):
        return []
    teredo = ip.teredo or ()
    nat64 = IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None
    return [each for each in (ip.ipv4_mapped, ip.sixtofour, *teredo, nat64) if each is not None]
