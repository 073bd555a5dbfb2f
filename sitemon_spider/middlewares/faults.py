"""Faults: why a request got no answer, in the words of the rows."""

from __future__ import annotations

from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError, IgnoreRequest

from sitemon_spider.core.reasons import Reason
from sitemon_spider.middlewares.gate import Refused
from sitemon_spider.resolver import PrivateAddressError


def fault_of(error: BaseException | None) -> tuple[Reason, str | None]:
    """The reason that a request got no response."""
    if isinstance(error, Refused):
        return error.reason, None
    if isinstance(error, PrivateAddressError):
        return Reason.PRIVATE_ADDRESS, None
    if isinstance(error, IgnoreRequest):
        return Reason.REDIRECT_LOOP, str(error)
    if isinstance(error, CannotResolveHostError):
        return Reason.DNS, None
    if isinstance(error, (DownloadTimeoutError, TimeoutError)):
        return Reason.TIMEOUT, str(error)
    text = f"{type(error).__name__}: {error}"
    if "SSL" in text or "certificate" in text:
        return Reason.TLS, text
    return Reason.NETWORK, text
