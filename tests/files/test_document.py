"""JSON documents that people, models and Holdfast edit side by side."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import BrokenError, ChangedError, LargeError, MissingError, StateError
from holdfast.files import document, jsonkeep
from holdfast.files.jsonvalue import DEPTH_LIMIT
from tests.tables import each_row


def _file(folder: Path, content: bytes) -> Path:
    file = folder / "state.json"
    file.write_bytes(content)
    return file


def test_load_gives_content_bytes_and_time(tmp_path: Path) -> None:
    """A document carries its parsed data, its very bytes, its time and its digest."""
    raw = b'{"title": "caf\xc3\xa9", "n": [1, 2.5, null, true]}\n'
    file = _file(tmp_path, raw)

    found = document.load(file)

    assert found.data == {"title": "café", "n": [1, 2.5, None, True]}
    assert (found.path, found.raw, found.mtime) == (file, raw, file.stat().st_mtime)
    assert found.digest == hashlib.sha256(raw).hexdigest()


def test_load_accepts_a_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    """What a Windows editor saved is read."""
    assert document.load(_file(tmp_path, b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n')).data == {"a": 1}


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
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "is not JSON: the key 'b' is given twice in one object"),
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


def test_load_tells_missing_from_broken(tmp_path: Path) -> None:
    """A missing file and a link to nothing are MissingError."""
    (tmp_path / "link").symlink_to("nothing")

    for name in ("none", "link"):
        with pytest.raises(MissingError, match="no such file"):
            document.load(tmp_path / name)


def test_load_refuses_what_is_no_file(tmp_path: Path) -> None:
    """A folder is named as one, and a pipe or device is never waited on."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StateError, match="is a folder"):
        document.load(tmp_path)
    with pytest.raises(StateError, match="pipe: is not a regular file"):
        document.load(tmp_path / "pipe")
    with pytest.raises(StateError, match="is not a regular file"):
        document.load(Path("/dev/zero"))


def test_load_has_a_limit(tmp_path: Path) -> None:
    """A file of exactly the limit is read, one byte more is refused."""
    file = _file(tmp_path, b'{"a": 1}')

    assert document.load(file, limit=8).data == {"a": 1}
    with pytest.raises(StateError, match="is larger than 7 bytes"):
        document.load(file, limit=7)


def test_load_can_be_kept_inside_a_folder(tmp_path: Path) -> None:
    """A link out of the given folder is refused, whether it is the file's or a parent's; inside it is fine."""
    (tmp_path / "out").mkdir()
    (tmp_path / "project/.claude").mkdir(parents=True)
    _file(tmp_path / "out", b"{}")
    _file(tmp_path / "project", b"{}")
    (tmp_path / "project/.claude/out.json").symlink_to(tmp_path / "out/state.json")
    (tmp_path / "project/.claude/in.json").symlink_to("../state.json")
    (tmp_path / "project/linked").symlink_to(tmp_path / "out")

    root = tmp_path / "project"
    assert document.load(root / ".claude/in.json", within=root).data == {}
    for name in (".claude/out.json", "linked/state.json"):
        with pytest.raises(StateError, match=r"leads out of .*project through a symbolic link"):
            document.load(root / name, within=root)


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


@each_row("text", STYLES)
def test_render_keeps_the_style_of_the_file(text: str) -> None:
    """Data written back unchanged in any common style gives the very same bytes."""
    raw = text.encode()

    assert document.render(json.loads(text.removeprefix("\ufeff")), raw) == raw


@each_row("text", STYLES)
def test_render_keeps_the_style_when_data_changes(text: str) -> None:
    """A new key follows the file's indentation, newlines, spacing, mark and ending."""
    data = json.loads(text.removeprefix("\ufeff")) | {"new": "é"}

    raw = document.render(data, text.encode())

    assert document.render(json.loads(raw.decode("utf-8-sig")), raw) == raw
    assert raw.startswith(b"\xef\xbb\xbf") == text.startswith("\ufeff")
    assert (b"\r\n" in raw) == ("\r\n" in text)
    assert raw.decode()[len(raw.decode().rstrip()) :] == text[len(text.rstrip()) :]
    assert json.loads(raw.decode("utf-8-sig")) == data


def test_render_of_a_new_file() -> None:
    """Without a file to follow: two spaces, letters as they are, a final newline."""
    expected = '{\n  "a": [\n    "ü 😀"\n  ]\n}\n'.encode()

    assert document.render({"a": ["ü 😀"]}) == expected
    assert document.render({"a": ["ü 😀"]}, b"") == expected
    assert document.render({"a": ["ü 😀"]}, b" \n") == expected


