"""Handlers without code: a rule in TOML, with a condition and an answer.

event = "PreToolUse"
match = "shell|Read"
when = { path = "**/.env*" }
unless = { path = "**/.env.example" }
answer = "deny"
text = "secrets stay out of the conversation"
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from holdfast import capture
from holdfast.errors import did_you_mean
from holdfast.plugins import outcomes
from holdfast.plugins.markers import hookimpl
from holdfast.plugins.outcomes import OutcomeError
from holdfast.plugins.scan import Fault, Scan, routes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.outcomes import Outcome
    from holdfast.process.shell import Command

_ANSWERS: Mapping[str, Callable[[str], Outcome]] = {
    "deny": outcomes.deny,
    "ask": outcomes.ask,
    "block": outcomes.block,
    "advise": outcomes.advise,
    "tell_user": outcomes.tell_user,
}
_TRANSCRIPT_BYTES = 4 * 1024 * 1024
_ASKING = ("deny", "ask")  # of a command that can't be read, these ask the user
_OPTIONS = ("match", "timeout", "strict", "on_failure", "once", "background", "examples")
_OF_TOOLS = ("path", "command", "input")  # the conditions that only a tool call can fulfil
_FILE_PROGRAMS = frozenset(
    (
        *("cat", "head", "tail", "less", "more", "bat", "tac", "nl", "source", ".", "grep", "egrep", "fgrep", "rg"),
        *("sed", "awk", "jq", "yq", "sort", "cut", "wc", "diff", "cmp", "xxd", "od", "strings", "hexdump", "base64"),
        *("cp", "mv", "ln", "rm", "unlink", "touch", "tee", "dd", "install", "truncate", "shred", "scp", "rsync"),
        *("tar", "zip", "gzip", "openssl", "chmod", "chown", "vi", "vim", "nano"),
    )
)
"""Programs that show or change the files that they get. Of others a word that isn't known is seldom a path."""
_NOT_IN_THE_TEXT = re.compile(r"[$`{]|<\(")
_TELLING = {"extra_forbidden": 1, "value_error": 2}
"""Of several faults, such as one for each type that a value may have, the most informative one."""
_UNION = ("str", "Regex")  # pydantic names the members of a union where a fault is


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} isn't a regular expression: {error}") from None
    return pattern


def _is_command(text: str) -> str:
    if not shlex.split(text):
        raise ValueError("a command has at least one word, such as `git push`")
    return text


