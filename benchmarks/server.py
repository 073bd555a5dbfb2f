"""Serve a corpus folder on loopback: `python -m benchmarks.server FOLDER FILES`.

It prints its port, then answers /robots.txt, /index.xml and the files, with ETag and 304, until its
input is closed.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def serve(folder: Path, files: int) -> ThreadingHTTPServer:
    """A server of the first files of a folder; its port is free."""
    answers: dict[str, tuple[str, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            kind, body = answers.get(self.path, ("", b""))
            tag = f'"{hashlib.md5(body).hexdigest()}"'
            unchanged = bool(body) and self.headers.get("If-None-Match") == tag
            self.send_response(304 if unchanged else 200 if body else 404)
            self.send_header("ETag", tag)
            if not unchanged:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not unchanged:
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    origin = f"http://127.0.0.1:{server.server_port}"
    names = [f"s{number:04}.xml.gz" for number in range(files)]
    listed = "".join(f"<sitemap><loc>{origin}/{name}</loc></sitemap>" for name in names)
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    index = f'<sitemapindex xmlns="{namespace}">{listed}</sitemapindex>'
    answers["/robots.txt"] = ("text/plain", f"Sitemap: {origin}/index.xml\n".encode())
    answers["/index.xml"] = ("application/xml", index.encode())
    for name in names:
        answers[f"/{name}"] = ("application/gzip", (folder / name).read_bytes())
    return server


if __name__ == "__main__":
    running = serve(Path(sys.argv[1]), int(sys.argv[2]))
    threading.Thread(target=running.serve_forever, daemon=True).start()
    print(running.server_port, flush=True)
    sys.stdin.read()
