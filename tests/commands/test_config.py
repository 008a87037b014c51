"""`holdfast config` shows what is in force and from where, and prints the schema of its files."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from holdfast import config, paths
from tests.commandline import holdfast

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


def line(out: str, key: str) -> list[str]:
    """Return the value and the source that `config` prints of a key."""
    (found,) = (each for each in out.splitlines() if each.startswith(f"{key} = "))
    return [part.strip() for part in found.removeprefix(f"{key} = ").split(" # ")]


def test_show_prints_the_values_in_force_as_toml(
    user_file: Path, project_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file of each, short; a list of both files names both; what needs trust is named."""
    monkeypatch.delenv("HOLDFAST_SERVER")
    monkeypatch.chdir(tmp_path)
    user_file.write_text('exclude = ["*.pem"]\nfreshness_days = 2.5\n[handlers]\noff = ["a \\"b\\" é"]\n')
    project_file.write_text('format = "hybrid"\nexclude = ["*.key"]\nreading = "hold"\nserver = false\n')

    shown = holdfast("config", root=tmp_path).out

    assert line(shown, "format") == ['"hybrid"', ".claude/holdfast.toml"]
    assert line(shown, "exclude") == ['["*.pem"]', "~/.config/holdfast/holdfast.toml"]
    assert line(shown, "reading") == ['"remind"', "default"]
    assert "\n# project.id is not set\n" in shown
    assert shown.splitlines()[-3:] == [
        "# Problem: .claude/holdfast.toml: key 'server' counts only in ~/.config/holdfast/holdfast.toml",
        "# Not used until you trust .claude/holdfast.toml: exclude, reading",
        "# Read that file, then run: holdfast handlers trust",
    ]
    values = config.load(tmp_path, trusted=False).config.model_dump()
    del values["project"]
    assert tomllib.loads(shown) == values

    holdfast("handlers", "trust", "--yes", root=tmp_path)
    sources = "~/.config/holdfast/holdfast.toml and .claude/holdfast.toml"
    assert line(holdfast("config", root=tmp_path).out, "exclude") == ['["*.pem", "*.key"]', sources]


def test_the_environment_switches_the_server_off(
    user_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts over the file, and every key is listed."""
    user_file.write_text("server = true\n")
    monkeypatch.setenv("HOLDFAST_SERVER", "off")

    shown = holdfast("config", root=tmp_path).out

    assert line(shown, "server") == ["false", "HOLDFAST_SERVER"]
    assert [each.removeprefix("# ").split()[0] for each in shown.splitlines()] == list(config.FIELDS)


def test_schema_prints_the_schema(tmp_path: Path) -> None:
    """As JSON, and nothing else."""
    assert list(holdfast("config", "--schema", root=tmp_path).json["properties"]) == list(config.Config.model_fields)
