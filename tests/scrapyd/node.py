"""A real Scrapyd on loopback with all its files in one folder: deploy, schedule, cancel, stop.

It runs from `.venv-scrapyd` (`make scrapyd-venv`). The folder holds what a node has: `scrapyd.conf`
and `sitemon_node.py`, the node's own settings; Scrapyd's eggs, logs, items and jobs; and `state`,
the snapshots and records.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv-scrapyd" / "bin"
PROJECT = "sitemon_spider"
PATIENCE = 60.0
"""Seconds after which what is waited for has failed."""

NOT_CLONED = (".*", "*.egg-info", "__pycache__", "build", "dist", "storage", "tests", "*.jsonl")
"""What a copy of the checkout leaves out: what git does not know, and the tests."""

CONFIGURATION = """\
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
items_dir = items
jobs_dir = jobs
poll_interval = 0.1
max_proc = 4
jobs_to_keep = 100

[settings]
sitemon_spider = sitemon_node
"""
SETTINGS = """\
from sitemon_spider.settings import *

SITEMON_STATE = {state!r}
SITEMON_ALLOW_PRIVATE = True  # the sites are on this machine
"""


class Node:
    """A Scrapyd that lives as long as its `with` block; it ends the jobs and the daemon it began.

    Every wait raises TimeoutError after PATIENCE seconds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.url = ""
        self._open = build_opener(ProxyHandler({})).open
        self._daemon: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Node:
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "scrapyd.conf").write_text(CONFIGURATION.format(port=port))
        (self.folder / "sitemon_node.py").write_text(SETTINGS.format(state=str(self.state)))
        with (self.folder / "scrapyd.log").open("wb") as log:
            self._daemon = subprocess.Popen(
                [BIN / "scrapyd", "--pidfile="],
                cwd=self.folder,
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
        try:
            self.until(self._answers, "Scrapyd to answer")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            # An interrupt from the keyboard has ended Scrapyd and its jobs already.
            with contextlib.suppress(URLError, ConnectionError):
                for job in self.jobs("pending") | self.jobs("running"):
                    self.cancel(job)
                self.until(lambda: not self.jobs("running"), "the jobs to end")
        finally:
            self._stop()

    def deploy(self, project: Path) -> str:
        """Run `scrapyd-deploy` in a copy of the project; what it printed."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        (home / "scrapy.cfg").write_text(f"[deploy:node]\nurl = {self.url}/\n")
        done = subprocess.run(
            [BIN / "scrapyd-deploy", "node"],
            cwd=project,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or '"status": "ok"' not in done.stdout:
            raise RuntimeError(done.stdout + done.stderr + self.daemon_log())
        return done.stderr + done.stdout

    def schedule(
        self, *, settings: dict[str, Any] | None = None, job: str | None = None, **arguments: Any
    ) -> str:
        """Schedule a job by schedule.json; its id."""
        fields = [("project", PROJECT), ("spider", "sitemon")]
        fields += [("setting", f"{name}={value}") for name, value in (settings or {}).items()]
        fields += [(name, argument(value)) for name, value in arguments.items()]
        if job is not None:
            fields.append(("jobid", job))
        jobid: str = self.call("schedule.json", fields)["jobid"]
        return jobid

    def cancel(self, job: str) -> None:
        """Cancel a job by cancel.json."""
        self.call("cancel.json", [("project", PROJECT), ("job", job)])

    def jobs(self, state: str) -> set[str]:
        """The ids of the jobs that are pending, running or finished."""
        return {job["id"] for job in self.call("listjobs.json")[state]}

    def wait(self, job: str) -> None:
        """Wait until a job has ended."""
        self.until(lambda: job in self.jobs("finished"), f"job {job} to end")

    def call(self, name: str, fields: list[tuple[str, str]] | None = None) -> dict[str, Any]:
        """The answer of one of Scrapyd's calls. Raises RuntimeError when it is not ok."""
        data = urlencode(fields).encode() if fields else None
        with self._open(f"{self.url}/{name}", data, timeout=PATIENCE) as response:
            answer: dict[str, Any] = json.load(response)
        if answer["status"] != "ok":
            raise RuntimeError(answer["message"])
        return answer

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                msg = f"waited in vain for {what}\n{self.daemon_log()}"
                raise TimeoutError(msg)
            time.sleep(0.05)

    # --- what a job left ------------------------------------------------------------------------

    def rows(self, job: str) -> list[dict[str, Any]]:
        """The rows of a job's feed in items_dir."""
        text = (self.folder / "items" / PROJECT / "sitemon" / f"{job}.jl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def log(self, job: str) -> str:
        """A job's log."""
        return (self.folder / "logs" / PROJECT / "sitemon" / f"{job}.log").read_text("utf-8")

    def output(self, job: str, monitor: str = "default") -> dict[str, Any]:
        """OUTPUT.json of the run that a job was."""
        path = self.state / monitor / "runs" / job / "OUTPUT.json"
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return document

    def daemon_log(self) -> str:
        """What Scrapyd itself has logged, without the calls that it answered."""
        lines = (self.folder / "scrapyd.log").read_text("utf-8", "replace").splitlines(True)
        return "".join(line for line in lines if "HTTP/1.1" not in line)

    def printed(self, job: str) -> list[str]:
        """The lines of Scrapyd's log that a job's process printed."""
        log = self.daemon_log()
        (pid,) = re.findall(rf"Process started: .* job='{job}' pid=(\d+)", log)
        return [line for line in log.splitlines() if f"[Launcher,{pid}/" in line]

    # --- the process ----------------------------------------------------------------------------

    def _stop(self) -> None:
        assert self._daemon is not None
        self._daemon.terminate()
        try:
            self._daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._daemon.kill()
            self._daemon.wait()

    def _answers(self) -> bool:
        assert self._daemon is not None
        if self._daemon.poll() is not None:
            raise RuntimeError(self.daemon_log())
        with contextlib.suppress(URLError, ConnectionError):
            self.call("daemonstatus.json")
            return True
        return False

    def _environment(self) -> dict[str, str]:
        """The process's environment without another project's settings, and without a proxy."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SCRAPY", "PYTHON")) and not name.lower().endswith("_proxy")
        }
        home = str(self.folder / "home")
        return kept | {
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "PYTHONPATH": str(self.folder),
            "PYTHONWARNINGS": "ignore:pkg_resources:UserWarning",
        }


def clone(folder: Path) -> Path:
    """A copy of the checkout as a fresh clone has it."""
    return Path(shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_CLONED)))


def argument(value: object) -> str:
    """An option's value as an argument of schedule.json."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
