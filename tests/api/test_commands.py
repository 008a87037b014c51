"""What handlers see of a tool's input: the commands of a shell call, the paths, the input before changes."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

from holdfast import matches, redact
from holdfast.events import AgentInput, BashInput, Command, PreToolUse, parse
from tests.api.author import handler
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.testing import HoldfastProject
    from tests.api.author import Authors
    from tests.conftest import RunPython

CWD = "/home/user/project"
CORPUS = tomllib.loads((Path(__file__).parent / "data" / "commands.toml").read_text("utf-8"))


def call(tool: str = "Bash", cwd: str = CWD, **tool_input: Any) -> PreToolUse:
    """Return the event before a call."""
    event = parse(
        {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "cwd": cwd,
            "tool_name": tool,
            "tool_input": tool_input,
        }
    )
    assert isinstance(event, PreToolUse)
    return event


def rows(kind: str) -> dict[str, dict[str, str]]:
    """Return the corpus's rows of a kind by command."""
    return {row["command"]: row for group in CORPUS[kind] for row in group["commands"]}


def missing(row: dict[str, str]) -> Iterator[str]:
    """Yield what a dangerous command's event doesn't show."""
    event = call(command=row["command"])
    if "runs" in row and not any(each.runs(*shlex.split(row["runs"])) for each in event.commands):
        yield row["runs"]
    if "path" in row and Path(row["path"]).expanduser() not in event.paths:
        yield row["path"]
    if "opaque" in row and not any(each.program == row["opaque"] and not each.sure for each in event.commands):
        yield f"an unsure {row['opaque']}"
    if "unreadable" in row and all(each.sure for each in event.commands):
        yield "an unsure command"


def test_the_corpus_has_what_it_promises() -> None:
    """At least 150 dangerous commands and 70 harmless ones, each from a public source, for at least ten dangers."""
    assert len(rows("dangerous")) >= 150
    assert len(rows("harmless")) >= 70
    groups = [*CORPUS["dangerous"], *CORPUS["harmless"]]
    assert all(re.match("https?://", group["source"]) for group in groups)
    assert len({group["kind"] for group in CORPUS["dangerous"]}) >= 10


@each_row("command", rows("dangerous"))
def test_a_dangerous_command_shows_what_it_runs(command: str) -> None:
    """The words that make it dangerous are in one command, or a command is unsure."""
    assert not list(missing(rows("dangerous")[command]))


@each_row("command", rows("harmless"))
def test_a_harmless_command_runs_nothing_dangerous(command: str) -> None:
    """Words that are only mentioned are no command, and no path."""
    event, row = call(command=command), rows("harmless")[command]
    if "never" in row:
        wanted = shlex.split(row["never"])
        assert [(each.argv, each.runs(*wanted)) for each in event.commands if each.runs(*wanted) is not False] == []
    if "no_path" in row:
        assert not [path for path in event.paths if path.name == row["no_path"]]


