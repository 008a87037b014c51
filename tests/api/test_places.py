"""Where handlers come from: yours, the project's once you trust it, and the shipped ones; which of a name runs."""

from __future__ import annotations

import importlib.util
import os
import py_compile
from typing import TYPE_CHECKING

from tests.api.author import Author, handler
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from tests.api.author import Authors

GUARD = "match='Bash', strict=True"
LARGE = 32_768


def says(name: str, options: str = "", head: str = "") -> str:
    """Return a handler that advises its name before a tool call."""
    return head + handler(f"return advise({name!r})", options=options)


def heard(made: Author) -> str:
    """Return what is said before a Bash call, by its handlers in order; a refusal begins with NO."""
    fired = made.bash()
    if "permissionDecision" in fired.specific:
        return f"NO {fired.specific['permissionDecisionReason']}"
    return fired.context.replace("\n\n", " ")


def test_handlers_run_in_the_order_of_their_places_and_names(author: Authors) -> None:
    """Shipped, yours, the project's, each by file name; tryfirst and trylast go before and after all, guards too."""
    made = author(
        {"b": says("b"), "a": says("a"), "z": says("first", "tryfirst=True"), "c": says("last", "trylast=True")}
    )
    made.mine(d=says("last2", "trylast=True"), y=says("first2", "tryfirst=True"))
    made.ours(A=says("A", "strict=True"), Z=says("Z1", "tryfirst=True"))
    made.trust()
    assert heard(made) == "first2 first Z1 a b A last2 last"


def test_what_is_no_handler_file_is_left_alone(author: Authors) -> None:
    """Private and hidden files, other kinds, and what folders hold; nobody needs to have any folder."""
    made = author()
    assert heard(made) == ""
    for name in ("_private.py", ".hidden.py", "notes.md", "x.pyc", "x.py~", "x.py.bak", "sub/x.py", "__pycache__/x.py"):
        made.write({f"{made.config}/handlers/{name}": says(name)})
    assert heard(made) == ""
    made = author()
    made.write({f"{made.config}/handlers": "not a folder"})
    assert heard(made) == ""
    assert "is not a folder" in holdfast("handlers", "check", root=made.root, code=1).out


def off(made: Author, names: str, on: str = "") -> None:
    """Switch handlers off and on in the author's configuration."""
    made.write({f"{made.config}/holdfast.toml": f"[handlers]\noff = [{names}]\non = [{on}]\n"})


def broken(made: Author) -> None:
    """Break a file of the author's."""
    made.mine(a="def on_pre_tool_use(:\n")


def gone(made: Author) -> None:
    """Delete a file of the author's."""
    (made.config / "handlers/a.py").unlink()


def switched(names: str, on: str = "") -> Callable[[Author], object]:
    """Return what switches handlers off and on in the author's configuration."""
    return lambda made: off(made, names, on)


def written(text: str) -> Callable[[Author], object]:
    """Return what writes the project's configuration."""
    return lambda made: made.write({".claude/holdfast.toml": text})


def configured(text: str) -> Callable[[Author], object]:
    """Return what writes the author's configuration, in which shipped handlers are on."""
    return lambda made: made.write({f"{made.config}/holdfast.toml": text})


def namesake(made: Author) -> None:
    """Put a rule of the same name beside the author's handler."""
    made.write({f"{made.config}/handlers/a.toml": 'event = "PreToolUse"\nanswer = "advise"\ntext = "rule"\n'})


