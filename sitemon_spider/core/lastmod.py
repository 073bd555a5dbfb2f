"""Moments and their precision: lastmod texts read, compared, ordered; uniform stamps found.

A lastmod is read by a closed list of forms and never completed from the clock: a coarse value
means its first instant and says how coarse it is [C4]. Columns are two plain arrays, so that a
file of 50,000 URLs is compared without a Python object per URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Instants = npt.NDArray[np.int64]
    Forms = npt.NDArray[np.uint16]
    Bytes = npt.NDArray[np.uint8]
    Levels = npt.NDArray[np.uint8]
    Counts = npt.NDArray[np.int32]
    Mask = npt.NDArray[np.bool_]


class Precision(IntEnum):
    """The smallest part of a moment that its text writes."""

    NONE = 0
    YEAR = 1
    MONTH = 2
    DAY = 3
    MINUTE = 4
    SECOND = 5
    FRACTION = 6


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
"""Microseconds a second; every instant is in microseconds since 1970-01-01T00:00Z."""
DAY = 86_400 * SECOND
FIRST = (date.min.toordinal() - EPOCH.toordinal()) * DAY
LAST = (date.max.toordinal() - EPOCH.toordinal() + 1) * DAY - 1
"""The years 0001 to 9999 in UTC; a moment outside of them is unreadable."""

WIDEST_ZONE = 14 * 60
"""Minutes; XSD 1.1 part 2 §3.3.7 bounds a zone by 14:00 on both sides."""
ZONE_BITS = 11
ZONE_MASK = (1 << ZONE_BITS) - 1
ZONE_UTC = WIDEST_ZONE + 1
"""The zone part of a form: 0 = none written, else minutes east of UTC + 841 (1 to 1681)."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One readable lastmod.

    `instant`: microseconds since 1970-01-01T00:00Z, of a coarse value its first instant, UTC when
    no zone is written. `offset`: minutes east of UTC as written, None when no zone is written.
    """

    instant: int
    precision: Precision
    offset: int | None

    @property
    def form(self) -> int:
        """Precision and zone in one number, as `Moments.forms` keeps them."""
        zone = 0 if self.offset is None else self.offset + ZONE_UTC
        return self.precision << ZONE_BITS | zone


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """A column of lastmods: two arrays of equal length, 10 bytes a lastmod.

    `instants` as in `Moment`, 0 where there is none. `forms`: 0 where there is none, else the
    precision in bits 11 to 13 and the zone in bits 0 to 10 (0 = none, else its minutes + 841).
    """

    instants: Instants
    forms: Forms

    @classmethod
    def of(cls, values: Iterable[Moment | None]) -> Moments:
        """Build the column of single moments, None where there is none."""
        pairs = [(0, 0) if value is None else (value.instant, value.form) for value in values]
        return cls(
            np.array([instant for instant, _ in pairs], np.int64),
            np.array([form for _, form in pairs], np.uint16),
        )

    @classmethod
    def concat(cls, parts: Iterable[Moments]) -> Moments:
        """One column of several, in their order; of no part the empty column."""
        columns = [cls(np.empty(0, np.int64), np.empty(0, np.uint16)), *parts]
        return cls(
            np.concatenate([column.instants for column in columns]),
            np.concatenate([column.forms for column in columns]),
        )

    def __len__(self) -> int:
        return len(self.forms)

    def __getitem__(self, row: int) -> Moment | None:
        form = int(self.forms[row])
        if not form:
            return None
        zone = form & ZONE_MASK
        offset = zone - ZONE_UTC if zone else None
        return Moment(int(self.instants[row]), Precision(form >> ZONE_BITS), offset)

    def take(self, indices: npt.NDArray[np.integer]) -> Moments:
        """Take the moments of some rows, in the order given."""
        return Moments(self.instants[indices], self.forms[indices])

    @property
    def readable(self) -> Mask:
        """True where there is a moment."""
        mask: Mask = self.forms != 0
        return mask

    @property
    def precisions(self) -> Levels:
        """The `Precision` of each row."""
        return (self.forms >> ZONE_BITS).astype(np.uint8)

    @property
    def zoned(self) -> Mask:
        """True where a zone is written."""
        mask: Mask = (self.forms & ZONE_MASK) != 0
        return mask

    @property
    def offsets(self) -> Instants:
        """Microseconds east of UTC, 0 where no zone is written."""
        zones = (self.forms & ZONE_MASK).astype(np.int64)
        zones[zones == 0] = ZONE_UTC
        return (zones - ZONE_UTC) * (60 * SECOND)


# --- Reading one text -----------------------------------------------------------------------

COARSE = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
FULL = re.compile(
    r"""
    (?P<year>[0-9]{4}) - (?P<month>[0-9]{1,2}) - (?P<day>[0-9]{1,2})
    (?: (?P<day_zone> [Zz] | [+-][0-9]{2}:[0-9]{2} )
      | [Tt\ ] (?P<hour>[0-9]{1,2}) : (?P<minute>[0-9]{2})
        (?: : (?P<second>[0-9]{2}) (?: \.(?P<fraction>[0-9]+) | \ (?P<half>[AaPp])[Mm]\Z )? )?
        (?P<zone> [Zz] | [+\-\ ][0-9]{2}(?: :?[0-9]{2} )? )?
    )?
    """,
    re.VERBOSE,
)
"""W3C-DTF from the day on, xsd:date, xsd:dateTime and the tolerated deviations from them: a space
for the T, ±hhmm, ±hh, a lost +, any number of fraction digits, lower case, unpadded, AM/PM."""

FEED = re.compile(
    r"""
    (?: (?:mon|tue|wed|thu|fri|sat|sun) ,\s* )?
    (?P<day>[0-9]{1,2}) \s+ (?P<month>[a-z]{3}) \s+ (?P<year>[0-9]{2}(?:[0-9]{2})?) \s+
    (?P<hour>[01][0-9]|2[0-3]) : (?P<minute>[0-9]{2}) (?: : (?P<second>[0-9]{2}) )?
    \s+ (?P<zone>[+-][0-9]{4}|[a-z]+)
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
"""RFC 822 §5.1 with the four-digit years of RFC 1123 §5.2.14, as RSS writes it. The name of the
day adds nothing and is not checked against the date."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ZONE_NAMES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
    "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
}  # fmt: skip
"""RFC 822 §5.1 in minutes, and the UTC that clocks write in its place. The military letters are
left out but for Z: RFC 1123 §5.2.14 found their signs to be wrong."""


def parse(text: str | None) -> Moment | None:
    """Read the moment that a lastmod text writes; None when it writes no readable one [C4].

    Read are, white space around them trimmed: the six shapes of W3C-DTF; what xsd:date and
    xsd:dateTime add (no zone, a zone on a date, 24:00:00 as the next midnight); and a closed list
    of tolerated forms: a space for the T, `±hhmm`, `±hh`, a zone whose + became a space, more than
    six fraction digits (cut, not rounded), lower-case t and z, an unpadded month, day or hour of a
    full date, `hh:mm:ss AM/PM`, and the dates of RFC 822 and RFC 1123. All else is none: zero and
    negative years, days and hours that do not exist (a leap second too, which W3C-DTF and XSD both
    exclude), two dates, epoch numbers, words. Nothing is ever filled in from the clock.
    """
    if text is None:
        return None
    text = text.strip()
    try:
        return read_coarse(text) or read_full(text) or read_feed(text)
    except ValueError:
        return None


def read_coarse(text: str) -> Moment | None:
    """Read `YYYY` and `YYYY-MM`; None for another form, ValueError: no such month."""
    match = COARSE.fullmatch(text)
    if match is None:
        return None
    year, month = match.groups()
    precision = Precision.YEAR if month is None else Precision.MONTH
    return Moment(midnight(int(year), int(month or 1), 1), precision, None)


def read_full(text: str) -> Moment | None:
    """Read a form that starts `YYYY-MM-DD`; None for another form, ValueError: no such time."""
    match = FULL.fullmatch(text)
    if match is None:
        return None
    start = midnight(int(match["year"]), int(match["month"]), int(match["day"]))
    if match["hour"] is None:
        return placed(start, Precision.DAY, offset_of(match["day_zone"]))
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no such hour of a half day")
        hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
    fraction, second = match["fraction"], match["second"]
    start += time_of_day(hour, int(match["minute"]), int(second or 0), fraction or "")
    precision = Precision.FRACTION if fraction else Precision.SECOND if second else Precision.MINUTE
    return placed(start, precision, offset_of(match["zone"]))


def read_feed(text: str) -> Moment | None:
    """Read an RFC 822 date; None for another form, ValueError: no such time."""
    match = FEED.fullmatch(text)
    if match is None:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:  # RFC 5322 §4.3 reads the years of RFC 822 so
        year += 2000 if year < 50 else 1900
    start = midnight(year, MONTHS.index(match["month"].lower()) + 1, int(match["day"]))
    start += time_of_day(int(match["hour"]), int(match["minute"]), int(match["second"] or 0), "")
    precision = Precision.SECOND if match["second"] else Precision.MINUTE
    zone = match["zone"].lower()
    if zone[0] in "+-":
        return placed(start, precision, offset_of(zone))
    if zone not in ZONE_NAMES:
        raise ValueError("no zone of RFC 822")
    return placed(start, precision, ZONE_NAMES[zone])


def midnight(year: int, month: int, day: int) -> int:
    """Find the first instant of a day in UTC; ValueError when the calendar has no such day."""
    return (date(year, month, day).toordinal() - EPOCH.toordinal()) * DAY


def time_of_day(hour: int, minute: int, second: int, fraction: str) -> int:
    """Count microseconds since midnight, 24 h for 24:00:00 (XSD); ValueError: no such time."""
    micros = int(fraction[:6].ljust(6, "0"))
    is_end_of_day = hour == 24 and not (minute or second or micros)
    if minute > 59 or second > 59 or (hour > 23 and not is_end_of_day):
        raise ValueError("no such time")
    return ((hour * 60 + minute) * 60 + second) * SECOND + micros


def offset_of(zone: str | None) -> int | None:
    """Read minutes east of UTC, a blank as a lost +; None for no zone, ValueError: no such zone."""
    if zone is None or zone in "Zz":
        return None if zone is None else 0
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if minutes > 59 or hours * 60 + minutes > WIDEST_ZONE:
        raise ValueError("no such zone")
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def placed(wall_clock: int, precision: Precision, offset: int | None) -> Moment:
    """Place a wall clock in its zone; ValueError when that leaves the years 1 to 9999."""
    instant = wall_clock - (offset or 0) * 60 * SECOND
    if not FIRST <= instant <= LAST:
        raise ValueError("outside of the years 1 to 9999")
    return Moment(instant, precision, offset)


def iso(moment: Moment) -> str:
    """Write the instant as rows show it (`lastmodIso`): UTC with milliseconds (cut) and Z."""
    instant = EPOCH + timedelta(microseconds=moment.instant)
    return instant.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


# --- Reading a column -----------------------------------------------------------------------

SHAPES = (
    "0000-00-00",
    *(
        f"0000-00-00T00:00{rest}{zone}"
        for rest in ("", ":00", ":00.000", ":00.000000")
        for zone in ("", "Z", "+00:00", "+0000")
    ),
)
"""The common shapes. Their lengths, nearly all different, tell which of them a text may have."""
MARKS = {"-": b"-", "T": b"Tt ", ":": b":", ".": b".", "Z": b"Zz", "+": b"+-"}
"""Which bytes may stand at a place of a shape; 0 stands for any digit."""
MONTH_LENGTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] + [0] * 243, np.uint8)
"""Days of each month of a common year; a month that does not exist (0 to 255) has none."""


def moments(texts: pa.Array[Any] | pa.ChunkedArray[Any]) -> Moments:
    """Read a column of texts (string or dictionary of strings, nullable), each as by `parse`.

    Texts of a common shape are read as one matrix of bytes; `parse` reads what those cannot prove,
    each distinct text once.
    """
    if isinstance(texts, pa.ChunkedArray):
        return Moments.concat([moments(chunk) for chunk in texts.chunks])
    if isinstance(texts, pa.DictionaryArray):
        entries = Moments.concat([moments(texts.dictionary), Moments.of([None])])
        rows = texts.indices.cast(pa.int64()).fill_null(len(entries) - 1)
        return entries.take(rows.to_numpy())
    column = Moments(np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint16))
    if texts.null_count < len(texts):
        strings = texts if texts.type == pa.string() else texts.cast(pa.string())
        read_shapes(strings, column)
        read_rest(strings, column)
    return column


def read_shapes(texts: pa.Array[Any], column: Moments) -> None:
    """Fill in the rows that are proven to be a moment of a common shape."""
    _, places, values = texts.buffers()
    if places is None or values is None or not values.size:
        return
    starts = np.frombuffer(memoryview(places), np.int32)[texts.offset :][: len(texts) + 1]
    lengths = np.diff(starts)
    if texts.null_count:
        lengths[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    for shape in SHAPES:
        rows = np.flatnonzero(lengths == len(shape))
        if not len(rows):
            continue
        length = len(shape)
        # Every place of the buffer as the start of a text: one copy gathers whole texts.
        windows = np.ndarray(values.size - length + 1, f"V{length}", memoryview(values), 0, 1)
        cells = windows[starts[rows]].view(np.uint8).reshape(-1, length)
        proven, instants, forms = read_shape(np.ascontiguousarray(cells.T), shape)
        rows = rows[proven]
        column.instants[rows], column.forms[rows] = instants[proven], forms[proven]
        lengths[rows] = 0  # read: no other shape of this length need try them


def read_rest(texts: pa.Array[Any], column: Moments) -> None:
    """Fill in the rows that no shape has proven, by `parse`, each distinct text once."""
    is_rest = ~column.readable
    if texts.null_count:
        is_rest &= texts.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(is_rest)
    if not len(rows):
        return
    distinct = texts.take(pa.array(rows, pa.int64())).dictionary_encode()
    entries = Moments.of(parse(text) for text in distinct.dictionary.to_pylist())
    read = entries.take(distinct.indices.to_numpy())
    column.instants[rows], column.forms[rows] = read.instants, read.forms


def read_shape(cells: Bytes, shape: str) -> tuple[Mask, Instants, Forms]:
    """Whether each text is proven to be a moment of the shape, and its instant and form if so.

    `cells` holds one row a place of the shape and one column a text. Unproven are also the years
    1 and 9999, where a zone may lead out of the calendar, and 24:00:00: `parse` decides them.
    """
    proven = has_shape(cells, shape)
    digits = cells - np.uint8(ord("0"))

    def number(start: int, width: int = 2) -> Counts:
        value: Counts = digits[start].astype(np.int32)
        for place in range(start + 1, start + width):
            value = value * 10 + digits[place]
        return value

    def pair(start: int) -> Bytes:
        value: Bytes = digits[start] * np.uint8(10) + digits[start + 1]
        return value

    year, month, day = number(0, 4), pair(5), pair(8)
    proven &= (year > 1) & (year < 9999) & is_day(year, month, day)
    instants = days_since_epoch(year, month, day).astype(np.int64)
    if len(shape) == 10:
        return proven, instants * DAY, np.full(len(year), Precision.DAY << ZONE_BITS, np.uint16)

    hour, minute = pair(11), pair(14)
    proven &= (hour < 24) & (minute < 60)
    instants = instants * 1440 + number(11) * 60 + minute
    zone: Counts | int = ZONE_UTC if shape[-1] == "Z" else 0
    if "+" in shape:
        at = shape.index("+")
        minutes = number(at + 1) * 60 + number(len(shape) - 2)
        proven &= (minutes <= WIDEST_ZONE) & (pair(len(shape) - 2) < 60)
        minutes = np.where(cells[at] == ord("-"), -minutes, minutes)
        instants -= minutes
        zone = minutes + ZONE_UTC
    precision, instants = Precision.MINUTE, instants * (60 * SECOND)
    if shape[16:17] == ":":
        precision, second = Precision.SECOND, number(17)
        proven &= second < 60
        instants += second * SECOND
    if "." in shape:
        precision, width = Precision.FRACTION, 6 if ".000000" in shape else 3
        instants += number(20, width) * 10 ** (6 - width)
    forms = np.full(len(year), precision << ZONE_BITS, np.uint16)
    forms |= np.asarray(zone).astype(np.uint16)
    return proven, instants, forms


def has_shape(cells: Bytes, shape: str) -> Mask:
    """Whether each text has a digit or one of the right marks at every place."""
    proven = np.ones(cells.shape[1], np.bool_)
    for cell, mark in zip(cells, shape, strict=True):
        if mark == "0":
            proven &= cell - np.uint8(ord("0")) < 10
            continue
        fits = cell == MARKS[mark][0]
        for other in MARKS[mark][1:]:
            fits |= cell == other
        proven &= fits
    return proven


def is_day(year: Counts, month: Bytes, day: Bytes) -> Mask:
    """Whether the Gregorian calendar has each day."""
    common = (day > 0) & (day <= MONTH_LENGTHS[month])
    leap_year = (year & 3 == 0) & ((year % 25 != 0) | (year & 15 == 0))
    exists: Mask = common | (leap_year & (month == 2) & (day == 29))
    return exists


def days_since_epoch(year: Counts, month: Bytes, day: Bytes) -> Counts:
    """Days from 1970-01-01 in the Gregorian calendar, counted in years that start with March."""
    is_after_february = month > 2
    years = year - ~is_after_february
    months = np.where(is_after_february, -3, 9).astype(np.int32) + month
    leap_days = years // 4 - years // 100 + years // 400
    days: Counts = years * 365 + leap_days + (months * 153 + 2) // 5 + day - 719_469
    return days


# --- Comparing ------------------------------------------------------------------------------

MICROSECOND_LEVEL = Precision.FRACTION + 1
UNITS = np.array([1, 1, 1, DAY, 60 * SECOND, SECOND, 1_000, 1], np.int64)
"""Length of the unit of each level in microseconds; years and months have no fixed one."""


def differs(before: Moments, after: Moments) -> Mask:
    """Where a lastmod has changed [C4], row by row: both readable, and not compatible.

    Compatible are equal instants; a coarser value that contains the finer one: its extent does, or
    (year, month, day) the finer one has its date as written or in UTC; and one wall clock with and
    without a zone, of one precision or cut. Two values with fractions are compatible when one is
    the other cut at milliseconds: the number of digits is not kept, and clocks cut there. The
    relation is symmetric.
    """
    changed: Mask = before.readable & after.readable & (before.instants != after.instants)
    rows = np.flatnonzero(changed)
    if len(rows):
        before, after = before.take(rows), after.take(rows)
        undecided = np.flatnonzero(
            (levels(before) != levels(after)) | (before.zoned != after.zoned)
        )
        agrees = contains(before.take(undecided), after.take(undecided))
        changed[rows[undecided[agrees]]] = False
    return changed


def finer(before: Moments, after: Moments) -> Mask:
    """Where `before` stays the value to compare with: compatible with `after`, but the finer text.

    Finer is the higher precision; of equal ones microseconds against milliseconds, then a zone
    against none [C4].
    """
    stays = before.readable & after.readable
    was, now = levels(before), levels(after)
    stays &= (was > now) | ((was == now) & before.zoned & ~after.zoned)
    rows = np.flatnonzero(stays)
    stays[rows] = ~differs(before.take(rows), after.take(rows))
    return stays


def latest_order(column: Moments) -> npt.NDArray[np.int64]:
    """Give each row a sort key: the later instant is greater, of equal ones the finer text [C3].

    Finer is the higher precision, then a zone against none. Keys of different columns compare;
    none has the least, 0.
    """
    # The years 1 to 9999 take 59 bits of microseconds, which leaves the lowest four bits.
    fineness = column.precisions * np.uint8(2) + column.zoned
    return np.where(column.readable, (column.instants - FIRST) * 16 + fineness, 0)


def levels(column: Moments) -> Levels:
    """Each row's precision, where a fraction finer than milliseconds is a level of its own."""
    level = column.precisions
    rows = np.flatnonzero(level == Precision.FRACTION)
    has_micros = column.instants[rows] % UNITS[Precision.FRACTION] != 0
    level[rows[has_micros]] = MICROSECOND_LEVEL
    return level


