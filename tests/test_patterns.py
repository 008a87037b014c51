"""A regular expression that is compiled at first use otherwise behaves like any other."""

from __future__ import annotations

import copy
import pickle
import re
from typing import TYPE_CHECKING

import pytest

from holdfast import patterns
from holdfast.patterns import regex
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable


def test_it_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making one compiles nothing, and it is compiled once."""
    compiled: list[object] = []
    real = re.compile

    def counted(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", counted)
    word = regex(r"(?P<first>\w)\w*", re.IGNORECASE)
    assert not compiled

    assert [word.match("ab c"), word.fullmatch("ab c")] != [None, None]
    assert word.sub("x", "ab c") == "x x"
    assert compiled == [r"(?P<first>\w)\w*"]


def test_it_has_what_a_compiled_one_has() -> None:
    """Its text can be part of another's before it is used, and all else is the compiled one's."""
    word = regex(r"(?P<first>\w)\w*")
    assert word.pattern == r"(?P<first>\w)\w*"
    assert word.groupindex == {"first": 1}
    assert regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]
    with pytest.raises(AttributeError):
        _ = word.unknown  # type: ignore[attr-defined]


@each_row("used", [True, False])
@each_row("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_is_one_like_it(copied: Callable[[re.Pattern[str]], re.Pattern[str]], used: bool) -> None:
    """Copying asks for methods of one that has no text yet; it is told that there are none."""
    word = regex(r"b+", re.IGNORECASE)
    assert not used or word.search("aB")

    other = copied(word)

    assert other.pattern == "b+"
    assert other.findall("aBb") == ["Bb"]


def test_all_are_compiled_before_others_are_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no process forked from the server compiles one again."""
    word = regex("a+")
    patterns.compile_all()
    monkeypatch.setattr(re, "compile", None)

    assert word.search("aa")