class _Table(BaseModel):
    """A table of a rule. An unknown key is an error, because a misspelt condition would always hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Regex(_Table):
    """A text that a regular expression finds something in."""

    regex: Annotated[str, AfterValidator(_compiles)]


Texts = Annotated[list[str], BeforeValidator(_listed)]
Commands = Annotated[list[Annotated[str, AfterValidator(_is_command)]], BeforeValidator(_listed)]
Patterns = Annotated[list[str | Regex], BeforeValidator(_listed)]


class Condition(_Table):
    """What an event must be like: each key that is there must hold, and of a list one entry.

    Attributes:
        path: globs of the paths that a tool's input names, shell commands included. A glob matches at any depth, unless
            it begins with `/` or `~/`; one that matches a folder matches everything in it. A program that shows or
            changes a file whose name isn't in the text (`cat $X`, `xargs cat`) may name any.
        command: commands that a shell runs: the program and words among its arguments, such as `git push --force`. A
            one-letter option is found in a group too: `rm -f` in `rm -rf`. A word may be a glob.
        input: field of the tool's input → glob or `{ regex = "…" }`. With `a|b` one of both fields must fit.
        field: field of the event, such as `prompt` → glob or `{ regex = "…" }`; `transcript` is the session's text.
        agent: true in a subagent, false in the main conversation, or globs of the subagent's type.
        mode: permission modes, such as `plan`.
    """

    path: Texts = []
    command: Commands = []
    input: dict[str, Patterns] = {}
    field: dict[str, Patterns] = {}
    agent: bool | Texts | None = None
    mode: Texts = []

    def holds(self, event: Any, excepted: Sequence[str] = ()) -> bool | None:
        """Return whether an event is like that; None if a shell command in it can't be read well enough to tell.

        Args:
            event: the event.
            excepted: globs of paths that don't count.
        """
        found: list[bool | None] = []
        if self.path:
            found.append(_any_path(self.path, excepted, event))
        if self.command:
            found.append(_any_command(self.command, event))
        for names, patterns in self.input.items():
            found.append(any(_fits(patterns, event.tool_input.get(name)) for name in names.split("|")))
        for name, patterns in self.field.items():
            value = _transcript(event) if name == "transcript" else getattr(event, name, None)
            found.append(_fits(patterns, value))
        if isinstance(self.agent, bool):
            found.append(event.in_subagent is self.agent)
        elif self.agent is not None:
            found.append(event.in_subagent and _fits(self.agent, event.agent_type))
        if self.mode:
            found.append(event.permission_mode in self.mode)
        return False if False in found else None if None in found else True


class Rule(_Table):
    """A rule file.

    Attributes:
        event: the event that it answers.
        answer: the kind of its outcome.
        text: the outcome's text, for the model or the user.
        match, timeout, strict, on_failure, once, background: as in `hookimpl`.
        examples: as in `hookimpl`, with "" for silence.
        off_by_default: whether it runs only once you switch it on.
        when: the condition; without one it always answers.
        unless: a condition under which it doesn't answer. If it has only paths, those don't count for those of `when`.
    """

    event: str
    answer: Literal["deny", "ask", "block", "advise", "tell_user"]
    text: Annotated[str, Field(min_length=1)]
    match: str | None = None
    timeout: float | None = None
    strict: bool = False
    on_failure: Literal["skip", "ask", "deny"] = "skip"
    once: Literal["turn", "session"] | None = None
    background: bool = False
    off_by_default: bool = False
    examples: dict[str, str | dict[str, Any]] = {}
    when: Condition = Condition()
    unless: Condition | None = None

    def outcome(self, event: Any, *, asks: bool) -> Outcome | None:
        """Return the answer to an event, None if the condition doesn't hold.

        Where a shell command can't be read well enough to tell, a rule that refuses asks the user, if the event `asks`.
        """
        unless, besides = self.unless, list[str]()
        if unless and self.when.path and unless == Condition(path=unless.path):
            besides, unless = unless.path, None
        holds = self.when.holds(event, besides)
        excepted = unless.holds(event) if unless else False
        if holds is False or excepted is True:
            return None
        if holds and excepted is False:
            return _ANSWERS[self.answer](self.text)
        if asks and self.answer in _ASKING:
            return outcomes.ask(f"This command can't be read well enough to check it: {self.text}")
        return None


def scan(source: bytes, hooks: Hooks) -> Scan:
    """Read what a rule declares.

    Args:
        source: the file's bytes.
        hooks: the client's hooks, which it may answer.
    """
    try:
        rule = _read(source)
        options = {name: value for name in _OPTIONS if (value := getattr(rule, name))}
        found = routes(rule.event, options, 0, hooks)
        of_tools = [name for each in (rule.when, rule.unless) if each for name in _OF_TOOLS if getattr(each, name)]
        if of_tools and hooks.EVENTS[rule.event].matcher != "tool_name":
            raise Fault(f"{of_tools[0]} is of a tool's input, and {rule.event} has none")
        accepts = hooks.EVENTS[rule.event].accepts
        outcomes.check(_ANSWERS[rule.answer](rule.text), rule.event, accepts, background=rule.background)
    except (Fault, OutcomeError) as fault:
        return Scan(faults={"": str(fault)})
    return Scan(tuple(found), off_by_default=rule.off_by_default)


def never_holds(source: bytes, fields: Collection[str], modes: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each condition of a rule that never holds with the clients that are known.

    Args:
        source: the rule's bytes.
        fields: the fields of its event.
        modes: the permission modes.
    """
    rule = _read(source)
    for condition in filter(None, (rule.when, rule.unless)):
        named = [("field", f"{rule.event} has no field", each, {*fields, "transcript"}) for each in condition.field]
        named += [("mode", "there is no mode", each, {*modes}) for each in condition.mode]
        for key, what, name, known in named:
            if name not in known:
                yield f"{key}: {what} {name!r}{did_you_mean(name, known) or ', so it never holds'}"


