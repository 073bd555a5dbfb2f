"""Writes `requirements.txt`: what the image installs, every version and hash (`make actor-lock`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PLATFORMS = [f"manylinux_{tag}_x86_64" for tag in ("2_34", "2_28", "2_27", "2_17", "2_5")]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
IMAGE = ["--python-version", "3.13", *(f"--platform={name}" for name in PLATFORMS)]
HEAD = "# Written by `make actor-lock` for Python 3.13 on Linux x86_64. Change pyproject.toml, not this.\n"


def main() -> None:
    """Resolve the dependencies of the package and of its extra `apify` for the image."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["apify"]]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--only-binary", ":all:", "--target", folder]
        command += [*IMAGE, "--report", str(report), *wanted]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text("utf-8"))["install"]
    lines = sorted(
        f"{one['metadata']['name'].lower()}=={one['metadata']['version']}"
        f" --hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}\n"
        for one in found
    )
    (HERE / "requirements.txt").write_text(HEAD + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