def test_which_file_of_a_name_runs(author: Authors) -> None:
    """The project's, once trusted, before yours; but never in place of your strict one, whatever became of that."""
    rows: dict[str, tuple[dict[str, str], dict[str, str], list[Callable[[Author], object]], str]] = {
        # what it shows: yours, the project's, what happens before the event, and what is heard
        "untrusted, it replaces nothing": ({"a": says("mine")}, {"a": says("ours")}, [], "mine"),
        "trusted, it replaces yours": ({"a": says("mine")}, {"a": says("ours")}, [Author.trust], "ours"),
        "other names beside each other": ({"a": says("mine")}, {"b": says("b")}, [Author.trust], "mine b"),
        "what is off replaces nothing": (
            {"a": says("mine")},
            {"a": says("ours", head="OFF_BY_DEFAULT = True\n")},
            [Author.trust],
            "mine",
        ),
        "your strict one stays": ({"a": says("mine", GUARD)}, {"a": says("ours")}, [Author.trust], "mine"),
        "your strict one stays though it is broken": (
            {"a": says("mine", GUARD)},
            {"a": says("ours")},
            [Author.bash, Author.trust, broken],
            "NO Refused, because a strict handler could not check it: user/a.py",
        ),
        "your strict one stays though it is gone": (
            {"a": says("mine", GUARD)},
            {"a": says("ours")},
            [Author.bash, Author.trust, gone],
            "NO Refused, because a strict handler could not check it: user/a.py",
        ),
        "one name in one folder": ({"a": says("mine")}, {}, [namesake], "mine rule"),
        "off by its own line": ({"a": says("mine", head="OFF_BY_DEFAULT: bool = True\n")}, {}, [], ""),
        "off by its own line, with others": (
            {"a": says("mine", head="X = OFF_BY_DEFAULT = True\n")},
            {},
            [],
            "",
        ),
        "on by your configuration": (
            {"a": says("mine", head="OFF_BY_DEFAULT = True\n")},
            {},
            [switched("", '"a"')],
            "mine",
        ),
        "off by your configuration": ({"a": says("a"), "b": says("b")}, {}, [switched('"a"')], "b"),
        "your strict one, too": ({"a": says("a", GUARD)}, {}, [switched('"a"')], ""),
        "a trusted project switches off yours": (
            {"a": says("a"), "b": says("b", GUARD)},
            {},
            [written('[handlers]\noff = ["a", "b"]\n'), Author.trust],
            "b",
        ),
        "an untrusted one doesn't": (
            {"a": says("a")},
            {},
            [written('[handlers]\noff = ["a"]\n')],
            "a",
        ),
        "a configuration that it waits for": (
            {
                "a": says("a", head='RUNS_WHEN = {"reading": ["hold", "off"]}\n'),
                "b": says("b", head='RUNS_WHEN = {"x": []}\n'),
            },
            {},
            [configured('reading = "hold"\n')],
            "a",
        ),
        "another configuration": (
            {"a": says("a", head='RUNS_WHEN = {"reading": ["hold"]}\n')},
            {},
            [configured('reading = "remind"\n')],
            "",
        ),
        "your strict one waits for yours alone": (
            {
                "a": says("a", GUARD, 'RUNS_WHEN = {"reading": ["remind"]}\n'),
                "b": says("b", head='RUNS_WHEN = {"reading": ["remind"]}\n'),
            },
            {},
            [written('reading = "hold"\n'), Author.trust],
            "a",
        ),
    }
    wrong = []
    for what, (mine, ours, steps, expected) in rows.items():
        made = author(mine)
        made.ours(**ours)
        for step in steps:
            step(made)
        got = heard(made)
        if not got.startswith(expected) or bool(got) != bool(expected):
            wrong.append(f"{what}: {got!r}, not {expected!r}")
    assert not wrong, "\n".join(wrong)


def test_trust_is_given_to_the_bytes_of_one_file_of_one_project(author: Authors) -> None:
    """Another content, another name or another project has to be trusted anew."""
    wrong = []
    for what in ("content", "name", "project"):
        made = author()
        made.ours(a=says("ours"))
        assert heard(made) == ""
        made.trust()
        assert heard(made) == "ours"
        path = made.root / ".claude/handlers/a.py"
        if what == "content":
            path.write_text(says("ours") + "\n")
        elif what == "name":
            path.rename(path.with_name("b.py"))
        else:
            made.root = made.root.rename(made.root.with_name("moved"))
        if got := heard(made):
            wrong.append(f"another {what}: {got}")
    assert not wrong, "\n".join(wrong)


def edited(text: str) -> Callable[[Author], object]:
    """Return an edit of the project's guard."""
    return lambda made: (made.root / ".claude/handlers/guard.py").write_text(text)


def moved(how: str) -> Callable[[Author], object]:
    """Return what puts the project's guard out of its place."""

    def move(made: Author) -> None:
        guard = made.root / ".claude/handlers/guard.py"
        if how == "folder":
            guard.parent.rename(made.root / "elsewhere")
            return
        guard.rename(guard.with_name("other.py"))
        stand_in(guard, how)

    return move


def stand_in(guard: Path, how: str) -> None:
    """Put something that is no file in a guard's place, or nothing."""
    if how == "directory":
        guard.mkdir()
    elif how == "link":
        guard.symlink_to(guard.parent / "nowhere")
    elif how == "loop":
        guard.symlink_to(guard)
    elif how == "fifo":
        os.mkfifo(guard)


