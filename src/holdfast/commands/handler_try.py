"""Fire an event at your handlers by hand, and show who ran and what everybody gets."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple

import click
from rich.text import Text

from holdfast import capture, paths
from holdfast.clients.claude import claude
from holdfast.commands import handler_trust, options, terminal
from holdfast.commands.verb import Json, Yes, verb
from holdfast.dispatch import notices
from holdfast.engine import CLIENT
from holdfast.errors import EventError, HoldfastError
from holdfast.files import redact, trust
from holdfast.install import inspection
from holdfast.plugins import discovery, kinds, outcomes, strict_memory
from holdfast.sessions import recordings
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import firing, payloads, revisions
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.dispatch.calls import Answer
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.testkit.firing import Fired
    from holdfast.testkit.payloads import Draft

_FIELD = re.compile(r"([a-z][A-Za-z0-9_.]*)=(.*)", re.DOTALL)
_CODES = {"neutral": 0, "refused": 1, "broken": 2}
_AUDIENCES = {"model": "Claude gets", "user": "You get", "client": "Claude Code gets"}
_TEXT_CHARS = 60  # of an event's text in a list
_ANSWER_CHARS = 200
_File = Annotated[
    Path | None,
    click.Path(path_type=Path, exists=True, dir_okay=False),
    "Run only this file, from any place, as if it were yours.",
]


class _Trial(NamedTuple):
    """An event to fire: when it was recorded, or an empty string, and its payload."""

    at: str
    draft: Draft

    @property
    def title(self) -> str:
        """The event in a line: its name, the tool or value, the text, and the fields that recording redacted."""
        payload = self.draft.payload
        event, text = str(payload["hook_event_name"]), payloads.text_of(payload)
        value = str(payload.get(str(claude.EVENTS[event].matcher)) or "")
        about = f": {wording.one_line(text, _TEXT_CHARS)}" if text and text != value else ""
        redacted = f" (redacted in the recording: {', '.join(self.masked)})" if self.masked else ""
        return f"{self.at} {event} {value}".strip() + about + redacted

    @property
    def masked(self) -> list[str]:
        """The fields of a recorded payload in which something was redacted."""
        fields = payloads.flat(self.draft.payload) if self.at else ()
        return [name for name, value in fields if redact.MASK in str(value) or capture.MASK in str(value)]


@verb("try")
def command(
    project: Workspace,
    *words: Annotated[str, {"metavar": "EVENT [TOOL] [TEXT] [FIELD=VALUE]..."}],
    file: _File = None,
    payload: Annotated[IO[bytes] | None, click.File("rb"), "Read the payload from a JSON file; - is stdin."] = None,
    recorded: Annotated[str | None, "Replay recorded events: last, N (the N-th from the end) or all."] = None,
    against: Annotated[
        str | None, "Name the events that this git revision of the handlers answers differently."
    ] = None,
    shipped: Annotated[bool, "Run Holdfast's own handlers too. They change your workflows."] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Fire an event at your handlers and show what everybody gets.

    They run as in a session: chosen, isolated, timed and merged. TEXT is what the event is about: a command of Bash, a
    path of Read, Edit and Write, a prompt, a message. Other events have a value in place of TOOL, such as the source of
    SessionStart. What you don't name comes from a recorded event. Holdfast remembers nothing of it, but what a handler
    does itself is done. Functions that run in the background come last, and their lines say so.

    The exit code is 0 if nothing is refused, 1 if something is, 2 if a handler fails. With --against, 1 means that an
    event is answered differently.

    \b
    Examples:
      holdfast handlers try PreToolUse Bash "git push --force"
      holdfast handlers try PreToolUse Edit src/app.py new_string=x
      holdfast handlers try --file guard.py --recorded all --against HEAD
    """
    try:
        which = recorded or ("all" if against and not words and not payload else None)
        trials = _trials(project, words, payload, which)
        files = [firing.alone(file.absolute())] if file else discovery.find(claude, project)
        files = [each for each in files if shipped or each.place != "shipped"]
        earlier = _earlier(project, files, file, against, yes, as_json) if against is not None else None
        with firing.own_state(project):
            now = [firing.send(project, each.draft.payload, files) for each in trials]
            before = (
                [firing.send(project, each.draft.payload, earlier) for each in trials] if earlier is not None else now
            )
    except HoldfastError as error:  # 1 is for what a handler refuses
        raise click.UsageError(str(error)) from error
    faults = [f"{each.place}/{each.path.name}: {fault}" for each in files if each.active for fault in each.faults]
    code = max(_CODES["broken" if faults else each.verdict] for each in now)
    if against is not None:
        differing = [pair for pair in zip(trials, now, before, strict=True) if not pair[1].same(pair[2])]
        code = code if code == 2 else int(bool(differing))
        _print_differing(differing, len(trials), against, as_json)
        for each in files if not as_json else ():
            if each.changed and not each.active:
                options.say(f'"now" is without {each.path.name}: {inspection.idle(each)}')
    elif as_json:
        options.print_json([_row(*pair) for pair in zip(trials, now, strict=True)])
    elif which == "all":
        for trial, fired in zip(trials, now, strict=True):
            options.say(f"{trial.title} → {wording.one_line(fired.words, _ANSWER_CHARS)}")
        counts = {verdict: sum(each.verdict == verdict for each in now) for verdict in _CODES}
        click.echo(
            f"{wording.count(len(now), 'event')}: {', '.join(f'{n} {each}' for each, n in counts.items() if n)}."
        )
    else:
        _show(trials[0], now[0], [*faults, *_not_run(files, now[0])])
        if not file and not shipped:
            click.echo("Holdfast's own handlers are left out; --shipped runs them, for real.")
        click.echo(("Not refused." if now[0].plan else "No handler was called.", "Refused.", "Broken.")[code])
    sys.exit(code)


