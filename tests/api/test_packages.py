"""Handlers that an installed package brings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

METADATA = "Metadata-Version: 2.1\nName: acme-hooks\nVersion: {version}\n"
ENTRY = "[holdfast.handlers]\nacme = acme_hooks.handlers\n"
GUARD = """
from holdfast import deny, hookimpl
from ._words import TEXT

@hookimpl(strict=True)
def on_pre_tool_use():
    return deny(TEXT)
"""

CHOOSING = """
from holdfast import deny, hookimpl
from pydantic import BaseModel

class Options(BaseModel):
    text: str = "from the package"

@hookimpl({options})
def on_pre_tool_use(options):
    return deny(options.text)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages with one that brings a handler."""
    site = tmp_path / "site"
    handlers = site / "acme_hooks" / "handlers"
    handlers.mkdir(parents=True)
    for folder in (handlers.parent, handlers):
        (folder / "__init__.py").touch()
    (handlers / "acme.py").write_text(GUARD)
    (handlers / "_words.py").write_text("TEXT = 'from the package'\n")
    install(site, "1.2")
    monkeypatch.syspath_prepend(str(site))
    for name in [name for name in sys.modules if name.startswith("acme_hooks")]:
        del sys.modules[name]
    return site


def install(site: Path, version: str) -> None:
    """Write the package's metadata, as an installer does."""
    info = site / "acme_hooks.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(METADATA.format(version=version))
    (info / "entry_points.txt").write_text(ENTRY)


def test_a_packages_handlers_run_once_they_are_indexed(site: Path, holdfast_project: Make) -> None:
    """`install` and `handlers trust` index them; `list` shows the package and its version."""
    project = holdfast_project({})
    project.fire("PreToolUse", "PreToolUse-Bash").assert_not_called()
    assert "Handlers of acme-hooks 1.2" in holdfast("handlers", "trust", root=project.root).out
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("from the package", "package/acme.py")
    assert "acme-hooks 1.2" in holdfast("handlers", "list", root=project.root).out

    (site / "acme_hooks/handlers/_words.py").write_text("TEXT = 'from its upgrade'\n")
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("from its upgrade")
    install(site, "1.3")
    assert "Handlers of acme-hooks 1.3" in holdfast("handlers", "trust", root=project.root).out


def test_a_project_does_not_loosen_a_packages_strict_guard(site: Path, holdfast_project: Make) -> None:
    """For its options, only your own configuration counts."""
    project = holdfast_project({".claude/holdfast.toml": "[options.acme]\ntext = 'from the project'\n"})
    project.trust()
    for options, expected in {"": "from the project", "strict=True": "from the package"}.items():
        (site / "acme_hooks/handlers/acme.py").write_text(CHOOSING.format(options=options))
        holdfast("handlers", "trust", root=project.root)
        project.fire("PreToolUse", "PreToolUse-Bash").assert_denied(expected)


def test_a_broken_index_leaves_out_packages_until_it_is_made_anew(site: Path, holdfast_project: Make) -> None:
    """Other handlers answer."""
    from holdfast import paths

    (site / "acme_hooks/handlers/acme.py").write_text(CHOOSING.format(options=""))
    project = holdfast_project({".claude/handlers/ours.py": CHOOSING.format(options="")})
    project.trust()
    for text in ("{", "[1]", '[{"name": "acme-hooks"}]'):
        (paths.state_dir() / "handler_packages.json").write_text(text)
        project.fire("PreToolUse", "PreToolUse-Bash").assert_called("ours")
        holdfast("handlers", "trust", root=project.root)
        project.fire("PreToolUse", "PreToolUse-Bash").assert_called("ours", "acme")


