"""Send records with OpenTelemetry's SDK. Only `flush` and `holdfast doctor` load this module."""

from __future__ import annotations

import logging
import os
from io import StringIO
from typing import TYPE_CHECKING, Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from requests import PreparedRequest, RequestException, Response, Session

from holdfast.files.redact import redact
from holdfast.version import version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.telemetry.records import Record

_PATH = "/v1/logs"
_BAD_REQUEST = 400  # after which OTLP forbids to send the same data again
_FAILURE_LIMIT_CHARS = 300


class Sender:
    """Sends records to an endpoint, with the headers and certificates of `OTEL_EXPORTER_OTLP_*`."""

    def __init__(self, endpoint: str, timeout: float | None = None) -> None:
        """Prepare to send.

        Args:
            endpoint: the collector's address, with or without the path for logs.
            timeout: the seconds that one attempt may take; by default `OTEL_EXPORTER_OTLP_TIMEOUT`, or 10.
        """
        messages, logger = StringIO(), logging.getLogger("opentelemetry")
        logger.handlers, logger.propagate = [logging.StreamHandler(messages)], False  # they can hold headers
        self._session = _Session()
        whole = endpoint.rstrip("/").removesuffix(_PATH) + _PATH
        self._exporter = OTLPLogExporter(endpoint=whole, timeout=timeout, session=self._session)
        host = os.uname().nodename
        self._resource = Resource.create({"service.name": "holdfast", "service.version": version(), "host.name": host})
        self._scope = InstrumentationScope("holdfast", version())
        self._complaint = messages.getvalue().partition("\n")[0]  # such as headers that can't be read

    def send(self, records: Sequence[Record]) -> str:
        """Send records, none to see whether the endpoint answers. Return why that failed; empty if it didn't."""
        if self._exporter.export([self._readable(each) for each in records]) is LogRecordExportResult.SUCCESS:
            return ""
        failure = "; ".join(filter(None, (self._session.failure, self._complaint))) or "no reason was given"
        return redact(failure)[:_FAILURE_LIMIT_CHARS]

    @property
    def refused(self) -> bool:
        """Whether the endpoint called the last request bad, so that it would refuse the same data for ever."""
        return self._session.status == _BAD_REQUEST

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


class _Session(Session):
    """Notes the status of the last answer, and why a request failed. Follows no redirect, and reads no answer."""

    failure = ""
    status = 0

    def send(self, request: PreparedRequest, **kwargs: Any) -> Response:
        """Send a request. Raises RequestException for a redirect, too, which the exporter takes for success."""
        self.failure, self.status = "", 0
        try:
            response = super().send(request, **kwargs | {"stream": True, "allow_redirects": False})
        except Exception as error:
            cause: BaseException = error
            while below := cause.__cause__ or cause.__context__:  # three libraries wrap it, each with more words
                cause = below
            self.failure = str(cause)
            raise
        self.status = response.status_code
        if response.status_code >= 300:
            self.failure = f"it answered {response.status_code} {response.reason}"
        if response.status_code // 100 == 3:
            raise RequestException(self.failure)
        return response
