"""The metadata of the package, the install guide and the templates of issues agree with each other."""

from __future__ import annotations

import re
import tomllib

from tests.processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CLASSIFIERS = PROJECT["classifiers"]
GUIDE = (ROOT / "docs" / "guides" / "install.md").read_text("utf-8").split("\n\n")[1].replace("\n", " ")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def classified(topic: str) -> list[str]:
    return [each.removeprefix(f"{topic} :: ") for each in CLASSIFIERS if each.startswith(f"{topic} :: ")]


def test_the_guide_names_the_supported_pythons() -> None:
    """Those of the classifiers; the lowest is the one that the package requires."""
    versions = [each for each in classified("Programming Language :: Python") if re.fullmatch(r"3\.\d+", each)]
    assert f"with Python {', '.join(versions[:-1])} and {versions[-1]}." in GUIDE
    assert f"needs Python {versions[0]} or newer" in GUIDE
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_the_guide_names_the_supported_systems() -> None:
    """Those of the classifiers."""
    assert classified("Operating System") == ["MacOS", "POSIX", "POSIX :: Linux"]
    assert "on Linux, macOS or another POSIX system" in GUIDE
    assert "Windows isn't supported" in GUIDE


def test_the_license_is_an_expression() -> None:
    """As PEP 639 wants it: without a classifier, and with its file."""
    assert PROJECT["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License")
    assert PROJECT["license-files"] == ["LICENSE"]
    assert classified("License") == []
    assert (ROOT / PROJECT["readme"]).is_file()


def test_the_tools_that_build_know_what_pyproject_says() -> None:
    """hatchling knows license files as a list since 1.27; whoever develops has what builds."""
    (build,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert build == "hatchling>=1.27"
    assert build in PROJECT["optional-dependencies"]["dev"]


def test_a_bug_asks_for_what_finds_it() -> None:
    """The doctor's output and the versions; for a vulnerability it names another way."""
    assert {form.stem for form in FORMS} == {"bug", "feature", "question", "config"}
    bug = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8")
    for words in ("`holdfast doctor --json`", "`holdfast --version`", "`claude --version`", "SECURITY.md"):
        assert words in bug
    pages = {page for form in FORMS for page in re.findall(r"docs/[\w/-]+\.md", form.read_text("utf-8"))}
    assert pages
    assert [page for page in pages if not (ROOT / page).is_file()] == []