S, U = True, False
READ: dict[str, list[tuple[str, str, bool]]] = {
    # command: the commands it runs as (inside, words, sure)
    "git status": [("", "git status", S)],
    "a && b || c; d & e\nf": [("", each, S) for each in "abcdef"],
    "a | b |& c": [("", "a", S), ("", "b", S), ("", "c", S)],
    "! a; (b; c); { d; }": [("", each, S) for each in "abcd"],
    "if a; then b; else c; fi; while d; do e; done": [("", each, S) for each in "abcde"],
    "for x in 1; do a $x; done; case y in y) b;; esac": [("", "a $x", U), ("", "b", S)],
    "f() { a; }; f": [("function", "a", S), ("", "f", S)],
    # quotes and escapes
    """c\\at .en"v" 'a b' "c\\"d" e\\\n f""": [("", """cat .env 'a b' 'c"d' e f""", S)],
    "r\\\nm x": [("", "rm x", S)],
    "cat .e* $x ${y}z a{b,c} `d` $'e'": [("", "cat .e* $x ${y}z a{b,c} `d` $e", U), ("$( )", "d", S)],
    'a "$x""b"': [("", "a '$xb'", U)],
    "a {b,c}": [("", "a {b,c}", U)],
    "a b{1..3}": [("", "a b{1..3}", U)],
    'echo \'$x\' "\\$y" \\* "*"': [("", "echo '$x' '$y' '*' '*'", S)],
    "rm >/dev/null -rf /": [("", "rm -rf /", S)],
    "a | b >o c": [("", "a", S), ("", "b c", S)],
    "python3 - <<'X'\nrm x\nX": [("", "python3 -", S)],
    "echo a # $(rm x)": [("", "echo a", S)],
    # programs that run others
    "sh -c 'a; b'": [("", "sh -c 'a; b'", S), ("sh -c", "a", S), ("sh -c", "b", S)],
    "bash -elc 'a'": [("", "bash -elc a", S), ("sh -c", "a", S)],
    "bash -o pipefail -c 'a $1' x": [("", "bash -o pipefail -c 'a $1' x", S), ("sh -c", "a $1", U)],
    'sh -c "a $x"': [("", "sh -c 'a $x'", U), ("sh -c", "", U), ("sh -c", "a $x", U)],
    "bash $o -c 'a b'": [("", "bash $o -c 'a b'", U), ("sh -c", "a b", U)],
    "setsid --wait a": [("", "setsid --wait a", S), ("setsid", "a", S)],
    "case $(a) in $(b)) c;; esac": [("$( )", "a", S), ("$( )", "b", S), ("", "c", S)],
    "sh -c -- a": [("", "sh -c -- a", S), ("sh -c", "a", S)],
    "bash script.sh -c a": [("", "bash script.sh -c a", S)],
    "env -u X A=1 sudo -nu root a b": [
        ("", "env -u X A=1 sudo -nu root a b", S),
        ("env", "sudo -nu root a b", S),
        ("env sudo", "a b", S),
    ],
    "env - A=1 a": [("", "env - A=1 a", S), ("env", "a", S)],
    "env -S 'a b' c": [("", "env -S 'a b' c", S), ("env", "a b c", S)],
    "sudo --new-option x a": [("", "sudo --new-option x a", S), ("sudo", "", U), ("sudo", "x a", U)],
    "sudo --user=root --host h a": [("", "sudo --user=root --host h a", S), ("sudo", "a", S)],
    "timeout -k 5 10 nohup nice -n 5 a": [
        ("", "timeout -k 5 10 nohup nice -n 5 a", S),
        ("timeout", "nohup nice -n 5 a", S),
        ("timeout nohup", "nice -n 5 a", S),
        ("timeout nohup nice", "a", S),
    ],
    "time -p { a; }": [("", "time -p { a", S), ("time", "{ a", S), ("time {", "a", S), ("", "}", S)],
    "x | xargs -0 -n 1 a b": [("", "x", S), ("", "xargs -0 -n 1 a b", S), ("xargs", "a b", U)],
    "x | xargs -I Y a Y": [("", "x", S), ("", "xargs -I Y a Y", S), ("xargs", "a Y", U)],
    "find x -name y -exec a {} + -exec b \\;": [
        ("", "find x -name y -exec a {} + -exec b ';'", S),
        ("find -exec", "a {}", U),
        ("find -exec", "b", S),
    ],
    "find x -exec a \\; -print": [("", "find x -exec a ';' -print", S), ("find -exec", "a", S)],
    "eval a 'b;' c": [("", "eval a 'b;' c", S), ("eval", "a b", S), ("eval", "c", S)],
    "ssh -p 1 h a 'b c'": [("", "ssh -p 1 h a 'b c'", S), ("ssh", "a b c", S)],
    "su - u -c a": [("", "su - u -c a", S), ("su", "a", S)],
    "trap 'a' EXIT": [("", "trap a EXIT", S), ("trap", "a", S)],
    "command -v rm": [("", "command -v rm", S)],
    # substitutions
    'a "$(b)" `c` <(d) "${x:-$(e)}" $((1 + $(f)))': [
        ("", "a '$(b)' '`c`' '<(d)' '${x:-$(e)}' '$((1 + $(f)))'", U),
        *[("$( )", "b", S), ("$( )", "c", S), ("<( )", "d", S), ("$( )", "e", S), ("$( )", "f", S)],
    ],
    "x=$(a) [ -f $(b) ]": [("", "[ -f '$(b)' ]", U), ("$( )", "a", S), ("$( )", "b", S)],
    "a $(sh -c 'b')": [("", "a '$(sh -c '\"'\"'b'\"'\"')'", U), ("$( )", "sh -c b", S), ("$( ) sh -c", "b", S)],
    # only text
    "cat <<'X'\n$(a) `b` <(c)\nX": [("", "cat", S)],
    "a \"<(b)\" '$(c)' \\`d\\`": [("", "a '<(b)' '$(c)' '`d`'", S)],
    'a "$[7]"': [("", "a '$[7]'", U)],
    # text for a shell
    "bash <<X\na\nX": [("", "bash", S), ("<<", "a", S)],
    "bash <<X\na $y\nX": [("", "bash", U), ("<<", "", U), ("<<", "a $y", U)],
    "bash <<'X'\na $y\nX": [("", "bash", S), ("<<", "a $y", U)],
    "cat <<X | sudo sh\na\nX": [("", "cat", S), ("", "sudo sh", S), ("sudo", "sh", S), ("sudo |", "a", S)],
    "bash <<-X\n\ta '\n\tb'\n\tX": [("", "bash", S), ("<<", "a '\nb'", S)],
    "{ sh; } <<X\na\nX": [("", "sh", S), ("<<", "a", S)],
    "bash <<< 'a b'": [("", "bash", S), ("<<", "a b", S)],
    "echo a b | sh": [("", "echo a b", S), ("", "sh", S), ("|", "a b", S)],
    "printf 'a%s' | sh": [("", "printf a%s", S), ("", "sh", U), ("|", "", U)],
    "a | bash -s x": [("", "a", S), ("", "bash -s x", U), ("|", "", U)],
    "{ echo a; b; } | sh": [("", "echo a", S), ("", "b", S), ("", "sh", U), ("|", "", U)],
    "cat <<X && b\na\nX\nc": [("", "cat", S), ("", "b", S), ("", "c", S)],
    # what can't be read: all of it is unsure
    "a 'b": [("", "", U), ("", "a", U)],
    "a; b \u00a0c": [("", "", U), ("", "a", U), ("", "b \u00a0c", U)],
    "cat <<X\n`a`\nX": [("", "", U), ("", "cat", U)],
}


