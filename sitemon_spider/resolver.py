"""Connections to public addresses only, checked at connect time, each attempt under watch [S1].

Twisted asks the reactor's name resolver before every new connection, for IP literals too, and
connects to exactly the addresses delivered; so a resolver that filters them holds against
literals, redirects and DNS rebinding alike.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadTimeoutError,
    IgnoreRequest,
    StopDownload,
)
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer, provider

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.targets import is_public
from sitemon_spider.core.unpack import MAX_UNPACKED
from sitemon_spider.middlewares.gate import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemon_spider.run import MonitorRun

TRANSFER_TIMEOUTS = 4
"""An attempt's whole transfer may take so many times the timeout (SPEC `requestTimeout`)."""


READ_TURN = 0.1
"""Seconds that the event loop has to read what has arrived before an attempt counts as silent."""


class PrivateAddressError(IgnoreRequest):
    """The host has no address on the public internet; nothing was sent [S1]. Not worth a retry."""


@implementer(IHostnameResolver)
class PublicResolver:
    """The reactor's resolver without the addresses that are not public.

    `SITEMON_ALLOW_PRIVATE` lets all through. `refused` holds the hosts that had such addresses.
    """

    def __init__(self, reactor: Any, *, allow_private: bool) -> None:
        self.reactor = reactor
        self.inner = reactor.nameResolver
        self.allow_private = allow_private
        self.refused: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> PublicResolver:
        """Build it for `TWISTED_DNS_RESOLVER`; a process stands in for the crawler there."""
        return cls(reactor, allow_private=crawler.settings.getbool("SITEMON_ALLOW_PRIVATE"))

    def install_on_reactor(self) -> None:
        """Make it the reactor's resolver."""
        self.reactor.installNameResolver(self)

    def resolveHostName(  # noqa: N802 - the interface's names
        self,
        receiver: Any,
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        """Deliver the addresses of a host that may be contacted."""
        outer = self

        @provider(IResolutionReceiver)
        class Filter:
            resolutionBegan = receiver.resolutionBegan  # noqa: N815
            resolutionComplete = receiver.resolutionComplete  # noqa: N815

            @staticmethod
            def addressResolved(address: Any) -> None:  # noqa: N802
                if outer.allow_private or is_public(address.host):
                    receiver.addressResolved(address)
                else:
                    outer.refused.add(hostName)

        return self.inner.resolveHostName(
            Filter, hostName, portNumber, addressTypes, transportSemantics
        )


class WatchedHandler(HTTP11DownloadHandler):
    """The HTTP handler under the resolver, with a watch on each attempt.

    Raises PrivateAddressError; DownloadTimeoutError after `download_timeout` seconds of silence, or
    four times as long in all; Refused once the run is stopped. Stops reading a body at the limit of
    a file's size.
    """

    # A process installs TWISTED_DNS_RESOLVER only from its own settings, and a runner never does;
    # so the handler makes sure that no connection is made without the resolver.

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._heard: dict[Request, float] = {}
        self._received: dict[Request, int] = {}
        self._attempts: set[asyncio.Future[Response]] = set()
        self._run: MonitorRun = crawler.spider.run  # type: ignore[union-attr]
        self._run.when_stopped(self._abandon)
        crawler.signals.connect(self._headers_received, signals.headers_received)
        crawler.signals.connect(self._bytes_received, signals.bytes_received)

    async def download_request(self, request: Request) -> Response:
        """One attempt."""
        if self._run.stopped:
            raise Refused(Reason.STOPPED)
        resolver = self._resolver()
        timeout = request.meta.get("download_timeout") or self._timeout
        request.meta["download_timeout"] = timeout * TRANSFER_TIMEOUTS
        self._heard[request] = monotonic()
        attempt = asyncio.ensure_future(super().download_request(request))
        self._attempts.add(attempt)
        try:
            await self._watch(attempt, request, timeout)
            if attempt.cancelled():
                raise Refused(Reason.STOPPED)
            return attempt.result()
        except CannotResolveHostError as error:
            host = urlparse_cached(request).hostname or ""
            if host in resolver.refused:
                raise PrivateAddressError(host) from error
            raise
        finally:
            if not attempt.done():
                attempt.cancel()
            elif not attempt.cancelled():
                attempt.exception()
            request.meta["download_timeout"] = timeout
            self._attempts.discard(attempt)
            self._heard.pop(request, None)
            self._received.pop(request, None)

    async def _watch(
        self, attempt: asyncio.Future[Response], request: Request, patience: float
    ) -> None:
        """Wait until an attempt has ended. Raises DownloadTimeoutError when it fell silent."""
        while not attempt.done():
            left = self._heard[request] + patience - monotonic()
            # What came while this process was busy with a large file is still to be read.
            await asyncio.wait([attempt], timeout=max(left, READ_TURN))
            silent = self._heard[request] + patience <= monotonic()
            if left <= 0 and silent and not attempt.done():
                attempt.cancel()
                await asyncio.wait([attempt])
                msg = f"no answer within {patience:g} seconds"
                raise DownloadTimeoutError(msg)

    def _abandon(self) -> None:
        """A stopped run waits for no answer."""
        for attempt in self._attempts:
            attempt.cancel()

    def _resolver(self) -> PublicResolver:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

        installed = reactor.nameResolver
        if not isinstance(installed, PublicResolver):
            installed = PublicResolver.from_crawler(self._crawler, reactor)
            installed.install_on_reactor()
        return installed

    def _headers_received(self, request: Request) -> None:
        self._heard[request] = monotonic()

    def _bytes_received(self, data: bytes, request: Request) -> None:
        self._heard[request] = monotonic()
        received = self._received.get(request, 0) + len(data)
        self._received[request] = received
        if received > request.meta.get("download_limit", MAX_UNPACKED):
            raise StopDownload(fail=False)
