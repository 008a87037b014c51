"""Send records with OpenTelemetry's SDK. Only `flush` and `holdfast doctor` load this module."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from holdfast.files.redact import redact
from holdfast.version import version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.telemetry.records import Record

_PATH = "/v1/logs"
_FAILURE_LIMIT_CHARS = 300


class Sender:
    """Sends records to an endpoint, with the headers and certificates of `OTEL_EXPORTER_OTLP_*`."""

    def __init__(self, endpoint: str, timeout: float | None = None) -> None:
        """Prepare to send.

        Args:
            endpoint: the collector's address, with or without the path for logs.
            timeout: the seconds that one attempt may take; by default `OTEL_EXPORTER_OTLP_TIMEOUT`, or 10.
        """
        whole = endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH
        self._exporter = OTLPLogExporter(endpoint=whole, timeout=timeout)
        host = os.uname().nodename
        self._resource = Resource.create({"service.name": "holdfast", "service.version": version(), "host.name": host})
        self._scope = InstrumentationScope("holdfast", version())

    def send(self, records: Sequence[Record]) -> str:
        """Send records, none to see whether the endpoint answers. Return why that failed; empty if it didn't."""
        messages = _Messages()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(messages)
        logger.propagate = False  # or they would be printed, too
        try:
            result = self._exporter.export([self._readable(each) for each in records])
        finally:
            logger.removeHandler(messages)
        if result is LogRecordExportResult.SUCCESS:
            return ""
        return redact(messages.first or "no reason was given")[:_FAILURE_LIMIT_CHARS]

    def _readable(self, record: Record) -> ReadableLogRecord:
        at = int(record.at.timestamp() * 1_000_000) * 1_000
        severity = SeverityNumber.WARN if record.severe else SeverityNumber.INFO
        log_record = LogRecord(
            timestamp=at,
            observed_timestamp=at,
            severity_number=severity,
            severity_text=severity.name,
            body=record.body,
            event_name=record.name,
            attributes=record.attributes,
        )
        return ReadableLogRecord(log_record, self._resource, self._scope)


class _Messages(logging.Handler):
    """Keeps the first message of the exporter, which says why it failed; later ones only that it gives up."""

    first = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message."""
        self.first = self.first or record.getMessage()
