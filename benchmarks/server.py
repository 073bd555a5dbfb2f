"""Serve a corpus folder on loopback: `python -m benchmarks.server FOLDER FILES`.

It prints its port, then answers /robots.txt, /index.xml and the files of `day1/` with ETag and 304.
A line of its input names another day to serve from then on, `day2`, or `day1 bare` for the same
bytes without validators; it prints the line back. At the end of its input it ends.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


class Site(ThreadingHTTPServer):
    """The first files of a corpus at a free port; `day` and `validators` may be changed."""

    daemon_threads = True

    def __init__(self, folder: Path, files: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.day, self.validators = folder, "day1", True
        origin = f"http://127.0.0.1:{self.server_port}"
        self.names = {f"/s{number:04}.xml.gz" for number in range(files)}
        listed = "".join(
            f"<sitemap><loc>{origin}{name}</loc></sitemap>" for name in sorted(self.names)
        )
        self.made = {
            "/robots.txt": f"Sitemap: {origin}/index.xml\n".encode(),
            "/index.xml": f'<sitemapindex xmlns="{NAMESPACE}">{listed}</sitemapindex>'.encode(),
        }

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """The body at a path and its tag."""
        if path in self.names:
            return _file(self.folder / self.day / path[1:])
        body = self.made.get(path)
        return None if body is None else (body, _tag(body))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        found = self.server.answer(self.path)
        body, tag = found or (b"", "")
        unchanged = self.server.validators and self.headers.get("If-None-Match") == tag != ""
        self.send_response(404 if found is None else 304 if unchanged else 200)
        if self.server.validators and tag:
            self.send_header("ETag", tag)
        if not unchanged:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not unchanged:
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@lru_cache(maxsize=10_000)
def _file(path: Path) -> tuple[bytes, str]:
    body = path.read_bytes()
    return body, _tag(body)


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


if __name__ == "__main__":
    site = Site(Path(sys.argv[1]), int(sys.argv[2]))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    print(site.server_port, flush=True)
    for line in sys.stdin:
        site.day, *bare = line.split()
        site.validators = not bare
        print(line, end="", flush=True)
