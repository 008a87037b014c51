"""Configuration files, right and wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from holdfast import config, paths
from tools.pages import reference

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def user_file() -> Path:
    paths.config_dir().mkdir(parents=True)
    return paths.user_config()


@pytest.fixture
def project_file(tmp_path: Path) -> Path:
    (tmp_path / ".claude").mkdir()
    return paths.project_config(tmp_path)


def test_nothing_needs_configuring(tmp_path: Path) -> None:
    """Without any file every key has its default and there are no problems."""
    loaded = config.load(tmp_path, trusted=False)

    assert loaded == config.Loaded(config.Config(), [], {})
    assert loaded.config.format == "compaction"
    assert (loaded.config.handlers.timeout, loaded.config.handlers.deadline) == (5.0, 20.0)
    assert loaded.config.freshness_days == 7
    assert loaded.config.project.id is None


def test_the_project_stands_over_the_user_key_by_key(user_file: Path, project_file: Path, tmp_path: Path) -> None:
    """A trusted project's keys win; the user's others stay, in the same table too."""
    user_file.write_text('todos = "off"\nformat = "hybrid"\n[handlers]\ntimeout = 2\ndeadline = 9\n')
    project_file.write_text('format = "compaction"\nproject.id = "shop"\n[handlers]\ndeadline = 4.5\noff = ["a"]\n')

    loaded = config.load(tmp_path, trusted=True)

    assert (loaded.problems, loaded.ignored) == ([], {})
    assert loaded.config.model_dump() == {
        "project": {"id": "shop"},
        "format": "compaction",
        "freshness_days": 7.0,
        "handlers": {"off": ["a"], "on": [], "timeout": 2.0, "deadline": 4.5},
        "reading": "remind",
        "todos": "off",
        "hold": "ask",
        "locks": "off",
        "checkpoints": 100,
        "agents": "reuse",
        "trail": True,
        "exclude": [],
        "exclude_patterns": [],
        "options": {},
        "requires": [],
        "server": True,
        "telemetry": {"endpoint": "", "content": "none", "env_file": ""},
        "log_level": "info",
    }


def test_an_untrusted_project_may_set_only_harmless_keys(user_file: Path, project_file: Path, tmp_path: Path) -> None:
    """Before it is trusted a project names its format, joins no ledger, and switches nothing of the user's off."""
    user_file.write_text('[handlers]\non = ["record_events"]\n')
    project_file.write_text(
        'todos = "off"\nreading = "hold"\nformat = "hybrid"\nfreshness_days = 1\nlog_level = "error"\n'
        'project.id = "x"\n'
        '[handlers]\noff = ["guard"]\non = []\ntimeout = 99\ndeadline = 99\n'
    )

    loaded = config.load(tmp_path, trusted=False)

    assert loaded.problems == []
    assert list(loaded.ignored) == [
        "todos",
        "reading",
        "log_level",
        "project.id",
        "handlers.off",
        "handlers.on",
        "handlers.timeout",
        "handlers.deadline",
    ]
    assert loaded.config.handlers == config.HandlersSection(on=["record_events"])
    assert (loaded.config.format, loaded.config.freshness_days, loaded.config.project.id) == ("hybrid", 1.0, None)
    assert loaded.ignored["project.id"] == "x"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("todo = 'off'", "unknown key 'todo'; did you mean todos?"),
        ("xyzzy = 1", "unknown key 'xyzzy'"),
        ("handlers.offf = []", "unknown key 'handlers.offf'; did you mean handlers.off?"),
        ("handlers = 3", "unknown key 'handlers'"),
        ("todos = true", "key 'todos': input should be 'tell' or 'off', got True"),
        ("trail = 'yes'", "key 'trail': input should be a valid boolean, got 'yes'"),
        ("freshness_days = '7'", "key 'freshness_days': input should be a valid number, got '7'"),
        ("freshness_days = true", "key 'freshness_days': input should be a valid number, got True"),
        ("freshness_days = nan", "key 'freshness_days': input should be a finite number, got nan"),
        ("freshness_days = -1", "key 'freshness_days': input should be greater than or equal to 0, got -1"),
        ("handlers.timeout = 0", "key 'handlers.timeout': input should be greater than 0, got 0"),
        ("handlers.off = 'a'", "key 'handlers.off': input should be a valid list, got 'a'"),
        ("handlers.off = [1]", "key 'handlers.off': input should be a valid string, got 1"),
        ("project.id = ''", "key 'project.id': string should match pattern '^[^/]', got ''"),
        ("project.id = '/a'", "key 'project.id': string should match pattern '^[^/]', got '/a'"),
        ("project.id = 5", "key 'project.id': input should be a valid string, got 5"),
    ],
)
def test_a_wrong_key_is_named_and_the_rest_counts(user_file: Path, line: str, named: str) -> None:
    """An unknown key or a wrong value is a problem with file and key; all others are still used."""
    user_file.write_text(f'log_level = "debug"\n{line}\n')

    loaded = config.load(None, trusted=False)

    assert loaded.config == config.Config(log_level="debug")
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{user_file}: {named}")


