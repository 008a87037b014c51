"""`holdfast telemetry`: send what happened to your team's collector."""

from __future__ import annotations

import click

from holdfast import config, paths
from holdfast.commands import options
from holdfast.commands.verb import verb
from holdfast.errors import HoldfastError
from holdfast.telemetry import flush as flushing
from holdfast.workflow.wording import count


@click.group(name="telemetry")
def command() -> None:
    """Send decisions, deliveries and workflows to your team's collector, as OTLP logs.

    Nothing is sent until your holdfast.toml names an endpoint. Then the server sends every half minute. This command is
    for the end of a CI job, which is over before that.

    \b
    Examples:
      holdfast telemetry flush
    """


@verb("flush", command)
def flush() -> None:
    """Send what waits, of all projects.

    It goes on where the last run stopped. Headers and certificates come from the variables OTEL_EXPORTER_OTLP_*.

    \b
    Examples:
      holdfast telemetry flush
      OTEL_EXPORTER_OTLP_HEADERS="x-team=$TEAM" holdfast telemetry flush
    """
    settings = config.load(None, trusted=False).config.telemetry
    if not settings.endpoint:
        where = 'write `endpoint = "http://localhost:4318"` into its table [telemetry]'
        text = f"to send it to a collector, open {paths.user_config()} and {where}"
        raise HoldfastError(f"telemetry is off; {text}; `holdfast doctor configuration` finds what doesn't count there")
    done = flushing.flush(settings)
    if done is None:
        options.say("Another process is sending now.")
        return
    dropped = f" {count(done.dropped, 'record')} dropped: {flushing.WHY_DROPPED}." if done.dropped else ""
    if done.failure:
        sent = f"{count(done.sent, 'record')} sent, then: " if done.sent else ""
        raise HoldfastError(f"{sent}{settings.endpoint} took nothing: {done.failure}.{dropped} The rest waits.")
    sent = f"Sent {count(done.sent, 'record')} to {settings.endpoint}." if done.sent else "Nothing waits to be sent."
    options.say(f"{sent}{dropped}")
