"""A moment of a run is one text, whether a row carries it or a segment stored it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.changes import wire_moment
from sitemon_spider.core.snapshot import milliseconds

MOMENTS = st.datetimes(min_value=datetime(1969, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(MOMENTS)
def test_a_stored_moment_reads_as_it_was_shown(moment: datetime) -> None:
    stored = pa.scalar(milliseconds(moment)).cast(pa.timestamp("ms", tz="UTC")).as_py()
    assert wire_moment(stored) == wire_moment(moment)


def test_a_fraction_is_cut_and_not_rounded() -> None:
    moment = datetime(2026, 10, 1, 6, tzinfo=UTC) + timedelta(microseconds=1999)
    assert milliseconds(moment) == 1790834400001
    assert wire_moment(moment) == "2026-10-01T06:00:00.001Z"