def _trials(project: Workspace, words: Sequence[str], payload: IO[bytes] | None, recorded: str | None) -> list[_Trial]:
    """Return the events to fire, at least one. Raises HoldfastError if the words name none."""
    split = [(word, _FIELD.fullmatch(word)) for word in words]
    fields = {found[1]: found[2] for _, found in split if found}
    plain = [word for word, found in split if not found]
    event = payloads.event_name(plain[0]) if plain else ""
    bases: list[tuple[str, dict[str, Any] | None]] = [("", None)]
    if payload is not None:
        bases = [("", _parsed(payload))]
    elif recorded is not None:
        bases = list(_recorded(project, plain[:2], event, recorded))
        plain = plain[:1]
    found = []
    for at, base in bases:
        name = event or payloads.event_name(str((base or {}).get("hook_event_name", "")))
        session = fields.get("session_id", firing.SESSION)
        found.append(_Trial(at, payloads.draft(name, plain[1:], fields, session, project.root, base, as_text=True)))
    return found


def _parsed(payload: IO[bytes]) -> dict[str, Any]:
    try:
        return dict(json.loads(payload.read()))
    except (ValueError, TypeError) as error:
        raise EventError(f"{payload.name} isn't a JSON object: {error}") from error


def _recorded(project: Workspace, words: Sequence[str], event: str, which: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield when an event was recorded and its payload, oldest first. Raises HoldfastError if there is none."""
    found: list[tuple[str, dict[str, Any]]] = []
    for line in (line for lines in recordings.read(project).values() for line in lines):
        try:
            entry = json.loads(line)
            payload = dict(entry["payload"])
            field = str(claude.EVENTS[payload["hook_event_name"]].matcher)
            if event in ("", payload["hook_event_name"]) and words[1:] in ([], [payload.get(field)]):
                found.append((str(entry["at"]), payload))
        except (ValueError, TypeError, KeyError):
            continue  # cut short, or of a newer Holdfast
    number = {"last": 1, "all": len(found)}.get(which) or (int(which) if which.isdecimal() else 0)
    if not 0 < number <= len(found):
        what = f"{len(found)} recorded events{' of ' if words else ''}{' '.join(words)} here"
        raise HoldfastError(
            f"--recorded takes last, all or a number; there are {what} (holdfast handlers on record_events)"
        )
    found.sort(key=lambda each: each[0])
    yield from found if which == "all" else [found[-number]]


def _earlier(
    project: Workspace, files: Sequence[HandlerFile], file: Path | None, revision: str, yes: bool, on_stderr: bool
) -> list[HandlerFile]:
    """Return the handler files as they were in a revision, after showing those that nobody trusts.

    That is `file`, or the project's; yours are among them as they are. Raises HoldfastError if nobody agrees.
    """
    top = file.absolute().parent if file else project.root
    name = file.name if file else f"{trust.relative_name(top, paths.project_handlers(top))}/"
    now = {each.path: each for each in files}
    present = {path: source for each in files for path, source in (*each.helpers.items(), (each.path, each.source))}
    granted = trust.granted(project.root)
    found = [each for each in files if not file and each.place != "project"]
    contents = revisions.contents(top, revision, name)
    helpers = {Path(each).name: source for each, source in contents.items() if kinds.is_helper(Path(each).name)}
    unknown = False
    for relative, content in contents.items():
        known, digest = now.get(top / relative), trust.digest(content)
        if known and (known.off or known.replaced_by):
            continue
        if Path(relative).name not in helpers:
            found.append(firing.alone(top / relative, content, "user" if file else "project", helpers))
        source = present.get(top / relative, b"")
        if digest != (trust.digest(source) if file else granted.get(relative)):
            unknown = True
            click.echo(f"{relative} at {revision}  sha256 {digest[:12]}", err=on_stderr)
            handler_trust.print_diff(source, content, "as it is now", f"at {revision}", err=on_stderr)
    if unknown:
        options.confirm(f"Run these contents of {revision} once?", yes=yes, on_stderr=on_stderr)
    return found


def _print_differing(differing: Sequence[tuple[_Trial, Fired, Fired]], all: int, revision: str, as_json: bool) -> None:
    if as_json:
        rows = [_row(trial, now) | {"before": _row(trial, before)} for trial, now, before in differing]
        options.print_json({"events": all, "revision": revision, "different": rows})
        return
    for trial, now, before in differing:
        options.say(f"{trial.title}")
        for when, fired in ((revision, before), ("now", now)):
            options.say(f"  {when}: {wording.one_line(fired.words, _ANSWER_CHARS)}")
    click.echo(f"{len(differing)} of {wording.count(all, 'event')} answered differently than at {revision}.")


def _show(trial: _Trial, fired: Fired, without: Sequence[str]) -> None:
    """Print all about one event; `without` are lines on files that weren't called."""
    console, draft = terminal.console(), trial.draft
    terminal.put(console, [terminal.text(trial.title, "bold")])
    if draft.source and draft.taken:
        terminal.put_wrapped(console, Text(f"From the recorded {draft.source}: {', '.join(draft.taken)}."))
    rows = []
    for number, answer in enumerate(fired.answers, 1):
        words = answer.fault or firing.words(answer.outcomes)
        words = f"in the background: {words}" if answer.label in fired.in_background else words
        shown = terminal.text(words, "red" if answer.fault else "")
        rows.append((f"  {number}.", answer.label, f"{_ms(answer)} ms", shown))
    if rows:
        terminal.put_wrapped(console, terminal.table(rows))
    lines = [f"  -  {each}" for each in without]
    lines += [f"Dropped: {each['handler']}: {each['outcome']}: {each['dropped']}" for each in fired.dropped]
    lines += [f"Note: {each.label} {each.text}{f': {each.detail}' * bool(each.detail)}" for each in fired.remarks]
    for line in lines:
        options.say(line)
    for who, text in fired.audiences().items():
        terminal.put_wrapped(console, terminal.row(Text(f"{_AUDIENCES[who]}: ", "bold"), wording.clean(text)))


def _ms(answer: Answer) -> float:
    """Return how long a call took, in milliseconds, with loading its file."""
    return round((answer.seconds or 0.0) * 1000, 1)


def _not_run(files: Sequence[HandlerFile], fired: Fired) -> list[str]:
    """Return a line for each file that would have got the event if it ran, with the reason why it doesn't."""
    event, value = fired.event.hook_event_name, CLIENT.matcher_value(fired.event)
    resting = [f"{call.label} is {reason}" for call in fired.plan if (reason := notices.left_out(call))]
    return resting + [
        f"{file.place}/{file.path.name}: {inspection.idle(file)}"
        for file in files
        if not file.active and any(strict_memory.selects(claude, route, event, value) for route in file.routes)
    ]


def _row(trial: _Trial, fired: Fired) -> dict[str, Any]:
    """Return all about an event as JSON values."""
    reply = fired.conclusion.reply
    handlers = [
        {"label": each.label, "outcomes": [outcomes.to_json(one) for one in each.outcomes], "fault": each.fault}
        | {"ms": _ms(each), "background": each.label in fired.in_background}
        for each in fired.answers
    ]
    row: dict[str, Any] = {"at": trial.at, "redacted": trial.masked, "verdict": fired.verdict, "handlers": handlers}
    row |= {"dropped": fired.dropped, "audiences": fired.audiences()}
    row["reply"] = {"stdout": reply.stdout, "stderr": reply.stderr, "exit_code": reply.exit_code}
    return trial.draft._asdict() | row
