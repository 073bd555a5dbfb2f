"""Writes the pages that follow from the code: `input.md` from the model of the options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sitemon_spider.options import Options

HERE = Path(__file__).parent

INPUT_HEAD = """\
# Options

<!-- Written by `make docs` from sitemon_spider/options.py. Change the model, not this page. -->

What a run can be told, as arguments of the command: `-a maxUrlsPerSite=1000` or, which means the
same, `-a max_urls_per_site=1000`. A list is separated by commas or written as JSON. Many options
fit better into a file: `-a input=FILE.json` reads a JSON object of these names, and an argument
beside it wins.

A name that does not exist or a value out of its limits ends the command before anything is
requested, with exit code 2 and a sentence that names the option. Either `sites` or `sitemapUrls` is
needed.

| option | type | default | limits | what it does |
|---|---|---|---|---|
"""

TYPES = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "string": "text",
}


def input_page() -> str:
    """The text of `input.md`: a row an option, in the order of the model."""
    schema = Options.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    rows = (_row(name, field, definitions) for name, field in schema["properties"].items())
    return INPUT_HEAD + "".join(rows)


def _row(name: str, field: dict[str, Any], definitions: dict[str, Any]) -> str:
    # What may be left out is a choice of a type and null in the schema.
    some: dict[str, Any] = next(
        (one for one in field.get("anyOf", []) if one["type"] != "null"), {}
    )
    field = some | field
    cells = [
        f"`{name}`",
        TYPES[field["type"]],
        _default(field.get("default")),
        _limits(field, definitions),
        field["description"],
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(value: object) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, list):
        return f"`{','.join(value)}`"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _limits(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    of = field.get("items", {})
    if "$ref" in of:
        of = definitions[of["$ref"].rpartition("/")[2]]
    if values := field.get("enum", of.get("enum")):
        return ", ".join(f"`{value}`" for value in values)
    limits = []
    if "minimum" in field:
        limits.append(f"{field['minimum']:,} to {field['maximum']:,}")
    if "maxItems" in field:
        limits.append(f"at most {field['maxItems']:,}")
    if "maxLength" in field:
        limits.append(f"at most {field['maxLength']:,} characters")
    if "pattern" in field:
        limits.append(f"matches `{field['pattern']}`")
    return "; ".join(limits)


PAGES = {"input.md": input_page}
"""The generated pages of this folder, each with what writes it."""


def main() -> None:
    """Write every page anew."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