CHANGES = {
    "another strict one": edited(says("ours", GUARD) + "# more\n"),
    "no longer strict": edited(says("ours", "match='Bash'")),
    "nothing at all": edited(""),
    "no Python": edited("def on_pre_tool_use(:\n"),
    "off by its own word": edited("OFF_BY_DEFAULT = True\n" + says("ours", GUARD)),
    "waiting by its own word": edited("RUNS_WHEN = {'reading': ['hold']}\n" + says("ours", GUARD)),
    "another event": edited(handler("...", "stop")),
    "too large": edited(says("ours", GUARD) + "#" * LARGE),
    **{how: moved(how) for how in ("renamed", "folder", "directory", "link", "loop", "fifo")},
}


def test_a_trusted_guard_that_changed_refuses_until_trust_is_given_or_taken_back(author: Authors) -> None:
    """What it guarded, and nothing else; nothing of its new content runs; the refusal names the command."""
    wrong = []
    for what, change in CHANGES.items():
        made = author()
        made.ours(guard=says("ours", GUARD))
        made.bash().assert_not_called()
        made.trust()
        assert heard(made) == "ours"
        change(made)
        for _ in range(2):  # the second look must not forget it
            got = heard(made)
            if not got.startswith("NO ") or f"holdfast handlers untrust --project {made.root} guard.py" not in got:
                wrong.append(f"{what}: {got}")
        other = made.fire("PreToolUse", tool_name="Read", tool_input={"file_path": "x"})
        if other.stdout:
            wrong.append(f"{what}, Read: {other}")
        holdfast("handlers", "untrust", "guard.py", root=made.root)
        if got := heard(made):
            wrong.append(f"{what}, untrusted: {got}")
    assert not wrong, "\n".join(wrong)


def test_a_guard_that_nobody_trusted_refuses_nothing(author: Authors) -> None:
    """A clone's guard neither opens nor closes anything, changed or gone."""
    for change in CHANGES.values():
        made = author()
        made.ours(guard=says("ours", GUARD))
        made.bash().assert_not_called()
        change(made)
        made.bash().assert_not_called()


def test_your_guard_that_cannot_be_read_refuses_until_it_is_mended_or_forgotten(author: Authors) -> None:
    """Whatever lies in its place. Mended it judges; `handlers off` forgets one that is gone, switched on it is new."""
    broken = {
        "a syntax error": "def on_pre_tool_use(:\n",
        "an argument too many": says("a", GUARD).replace("(event, context)", "(payload)"),
        "async": says("a", GUARD).replace("\ndef ", "\nasync def "),
        "an option that isn't written out": says("a", GUARD).replace("strict=True", "strict=STRICT"),
        "no hookimpl": says("a", GUARD).replace("@hookimpl", "@marker"),
        "a matcher that can't be read": says("a", GUARD).replace("'Bash'", "'['"),
        "a null": "\x00",
        "too large": says("a", GUARD) + "#" * LARGE,
    }
    wrong = []
    for what, text in broken.items():
        # Another function's mistake, there from the beginning, doesn't keep the guard from being known.
        made = author({"guard": says("sound", GUARD) + "@hookimpl\ndef on_stop(wrong): ...\n"})
        assert heard(made) == "sound"
        made.mine(guard=text)
        said = [heard(made), heard(made)]
        wrong += [f"{what}: {got}" for got in said if not got.startswith("NO ") or "user/guard.py" not in got]
        if ("split it" if what == "too large" else "; correct it") not in said[0]:
            wrong.append(f"{what}, no reason: {said[0]}")
        made.mine(guard=says("mended", GUARD))
        if (got := heard(made)) != "mended":
            wrong.append(f"{what}, mended: {got}")
    for what in ("gone", "directory", "link", "loop", "fifo"):
        made = author({"guard": says("sound", GUARD)})
        assert heard(made) == "sound"
        guard = made.config / "handlers/guard.py"
        guard.rename(made.home / "kept")
        stand_in(guard, what)
        if "holdfast handlers off guard" not in (got := heard(made)):
            wrong.append(f"{what}: {got}")
        off(made, '"guard"')
        if got := heard(made):
            wrong.append(f"{what}, switched off: {got}")
        off(made, "")
        if what == "gone" and (got := heard(made)):
            wrong.append(f"{what}, forgotten: {got}")
    assert not wrong, "\n".join(wrong)


