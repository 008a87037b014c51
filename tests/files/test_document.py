"""JSON documents that people, models and Holdfast edit side by side."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import BrokenError, LargeError, StateError
from holdfast.files import document
from holdfast.files.document import DEPTH_LIMIT
from tests.tables import each_row


def _file(folder: Path, content: bytes) -> Path:
    file = folder / "state.json"
    file.write_bytes(content)
    return file


@each_row(
    "content, reason",
    [
        (b"", "is empty"),
        (b" \r\n", "is empty"),
        (b"\xef\xbb\xbf\n", "is empty"),
        (b'{"a": "\xff"}', "is not UTF-8: byte 0xff at offset 7"),
        (b'\xef\xbb\xbf{"a": "\xff"}', "is not UTF-8: byte 0xff at offset 10"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8: byte 0xff at offset 0"),
        (b'{"a": 1,\n "b": }', "is not JSON: Expecting value, line 2 column 7"),
        (b'{"a": 1', "is not JSON: Expecting ',' delimiter, line 1 column 8"),
        (b"\x00" * 64, "is not JSON: Expecting value, line 1 column 1"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "is not JSON: the key 'b' occurs twice in one object"),
        (b'{"a": NaN}', "is not JSON: NaN is not a JSON number"),
        (b'{"a": -Infinity}', "is not JSON: -Infinity is not a JSON number"),
        (b'{"a": 1e999}', "is not JSON: the number 1e999 is too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", "is not JSON: Exceeds the limit"),
        (b'{"a": ' + b"[" * 100_000, "is nested too deeply to be read"),
        (b"[1]", "holds a JSON array where an object is expected"),
        (b'"x"', "holds a JSON string where an object is expected"),
        (b"null", "holds a JSON null where an object is expected"),
        (b"true", "holds a JSON boolean where an object is expected"),
        (b"4", "holds a JSON number where an object is expected"),
    ],
)
def test_load_says_what_is_wrong_and_where(tmp_path: Path, content: bytes, reason: str) -> None:
    """Every broken file is a StateError with the file and the reason."""
    file = _file(tmp_path, content)

    with pytest.raises(StateError) as caught:
        document.load(file)

    assert str(caught.value).startswith(f"{file}: {reason}")
    assert file.read_bytes() == content


def test_load_refuses_what_is_no_file(tmp_path: Path) -> None:
    """A folder is named as one, and a pipe or device is never waited on."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StateError, match="is a folder"):
        document.load(tmp_path)
    with pytest.raises(StateError, match="pipe: is not a regular file"):
        document.load(tmp_path / "pipe")
    with pytest.raises(StateError, match="is not a regular file"):
        document.load(Path("/dev/zero"))


STYLES = [
    '{\n  "a": 1,\n  "b": [\n    "ü"\n  ]\n}\n',
    '{\n    "a": 1,\n    "b": {\n        "c": null\n    }\n}',
    '{\n\t"a": 1,\n\t"b": []\n}\n\n',
    '{\r\n  "a": "x",\r\n  "b": {}\r\n}\r\n',
    '\ufeff{\r\n   "a": "x"\r\n}',
    '{"a": 1, "b": {"c": [1, 2]}}\n',
    '{"a":1,"b":{"c":[1,2]}}',
    '{\n "a" : 1,\n "b" : 2\n}\n',
    '{\n"a": 1,\n"b": {\n"c": 2\n}\n}\n',
    '{\n  "a": "\\u00fc \\ud83d\\ude00",\n  "b": "x"\n}\n',
    '{\n  "a": "C:\\\\u00fc",\n  "b": "\\u001b"\n}\n',
    "{}\n",
    "{}",
]


def test_render_survives_lone_surrogates(tmp_path: Path) -> None:
    """Half an emoji, cut by some other tool, is written as an escape and read back the same."""
    data = {"a": "x\ud83d", "\udce9": "ü"}

    raw = document.render(data)

    assert b"\\ud83d" in raw
    assert document.load(_file(tmp_path, raw)).data == data


