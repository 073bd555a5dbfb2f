"""The shape of the house (ARCHITECTURE §2): a pure core, dependencies that point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "sitemon_spider"
ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / PACKAGE).rglob("*.py"))

LAYERS = {
    "items": 0,
    "core": 1,
    "options": 2,
    "run": 2,
    "state": 2,
    "delivery": 2,
    "spiders": 3,
    "middlewares": 3,
    "pipelines": 3,
    "extensions": 3,
    "resolver": 3,
    "commands": 4,
    "engine": 4,
    "settings": 4,
    "__main__": 5,
    "apify": 5,
}
"""Rooms by how early they are: a room imports its own layer and earlier ones."""

LONG_FILES = {
    "core/diff.py",
    "core/lastmod.py",
    "core/reading.py",
    "core/robots.py",
    "core/sides.py",
    "core/snapshot.py",
}
"""Files of more than 400 lines, which were read twice (ARCHITECTURE §8)."""

SHELL = {"scrapy", "twisted", "apify"}
UNSAFE_FOR_CORE = {
    *SHELL,
    *("asyncio", "logging", "multiprocessing", "os", "pathlib", "random", "requests", "secrets"),
    *("shutil", "subprocess", "tempfile", "threading", "time", "urllib.request", "uuid"),
}
"""What a pure module has no use for: a clock, chance, input and output, a reactor."""

UNSAFE_CALLS = {"now", "utcnow", "today", "open", "print", "input"}


def name_of(file: Path) -> str:
    """The dotted name of a module of the package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(node: ast.AST) -> Iterator[str]:
    """The dotted names that are imported at run time, wherever in the file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and is_for_types(child):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from imports(child)


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def room(name: str) -> str:
    """The room of a module: the first name below the package, empty for the package itself."""
    return name.partition(".")[2].partition(".")[0]


def test_items_and_core_do_without_scrapy_twisted_and_apify() -> None:
    modules = [n for n in map(name_of, FILES) if room(n) in {"items", "core"}]
    assert len(modules) > 20
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(SHELL)!r}))\n"
        f"[importlib.import_module(name) for name in {modules!r}]\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_dependencies_point_one_way(file: Path) -> None:
    mine = room(name_of(file))
    for name in imports(tree(file)):
        if name.split(".")[0] == PACKAGE and (other := room(name)) in LAYERS:
            assert LAYERS[other] <= LAYERS[mine], f"{mine} imports {name}"
            assert other != "apify" or mine in {"apify", "__main__"}, f"{mine} imports {name}"


def test_every_room_has_a_layer() -> None:
    assert {room(name_of(file)) for file in FILES} - {""} <= LAYERS.keys()


@pytest.mark.parametrize(
    "file", [f for f in FILES if room(name_of(f)) in {"items", "core"}], ids=name_of
)
def test_the_core_has_no_clock_and_does_no_input_or_output(file: Path) -> None:
    module = tree(file)
    for name in imports(module):
        assert not UNSAFE_FOR_CORE & {name, name.split(".")[0], name.rpartition(".")[0]}, name
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            assert called not in UNSAFE_CALLS, ast.unparse(node)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_module_opens_with_one_sentence_on_its_job(file: Path) -> None:
    docstring = ast.get_docstring(tree(file)) or ""
    first = docstring.partition("\n")[0]
    assert first.endswith("."), first


def test_only_known_files_are_long() -> None:
    long = {
        str(file.relative_to(ROOT / PACKAGE))
        for file in FILES
        if len(file.read_text(encoding="utf-8").splitlines()) > 400
    }
    assert long <= LONG_FILES