def test_render_keeps_escapes_where_the_file_has_them() -> None:
    """A file of escaped letters stays plain ASCII; one of plain ASCII takes letters as they are."""
    assert document.render({"a": "ü"}, b'{"a": "\\u00e9"}') == b'{"a": "\\u00fc"}'
    assert document.render({"a": "ü"}, b'{"a": "e\\n\\u001b\\\\u00e9"}') == '{"a": "ü"}'.encode()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_replace_keeps_escapes_where_the_file_has_them(tmp_path: Path, mark: str) -> None:
    """Behind a byte order mark, too."""
    for before, after in (('{"a": "\\u00e9"}', '{"a": "\\u00fc"}'), ('{"a": "e"}', '{"a": "ü"}')):
        path = _file(tmp_path, f"{mark}{before}".encode())
        found = document.load(path)
        document.replace(path, {"a": "ü"}, found.raw, like=found)

        assert path.read_bytes() == f"{mark}{after}".encode()


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


def test_save_then_load(tmp_path: Path) -> None:
    """What is saved is what is loaded, with the mode asked for."""
    file = tmp_path / "deep/state.json"

    assert document.save(file, {"a": 1}, mode=0o600)

    assert document.load(file).data == {"a": 1}
    assert file.stat().st_mode & 0o777 == 0o600


def test_replace_keeps_unknown_keys_and_their_order(tmp_path: Path) -> None:
    """A change of one value leaves every other byte of the file."""
    raw = b'{\r\n    "z": {"deep": [1]},\r\n    "a": 1\r\n}'.replace(
        b'{"deep": [1]}', b'{\r\n        "deep": [\r\n            1\r\n        ]\r\n    }'
    )
    found = document.load(_file(tmp_path, raw))

    document.replace(found.path, {**found.data, "a": 2}, found.raw, like=found)

    assert found.path.read_bytes() == raw.replace(b'"a": 1', b'"a": 2')


def test_save_of_the_same_bytes_writes_nothing(tmp_path: Path) -> None:
    """The bytes on disk decide."""
    file = tmp_path / "state.json"
    assert document.save(file, {"a": 1})
    before = file.stat().st_ino

    assert not document.save(file, {"a": 1})
    assert file.stat().st_ino == before


@each_row("old, new", [(1, True), (0, False), (1, 1.0), ("1", 1), ([], None)])
def test_replace_sees_changes_that_python_calls_equal(tmp_path: Path, old: object, new: object) -> None:
    """A number that becomes a truth value is a change, although Python calls them equal."""
    found = document.load(_file(tmp_path, document.render({"a": old})))

    document.replace(found.path, {"a": new}, found.raw, like=found)

    assert type(document.load(found.path).data["a"]) is type(new)


def test_save_refuses_a_link(tmp_path: Path) -> None:
    """A state file that is a link is not written through."""
    file = _file(tmp_path, b"{}")
    (tmp_path / "link.json").symlink_to(file)

    with pytest.raises(StateError, match="symbolic link"):
        document.save(tmp_path / "link.json", {"a": 1})
    assert file.read_bytes() == b"{}"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_a_file_is_read_down_to_the_last_level(tmp_path: Path, opening: str, closing: str) -> None:
    """The object itself is a level; one more than the limit is an error, however short the file is."""

    def nested(levels: int) -> Path:
        deep = f"{opening * (levels - 2)}{{}}{closing * (levels - 2)}"
        return _file(tmp_path, f'{{"x": {deep}, "y": []}}'.encode())

    assert document.load(nested(DEPTH_LIMIT)).data
    with pytest.raises(BrokenError, match="is nested too deeply to be read"):
        document.load(nested(DEPTH_LIMIT + 1))


@each_row("blank", ["", " ", "  ", "\t", "\r\n"])
@each_row("beside", ['"b": 2', '"b": ":"', '"b": "\\":"', '": ": "a\\\\"', '"b": "c :"', '"b\\":": [{"c": 1.5}]'])
def test_a_key_given_twice_is_found_however_the_file_is_written(tmp_path: Path, blank: str, beside: str) -> None:
    """Keys are counted by their colons, of which texts have some too, and before which blanks may stand."""
    once = f'{{{beside}, "a": {{"k"{blank}: 1, "l"{blank}: ":"}}}}'
    assert document.load(_file(tmp_path, once.encode())).data == json.loads(once)
    for twice in (once.replace('"l"', '"k"'), f'{once[:-1]}, "a"{blank}: 1}}'):
        with pytest.raises(BrokenError, match=r"the key '[ak]' is given twice in one object"):
            document.load(_file(tmp_path, twice.encode()))


