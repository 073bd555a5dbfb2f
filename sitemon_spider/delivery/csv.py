"""CSV feeds that a spreadsheet cannot be made to execute [S3]."""

from __future__ import annotations

from typing import Any

from scrapy.exporters import CsvItemExporter

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
"""What a cell must not begin with: spreadsheets take it for a formula (OWASP, CSV injection)."""


class SafeCsvExporter(CsvItemExporter):
    """Scrapy's CSV exporter, with an apostrophe before text that a spreadsheet would calculate."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """The value of one cell."""
        serialized = super().serialize_field(field, name, value)
        if isinstance(serialized, str) and serialized.startswith(DANGEROUS):
            return f"'{serialized}"
        return serialized
