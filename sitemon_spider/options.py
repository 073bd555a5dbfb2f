"""Options: every input of a run, once. Defaults and limits are written here and nowhere else."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from sitemon_spider.core.filters import Pattern
from sitemon_spider.core.reasons import ChangeType
from sitemon_spider.core.targets import Rejection, SiteTarget, read_target, without_password

if TYPE_CHECKING:
    from collections.abc import Iterator


LONGEST_SHOWN = 100
"""Characters of a wrong value that a message repeats."""


class InputError(ValueError):
    """A wrong input: one sentence with the field, the rule and the value got. No request is made."""


def _split(value: object) -> object:
    """Lists may be given as text: JSON, or separated by commas or line ends."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return [part.strip() for part in value.replace("\n", ",").split(",") if part.strip()]


def _pattern(text: str | None) -> str | None:
    if text:
        try:
            Pattern(text)
        except ValueError as error:
            msg = f"not a regular expression: {error}"
            raise ValueError(msg) from None
    return text or None


Lines = Annotated[tuple[str, ...], BeforeValidator(_split)]
Regex = Annotated[str | None, AfterValidator(_pattern)]
ChangeTypes = Annotated[tuple[ChangeType, ...], BeforeValidator(_split)]


class Options(BaseModel):
    """The input of a run: camelCase in JSON, camelCase or snake_case as spider arguments."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True
    )

    sites: Lines = Field(
        (),
        max_length=1_000,
        description="Sites or sitemap addresses, mixed. `https://` is added when no scheme is given. For a site any path is ignored; an address whose path ends in `.xml`, `.xml.gz`, `.txt`, `.txt.gz`, `.rss`, `.atom`, `/feed`, `/rss` or `/atom`, or contains `sitemap`, is read as given.",
        examples=["https://astro.build"],
    )
    sitemap_urls: Lines = Field(
        (),
        max_length=1_000,
        description="Addresses that are always read as given, whatever their path. robots.txt rules hold for them, but neither its Sitemap lines nor the common paths are used.",
    )
    output_mode: Literal["changes_only", "urls_and_changes", "urls_only"] = Field(
        "changes_only",
        description="Which rows are written: changes, changes and every listed URL, or only the URLs (then nothing is tracked and no snapshot is saved).",
    )
    change_types: ChangeTypes = Field(
        (ChangeType.ADDED, ChangeType.REMOVED, ChangeType.LASTMOD_CHANGED),
        description="Which change rows are written. What is not asked for is learnt silently.",
    )
    first_run: Literal["baseline", "report"] = Field(
        "baseline",
        description="`baseline`: the first run of a site saves and reports nothing. `report`: it reports every URL as added.",
    )
    detect_lastmod_changes: bool = Field(True, description="Whether a changed lastmod is a change.")
    max_urls_per_site: int = Field(
        200_000, ge=1, le=5_000_000, description="Stop reading a site after so many unique URLs."
    )
    max_urls: int = Field(
        0,
        ge=0,
        le=5_000_000,
        description="Url rows written in the whole run; 0 = no limit. It never affects tracking.",
    )
    max_sitemaps_per_site: int = Field(
        500,
        ge=1,
        le=50_000,
        description="Sitemap files requested for one site. Indexes are walked breadth first, so a cut reading still spans the site.",
    )
    max_sitemap_depth: int = Field(3, ge=0, le=10, description="Levels of sitemap index to follow.")
    try_common_paths: bool = Field(
        True,
        description="Try the usual addresses (`/sitemap.xml`, …), one at a time, when robots.txt names no sitemap and none is remembered.",
    )
    include_regex: Regex = Field(
        None, description="Report only pages whose address matches (search, ignoring case)."
    )
    exclude_regex: Regex = Field(
        None, description="Do not report pages whose address matches (search, ignoring case)."
    )
    sitemap_include_regex: Regex = Field(
        None, description="Of the files that an index lists, read only those whose address matches."
    )
    sitemap_exclude_regex: Regex = Field(
        None, description="Do not read sitemap files whose address matches."
    )
    respect_robots_txt: bool = Field(
        True, description="Obey robots.txt. May be switched off only together with ownSite."
    )
    own_site: bool = Field(
        False,
        description="You own the sites: robots.txt and the minimum delay may be lifted.",
    )
    requests_per_second: float = Field(
        5, ge=0.1, le=50, description="Requests a second, for the whole run."
    )
    delay_per_host: float = Field(
        0.5,
        ge=0,
        le=60,
        description="Seconds between two requests to one host, at least; below 0.25 only with ownSite. Crawl-delay and slow answers only raise it.",
    )
    max_concurrent_sites: int = Field(8, ge=1, le=64, description="Sites read at the same time.")
    max_retries: int = Field(
        3,
        ge=0,
        le=10,
        description="Further attempts after 408, 429, 500, 502, 503, 504, a timeout or a network error.",
    )
    request_timeout: float = Field(
        30,
        ge=5,
        le=120,
        description="Seconds without an answer after which an attempt is given up; one that takes more than four times as long in all is given up as well.",
    )
    user_agent_contact: str | None = Field(
        None,
        max_length=200,
        pattern=r"^[\x20-\x7e]*$",
        description="An address or URL appended to the user agent, so that a site's owner can reach you.",
    )
    monitor: str = Field(
        "default",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,53}[a-z0-9])?$",
        description="Name of the monitoring job: two monitors of one site keep two snapshots.",
    )
    start_over: bool = Field(
        False, description="Forget the snapshots of the given sites before reading."
    )
    max_failed_sitemaps_percent: float = Field(
        100,
        ge=0,
        le=100,
        description="When a larger share of a site's files failed, the site is neither compared nor saved.",
    )
    hold_back_share: int = Field(
        50,
        ge=0,
        le=100,
        description="Percent of a file's or a site's URLs that may vanish at once before the removals wait for a second reading; 0 = never wait.",
    )
    ignore_site_wide_stamps: bool = Field(
        True,
        description="Do not report lastmod changes that nearly all URLs of a file or a site share.",
    )

    @model_validator(mode="after")
    def _own_site(self) -> Options:
        if not self.own_site:
            if not self.respect_robots_txt:
                msg = "respectRobotsTxt: robots.txt may be ignored only with ownSite=true"
                raise ValueError(msg)
            if self.delay_per_host < 0.25:
                got = f"{self.delay_per_host:g}"
                msg = f"delayPerHost: below 0.25 seconds only with ownSite=true, got {got}"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _some_site(self) -> Options:
        if not self.sites and not self.sitemap_urls:
            msg = "sites: at least one site or sitemap address is needed"
            raise ValueError(msg)
        return self

    def record(self) -> dict[str, Any]:
        """The options as a record shows them, by their wire names and without passwords."""
        values = self.model_dump(mode="json", by_alias=True)
        for name in ("sites", "sitemapUrls"):
            values[name] = [without_password(line) for line in values[name]]
        return values

    def targets(self, *, allow_private: bool) -> Iterator[SiteTarget | Rejection]:
        """What each entry names, in order; private addresses only where they are allowed."""
        for line in self.sites:
            yield read_target(line, direct=False, allow_private=allow_private)
        for line in self.sitemap_urls:
            yield read_target(line, direct=True, allow_private=allow_private)

    def require_target(self, *, allow_private: bool) -> None:
        """Make sure that not every entry is refused: such a run has nothing to do.

        Raises InputError about the first one.
        """
        targets = list(self.targets(allow_private=allow_private))
        refused = [target for target in targets if isinstance(target, Rejection)]
        if len(refused) == len(targets):
            first = refused[0]
            name = "sites" if self.sites else "sitemapUrls"
            msg = f"{name}: no entry can be read: {first.detail}, got {shown(first.input)}"
            raise InputError(msg)

    INPUT_FILE: ClassVar[str] = "input"

    @classmethod
    def read(cls, values: dict[str, Any]) -> Options:
        """Options from JSON-like values by camelCase or snake_case names. Raises InputError."""
        for name in values:
            if "_" in name and to_camel(name) in values:
                msg = f"{to_camel(name)}: given twice, as {to_camel(name)} and as {name}"
                raise InputError(msg)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(_sentence(error, cls)) from None

    @classmethod
    def from_arguments(cls, arguments: dict[str, Any]) -> Options:
        """Options from spider arguments; `input=FILE.json` gives those not named beside it.

        Names that begin with `_` (Scrapyd's `_job`) are no options. Raises InputError.
        """
        values = {name: value for name, value in arguments.items() if not name.startswith("_")}
        file = values.pop(cls.INPUT_FILE, None)
        if file is not None:
            named = {to_camel(name) if "_" in name else name for name in values}
            stored = _input_file(file)
            values = {n: v for n, v in stored.items() if to_camel(n) not in named} | values
        return cls.read(values)


def _input_file(name: str) -> dict[str, Any]:
    try:
        values = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"input: the file {name!r} cannot be read ({error.strerror})"
        raise InputError(msg) from None
    except ValueError as error:
        msg = f"input: the file {name!r} is not JSON ({error})"
        raise InputError(msg) from None
    if not isinstance(values, dict):
        msg = f"input: the file {name!r} must hold one JSON object of options"
        raise InputError(msg)
    return values


def _sentence(error: ValidationError, model: type[Options]) -> str:
    """The first fault as one sentence: the field, the rule, the value got."""
    fault = error.errors()[0]
    names = {name: to_camel(name) for name in model.model_fields}
    where = [names.get(str(part), str(part)) for part in fault["loc"]]
    if not where:
        return str(fault["ctx"]["error"])
    name = where[0]
    if fault["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, [*names, *names.values()], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"{name}: there is no option of this name{hint}"
    rule = str(fault["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    return f"{name}: {rule[0].lower()}{rule[1:]}, got {shown(fault['input'])}"


def shown(value: object) -> str:
    """A value as a message shows it: printable, and not too long [S3]."""
    text = ascii(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