def test_many_shallow_objects_are_not_deep(tmp_path: Path) -> None:
    """Nor are brackets in a text."""
    data = {"a": [{} for _ in range(DEPTH_LIMIT)], "b": "[{" * DEPTH_LIMIT}
    assert document.load(_file(tmp_path, json.dumps(data).encode())).data == data


def test_save_of_endless_nesting_is_a_sentence(tmp_path: Path) -> None:
    """Data nested beyond what can be written is an error that leaves the file alone."""
    file = _file(tmp_path, b"{}")
    data: dict[str, Any] = {}
    for _ in range(200_000):  # Python 3.14 writes 60,000
        data = {"a": data}

    with pytest.raises(StateError, match="nested too deeply"):
        document.save(file, data)
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


def test_set_aside_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken files move away one after the other, each kept under its own name."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    names = [document.set_aside(_file(tmp_path, content)).name for content in (b"one", b"two", b"three")]

    stem = "state.json.corrupt-20251209_143052"
    assert names == [stem, f"{stem}-2", f"{stem}-3"]
    assert [(tmp_path / name).read_bytes() for name in names] == [b"one", b"two", b"three"]
    assert not (tmp_path / "state.json").exists()


def test_set_aside_moves_a_link_not_its_target(tmp_path: Path) -> None:
    """A link in our place moves; what it points at stays."""
    target = tmp_path / "target"
    target.write_text("x")
    (tmp_path / "state.json").symlink_to(target)

    assert document.set_aside(tmp_path / "state.json").is_symlink()
    assert target.read_text() == "x"


def test_set_aside_of_nothing_is_an_error(tmp_path: Path) -> None:
    """A missing file cannot be set aside, and the message names it."""
    with pytest.raises(StateError, match=r"none\.json: cannot be set aside"):
        document.set_aside(tmp_path / "none.json")


def test_replace_writes_over_what_was_read(tmp_path: Path) -> None:
    """The file is returned as it is then, in its old layout."""
    found = document.load(_file(tmp_path, b'{"a": 1.50, "b": {"c": 1}}'))

    after = document.replace(found.path, {"a": 1.5, "b": {"c": 2}}, found.raw, like=found)

    assert after.raw == found.path.read_bytes() == b'{"a": 1.50, "b": {"c": 2}}'
    assert after == document.load(found.path)


def test_replace_with_the_same_data_writes_nothing(tmp_path: Path) -> None:
    """However oddly it is laid out. Not even what is on disk by now is looked at: there is nothing to write."""
    found = document.load(_file(tmp_path, b'{"b": 1,   "a" :[1,\n2]}'))
    found.path.write_bytes(b"theirs")

    assert document.replace(found.path, {"a": [1, 2], "b": 1}, found.raw, like=found) is found
    assert found.path.read_bytes() == b"theirs"


def test_replace_over_something_broken_writes_the_same_data(tmp_path: Path) -> None:
    """What an earlier content said does not count as being there."""
    found = document.load(_file(tmp_path, b'{"a": 1}'))
    found.path.write_bytes(b"broken")

    document.replace(found.path, {"a": 1}, b"broken", like=found)

    assert found.path.read_bytes() == b'{"a": 1}'


def test_replace_never_writes_over_anything_else(tmp_path: Path) -> None:
    """What somebody saved meanwhile stands."""
    found = document.load(_file(tmp_path, b'{"a": 1}'))
    found.path.write_bytes(b'{"a": 1 }')

    with pytest.raises(ChangedError):
        document.replace(found.path, {"a": 2}, found.raw, like=found)

    assert found.path.read_bytes() == b'{"a": 1 }'


def test_copies_aside_never_overwrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken file stays, each copy has a name of its own and is as private as the file."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    file = _file(tmp_path, b"broken")
    file.chmod(0o600)

    copies = [document.copy_aside(file, content) for content in (b"one", b"two")]

    stem = "state.json.corrupt-20251209_143052"
    assert [copy.name for copy in copies] == [stem, f"{stem}-2"]
    assert [copy.read_bytes() for copy in copies] == [b"one", b"two"]
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}
    assert file.read_bytes() == b"broken"

    file.unlink()
    assert document.copy_aside(file, b"three").stat().st_mode & 0o777 == 0o600, "whose it was is not known any more"


