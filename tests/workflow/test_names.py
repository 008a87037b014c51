"""Names in paths."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import names
from tests.planted import PLANTED, Planted
from tests.tables import each_row


@given(st.text(max_size=200))
def test_every_slug_is_one_safe_path_part(name: str) -> None:
    """Whatever the name, its slug is a plain folder name of at most 50 characters."""
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?", names.slug(name))


@each_row(
    ("name", "slug"),
    [("Größe ändern", "grosse-andern"), ("Écrire l\u2019été", "ecrire-l-ete"), ("🎉", "workflow-6146299c")],
)
def test_a_slug_is_readable(name: str, slug: str) -> None:
    """Without accents; a name without Latin letters gets a hash, so two never share a folder."""
    assert names.slug(name) == slug


def test_spellings_of_one_name_share_a_key() -> None:
    """Case, spaces and punctuation do not tell two workflows apart, other letters do."""
    assert names.key("QA-Loop") == names.key("qa loop")
    assert names.key("日本 1") != names.key("中国 1")


@each_row("each", PLANTED[::7], ids=lambda each: each.kind)
def test_a_name_with_a_secret_is_told_apart(each: Planted) -> None:
    """From usual ones, long or with digits."""
    assert names.holds_secret(each.text)


@each_row("name", ["task_execution", "Phase 1: Build it", "2.10", "x" * 60, "phase_0", "", "Écrire"])
def test_a_usual_name_holds_none(name: str) -> None:
    """So it is an id as it is."""
    assert not names.holds_secret(name)


@each_row("each", PLANTED, ids=lambda each: each.kind)
def test_the_words_of_a_name_show_no_secret(each: Planted) -> None:
    """Not in lower case with hyphens either, as names of files are; and such words aren't the whole name."""
    assert re.sub(r"[^a-z0-9]+", "-", each.secret.lower()).strip("-") not in names.words(each.text)
    assert not names.faithful(each.text)


def test_a_masked_name_keeps_its_other_words() -> None:
    """So that a person finds the file."""
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "iJ9kLm"
    assert names.slug(f"Deploy with {secret}") == "deploy-with-redacted"