def contains(one: Moments, other: Moments) -> Mask:
    """Where the coarser of two readable values holds the finer one, or only their zones differ."""
    swapped = levels(one) > levels(other)
    coarse = choose(swapped, other, one)
    fine = choose(swapped, one, other)
    level = levels(coarse)
    is_coarser = level < levels(fine)
    is_date = is_coarser & (level <= Precision.DAY)
    zone_lost = coarse.zoned != fine.zoned
    written = coarse.instants + coarse.offsets

    holds = np.zeros(len(coarse), np.bool_)
    for applies, shifts in (
        (is_coarser, coarse.offsets),  # its extent
        (is_date | zone_lost, fine.offsets),  # as written
        (is_date & coarse.zoned, np.zeros_like(written)),  # in UTC, where that is not its extent
    ):
        rows = np.flatnonzero(applies & ~holds)
        starts = cut(fine.instants[rows] + shifts[rows], level[rows])
        holds[rows] = starts == written[rows]
    return holds


def choose(mask: Mask, chosen: Moments, otherwise: Moments) -> Moments:
    """Take the rows of `chosen` where the mask is true, else those of `otherwise`."""
    return Moments(
        np.where(mask, chosen.instants, otherwise.instants),
        np.where(mask, chosen.forms, otherwise.forms),
    )