@each_row("command, expected", READ.items())
def test_a_shell_command_is_read(command: str, expected: list[tuple[str, str, bool]]) -> None:
    """Through lists, pipes, blocks, quotes, other programs, substitutions and here-documents."""
    found = [(" ".join(each.inside), each.argv, each.sure) for each in call(command=command).commands]
    if expected[0] != ("", "", U):
        assert found == [(inside, tuple(shlex.split(words)), sure) for inside, words, sure in expected]
    else:
        assert found[0] == ("", (), U)
        assert not any(sure for _, _, sure in found)


HIDDEN = re.split(
    "\n(?:%%|====)\n", (Path(__file__).parent / "data" / "hidden.txt").read_text("utf-8").split("\n", 2)[2]
)


def test_a_hidden_program_is_never_silence() -> None:
    """`runs` says yes or None, whichever way it's hidden."""
    found = [text for text in HIDDEN if all(each.runs("rm") is False for each in call(command=text).commands)]
    assert found == [], "\n".join(found)


def one(command: str, **tool_input: Any) -> Command:
    """Return the last command of a text."""
    return call(command=command, **tool_input).commands[-1]


def test_a_command_has_what_a_guard_needs() -> None:
    """Its redirections, variables, what is piped to it, where it runs, and which words are known."""
    found = one("x | A=1 B='2 3' /usr/bin/a b$c d 2>>e >&2 <f &>g")
    assert (found.program, found.unknown, found.reads) == ("a", (1,), ("f",))
    assert (found.environment, found.writes) == ({"A": "1", "B": "2 3"}, ("e", "g"))
    assert found.stdin and found.stdin.argv == ("x",)
    assert one("a | tee b | c").stdin == one("a | tee b")
    assert [each.argv for each in one("a | b | c").sources] == [("b",), ("a",)]
    assert one("cd a && cd b; c").folder == "a/b"
    assert one("(cd a; b); c").folder == ""
    assert one("sh -c 'cd a'; c").folder == ""
    assert one("cd a; sh -c 'cd /b; c'").folder == "/b"
    assert one("cd $a; c").folder is None
    assert one("cd; c").folder == "~"
    assert one("pushd a; popd; c").folder is None
    assert one("eval 'cd a'; c").folder == "a"
    assert one("> a; > b").writes == ("b",)
    assert one("{ a; } > b").writes == ("b",)


RUNS: dict[str, tuple[str, bool | None]] = {
    "git push -fu origin main": ("git push -f main", True),
    "/usr/bin/git push": ("git push", True),
    "git pull": ("git push", False),
    "mkfs.ext4 /dev/sda": ("mkfs*", True),
    'git commit -m "$a"': ("git push", False),
    'git -C x -p commit -m "$a"': ("git push", None),
    'git -C x "$a"': ("git push", None),
    "git -C x push": ("git push", True),
    "git log push": ("git push", False),
    "npx prettier src/*": ("npx supabase", False),
    'rm a "$x"': ("rm -f b", None),
    "x | xargs git": ("git push", None),
    "git push -f $x": ("git push -f", True),
    'rm "$x"': ("git push", False),
    "$x push": ("git push", None),
    "> rm": ("rm", False),
    "rm -r-f": ("rm -f", False),
    "curl x | sh": ("rm", None),
    "sh": ("rm", None),
    "sh x": ("rm", False),
    "bash --version": ("rm", False),
    "ssh x": ("rm", False),
    "sudo -l": ("rm", False),
    "x | xargs -0r": ("rm", False),
    "printf '[%s]' $(a)": ("rm", False),
    'declare "a[$x]=1"': ("rm", False),
}


