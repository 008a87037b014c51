"""The program does what README, the reference and the example files say."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import holdfast
from holdfast import cli
from tests.tables import each_row
from tools.pages import reference

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
REFERENCE = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")}
EXAMPLES = [
    code
    for page in (ROOT / "README.md", *(ROOT / "docs" / "guides").glob("*.md"))
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
]
MAKEFILE = (ROOT / "Makefile").read_text()


def test_the_configuration_table_is_the_models() -> None:
    """Every key of the configuration has a line on its page, with its default."""
    between = REFERENCE["configuration"].split("python -m tools.pages -->\n")[1].split("<!-- end of")[0]
    assert between == reference.configuration_table(), "make reference"


def test_every_command_and_every_outcome_is_named() -> None:
    """Nothing that can be called is missing from the reference."""
    commands = "".join(text for page, text in REFERENCE.items() if page.startswith("commands-"))
    missing = [name for name in cli.commands() if f"\n## `holdfast {name}`\n" not in commands]
    types = ("Context", "HoldfastError", "Outcome", "State", "hookimpl")
    said = [name for name in holdfast.__all__ if name not in types]
    missing += [name for name in said if f"`{name}(" not in REFERENCE["outcomes"]]
    assert not missing, f"make reference; or name {', '.join(missing)} in docs/reference/outcomes.md"


def test_the_readme_opens_with_the_two_commands() -> None:
    """A newcomer sees them first, and the Makefile has them."""
    first = re.search(r"```\n(.*?)```", README, re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]
    assert "\ndemo:" in MAKEFILE
    assert "\ntest:" in MAKEFILE


@each_row("code", EXAMPLES)
def test_the_examples_are_python(code: str) -> None:
    """Each Python example parses."""
    ast.parse(code)


def test_ci_runs_the_test_command_once() -> None:
    """.ci/run runs each test once: the README's command, with a variable that adds the slow tests."""
    run = (ROOT / ".ci" / "run").read_text()
    assert re.findall(r"^ *make (\S*test\S*.*)$", run, re.MULTILINE) == ["test ALL=1"]
    recipe = re.split(r"\npytest: .*\n", MAKEFILE)[1].splitlines()[0]
    assert recipe.endswith('-m "not $(if $(ALL),,slow and not )nightly"')


def test_nightly_runs_what_ci_leaves_out() -> None:
    """The tests marked `nightly`, the coverage, the score, the other Pythons and all clients; the Makefile has each."""
    parts = re.findall(r"^ *run (\w+)", (ROOT / ".ci" / "nightly").read_text(), re.MULTILINE)
    assert parts == ["long", "coverage", "simulate", "matrix", "client"]
    assert [each for each in [*parts, "nightly"] if f"\n{each}: " not in MAKEFILE] == []


def test_the_matrix_is_that_of_the_supported_pythons() -> None:
    """tox.ini has each Python that the package says it runs on."""
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert f"env_list = {', '.join('py' + name.replace('.', '') for name in named)}" in (ROOT / "tox.ini").read_text()


def test_no_file_names_a_path_of_a_developers_machine() -> None:
    """Nothing in the repository depends on where it was written."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py")]
    here = f"{ROOT}/".encode()
    assert not [name for name in names if (ROOT / name).is_file() and here in (ROOT / name).read_bytes()]