def function(hooks: Hooks, source: bytes) -> Callable[..., Any]:
    """Return the function that applies the rule in a file's bytes. Raises Fault if they are none."""
    rule = _read(source)
    asks = "ask" in hooks.EVENTS[rule.event].accepts

    @hookimpl
    def apply(event: Any) -> Outcome | None:
        return rule.outcome(event, asks=asks)

    return apply


def _read(source: bytes) -> Rule:
    try:
        return Rule.model_validate(tomllib.loads(source.decode()))
    except ValidationError as error:
        fault = max(error.errors(include_url=False), key=lambda each: _TELLING.get(each["type"], 0))
        where = ".".join(str(part) for part in fault["loc"] if isinstance(part, str) and part not in _UNION)
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "missing":
            raise Fault(f"{where} is missing") from None
        if fault["type"] == "model_type":
            raise Fault(f'{where} is a table, such as {where} = {{ path = "**/.env*" }}') from None
        if fault["type"] == "extra_forbidden":
            known: Iterable[str] = Rule.model_fields if len(fault["loc"]) == 1 else Condition.model_fields
            if "Regex" in fault["loc"]:
                known = Regex.model_fields
            message = f"no such key{did_you_mean(str(fault['loc'][-1]), known, else_all=True)}"
        raise Fault(f"{where}: {message[0].lower()}{message[1:]}") from None
    except UnicodeDecodeError:
        raise Fault("isn't text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"cannot be read as TOML ({error})") from None


def _transcript(event: Any) -> str:
    """Return the end of the session's transcript as it is on the disk; empty if there is none."""
    try:
        with open(event.transcript_path, "rb") as file:  # noqa: PTH123 - the client's text
            file.seek(max(os.fstat(file.fileno()).st_size - _TRANSCRIPT_BYTES, 0))
            return file.read().decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _fits(patterns: Iterable[str | Regex], value: object) -> bool:
    """Return whether a value's text fits one of some patterns; None fits none."""
    if value is None:
        return False
    text = value if isinstance(value, str) else str(value)
    return any(
        fnmatchcase(text, pattern) if isinstance(pattern, str) else re.search(pattern.regex, text) is not None
        for pattern in patterns
    )


def _any_path(globs: Sequence[str], excepted: Sequence[str], event: Any) -> bool | None:
    """Return whether a tool's input names a path that fits; None if a shell command in it may."""
    if any(capture.matches(globs, path) and not capture.matches(excepted, path) for path in event.paths):
        return True
    return None if any(_may_name_any(event, command) for command in event.commands) else False


def _may_name_any(event: Any, command: Command) -> bool:
    """Return whether nobody can say which program runs, or which file it shows or changes."""
    if command.runs("cat") is None:
        return True
    if not (command.program in _FILE_PROGRAMS or command.reads or command.writes):
        return False
    if command.folder is None or "xargs" in command.inside:
        return True
    unknown = command.unknown or command.reads or command.writes
    return bool(unknown) and any(_NOT_IN_THE_TEXT.search(str(path)) for path in event.paths_of(command))


def _any_command(patterns: Iterable[str], event: Any) -> bool | None:
    """Return whether a shell runs one of some commands; None if it may."""
    wanted = [shlex.split(pattern) for pattern in patterns]
    found = [command.runs(*words) for command in event.commands for words in wanted]
    return True if True in found else None if None in found else False