def test_render_refuses_what_json_cannot_hold() -> None:
    """Not-a-number never reaches a file."""
    with pytest.raises(ValueError, match="JSON compliant"):
        document.render({"a": float("nan")})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), _VALUES, max_size=5), st.sampled_from(STYLES))
def test_what_is_rendered_is_read_back(data: dict[str, Any], style: str) -> None:
    """In every style, any data comes back as it was, and rendering again gives the same bytes."""
    raw = document.render(data, style.encode())

    again = json.loads(raw.decode("utf-8-sig"))
    assert again == data
    assert document.render(again, raw) == raw


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_a_file_is_read_down_to_the_last_level(tmp_path: Path, opening: str, closing: str) -> None:
    """The object itself is a level; one more than the limit is an error, however short the file is."""

    def nested(levels: int) -> Path:
        deep = f"{opening * (levels - 2)}{{}}{closing * (levels - 2)}"
        return _file(tmp_path, f'{{"x": {deep}, "y": []}}'.encode())

    assert document.load(nested(DEPTH_LIMIT)).data
    with pytest.raises(BrokenError, match="is nested too deeply to be read"):
        document.load(nested(DEPTH_LIMIT + 1))


def test_endless_nesting_is_a_sentence(tmp_path: Path) -> None:
    """Data nested beyond what can be written is an error that leaves the file alone."""
    file = _file(tmp_path, b"{}")
    data: dict[str, Any] = {}
    for _ in range(200_000):  # Python 3.14 writes 60,000
        data = {"a": data}

    with pytest.raises(StateError, match="nested too deeply"):
        document.replace(file, data, b"{}")
    assert file.read_bytes() == b"{}"


@pytest.mark.parametrize("levels", [DEPTH_LIMIT - 1, DEPTH_LIMIT])
def test_replace_writes_no_deeper_than_can_be_read_again(tmp_path: Path, levels: int) -> None:
    """A value that takes the file to the limit is written; one more level is refused, and the file stays."""
    deep: dict[str, Any] = {}
    for _ in range(levels - 2):
        deep = {"a": deep}
    file = _file(tmp_path, json.dumps({"b": [1, 2.50], "c": {"d": 1}}).encode())
    before = document.load(file)
    data = {**before.data, "c": {"d": 1, "e": deep}}

    with suppress(StateError):
        document.replace(file, data, before.raw, like=before)

    assert (document.load(file).data == data) == (levels < DEPTH_LIMIT)
    assert document.load(file).data in (data, before.data)


def test_what_is_put_aside_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied, the broken file stays; moved, it goes. Each has a name of its own and is as private as the file."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    file = _file(tmp_path, b"broken")
    file.chmod(0o600)

    copies = [document.copy_aside(file, content) for content in (b"one", b"two")]
    assert file.read_bytes() == b"broken"
    copies.append(document.set_aside(file))

    stem = "state.json.corrupt-20251209_143052"
    assert [copy.name for copy in copies] == [stem, f"{stem}-2", f"{stem}-3"]
    assert [copy.read_bytes() for copy in copies] == [b"one", b"two", b"broken"]
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}
    assert not file.exists()
    assert document.copy_aside(file, b"three").stat().st_mode & 0o777 == 0o600, "whose it was is not known any more"