def test_packages_do_not_share_helpers(site: Path, holdfast_project: Make) -> None:
    """Not even those of one name."""
    project = holdfast_project({})
    other = site / "other_hooks/handlers"
    other.mkdir(parents=True)
    for folder in (other.parent, other):
        (folder / "__init__.py").touch()
    advice = GUARD.replace("deny", "advise").replace("(strict=True)", "")
    (other / "other.py").write_text(advice)
    (other / "_words.py").write_text("TEXT = 'from the other'\n")
    (site / "acme_hooks/handlers/acme.py").write_text(advice)
    info = site / "other_hooks.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(version="1").replace("acme", "other"))
    (info / "entry_points.txt").write_text(ENTRY.replace("acme", "other"))
    holdfast("handlers", "trust", root=project.root)
    context = project.fire("PreToolUse", "PreToolUse-Bash").context
    assert ("from the package" in context, "from the other" in context) == (True, True)


def test_an_entry_point_that_names_nothing_is_told(site: Path, holdfast_project: Make) -> None:
    """By `doctor`."""
    (site / "acme_hooks.dist-info/entry_points.txt").write_text(ENTRY.replace("acme_hooks.handlers", "nothing.there"))
    said = " ".join(holdfast("doctor", "packages", root=holdfast_project({}).root).out.split())
    assert "acme-hooks 1.2 brings no handlers, because its entry point holdfast.handlers names no package" in said


def test_a_file_of_yours_replaces_a_packages_and_it_can_be_switched_off(site: Path, holdfast_project: Make) -> None:
    """As any farther file of the same name, unless it is strict."""
    project = holdfast_project({})
    (site / "acme_hooks/handlers/acme.py").write_text(GUARD.replace("strict=True", ""))
    holdfast("handlers", "trust", root=project.root)
    from holdfast import paths

    mine = paths.user_handlers() / "acme.py"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text(GUARD.replace("from ._words import TEXT", "TEXT = 'mine'").replace("strict=True", ""))
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("mine")
    mine.unlink()
    holdfast("handlers", "off", "acme", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash").assert_not_called()


def test_a_guard_of_a_package_that_is_gone_refuses_until_it_is_switched_off(site: Path, holdfast_project: Make) -> None:
    """Whether or not the index still has the package."""
    project = holdfast_project({})
    holdfast("handlers", "trust", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("from the package")
    for path in sorted((site / "acme_hooks.dist-info").iterdir()):
        path.unlink()
    (site / "acme_hooks.dist-info").rmdir()
    (site / "acme_hooks/handlers/acme.py").unlink()
    project.checked = False
    assert "holdfast handlers off acme" in project.fire("PreToolUse", "PreToolUse-Bash").stdout
    assert "Handlers of acme-hooks: removed" in holdfast("handlers", "trust", root=project.root).out
    assert "removed" not in holdfast("handlers", "trust", root=project.root).out
    assert "acme.py" in project.fire("PreToolUse", "PreToolUse-Bash").stdout
    holdfast("handlers", "off", "acme", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash").assert_not_called()


REQUIRED = {
    "acme-hooks>=1.2": "",
    "acme-hooks>=2": "acme-hooks>=2, and 1.2 is installed",
    "other-hooks": "other-hooks, and it isn't installed",
    "acme hooks": "'acme hooks' isn't a requirement",
}


def test_what_a_project_requires_and_is_not_installed_is_named_at_the_start(site: Path, holdfast_project: Make) -> None:
    """Once the project's configuration is trusted. A prerelease is installed too."""
    found = []
    for requirement, expected in REQUIRED.items():
        project = holdfast_project({".claude/holdfast.toml": f"requires = ['{requirement}']\n"})
        project.trust()
        said = project.fire("SessionStart").stdout
        if expected not in said or ("requires" in said) != bool(expected):
            found.append(f"{requirement}: {said!r}")
    assert not found
    install(site, "1.3rc1")
    project = holdfast_project({".claude/holdfast.toml": "requires = ['acme-hooks>=1.2']\n"})
    project.trust()
    assert "requires" not in project.fire("SessionStart").stdout