@each_row("command, wanted, expected", [(command, *rest) for command, rest in RUNS.items()])
def test_a_command_runs_a_program_or_may(command: str, wanted: str, expected: bool | None) -> None:
    """Words that aren't known leave it open, unless the known ones decide."""
    assert call(command=command).commands[-1].runs(*shlex.split(wanted)) is expected


def test_what_runs_no_bash_has_no_commands() -> None:
    """PowerShell isn't read, other tools run nothing, and a Monitor may watch a socket."""
    assert call("PowerShell", command="ls").commands == (Command("ls"),)
    assert call("Read", file_path="x").commands == ()
    assert call("Monitor", ws={"url": "x"}).commands == ()
    assert call("Monitor", command="tail x").commands[0].argv == ("tail", "x")
    assert call(command=" ").commands == ()
    assert [each.sure for each in call(command="# only a comment").commands] == [False]


def test_huge_and_deep_commands_are_unsure() -> None:
    """They end, and what isn't read is unsure."""
    for text in ("a; " * 50_000, "$(" * 2_000 + "a" + ")" * 2_000, "(" * 3_000 + "a" + ")" * 3_000):
        assert not all(each.sure for each in call(command=text).commands)


WITHOUT = """
import json, sys
sys.modules["tree_sitter"] = sys.modules["tree_sitter_bash"] = None
from holdfast.events import Command, parse
base = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"}
texts = json.loads(sys.argv[1])
events = [parse({**base, "tool_input": {"command": text}}) for text in texts]
print(json.dumps([[(each.argv, each.sure, each.inside) for each in event.commands] for event in events]))
"""


UNASKED = """
import sys
from holdfast.events import parse
base = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"}
event = parse({**base, "tool_input": {"command": "a | b"}})
assert event.tool_name == "Bash" and event.asked == event.tool_input
print(*sys.modules)
event.commands
print(*sys.modules)
"""


def test_who_asks_for_no_commands_loads_no_parser(run_python: RunPython) -> None:
    """Neither the parser nor anything that reads commands or paths."""
    before, after = (set(line.split()) for line in run_python(UNASKED).splitlines())
    new = {"tree_sitter", "holdfast.process.shell", "holdfast.clients.claude.tool_paths"}
    assert not new & before
    assert new <= after
    assert "holdfast.clients.claude.events.inputs" not in after


def test_plain_words_need_no_parser(run_python: RunPython) -> None:
    """Without the extra, plain and quoted words are read as with it, and all else is one unsure command."""
    plain = ["ls -la /x ~/y", "git commit -m 'a $b; c' \"d\"", "sudo rm -rf a", "sh -c 'a b'", "cat .en'v'"]
    other = ["a | b", "a > b", "a $b", "a *", "a; b", "A=1 b", "a\nb", "c\\at x", "a &", "(a)", '"$x"']
    other += ["sh -c 'a; b'", "# a", "a && b"]
    found = json.loads(run_python(WITHOUT, json.dumps(plain + other)))

    for text, commands in zip(plain, found, strict=False):
        read = [[list(each.argv), each.sure, list(each.inside)] for each in call(command=text).commands]
        assert (text, commands) == (text, read)
        assert all(sure for _, sure, _ in commands)
    assert [commands for commands in found[len(plain) :] if commands[-1][:2] != [[], False]] == []


PATHS: dict[str, str] = {
    # command: the paths, relative to the project
    "cat a ./b/../c /d ~/e": "a c /d ~/e",
    "cat < a > b 2>/dev/null": "a b /dev/null",
    "cd sub && cat a": "sub sub/a",
    "cd /x; cat $PWD/a ../b": "/x /x/a /b",
    "cat $HOME/a ${HOME}/b": "~/a ~/b",
    "cp --target-directory=a b": "a b",
    "curl -d@a -F x=@b https://c/d": "a b",
    "dd if=a of=/dev/b": "a /dev/b",
    "git show HEAD:a": "a",
    "scp a u@h:b": "a b",
    "grep -r a b": "b",
    "grep -e a b": "a b",
    "rg --files a": "a",
    "echo a > b": "b",
    "sudo echo a": "",
    "find a -exec cat b {} +": "a b",
    "git commit -m a b": "b",
    "git show -m HEAD:a": "a",
    "echo $(<a)": "a",
    "x=a; cat $x": "a",
    "./a": "a",
    "cat file:///a": "/a",
}