def test_a_sparse_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    """Not a byte more than the limit is read, however large it says it is."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(StateError, match="is larger than 10 bytes"):
        document.read(tmp_path / "large", 10)


@pytest.mark.parametrize("within", ["top", "link"])
def test_links_may_lead_about_in_a_folder_and_not_out_of_it(tmp_path: Path, within: str) -> None:
    """Each part of a path may be a link; the folder itself may be one, too."""
    (tmp_path / "top" / "deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "top-secret").mkdir()
    (tmp_path / "link").symlink_to("top")
    top = tmp_path / within
    for name in ("top/a", "top/deep/b", "other/c", "top-secret/d"):
        (tmp_path / name).write_text("x")
    (tmp_path / "top" / "inner").symlink_to("deep")
    (tmp_path / "top" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "top" / "near").symlink_to("../top-secret")
    (tmp_path / "top" / "deep" / "up").symlink_to("../../other/c")

    assert [name for name in ("a", "deep/b", "inner/b", "nothing") if document.leads_out(top / name, top)] == []
    outside = (
        "out/c",
        "deep/up",
        "inner/up",
        "../other/c",
        "deep/../../other/c",
        "out/nothing",
        "near/d",
        "../top-secret",
    )
    assert [name for name in outside if not document.leads_out(top / name, top)] == []
    with pytest.raises(StateError, match="leads out of"):
        document.read(top / "out" / "c", within=top)


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_file_that_grows_while_it_is_opened_still_has_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    """Half of it would be taken for a broken one."""
    file, real = _file(tmp_path, b"0123456789"), os.fstat

    def grown(descriptor: int) -> os.stat_result:
        info = real(descriptor)
        with file.open("ab") as end:
            end.write(more)
        return info

    monkeypatch.setattr(os, "fstat", grown)
    if more:
        with pytest.raises(LargeError):
            document.read(file, 12)
    else:
        assert document.read(file, 12)[0] == b"0123456789"


def test_a_pipe_put_there_before_it_is_opened_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may ever write into it."""
    file, real = _file(tmp_path, b"{}"), document._check_kind

    def check(path: Path, info: os.stat_result) -> None:
        real(path, info)
        if path.is_file():
            path.unlink()
            os.mkfifo(path)

    monkeypatch.setattr(document, "_check_kind", check)
    with pytest.raises(StateError, match="is not a regular file"):
        document.read(file)


def test_replace_writes_no_more_than_can_be_read_again(tmp_path: Path) -> None:
    """To the byte: the limit of what is read is that of what is written."""
    file = tmp_path / "state.json"
    raw = document.render({"a": "b"})
    with pytest.raises(LargeError):
        document.replace(file, {"a": "b"}, None, limit=len(raw) - 1)
    assert not file.exists()
    document.replace(file, {"a": "b"}, None, limit=len(raw))
    assert document.load(file, len(raw)).data == {"a": "b"}


BY_HAND = """{
    "workflow": "X",   "unknown": {"deep": [1, 2.5, {"x": null}]},
    "phase": {"current": 1, "status": "é"},
    "big": 123456789012345678901234567890
}
"""


def test_a_changed_file_keeps_its_keys_their_order_and_its_indentation(tmp_path: Path) -> None:
    """It is rendered anew: what was on one line gets a line for each entry, and so does what an empty object gets."""
    before = document.load(_file(tmp_path, BY_HAND.encode()))
    data = {**before.data, "phase": {"current": 2, "status": "é"}, "new": []}

    after = document.replace(before.path, data, before.raw, like=before)

    assert after.raw == before.path.read_bytes() == json.dumps(data, indent=4, ensure_ascii=False).encode() + b"\n"
    assert list(after.data) == ["workflow", "unknown", "phase", "big", "new"]
    assert document.render({"a": 1}, b"{}") == b'{\n  "a": 1\n}'


@each_row("style", STYLES)
def test_a_file_is_rendered_in_its_own_style(style: str) -> None:
    """Indentation, colons, line ends, byte order mark, escapes, and what follows the last brace."""
    raw = style.encode()
    data = json.loads(raw.decode("utf-8-sig"))
    assert document.render(data, raw) == raw


def test_an_unchanged_file_keeps_every_byte(tmp_path: Path) -> None:
    """Also if the keys are in another order; but 1 is neither 1.0 nor true."""
    before = document.load(_file(tmp_path, BY_HAND.encode()))
    stamp = before.path.stat()

    shuffled = dict(reversed(before.data.items()))
    assert document.replace(before.path, shuffled, before.raw, like=before) is before
    assert (before.path.read_bytes(), before.path.stat()) == (BY_HAND.encode(), stamp)

    for other in (1.0, True):
        changed = {**before.data, "phase": {"current": other, "status": "é"}}
        assert not document.same(changed, before.data)
