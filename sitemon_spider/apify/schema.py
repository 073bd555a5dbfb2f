"""The Actor's input form: `python -m sitemon_spider.apify.schema` writes it from the options."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sitemon_spider.apify.actor import MAX_URLS
from sitemon_spider.options import Options

FILE = Path(__file__).parents[2] / ".actor" / "input_schema.json"

SECTIONS: dict[str, tuple[str, ...]] = {
    "What to report": (
        "outputMode",
        "changeTypes",
        "firstRun",
        "detectLastmodChanges",
        "includeMetadata",
        "includeRegex",
        "excludeRegex",
        "changedSince",
        "keepUrlsWithoutLastmod",
        "notify",
    ),
    "Limits": ("maxUrls", "maxUrlsPerSite", "maxSitemapsPerSite", "maxSitemapDepth"),
    "Finding sitemaps": (
        "tryCommonPaths",
        "sitemapIncludeRegex",
        "sitemapExcludeRegex",
        "fallbackCrawl",
        "maxCrawlPages",
    ),
    "Checks of URLs": ("checkUrlStatus", "statusCheckLimit", "checkRobotsForUrls"),
    "Tracking": (
        "monitor",
        "startOver",
        "holdBackShare",
        "ignoreSiteWideStamps",
        "maxFailedSitemapsPercent",
    ),
    "Manners": (
        "requestsPerSecond",
        "delayPerHost",
        "maxConcurrentSites",
        "maxRetries",
        "requestTimeout",
        "userAgentContact",
        "ownSite",
        "respectRobotsTxt",
        "robotsPolicy",
    ),
}
"""The form's sections below `sites` and `sitemapUrls`; an option of none comes at the end."""

TITLES = {
    "sites": "Sites",
    "sitemapUrls": "Sitemap addresses",
    "maxUrls": "URL rows in the whole run, at most",
    "maxUrlsPerSite": "URLs read of a site, at most",
    "includeRegex": "Report only pages that match",
    "excludeRegex": "Do not report pages that match",
    "sitemapIncludeRegex": "Read only sitemaps that match",
    "sitemapExcludeRegex": "Do not read sitemaps that match",
    "ownSite": "These are my own sites",
    "respectRobotsTxt": "Obey robots.txt",
}

PREFILL: dict[str, object] = {"sites": ["https://crawlee.dev"]}
"""A first run saves a baseline of this one site: nothing but the start is charged."""

DEFAULTS = {"maxUrls": MAX_URLS}
"""What is another here than on a laptop (SPEC §1)."""

EDITORS = {"boolean": "checkbox", "integer": "number", "number": "number", "string": "textfield"}


def input_schema() -> str:
    """The text of `input_schema.json`."""
    model = Options.model_json_schema(by_alias=True)
    definitions = model.get("$defs", {})
    given: dict[str, dict[str, Any]] = model["properties"]
    properties = {name: _field(name, given[name], definitions) for name in _top(given)}
    for caption, names in _sections(given).items():
        for first, name in enumerate(names):
            properties[name] = _field(name, given[name], definitions)
            if first == 0:
                properties[name]["sectionCaption"] = caption
    schema = {
        "title": "Sitemap change monitor",
        "description": "Watches the sitemaps of websites: pages added, removed, changed. The "
        "first run of a site saves a baseline; later runs report what changed since. With no "
        "site given the Actor runs a demo of 100 URLs.",
        "type": "object",
        "schemaVersion": 1,
        "properties": properties,
        "required": [],
    }
    return json.dumps(schema, indent=4, ensure_ascii=False) + "\n"


def _top(given: dict[str, Any]) -> list[str]:
    return [name for name in ("sites", "sitemapUrls") if name in given]


def _sections(given: dict[str, Any]) -> dict[str, list[str]]:
    found = {caption: [n for n in names if n in given] for caption, names in SECTIONS.items()}
    placed = {name for names in found.values() for name in names}
    found["More"] = [name for name in given if name not in placed and name not in _top(given)]
    return {caption: names for caption, names in found.items() if names}


def _field(name: str, option: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    some: dict[str, Any] = next(
        (one for one in option.get("anyOf", []) if one.get("type") != "null"), {}
    )
    option = some | option
    kind = option["type"]
    field: dict[str, Any] = {
        "title": TITLES.get(name, _words(name)),
        "type": kind,
        "description": option["description"],
    }
    items = option.get("items", {})
    if "$ref" in items:
        items = definitions[items["$ref"].rpartition("/")[2]]
    if values := option.get("enum", items.get("enum")):
        field["editor"] = "select"
        choice = {"enum": list(values), "enumTitles": [_words(value) for value in values]}
        field |= {"items": {"type": "string", **choice}} if kind == "array" else choice
    else:
        field["editor"] = "stringList" if kind == "array" else EDITORS[kind]
    if name in PREFILL:
        field["prefill"] = PREFILL[name]
    default = DEFAULTS.get(name, option.get("default"))
    if default not in (None, [], ()) and name not in PREFILL:
        field["default"] = default
    if kind == "string" and default is None:
        field["nullable"] = True
    for limit in ("minimum", "maximum", "pattern", "maxLength", "maxItems"):
        if limit in option:
            field[limit] = option[limit]
    if examples := option.get("examples"):
        field["example"] = examples if kind == "array" else examples[0]
    return field


def _words(name: str) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").lower()
    for short in ("url", "urls", "ids"):
        text = re.sub(rf"\b{short}\b", short.replace("url", "URL"), text)
    return text[0].upper() + text[1:]


if __name__ == "__main__":
    FILE.write_text(input_schema(), "utf-8")