def test_of_many_unknown_keys_five_are_named(user_file: Path) -> None:
    """The rest is counted: a file can hold thousands."""
    user_file.write_text("".join(f"odd{number} = 1\n" for number in range(7)))
    problems = config.load(None, trusted=False).problems
    assert (len(problems), problems[0]) == (6, f"{user_file}: and 2 more unknown keys")


def test_a_wrong_value_of_the_project_leaves_the_user_s(user_file: Path, project_file: Path, tmp_path: Path) -> None:
    """A project's unusable value does not undo what the user chose."""
    user_file.write_text('todos = "off"\n')
    project_file.write_text("todos = 5\n")

    loaded = config.load(tmp_path, trusted=True)

    assert loaded.config.todos == "off"
    assert loaded.problems[0].startswith(f"{project_file}: key 'todos'")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"todos = x\n", "is not TOML: Invalid value (at line 1, column 9)"),
        (b"todos = 'off'\n\xff", "is not UTF-8: byte at offset 14"),
        (b"x = " + b"[" * 5000, "is not TOML"),
        (b"#" * (64 * 1024 + 1), "is larger than 65536 bytes"),
    ],
)
def test_a_broken_file_is_one_problem(
    user_file: Path, project_file: Path, tmp_path: Path, content: bytes, named: str
) -> None:
    """A file that cannot be read as TOML costs only itself."""
    user_file.write_text('todos = "off"\n')
    project_file.write_bytes(content)

    loaded = config.load(tmp_path, trusted=True)

    assert loaded.config.todos == "off"
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{project_file}: {named}")


def test_a_folder_in_place_of_the_file(user_file: Path) -> None:
    """A folder named holdfast.toml is a problem, not an exception."""
    user_file.mkdir()

    assert config.load(None, trusted=False).problems == [f"{user_file}: is a folder"]


def test_a_byte_order_mark_is_fine(user_file: Path) -> None:
    """A file saved by an editor that adds a byte order mark is read."""
    user_file.write_bytes(b'\xef\xbb\xbftodos = "off"\r\n')

    assert config.load(None, trusted=False).config.todos == "off"


def test_the_table_names_every_key_with_a_meaning() -> None:
    """The table of the configuration page has one row per key, each with values, default and meaning."""
    rows = [line.split(" | ") for line in reference.configuration_table().splitlines()[2:]]

    assert [row[0].strip("|` ") for row in rows] == list(config.FIELDS)
    assert all(len(row) == 4 and all(cell.strip("| ") for cell in row) for row in rows)
    assert set(config.FIELDS) >= config.HARMLESS
    assert {
        "project.id", "format", "freshness_days", "handlers.off", "handlers.on", "handlers.timeout",
        "handlers.deadline", "reading", "todos", "trail", "log_level",
    } <= set(config.FIELDS)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "1" * 5000,
        "freshness_days = 0x" + "f" * 30_000,
        "format = 0x" + "f" * 30_000,
        "x." + "a." * 30_000 + "a = 1",
        "[" + "a." * 20_000 + "a]\n" + "".join(f"k{number} = 1\n" for number in range(2_000)),
        "x = " + "[" * 60_000,
    ],
    ids=["long integer", "huge number", "huge format", "dotted key", "dotted header", "deep array"],
)
def test_no_text_takes_long_or_raises(project_file: Path, tmp_path: Path, text: str) -> None:
    """Whatever the file holds, it is one problem, in less processor time than an event may cost."""
    project_file.write_text(text)
    begun = time.process_time()

    (problem,) = config.load(tmp_path, trusted=False).problems

    assert problem.startswith(f"{project_file}: ")
    assert time.process_time() - begun < 0.5


def test_what_does_not_count_is_not_judged(project_file: Path, tmp_path: Path) -> None:
    """An untrusted file's patterns are not even compiled."""
    project_file.write_text('exclude_patterns = ["("]\n')

    loaded = config.load(tmp_path, trusted=False)

    assert (loaded.problems, loaded.ignored) == ([], {"exclude_patterns": ["("]})


def test_a_project_file_is_no_link_out_of_the_project(user_file: Path, tmp_path: Path) -> None:
    """The user's own file may be one: dotfiles lie where their owner likes."""
    root = tmp_path / "inner"
    (root / ".claude").mkdir(parents=True)
    outside = tmp_path / "outside.toml"
    outside.write_text('format = "hybrid"\n')
    paths.project_config(root).symlink_to(outside)
    user_file.symlink_to(outside)

    loaded = config.load(root, trusted=False)

    assert loaded.problems == [f"{paths.project_config(root)}: leads out of {root} through a symbolic link"]
    assert loaded.config.format == "hybrid"