def test_a_small_change_of_a_large_file_is_made_all_the_same(tmp_path: Path) -> None:
    """What is too large to be kept to the letter is written afresh in the file's style."""
    raw = json.dumps({"a": "x" * 600_000, "b": [1]}, indent=4).encode()
    found = document.load(_file(tmp_path, raw))

    document.replace(found.path, {**found.data, "b": [2]}, found.raw, like=found)

    assert found.path.read_bytes() == json.dumps({**found.data, "b": [2]}, indent=4).encode()


def test_a_sparse_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    """Not a byte more than the limit is read, however large it says it is."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(StateError, match="is larger than 10 bytes"):
        document.read(tmp_path / "large", 10)


def test_a_device_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening one can do something: rewind a tape, start a watchdog."""
    (tmp_path / "zero").symlink_to("/dev/zero")
    monkeypatch.setattr(os, "open", lambda *given: pytest.fail("it was opened"))

    with pytest.raises(StateError, match="is not a regular file"):
        document.read(tmp_path / "zero")


def test_a_device_that_calls_itself_a_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel's log does: a read that would wait gives nothing, not even an empty text."""

    def silent(descriptor: int, size: int) -> bytes:
        raise BlockingIOError

    (tmp_path / "log").write_text("x")
    monkeypatch.setattr(os, "read", silent)
    with pytest.raises(StateError, match="holds nothing now"):
        document.read(tmp_path / "log")


@each_row("most", [1, 3, 100])
def test_a_file_that_comes_in_parts_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A network's file system may give less than was asked for."""
    read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, most)))
    (tmp_path / "file").write_bytes(b"0123456789")

    assert document.read(tmp_path / "file")[0] == b"0123456789"
    assert document.head(tmp_path / "file", 4)[0] == b"0123"
    with pytest.raises(LargeError):
        document.read(tmp_path / "file", 9)


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


def test_the_beginning_of_a_large_file_can_be_read(tmp_path: Path) -> None:
    """Whoever wants no more gets it, and not a byte more."""
    file = _file(tmp_path, b"0123456789")
    assert [document.head(file, limit)[0] for limit in (0, 4, 10, 99)] == [b"", b"0123", b"0123456789", b"0123456789"]
    assert document.read(file, 10)[0] == b"0123456789"


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


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks /proc")
def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """Neither of what can be read nor of what is too large."""
    file = _file(tmp_path, b"0123456789")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for limit in (20, 5) * 3:
        with suppress(LargeError):
            document.read(file, limit)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_replace_writes_no_more_than_can_be_read_again(tmp_path: Path) -> None:
    """To the byte: the limit of what is read is that of what is written."""
    file = tmp_path / "state.json"
    raw = document.render({"a": "b"})
    with pytest.raises(LargeError):
        document.replace(file, {"a": "b"}, None, limit=len(raw) - 1)
    assert not file.exists()
    document.replace(file, {"a": "b"}, None, limit=len(raw))
    assert document.load(file, len(raw)).data == {"a": "b"}


def test_a_copy_aside_whose_name_is_taken_meanwhile_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes may put the same file aside at the same moment."""
    file, real = _file(tmp_path, b"broken"), document._aside
    taken: list[Path] = []

    def aside(path: Path, why: str) -> Path:
        target = real(path, why)
        if not taken:
            target.write_bytes(b"theirs")
            taken.append(target)
        return target

    monkeypatch.setattr(document, "_aside", aside)
    copy = document.copy_aside(file, b"ours")
    assert (copy.read_bytes(), taken[0].read_bytes()) == (b"ours", b"theirs")


@each_row("wrong", [b'{"a": 1, "b": 9}', b"{ no JSON", None])
def test_what_was_kept_of_a_file_is_written_only_if_it_says_the_new_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: bytes | None
) -> None:
    """Whatever bug there is in keeping its layout: then the file is written whole."""
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": 1, "b": 2}')
    before = document.load(path)
    monkeypatch.setattr(jsonkeep, "rewritten", lambda *_, **__: wrong)

    after = document.replace(path, {"a": 1, "b": 3}, before.raw, like=before, limit=1000)

    assert after.data == json.loads(path.read_bytes()) == {"a": 1, "b": 3}
