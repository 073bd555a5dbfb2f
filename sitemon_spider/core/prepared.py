"""Prepared: what a site's rows are about to become, kept so that a killed run can be settled [D5].

The prepared manifest owes every change of the plan. Settling it with the number of rows that
arrived drops what is owed for those, which gives exactly the snapshot of that prefix [D2].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ValidationError

from sitemon_spider.core.changes import SiteChanges, advance
from sitemon_spider.core.columns import encode, member, segment_name
from sitemon_spider.core.reasons import ChangeType, Reason
from sitemon_spider.core.snapshot import (
    NOTHING_OWED,
    Manifest,
    Segments,
    SnapshotError,
    encode_owed,
    read_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN_FIELDS: list[pa.Field[Any]] = [
    pa.field("key", pa.uint64(), nullable=False),
    pa.field("change", pa.string(), nullable=False),
]
PLAN_SCHEMA = pa.schema(PLAN_FIELDS)
"""The ordered changes of a prepared delivery: the key of the row's URL, and its changeType."""


class PreparedRecord(BaseModel):
    """The durable form: `position` is the sink's own note of where its rows begin."""

    manifest: Manifest
    plan: str | None = None
    position: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A site's next snapshot before its rows are delivered, and the plan of the delivery."""

    manifest: Manifest
    owed: pa.Table
    plan: pa.Table

    def expected(self) -> Iterator[tuple[ChangeType, int]]:
        """The rows of the plan in order: changeType, and the key of the URL."""
        for change, key in zip(
            self.plan.column("change").to_pylist(), self.plan.column("key").to_pylist(), strict=True
        ):
            yield ChangeType(str(change)), int(key or 0)

    def settle(self, delivered: int) -> tuple[Manifest, dict[str, bytes]]:
        """The manifest after the first `delivered` rows arrived, and its segment to store."""
        told = np.unique(self.plan.column("key").to_numpy()[:delivered])
        owed = self.owed.filter(pa.array(~member(self.owed.column("key").to_numpy(), told)))
        stored: dict[str, bytes] = {}
        name = None
        if owed.num_rows:
            data = encode_owed(owed)
            name = segment_name(data, ".owed")
            stored[name] = data
        update = {"owed": name, "owed_rows": owed.num_rows}
        return self.manifest.model_copy(update=update), stored


def prepare(
    changes: SiteChanges, run: str, segments: Segments, urls: int | None
) -> tuple[Prepared, dict[str, bytes]]:
    """What to store before the first row of a site goes out, and its segments by name."""
    commit = advance(changes, 0, run, segments, urls)
    plan = changes.plan
    keys = np.concatenate([plan.added.keys, plan.changed_read.keys, plan.removed.keys])
    kinds = [ChangeType.ADDED] * len(plan.added)
    kinds += [ChangeType.LASTMOD_CHANGED] * len(plan.changed_read)
    kinds += [ChangeType.REMOVED] * len(plan.removed)
    table = pa.table(
        [pa.array(keys), pa.array([str(kind) for kind in kinds], pa.string())], schema=PLAN_SCHEMA
    )
    return Prepared(commit.manifest, commit.owed, table), dict(commit.segments)


def to_record(
    prepared: Prepared, position: dict[str, Any] | None
) -> tuple[bytes, dict[str, bytes]]:
    """The prepared record's bytes, and the segment of its plan."""
    data = encode(prepared.plan)
    name = segment_name(data, ".plan")
    record = PreparedRecord(manifest=prepared.manifest, plan=name, position=position)
    return record.model_dump_json(exclude_defaults=True).encode(), {name: data}


def from_record(data: bytes, segments: Segments) -> tuple[Prepared, dict[str, Any] | None]:
    """Read a prepared record back. Raises SnapshotError when it is damaged."""
    try:
        record = PreparedRecord.model_validate_json(data)
    except ValidationError as error:
        detail = f"prepared record: {error.errors()[0]['msg']}"
        raise SnapshotError(Reason.SNAPSHOT_DAMAGED, detail) from None
    owed = record.manifest.owed
    table = read_table(segments, owed) if owed else NOTHING_OWED
    plan = read_table(segments, record.plan) if record.plan else PLAN_SCHEMA.empty_table()
    return Prepared(record.manifest, table, plan), record.position