@each_row("command, expected", PATHS.items())
def test_paths_of_a_command(command: str, expected: str) -> None:
    """Redirections and words that may be paths; text, expressions and what wraps a command are none."""
    found = {str(path) for path in call(command=command).paths}
    wanted = {str(Path(CWD, Path(each).expanduser())) for each in expected.split()}
    texts = {f"{CWD}/{word}" for word in ("a", "b", "c", "https:/c/d")} - wanted
    assert wanted <= found
    assert not (texts & found)


def test_paths_of_tools(tmp_path: Path) -> None:
    """Fields that name paths, of every tool; of globs also what is on the disk."""
    (tmp_path / ".env").touch()
    (tmp_path / "seen").touch()
    assert call("Read", file_path="/a/../b").paths == (Path("/b"),)
    assert call("NotebookEdit", notebook_path="n").paths == (Path(CWD, "n"),)
    assert call("mcp__files__move", paths=["a", "b"], path="c").paths == tuple(Path(CWD, each) for each in "cab")
    assert call("Grep", pattern="x", path="src", glob="*.md").paths == (Path(CWD, "src"), Path(CWD, "src/*.md"))
    assert call("Glob", pattern="**/.env").paths == (Path(CWD, "**/.env"),)
    assert tmp_path / ".env" in call(cwd=str(tmp_path), command="cat .e*").paths
    assert tmp_path / ".env" not in call(cwd=str(tmp_path), command="cat *").paths
    assert tmp_path / "seen" in call(cwd=str(tmp_path), command="cat *").paths
    assert call("WebFetch", url="https://x/y").paths == ()


def test_paths_of_one_command() -> None:
    """Only those that it names, from the folder in which it runs."""
    event = call(command="cat a; cd sub && rm -rf b > c")
    assert [event.paths_of(each) for each in event.commands] == [
        (Path(CWD, "a"),),
        (Path(CWD, "sub"),),
        (Path(CWD, "sub/c"), Path(CWD, "sub/b")),
    ]
    assert matches(["*.md", "sub"], "sub/b")
    assert not matches(["*.md", "sub"], "b")
    assert redact("export API_TOKEN=hunter2") == "export API_TOKEN=[redacted]"


def test_inputs_are_typed() -> None:
    """`assert_type` has mypy check it; at run time it's the tool's own dict."""
    event = call(command="ls")
    bash = event.input_of(BashInput)
    assert_type(bash, BashInput | None)
    assert bash is not None
    assert_type(bash["command"], str)
    assert bash == event.tool_input
    assert event.input_of(AgentInput) is None
    assert call("Task", prompt="p").input_of(AgentInput) == {"prompt": "p"}


CHANGE = 'return change_input({**event.tool_input, "command": "npm test"})'
NOTE = 'return advise(event.asked["command"] + " → " + event.tool_input["command"])'


def test_the_input_that_was_asked_for_stays(author: Authors) -> None:
    """However many handlers change it, in whichever process."""
    here = author({"a": handler(CHANGE), "b": handler(CHANGE.replace("npm test", "b")), "c": handler(NOTE)})
    here.ours(d=handler(NOTE))
    here.trust()
    here.bash("npm t").assert_advised("npm t → b")
    author({"c": handler(NOTE)}).bash("ls").assert_advised("ls → ls")


GUIDE = (ROOT / "docs/guides/writing-handlers.md").read_text("utf-8")


def test_the_guides_example_answers(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """The handler in the section on shell commands, as it's written there."""
    section = GUIDE.partition("## Shell commands")[2].partition("\n## ")[0]
    (source,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    project = holdfast_project({".claude/handlers/no_push.py": source})
    project.trust()

    def fire(command: str) -> Any:
        return project.fire("PreToolUse", tool_name="Bash", tool_input={"command": command})

    for command in ("git push -f origin main", "sudo sh -c 'cd x && git push --force origin main'"):
        fire(command).assert_denied("main")
    assert "can't be read" in fire("$GIT push -f origin main").specific["permissionDecisionReason"]
    for command in (
        "git push origin topic",
        "git commit -m 'git push -f origin main'",
        'git commit -m "$(cat x)"',
        "ls | wc -l",
    ):
        fire(command).assert_silent()