def cut(instants: Instants, level: Levels) -> Instants:
    """Find the first instant of the year, month, day, … (by level) that each instant is in."""
    starts = instants - instants % UNITS[level]
    for precision, unit in ((Precision.YEAR, "M8[Y]"), (Precision.MONTH, "M8[M]")):
        rows = np.flatnonzero(level == precision)
        starts[rows] = instants[rows].view("M8[us]").astype(unit).astype("M8[us]").view(np.int64)
    return starts


# --- Uniform stamps -------------------------------------------------------------------------

STAMP_WINDOW = 60 * SECOND
STAMP_LEAST = 20
STAMP_LEAST_OF_SITE = 5


@dataclass(frozen=True, slots=True)
class Stamp:
    """The window that holds nearly all lastmods of a file or a site [C8].

    `start` and `end`: its first and last lastmod, inclusive microseconds, at most 60 s apart.
    `share` and `count`: how many of the readable lastmods it holds.
    """

    start: int
    end: int
    share: float
    count: int


def stamp(instants: Instants, whole_site: bool) -> Stamp | None:
    """Find the uniform stamp of a file's or a site's readable lastmods; None without one [C8].

    It is the densest window of 60 seconds, both ends included, the earliest of equally dense ones,
    if it holds at least 90 % of the lastmods and at least 20 of them, or, of a whole site, every
    one of at least 5.
    """
    total = len(instants)
    if total < STAMP_LEAST_OF_SITE:
        return None
    # 90 % in a row of the sorted instants include the median: only what is near it can be a stamp.
    median = np.partition(instants, total // 2)[total // 2]
    near = np.sort(instants[np.abs(instants - median) <= STAMP_WINDOW])
    ends = np.searchsorted(near, near + STAMP_WINDOW, side="right")
    counts = ends - np.arange(len(near))
    densest = int(np.argmax(counts))
    count = int(counts[densest])
    is_most = count >= STAMP_LEAST and count * 10 >= total * 9
    if not (is_most or (whole_site and count == total)):
        return None
    return Stamp(int(near[densest]), int(near[ends[densest] - 1]), count / total, count)
