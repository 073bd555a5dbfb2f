"""Moments [C4], their order [C3] and uniform stamps [C8]: literal tables and laws."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.lastmod import (
    Moment,
    Moments,
    Precision,
    Stamp,
    differs,
    finer,
    iso,
    latest_order,
    moments,
    parse,
    stamp,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR, MONTH, DAY = Precision.YEAR, Precision.MONTH, Precision.DAY
MINUTE, SECOND, FRACTION = Precision.MINUTE, Precision.SECOND, Precision.FRACTION


def micros(literal: str) -> int:
    return (datetime.fromisoformat(literal) - EPOCH) // timedelta(microseconds=1)


def column(*texts: str | None) -> Moments:
    return moments(pa.array(texts, pa.string()))


def rows(read: Moments) -> list[Moment | None]:
    return [read[row] for row in range(len(read))]


# --- Reading --------------------------------------------------------------------------------

READABLE = [
    # W3C-DTF, all six shapes
    ("2026", "2026-01-01T00:00:00Z", YEAR, None),
    ("0001", "0001-01-01T00:00:00Z", YEAR, None),
    ("9999", "9999-01-01T00:00:00Z", YEAR, None),
    ("2026-10", "2026-10-01T00:00:00Z", MONTH, None),
    ("2026-10-01", "2026-10-01T00:00:00Z", DAY, None),
    ("2024-02-29", "2024-02-29T00:00:00Z", DAY, None),
    ("2000-02-29", "2000-02-29T00:00:00Z", DAY, None),
    ("0001-01-01", "0001-01-01T00:00:00Z", DAY, None),
    ("9999-12-31", "9999-12-31T00:00:00Z", DAY, None),
    ("1969-12-31", "1969-12-31T00:00:00Z", DAY, None),
    ("2026-10-01T10:20Z", "2026-10-01T10:20:00Z", MINUTE, 0),
    ("2015-12-22T05:31-01:00", "2015-12-22T06:31:00Z", MINUTE, -60),  # B45
    ("2026-10-01T10:20:30Z", "2026-10-01T10:20:30Z", SECOND, 0),
    ("2026-10-01T10:20:30+02:00", "2026-10-01T08:20:30Z", SECOND, 120),
    ("2026-10-01T00:00:00+00:00", "2026-10-01T00:00:00Z", SECOND, 0),
    ("2026-10-01T00:00:00-00:00", "2026-10-01T00:00:00Z", SECOND, 0),
    ("2026-10-01T10:20:30+05:45", "2026-10-01T04:35:30Z", SECOND, 345),
    ("2026-10-01T10:20:30+14:00", "2026-09-30T20:20:30Z", SECOND, 840),
    ("2026-10-01T10:20:30-14:00", "2026-10-02T00:20:30Z", SECOND, -840),
    ("2026-10-01T10:20:30.5Z", "2026-10-01T10:20:30.500000Z", FRACTION, 0),
    ("2026-10-01T10:20:30.45+01:00", "2026-10-01T09:20:30.450000Z", FRACTION, 60),
    ("2026-10-01T10:20:30.123Z", "2026-10-01T10:20:30.123000Z", FRACTION, 0),
    ("2026-10-01T10:20:30.000Z", "2026-10-01T10:20:30Z", FRACTION, 0),
    ("2026-10-01T10:20:30.123+02:00", "2026-10-01T08:20:30.123000Z", FRACTION, 120),
    ("2026-10-01T10:20:30.123456Z", "2026-10-01T10:20:30.123456Z", FRACTION, 0),
    ("2026-10-01T10:20:30.123456-08:00", "2026-10-01T18:20:30.123456Z", FRACTION, -480),
    ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z", FRACTION, 0),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", SECOND, 0),
    ("0001-01-01T00:00:00-14:00", "0001-01-01T14:00:00Z", SECOND, -840),
    ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", FRACTION, 0),
    # what xsd:date and xsd:dateTime add
    ("2024-01-08T00:00:00", "2024-01-08T00:00:00Z", SECOND, None),  # B39
    ("2024-01-08T10:20", "2024-01-08T10:20:00Z", MINUTE, None),
    ("2024-01-08T10:20:30.250", "2024-01-08T10:20:30.250000Z", FRACTION, None),
    ("2024-01-08T10:20:30.250001", "2024-01-08T10:20:30.250001Z", FRACTION, None),
    ("2024-12-31T24:00:00Z", "2025-01-01T00:00:00Z", SECOND, 0),
    ("2024-12-31T24:00:00", "2025-01-01T00:00:00Z", SECOND, None),
    ("2024-12-31T24:00:00.000+02:00", "2024-12-31T22:00:00Z", FRACTION, 120),
    ("2024-01-08Z", "2024-01-08T00:00:00Z", DAY, 0),
    ("2024-01-08+02:00", "2024-01-07T22:00:00Z", DAY, 120),
    ("2024-01-08-05:00", "2024-01-08T05:00:00Z", DAY, -300),
    # tolerated: a space for the T
    ("2016-01-25 15:35:12", "2016-01-25T15:35:12Z", SECOND, None),  # B43
    ("2016-01-25 15:35", "2016-01-25T15:35:00Z", MINUTE, None),
    ("2016-01-25 15:35:12+01:00", "2016-01-25T14:35:12Z", SECOND, 60),
    ("2016-01-25 15:35:12.345678", "2016-01-25T15:35:12.345678Z", FRACTION, None),
    ("2016-01-25 02:00", "2016-01-25T02:00:00Z", MINUTE, None),
    # tolerated: ±hhmm and ±hh
    ("2016-01-25T15:35:12+0130", "2016-01-25T14:05:12Z", SECOND, 90),
    ("2016-01-25T15:35:12-0800", "2016-01-25T23:35:12Z", SECOND, -480),
    ("2016-01-25T15:35-0800", "2016-01-25T23:35:00Z", MINUTE, -480),
    ("2016-01-25T15:35:12.001+0000", "2016-01-25T15:35:12.001000Z", FRACTION, 0),
    ("2016-01-25T15:35:12.000001+0000", "2016-01-25T15:35:12.000001Z", FRACTION, 0),
    ("2016-01-25 15:35:12+00", "2016-01-25T15:35:12Z", SECOND, 0),
    ("2016-01-25T15:35:12-08", "2016-01-25T23:35:12Z", SECOND, -480),
    # tolerated: a zone whose + became a space
    ("2024-05-08T08:53:11 00:00", "2024-05-08T08:53:11Z", SECOND, 0),  # B44
    ("2024-05-08T08:53:11 02:00", "2024-05-08T06:53:11Z", SECOND, 120),
    ("2024-05-08T08:53:11 0200", "2024-05-08T06:53:11Z", SECOND, 120),
    ("2024-05-08 08:53:11 02:00", "2024-05-08T06:53:11Z", SECOND, 120),
    ("2024-05-08T08:53 02:00", "2024-05-08T06:53:00Z", MINUTE, 120),
    # tolerated: more than six digits of fraction, cut
    ("2024-05-08T08:53:11.1234567Z", "2024-05-08T08:53:11.123456Z", FRACTION, 0),
    ("2024-05-08T08:53:11.9999999+02:00", "2024-05-08T06:53:11.999999Z", FRACTION, 120),
    ("2024-05-08T08:53:11.123456789", "2024-05-08T08:53:11.123456Z", FRACTION, None),
    # tolerated: lower case
    ("2024-05-08t08:53:11z", "2024-05-08T08:53:11Z", SECOND, 0),
    ("2024-05-08t08:53:11.5+01:00", "2024-05-08T07:53:11.500000Z", FRACTION, 60),
    ("2024-05-08T08:53z", "2024-05-08T08:53:00Z", MINUTE, 0),
    ("2024-05-08z", "2024-05-08T00:00:00Z", DAY, 0),
    # tolerated: unpadded
    ("2024-5-8", "2024-05-08T00:00:00Z", DAY, None),
    ("2024-5-18", "2024-05-18T00:00:00Z", DAY, None),
    ("2024-10-8", "2024-10-08T00:00:00Z", DAY, None),
    ("2024-5-8T08:53:11Z", "2024-05-08T08:53:11Z", SECOND, 0),
    ("2024-05-08 8:53", "2024-05-08T08:53:00Z", MINUTE, None),
    # tolerated: AM and PM
    ("2024-05-08 08:53:11 AM", "2024-05-08T08:53:11Z", SECOND, None),
    ("2024-05-08 08:53:11 PM", "2024-05-08T20:53:11Z", SECOND, None),
    ("2024-05-08 8:53:11 pm", "2024-05-08T20:53:11Z", SECOND, None),
    ("2024-05-08 12:00:00 AM", "2024-05-08T00:00:00Z", SECOND, None),
    ("2024-05-08 12:00:00 PM", "2024-05-08T12:00:00Z", SECOND, None),
    # tolerated: the dates of feeds, RFC 822 and RFC 1123
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", SECOND, 0),
    ("Sun, 6 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", SECOND, 0),
    ("06 Nov 1994 08:49:37 +0200", "1994-11-06T06:49:37Z", SECOND, 120),
    ("Sun, 06 Nov 1994 08:49 UT", "1994-11-06T08:49:00Z", MINUTE, 0),
    ("Sun, 06 Nov 94 08:49:37 EST", "1994-11-06T13:49:37Z", SECOND, -300),
    ("Sat, 07 Sep 02 00:00:01 EDT", "2002-09-07T04:00:01Z", SECOND, -240),
    ("Fri, 01 Jan 49 00:00:00 Z", "2049-01-01T00:00:00Z", SECOND, 0),
    ("Sun, 01 Jan 50 00:00:00 Z", "1950-01-01T00:00:00Z", SECOND, 0),
    ("Wed, 02 Oct 2002 13:00:00 CST", "2002-10-02T19:00:00Z", SECOND, -360),
    ("Wed, 02 Oct 2002 13:00:00 CDT", "2002-10-02T18:00:00Z", SECOND, -300),
    ("Wed, 02 Oct 2002 13:00:00 MST", "2002-10-02T20:00:00Z", SECOND, -420),
    ("Wed, 02 Oct 2002 13:00:00 MDT", "2002-10-02T19:00:00Z", SECOND, -360),
    ("Wed, 02 Oct 2002 13:00:00 PST", "2002-10-02T21:00:00Z", SECOND, -480),
    ("Wed, 02 Oct 2002 13:00:00 PDT", "2002-10-02T20:00:00Z", SECOND, -420),
    ("Wed, 02 Oct 2002 13:00:00 UTC", "2002-10-02T13:00:00Z", SECOND, 0),
    ("wed, 02 OCT 2002 13:00:00 -0330", "2002-10-02T16:30:00Z", SECOND, -210),
    ("Wed, 02 Oct 2002\n  13:00:00 GMT", "2002-10-02T13:00:00Z", SECOND, 0),  # a folded line
    ("Mon, 02 Oct 2002 13:00:00 GMT", "2002-10-02T13:00:00Z", SECOND, 0),  # it was a Wednesday
    # white space around
    ("  2026-10-01\n", "2026-10-01T00:00:00Z", DAY, None),
    ("\n\t2026-10-01T10:20:30Z\r\n", "2026-10-01T10:20:30Z", SECOND, 0),
    ("\u00a02026-10-01\u3000", "2026-10-01T00:00:00Z", DAY, None),
    ("\u20282026\u2009", "2026-01-01T00:00:00Z", YEAR, None),
]

UNREADABLE = [
    "", " ", "\n", "-", "now", "today", "yesterday", "monthly", "None", "null", "NaN",
    # a coarse value that a filling parser would complete from the clock (B44)
    "10", "05", "202", "20241", "2024-", "2024-5", "24-05-08", "10:20:30", "T10:20:30Z",
    # dates that do not exist (B43, B44)
    "0000", "0000-00-00", "0000-00-00T00:00:00Z", "0000-00-00 00:00:00", "0000-01-01",
    "-0001-11-30T00:00:00+00:00", "-0001", "-2024-05-08", "2024-00", "2024-13", "2024-00-08",
    "2024-05-00", "2024-13-01", "2024-02-30", "2023-02-29", "1900-02-29", "2100-02-29",
    "2024-04-31", "2024-06-31", "2024-09-31", "2024-11-31", "2024-01-32", "2024-2-30",
    # times that do not exist
    "2024-05-08T25:00:00Z", "2024-05-08T24:00:01Z", "2024-05-08T24:01:00Z",
    "2024-05-08T24:00:00.000001Z", "2024-05-08T10:60:00Z", "2024-05-08T10:60Z",
    "2024-05-08T10:20:61Z", "2016-12-31T23:59:60Z", "2024-05-08 13:00:00 PM",
    "2024-05-08 00:00:00 AM", "9999-12-31T24:00:00Z", "9999-12-31T23:59:59-00:01",
    "0001-01-01T00:00:00+00:01", "0001-01-01+14:00",
    # zones that do not exist
    "2024-05-08T10:20:30+14:01", "2024-05-08T10:20:30-14:30", "2024-05-08T10:20:30+15:00",
    "2024-05-08T10:20:30+02:60", "2024-05-08T10:20:30+0260", "2024-05-08T10:20:30+99",
    "2024-05-08+15:00",
    # two dates (B42)
    "2015-06-15T10:00:00Z 2015-06-15T11:00:00Z", "2024-05-08 2024-05-09", "2024-05-08,2024-05-09",
    "2024-05-08/2024-05-09",
    # numbers
    "1700000000", "1700000000000", "20240508", "20240508T102030Z", "45420", "2024.5", "1e9",
    # other orders and separators
    "08/05/2024", "8/5/2024", "05-08-2024", "08.05.2024", "2024/05/08", "2024.05.08",
    "May 8, 2024", "8 May 2024", "2024-May-08", "2024-W19", "2024-W19-3", "2024-129",
    # shapes that no list has
    "2024-05-08T10", "2024-05-08T10Z", "2024-05-08T1020Z", "2024-05-08T10:20:3Z",
    "2024-05-08T10:2:30Z", "2024-05-08T10:20:30.Z", "2024-05-08T10:20.5Z",
    "2024-05-08T10:20:30,5Z", "2024-05-08T10:20:30Z[UTC]", "2024-05-08T10:20:30+2:00",
    "2024-05-08T10:20:30 +02:00", "2024-05-08T10:20:30+02:00:00", "2024-05-08T10:20:30ZZ",
    "2024-05-08  10:20:30", "2024-05-08_10:20:30", "2024-05-08T", "2024-05-08TZ",
    "2024-05Z", "2024Z", "2024-05-08+02", "2024-05-08+0200", "2024-05-08-0001",
    "2024-05-08 0200", "2024-05-08T08:53:11 PM Z",
    "2024-05-08 08:53:11PM", "2024-05-08 08:53:11 PMZ", "2024-05-08 08:53:11 PM+02:00",
    "2024-05-08 08:53 PM", "2024-05-08T10:20:30+02:00Z",
    "\u0662\u0660\u0662\u0664", "２０２４-05-08", "2024\u201305\u201308", "2024-05-08\u200b",
    "2024-05-08\x00", "2024-05-08T10:20:30\u2212 02:00",
    # feeds
    "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994", "Sun, 31 Jun 1994 08:49:37 GMT",
    "Sun, 06 Nov 194 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Foo 1994 08:49 GMT",
    "Sun, 06 Nov 1994 08:49:37 A", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:60 GMT",
    "Sun, 06 Nov 1994 08:49:37 +1500", "Sun, 06 Nov 1994 08:49:37 +02:00",
    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 0000 08:49:37 GMT",
]  # fmt: skip


@pytest.mark.parametrize(("text", "instant", "precision", "offset"), READABLE)
def test_a_form_of_the_closed_list_means_its_first_instant(
    text: str, instant: str, precision: Precision, offset: int | None
) -> None:
    assert parse(text) == Moment(micros(instant), precision, offset)


@pytest.mark.parametrize("text", UNREADABLE)
def test_every_other_text_is_no_lastmod(text: str) -> None:
    assert parse(text) is None


def test_no_text_is_no_lastmod() -> None:
    assert parse(None) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-01", "2026-10-01T00:00:00.000Z"),
        ("2026", "2026-01-01T00:00:00.000Z"),
        ("2026-10-01T00:30:00.5+02:00", "2026-09-30T22:30:00.500Z"),
        ("2026-10-01T10:20:30.123999Z", "2026-10-01T10:20:30.123Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("0001", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_iso_is_utc_with_milliseconds_and_z(text: str, expected: str) -> None:
    moment = parse(text)
    assert moment is not None
    assert iso(moment) == expected


# --- Reading a column -----------------------------------------------------------------------

ALL_TEXTS = [text for text, *_ in READABLE] + UNREADABLE


def test_a_column_reads_as_its_texts_do() -> None:
    texts = [*ALL_TEXTS, None]
    assert rows(column(*texts)) == [parse(text) for text in texts]


def test_a_column_reads_every_day_of_the_gregorian_cycle() -> None:
    start = date(1900, 1, 1).toordinal()
    texts = [date.fromordinal(start + day).isoformat() for day in range(146_097)]
    read = column(*texts)
    midnights = (np.arange(146_097) + start - EPOCH.toordinal()) * 86_400_000_000
    assert np.array_equal(read.instants, midnights)
    assert set(read.precisions) == {DAY}


def test_a_column_refuses_every_day_that_the_calendar_lacks() -> None:
    lengths = {4: 30, 6: 30, 9: 30, 11: 30}
    days = list(product((1900, 2000, 2023, 2024, 2100, 2200, 2300), range(14), range(33)))
    expected = [
        1 <= month <= 12
        and 1 <= day <= (28 + (year in {2000, 2024}) if month == 2 else lengths.get(month, 31))
        for year, month, day in days
    ]
    texts = [f"{year}-{month:02}-{day:02}T10:20:30Z" for year, month, day in days]
    assert column(*texts).readable.tolist() == expected
    assert [parse(text) is not None for text in texts] == expected


def test_a_column_of_any_arrow_layout_reads_alike() -> None:
    texts = ["2026-10-01", None, "2026-10-01T10:20:30+02:00", "junk", "", "2026-10-01", None]
    expected = [parse(text) for text in texts]
    plain = pa.array(texts, pa.string())
    encoded = plain.dictionary_encode()
    tiny = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 2], pa.int8()), ["2026", None, "x"])
    # The widest dictionary of its index type leaves no index for the nulls.
    full = pa.DictionaryArray.from_arrays(
        pa.array([127, None], pa.int8()), [str(year) for year in range(1900, 2028)]
    )
    # A null may lie over bytes that would read as a date.
    masked = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x02"), pa.array([0, 10, 20], pa.int32()).buffers()[1],
                         pa.py_buffer(b"2026-10-012026-10-02")],
    )  # fmt: skip
    assert rows(moments(plain)) == expected
    assert rows(moments(plain.slice(2, 4))) == expected[2:6]
    assert rows(moments(encoded)) == expected
    assert rows(moments(encoded.slice(1, 3))) == expected[1:4]
    assert rows(moments(pa.chunked_array([plain, plain.slice(5), plain.slice(0, 0)]))) == (
        expected + expected[5:]
    )
    assert rows(moments(pa.chunked_array([encoded, encoded.slice(5)]))) == expected + expected[5:]
    assert rows(moments(tiny)) == [parse("2026"), None, None, None]
    assert rows(moments(full)) == [parse("2027"), None]
    assert rows(moments(masked)) == [None, parse("2026-10-02")]
    assert rows(moments(pa.array(texts, pa.large_string()))) == expected
    assert rows(moments(pa.array([None, None], pa.string()))) == [None, None]
    assert rows(moments(pa.array([], pa.string()))) == []
    assert rows(moments(pa.chunked_array([], pa.string()))) == []


def test_columns_are_taken_and_joined_row_by_row() -> None:
    read = column("2026", None, "2026-10-01Z")
    assert rows(read.take(np.array([2, 0, 0]))) == [read[2], read[0], read[0]]
    assert rows(Moments.concat([read, read.take(np.array([0]))])) == [*rows(read), read[0]]
    assert len(Moments.concat([])) == 0
    assert read.readable.tolist() == [True, False, True]
    assert read.instants[1] == 0
    assert read.forms[1] == 0


def test_every_precision_and_zone_has_a_form_of_its_own() -> None:
    zones = [None, *range(-840, 841)]
    every = [Moment(7, precision, zone) for precision in Precision if precision for zone in zones]
    packed = Moments.of(every)
    assert len(set(packed.forms.tolist())) == len(every) == 6 * 1682
    assert rows(packed) == every


# Texts as sites write them, of one neighbourhood of moments, so that pairs often nearly agree.

BASES = [
    datetime(2026, 10, 1, tzinfo=UTC),
    datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 30, 30, 123_000, tzinfo=UTC),
]
STEPS = [
    timedelta(0),
    timedelta(microseconds=1),
    timedelta(milliseconds=1),
    timedelta(seconds=1),
    timedelta(seconds=30),
    timedelta(minutes=1),
    timedelta(hours=2),
    timedelta(hours=22),
    timedelta(days=1),
    timedelta(days=30),
    timedelta(days=300),
]
FORMATS = {
    "%Y": YEAR,
    "%Y-%m": MONTH,
    "%Y-%m-%d": DAY,
    "%Y-%m-%dT%H:%M": MINUTE,
    "%Y-%m-%dT%H:%M:%S": SECOND,
    "%Y-%m-%dT%H:%M:%S.%f": FRACTION,
}
ZONES = [None, 0, 60, 120, -480, 330, 840, -840]

walls = st.builds(
    lambda base, steps, sign: base + sum(steps, timedelta()) * sign,
    st.sampled_from(BASES),
    st.lists(st.sampled_from(STEPS), max_size=2),
    st.sampled_from([1, -1]),
)


def zone_text(offset: int | None) -> str:
    if offset is None:
        return ""
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"


def written(wall: datetime, form: str, offset: int | None, *, to_milliseconds: bool) -> str:
    text = wall.strftime(form)
    if to_milliseconds and form.endswith("%f"):
        text = text[:-3]
    return text if FORMATS[form] <= MONTH else text + zone_text(offset)


texts_of_sites = st.builds(
    lambda wall, form, offset, to_ms: written(wall, form, offset, to_milliseconds=to_ms),
    walls,
    st.sampled_from(list(FORMATS)),
    st.sampled_from(ZONES),
    st.booleans(),
)
ALPHABET = st.sampled_from("0123456789-+:.TtZz APMapm,GMTJanSun\u00a0\u0661é\x00")


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from([text for text, *_ in READABLE]) | texts_of_sites)
    for _ in range(draw(st.integers(0, 3))):
        place, width = draw(st.integers(0, len(text))), draw(st.integers(0, 1))
        insert = draw(st.just("") | ALPHABET)
        text = text[:place] + insert + text[place + width :]
    return text


@given(st.lists(st.none() | mutated_texts() | st.text(max_size=30), max_size=20), st.integers(0, 3))
def test_column_and_text_always_read_alike(texts: list[str | None], skipped: int) -> None:
    read = moments(pa.array(texts, pa.string()).slice(skipped))
    assert rows(read) == [parse(text) for text in texts[skipped:]]


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.sampled_from(ZONES))  # noqa: DTZ001
def test_every_moment_is_read_back_from_its_text(wall: datetime, offset: int | None) -> None:
    text = wall.isoformat(timespec="microseconds") + zone_text(offset)
    moment = parse(text)
    shift = timedelta(minutes=offset or 0)
    assert moment == Moment(micros(f"{wall - shift}+00:00"), FRACTION, offset)
    again = parse(iso(moment))
    assert again is not None
    assert again.instant == moment.instant // 1000 * 1000


# --- Comparing [C4] -------------------------------------------------------------------------

SAME, FINER_FIRST, CHANGE = "same", "the first is finer", "change"

PAIRS = [
    # one moment
    ("2026-10-01", "2026-10-01", SAME),
    ("2026-10-01T00:00:00+00:00", "2026-10-01", FINER_FIRST),
    ("2026-10-01T10:00:00+02:00", "2026-10-01T08:00:00Z", SAME),
    ("2026-10-01T10:00:00+00:00", "2026-10-01T10:00:00Z", SAME),
    ("2026-10-01T10:00:00-00:00", "2026-10-01T10:00:00Z", SAME),
    ("2026-10-01T10:00:00+02:00", "2026-10-01 10:00:00 02:00", SAME),
    ("Thu, 01 Oct 2026 10:00:00 GMT", "2026-10-01T10:00:00Z", SAME),
    ("2026-09-30T24:00:00Z", "2026-10-01T00:00:00Z", SAME),
    ("2026-10-01T10:00:00.000Z", "2026-10-01T10:00:00Z", FINER_FIRST),
    ("2026-10-01T00:00:00+02:00", "2026-09-30T22:00Z", FINER_FIRST),
    ("2026-01-01T00:00:00Z", "2026", FINER_FIRST),
    # other moments of one precision
    ("2026", "2025", CHANGE),
    ("2026-10", "2026-09", CHANGE),
    ("2026-10-01", "2026-10-02", CHANGE),
    ("2026-10-01T10:00Z", "2026-10-01T10:01Z", CHANGE),
    ("2026-10-01T10:00:00Z", "2026-10-01T10:00:01Z", CHANGE),
    ("2026-10-01T10:00:00", "2026-10-01T10:00:01", CHANGE),
    ("2026-10-01T10:00:00.123Z", "2026-10-01T10:00:00.124Z", CHANGE),
    ("2026-10-01T10:00:00.123456Z", "2026-10-01T10:00:00.123457Z", CHANGE),
    ("2026-10-01T10:00:00+02:00", "2026-10-01T10:00:00+03:00", CHANGE),
    ("2026-10-01T10:00:00+02:00", "2026-10-01T10:00:00Z", CHANGE),
    ("2026-10-01+02:00", "2026-10-01Z", CHANGE),
    # a change of precision: year, month, day as written
    ("2026-10", "2026", FINER_FIRST),
    ("2026-10-01", "2026", FINER_FIRST),
    ("2026-10-01", "2026-10", FINER_FIRST),
    ("2026-10-31T23:30:00-08:00", "2026-10", FINER_FIRST),
    ("2026-12-31T23:30:00-08:00", "2026", FINER_FIRST),
    ("2026-10-01T15:35:12Z", "2026-10-01", FINER_FIRST),
    ("2026-10-01T15:35:12", "2026-10-01", FINER_FIRST),
    ("2026-10-01T23:30:00-08:00", "2026-10-01", FINER_FIRST),
    ("2026-10-01T00:30:00+02:00", "2026-10-01", FINER_FIRST),
    ("2026-10-01T00:30+02:00", "2026-10-01", FINER_FIRST),
    ("2026-10-01T00:30:00+03:00", "2026-10-01+02:00", FINER_FIRST),
    # … or in UTC
    ("2026-10-01T23:30:00-08:00", "2026-10-02", FINER_FIRST),
    ("2026-10-01T00:30:00+02:00", "2026-09-30", FINER_FIRST),
    ("2026-10-31T23:30:00-08:00", "2026-11", FINER_FIRST),
    ("2026-12-31T23:30:00-08:00", "2027", FINER_FIRST),
    ("2026-10-02T07:00:00+08:00", "2026-10-01+02:00", FINER_FIRST),
    # … or in the zone of the coarser value
    ("2026-09-30T22:30:00Z", "2026-10-01+02:00", FINER_FIRST),
    # … but nowhere else
    ("2026-10-01T15:35:12Z", "2026-10-02", CHANGE),
    ("2026-10-01T15:35:12Z", "2026-09-30", CHANGE),
    ("2026-10-01T00:30:00+02:00", "2026-10-02", CHANGE),
    ("2026-10-01T23:30:00-08:00", "2026-09-30", CHANGE),
    ("2026-10-01", "2026-09", CHANGE),
    ("2026-10-01T00:00:00Z", "2026-09", CHANGE),
    ("2026-10", "2025", CHANGE),
    ("2025-12-31T23:59:59Z", "2026", CHANGE),
    ("2026-10-03T00:30:00Z", "2026-10-01+02:00", CHANGE),
    # a change of precision: minute, second, fraction
    ("2026-10-01T10:00:30Z", "2026-10-01T10:00Z", FINER_FIRST),
    ("2026-10-01T10:00:30+02:00", "2026-10-01T08:00Z", FINER_FIRST),
    ("2026-10-01T10:00:30", "2026-10-01T10:00", FINER_FIRST),
    ("2026-10-01T10:00:30.512Z", "2026-10-01T10:00:30Z", FINER_FIRST),
    ("2026-10-01T10:00:30.512Z", "2026-10-01T10:00Z", FINER_FIRST),
    ("2026-10-01T10:00:30.123456Z", "2026-10-01T10:00:30.123Z", FINER_FIRST),
    ("2026-10-01T10:00:30.123450Z", "2026-10-01T10:00:30.123Z", FINER_FIRST),
    ("2026-10-01T10:00:30.123456+02:00", "2026-10-01T08:00:30.123Z", FINER_FIRST),
    ("1969-10-01T10:00:30.123456Z", "1969-10-01T10:00:30.123Z", FINER_FIRST),
    ("2026-10-01T10:01:00Z", "2026-10-01T10:00Z", CHANGE),
    ("2026-10-01T10:00:59Z", "2026-10-01T10:01Z", CHANGE),
    ("2026-10-01T10:00:31.000Z", "2026-10-01T10:00:30Z", CHANGE),
    ("2026-10-01T10:00:30.123456Z", "2026-10-01T10:00:30.124Z", CHANGE),
    ("2026-10-01T10:00:30.123456Z", "2026-10-01T10:00:30.12Z", CHANGE),
    ("2026-10-01T10:00:30+03:00", "2026-10-01T10:00+02:00", CHANGE),
    ("2026-10-01T10:00:30Z", "2026-10-01T10:00+02:00", CHANGE),
    # a change of notation: a zone gained or lost
    ("2026-10-01T10:00:00+02:00", "2026-10-01T10:00:00", FINER_FIRST),
    ("2026-10-01T10:00:00Z", "2026-10-01T10:00:00", FINER_FIRST),
    ("2026-10-01T10:00-05:00", "2026-10-01 10:00", FINER_FIRST),
    ("2026-10-01+02:00", "2026-10-01", FINER_FIRST),
    ("2026-10-01T10:00:00.123+02:00", "2026-10-01T10:00:00.123", FINER_FIRST),
    ("2026-10-01T12:00:00+02:00", "2026-10-01T10:00:00", FINER_FIRST),
    ("2026-10-01T10:00:00+02:00", "2026-10-01T10:00:01", CHANGE),
    ("2026-10-01T11:00:00+02:00", "2026-10-01T10:00:00", CHANGE),
    ("2026-10-01+02:00", "2026-10-02", CHANGE),
    ("2026-10-01+02:00", "2026-09-30", CHANGE),
    ("2026-10-01-08:00", "2026-10-02", CHANGE),
    # … with a change of precision
    ("2026-10-01T10:00:30+02:00", "2026-10-01T10:00", FINER_FIRST),
    ("2026-10-01T10:00:30", "2026-10-01T10:00+02:00", FINER_FIRST),
    ("2026-10-01T10:00:30.123456+02:00", "2026-10-01T10:00:30.123", FINER_FIRST),
    ("2026-10-01T10:00:30.123456", "2026-10-01T10:00:30.123+02:00", FINER_FIRST),
    ("2026-10-01T12:00:30+02:00", "2026-10-01T10:00", FINER_FIRST),
    ("2026-10-01T10:01:30+02:00", "2026-10-01T10:00", CHANGE),
    ("2026-10-01T10:01:30", "2026-10-01T10:00+02:00", CHANGE),
    # a lastmod gained or lost, or unreadable
    ("2026-10-01", None, SAME),
    ("2026-10-01", "yesterday", SAME),
    ("junk", "other junk", SAME),
    ("1970-01-01", None, SAME),
    (None, None, SAME),
]


@pytest.mark.parametrize(("first", "second", "verdict"), PAIRS)
def test_only_another_moment_is_a_change(
    first: str | None, second: str | None, verdict: str
) -> None:
    one, other = column(first), column(second)
    changed = verdict == CHANGE
    assert differs(one, other).tolist() == [changed]
    assert differs(other, one).tolist() == [changed]
    assert finer(one, other).tolist() == [verdict == FINER_FIRST]
    assert finer(other, one).tolist() == [False]


def test_columns_compare_row_by_row() -> None:
    one = column(*[first for first, _, _ in PAIRS])
    other = column(*[second for _, second, _ in PAIRS])
    assert differs(one, other).tolist() == [verdict == CHANGE for *_, verdict in PAIRS]
    assert finer(one, other).tolist() == [verdict == FINER_FIRST for *_, verdict in PAIRS]
    assert differs(column(), column()).tolist() == finer(column(), column()).tolist() == []


def parts(instant: int, offset: int | None) -> tuple[int, ...]:
    wall = EPOCH + timedelta(microseconds=instant, minutes=offset or 0)
    return (
        *(wall.year, wall.month, wall.day, wall.hour, wall.minute, wall.second),
        *divmod(wall.microsecond, 1000),
    )


def width(moment: Moment) -> int:
    """How many of the parts the text writes."""
    if moment.precision == FRACTION:
        return 8 if moment.instant % 1000 else 7
    return {YEAR: 1, MONTH: 2, DAY: 3, MINUTE: 5, SECOND: 6}[moment.precision]


def is_change(one: Moment, other: Moment) -> bool:
    """[C4] by the parts of wall clocks."""
    if one.instant == other.instant:
        return False
    coarse, fine = sorted((one, other), key=width)
    shown = width(coarse)
    is_coarser = shown < width(fine)
    is_date = is_coarser and shown <= 3
    zones: list[int | None] = [coarse.offset] if is_coarser else []
    zones += [fine.offset] if is_date or (one.offset is None) != (other.offset is None) else []
    zones += [0] if is_date else []
    as_listed = parts(coarse.instant, coarse.offset)[:shown]
    return all(parts(fine.instant, zone)[:shown] != as_listed for zone in zones)


@given(st.lists(st.tuples(texts_of_sites, texts_of_sites), max_size=30))
def test_differs_agrees_with_the_parts_of_wall_clocks(pairs: list[tuple[str, str]]) -> None:
    one, other = column(*[first for first, _ in pairs]), column(*[second for _, second in pairs])
    expected = []
    for first, second in zip(rows(one), rows(other), strict=True):
        assert first is not None
        assert second is not None
        expected.append(is_change(first, second))
    assert differs(one, other).tolist() == expected


@given(st.lists(st.tuples(mutated_texts(), mutated_texts()), max_size=30))
def test_differs_is_symmetric_and_only_one_side_is_finer(pairs: list[tuple[str, str]]) -> None:
    one, other = column(*[first for first, _ in pairs]), column(*[second for _, second in pairs])
    changed = differs(one, other)
    assert changed.tolist() == differs(other, one).tolist()
    assert not differs(one, one).any()
    assert not finer(one, one).any()
    assert not (finer(one, other) & changed).any()
    assert not (finer(one, other) & finer(other, one)).any()
    assert not (changed & ~(one.readable & other.readable)).any()


@given(walls, st.sampled_from(ZONES), st.sampled_from(list(pairwise(FORMATS))), st.booleans())
def test_a_text_cut_short_or_without_its_zone_is_no_change(
    wall: datetime, offset: int | None, forms: tuple[str, str], keeps_zone: bool
) -> None:
    coarse, fine = forms
    before = column(written(wall, fine, offset, to_milliseconds=False))
    after = column(written(wall, coarse, offset if keeps_zone else None, to_milliseconds=False))
    assert not differs(before, after).any()
    assert finer(before, after).all()


# --- The latest [C3] ------------------------------------------------------------------------

ASCENDING = [
    "junk",
    "0001",
    "1969-12-31T23:59:59.999999Z",
    "1970",
    "1970-01-01",
    "2026",
    "2026-10",
    "2026-10-01",
    "2026-10-01Z",
    "2026-10-01T00:00",
    "2026-10-01T00:00Z",
    "2026-10-01T00:00:00",
    "2026-10-01T02:00:00+02:00",
    "2026-10-01T00:00:00.000",
    "2026-10-01T00:00:00.000Z",
    "2026-10-01T00:00:00.000001",
    "9999-12-31T23:59:59.999999Z",
]


def test_the_later_lastmod_counts_and_of_equal_ones_the_finer_text() -> None:
    keys = latest_order(column(*ASCENDING))
    assert keys[0] == 0
    assert (keys[1:] > keys[:-1]).all()
    assert latest_order(column(None)).tolist() == [0]


@given(st.lists(mutated_texts(), min_size=1, max_size=20))
def test_the_order_is_by_instant_then_precision_then_zone(texts: list[str]) -> None:
    read = column(*texts)
    keys = [
        (-(2**63), 0, False) if m is None else (m.instant, m.precision, m.offset is not None)
        for m in rows(read)
    ]
    order = np.argsort(latest_order(read), kind="stable").tolist()
    assert order == sorted(range(len(keys)), key=keys.__getitem__)


# --- Uniform stamps [C8] --------------------------------------------------------------------

S = 1_000_000
NOW = 1_790_000_000 * S
FAR = [NOW + day * 86_400 * S for day in range(-500, 0)]


def at(*seconds: float) -> list[int]:
    return [NOW + round(second * S) for second in seconds]


STAMPS = [
    # (lastmods, of a whole site, start, end, count); start None: no stamp
    ([], True, None, 0, 0),
    (at(0) * 19 + FAR[:1], False, None, 0, 0),
    (at(0) * 19 + FAR[:1], True, None, 0, 0),
    (at(0) * 19, False, None, 0, 0),
    (at(0) * 20, False, 0, 0, 20),
    (at(0) * 20 + FAR[:2], False, 0, 0, 20),
    (FAR[:2] + at(0) * 20, True, 0, 0, 20),
    (at(0) * 20 + FAR[:3], False, None, 0, 0),
    (at(0) * 90 + FAR[:10], False, 0, 0, 90),
    (at(0) * 89 + FAR[:11], False, None, 0, 0),
    (at(0) * 4, True, None, 0, 0),
    (at(0) * 5, True, 0, 0, 5),
    (at(0) * 5, False, None, 0, 0),
    (at(0) * 5 + FAR[:1], True, None, 0, 0),
    (at(0) * 19, True, 0, 0, 19),
    (at(*range(5)), True, 0, 4, 5),
    (at(0, 15, 30, 45, 60), True, 0, 60, 5),
    (at(0, 15, 30, 45, 60.000001), True, None, 0, 0),
    # the window holds both of its ends
    (at(*range(0, 61, 3)), False, 0, 60, 21),
    (at(*[0] * 3, *range(3, 60, 3), *[60.000001] * 3), False, None, 0, 0),
    (at(*[i * 59 / 99 for i in range(100)]), False, 0, 59, 100),  # B01
    (at(*range(0, 100, 2)), False, None, 0, 0),
    # the earliest of equally dense windows, and the densest before the earliest
    (at(*[0] * 2, *[30] * 20, *[90] * 2), False, 0, 30, 22),
    (at(*[0] * 1, *[30] * 20, *[90] * 2), False, 30, 90, 22),
    # nothing near it matters for where it lies
    (FAR[:5] + at(*[0.5] * 95), False, 0.5, 0.5, 95),
    (at(*[0.5] * 95) + [NOW + 86_400 * S] * 5, False, 0.5, 0.5, 95),
    (FAR, True, None, 0, 0),
]


@pytest.mark.parametrize(("instants", "whole_site", "start", "end", "count"), STAMPS)
def test_a_stamp_is_one_minute_that_holds_nearly_all_lastmods(
    instants: list[int], whole_site: bool, start: float | None, end: float, count: int
) -> None:
    expected = None
    if start is not None:
        first, last = at(start, end)
        expected = Stamp(first, last, count / len(instants), count)
    assert stamp(np.array(instants, np.int64), whole_site) == expected
    assert stamp(np.array(instants[::-1], np.int64), whole_site) == expected


@given(
    st.lists(st.integers(0, 6), max_size=30),
    st.lists(st.sampled_from([-400, -60, 60, 61, 400]), max_size=4),
    st.booleans(),
)
def test_a_stamp_is_the_densest_minute(near: list[int], far: list[int], whole_site: bool) -> None:
    lastmods = at(*[12 * step for step in near], *far)
    windows = [[x for x in sorted(lastmods) if low <= x <= low + 60 * S] for low in lastmods]
    best = max(windows, key=lambda window: (len(window), -window[0]), default=[])
    total, count = len(lastmods), len(best)
    holds = (count >= 20 and count / total >= 0.9) or (whole_site and count == total >= 5)
    expected = Stamp(best[0], best[-1], count / total, count) if holds else None
    assert stamp(np.array(lastmods, np.int64), whole_site) == expected
