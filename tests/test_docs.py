"""The documents say what is so: generated pages, commands, links, settings and pasted output."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from docs.generate import PAGES
from sitemon_spider import settings
from sitemon_spider.options import Options

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The command lines of the README: of its shell blocks, and those in running text."""
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    return lines + re.findall(r"`((?:make|scrapy crawl sitemon) [^`]+)`", README.replace("\n", " "))


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    page = (ROOT / "docs" / name).read_text("utf-8")
    assert page == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("name", Options.model_fields)
def test_every_option_is_documented(name: str) -> None:
    field = Options.model_fields[name]
    assert field.description
    row = rf"^\| `{field.alias}` \| .* \| {re.escape(field.description)} \|$"
    assert len(re.findall(row, (ROOT / "docs" / "input.md").read_text("utf-8"), re.MULTILINE)) == 1


def test_every_setting_of_the_project_is_in_the_readme() -> None:
    named = set(re.findall(r"^\| `(SITEMON_\w+)` \|", README, re.MULTILINE))
    assert named == {name for name in vars(settings) if name.startswith("SITEMON_")}


@pytest.mark.parametrize("row", re.findall(r"^\| `(SITEMON_\w+)` \| `(.+?)` \|", README, re.M))
def test_a_default_in_the_readme_is_that_of_the_settings(row: tuple[str, str]) -> None:
    name, default = row
    assert str(getattr(settings, name)) == default


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_readme_parses(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word]
        assert targets
        assert set(targets) <= TARGETS
        assert all(
            re.search(rf"\$\({word.partition('=')[0]}\)", MAKEFILE)
            for word in words[1:]
            if "=" in word
        )
    elif words[0] == "scrapy":
        assert words[1:3] == ["crawl", "sitemon"]
        arguments = dict(b.split("=", 1) for a, b in pairwise(words) if a == "-a")
        if "…" not in line:
            Options.from_arguments(arguments)
    else:
        assert line in {". .venv/bin/activate", ".venv/bin/pre-commit install"}


def test_make_targets_named_in_the_documents_exist() -> None:
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        assert set(re.findall(r"`make ([a-z-]+)", text)) <= TARGETS, document.name
    phony = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split()
    assert set(phony) == TARGETS


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_resolve(document: Path) -> None:
    text = re.sub(r"`[^`]*`", "", document.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        page = document.parent / name if name else document
        assert page.exists(), target
        assert not anchor or anchor in anchors(page.read_text("utf-8")), target


VOLATILE = [
    (r"127\.0\.0\.1:\d+", "HOST"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "RUN"),
    (r"Scrapy [\d.]+", "Scrapy"),
]


def settled(text: str) -> str:
    """Output without what is another in every run."""
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text.strip()


def test_the_demo_in_the_readme_is_what_make_demo_prints() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.demo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (shown,) = [block for block in blocks(README, "") if block.startswith("A small shop")]
    assert settled(shown) == settled(run.stdout)