def test_your_guard_in_a_folder_that_the_environment_no_longer_names_refuses(
    author: Authors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that is named works there. Moved with the folder, it runs."""
    made = author({"guard": says("sound", GUARD)})
    assert heard(made) == "sound"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made.home / "an other"))
    made.config = made.home / "an other/holdfast"
    made.configure("")
    said = heard(made)
    assert "where yours are looked for" in said
    assert f"(in a terminal: env 'XDG_CONFIG_HOME={made.home}/an other' holdfast handlers off guard)" in said
    (made.home / ".config/holdfast/handlers").rename(made.config / "handlers")
    assert heard(made) == "sound"


def test_a_guard_that_a_trusted_configuration_switched_on_stays_when_that_changes(author: Authors) -> None:
    """Trusting the new one ends it."""
    made = author()
    made.ours(guard=says("ours", GUARD, "RUNS_WHEN = {'reading': ['hold']}\n"))
    made.write({".claude/holdfast.toml": 'reading = "hold"\n'})
    made.trust()
    assert heard(made) == "ours"
    made.write({".claude/holdfast.toml": 'reading = "off"\n'})
    assert "holdfast.toml was changed since you trusted it" in heard(made)
    made.trust()
    assert heard(made) == ""


def test_no_link_leads_out_of_the_project(author: Authors, tmp_path: Path) -> None:
    """A file, the folder or `.claude`: what it leads to doesn't run, trusted or not. Your own may be links."""
    there = tmp_path / "there"
    there.mkdir()
    places = {"file": ".claude/handlers/a.py", "handlers": ".claude/handlers", ".claude": ".claude"}
    for linked, place in places.items():
        made = author()
        made.ours(a=says("ours"))
        made.trust()
        assert heard(made) == "ours"
        link = made.root / place
        link.rename(there / linked)
        link.symlink_to(there / linked)
        assert heard(made) == "", linked
        out = holdfast("handlers", "check", root=made.root, code=1).out
        assert f"leads out of {made.root} through a symbolic link" in out.replace("\n", " "), linked
    made = author({"a": says("mine")})
    (made.config / "handlers").rename(made.home / "dotfiles")
    (made.config / "handlers").symlink_to(made.home / "dotfiles")
    made.write({"tools/b.py": says("ours")})
    (made.root / ".claude/handlers/b.py").symlink_to(made.root / "tools/b.py")
    made.trust()
    assert heard(made) == "mine ours"


def test_of_a_crowded_folder_200_files_count(author: Authors) -> None:
    """The first by name; the folder is named."""
    made = author({f"a{number:03}": says(f"{number:03}") for number in range(206)})
    said = heard(made).split()
    assert (said[0], said[-1], len(said)) == ("000", "199", 200)
    assert "holds 206 handler files: only 200 handlers run" in holdfast("handlers", "check", root=made.root, code=1).out


def test_what_runs_is_the_source_that_was_trusted(author: Authors) -> None:
    """Not a compiled file beside it, which Python's own import would run. Nothing compiled is left there."""
    made = author({"mine": says("mine")})
    made.ours(a=says("source", head="TRUTH = 'source'\n"))
    path = made.root / ".claude/handlers/a.py"
    evil = made.root / "evil.py"
    evil.write_text(f"TRUTH = 'planted'\nopen({str(made.root / 'ran')!r}, 'w').close()\n")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(
        str(evil), cfile=importlib.util.cache_from_source(str(path)), invalidation_mode=mode, doraise=True
    )
    made.trust()
    assert heard(made) == "mine source"
    assert not (made.root / "ran").exists()
    assert not (made.config / "handlers/__pycache__").exists()
    spec = importlib.util.spec_from_file_location("proof", path)
    assert spec is not None and spec.loader is not None
    proof = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(proof)
    assert proof.TRUTH == "planted", "the trap itself must be a working one"


def test_an_edit_counts_at_once(author: Authors) -> None:
    """Also one that keeps size and time, and whatever was kept of the file before."""
    made = author({"a": says("one")})
    made.ours(b=says("two"))
    made.trust()
    for _ in range(3):
        assert heard(made) == "one two"
    for path, text in ((made.config / "handlers/a.py", "six"), (made.root / ".claude/handlers/b.py", "ten")):
        before = path.stat()
        path.write_text(path.read_text().replace("one", text).replace("two", text))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert heard(made) == "six", "the project's is no longer trusted"
    made.trust()
    assert heard(made) == "six ten"
    (made.config / "handlers/a.py").unlink()
    assert heard(made) == "ten"


def test_a_file_is_a_module_of_its_own(author: Authors) -> None:
    """It knows its path, dataclasses work in it, and annotations are real; two files share nothing."""
    text = "from dataclasses import dataclass\nCOUNT = []\n@dataclass\nclass Thing:\n    size: 'int' = 3\n"
    text += "def f(x: int): ...\n"
    body = "COUNT.append(1)\nname = os.path.basename(__file__)\n"
    body += "return advise(f'{name} {Thing().size} {len(COUNT)} {f.__annotations__}')"
    made = author({"a": text + handler(body), "b": text + handler(body)})
    assert heard(made) == "a.py 3 1 {'x': <class 'int'>} b.py 3 1 {'x': <class 'int'>}"
