"""The JSON schema of holdfast.toml says what the loader accepts."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, get_args

import tomlkit
from jsonschema import Draft7Validator

from holdfast import config, formats, paths
from tests.commandline import holdfast
from tests.processes import ROOT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: dict[str, Any] = json.loads(holdfast("config", "--schema").out)
VALIDATOR = Draft7Validator(SCHEMA)
# A holdfast.toml as pages show it: no table but the configuration's own, and no key that another kind of file has.
EXAMPLES = [
    (page.name, block)
    for page in (
        *ROOT.glob("README.md"),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
    )
    for block in re.findall(r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if not {"phases", "type", "files", "answer"} & set(tomllib.loads(block))
    and not re.search(r"entry-points|\[tool\.", block)
]


def leaves(schema: dict[str, Any] = SCHEMA, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema["properties"].items():
        if "$ref" in part:  # a table of fixed keys
            yield from leaves(SCHEMA["$defs"][part["$ref"].rpartition("/")[2]], f"{prefix}{name}.")
        else:
            yield prefix + name, part


def refused(text: str) -> bool:
    """Return whether the schema refuses a file's content."""
    return not VALIDATOR.is_valid(tomllib.loads(text))


def test_the_schema_is_one() -> None:
    """Of the draft that editors of TOML know."""
    Draft7Validator.check_schema(SCHEMA)


def test_it_has_every_key_with_its_description_default_and_values() -> None:
    """As the reference has them."""
    found = dict(leaves())
    assert set(found) == set(config.FIELDS)
    for key, field in config.FIELDS.items():
        assert found[key]["description"] == field.description
        assert found[key].get("default") == field.get_default()
    assert found["format"]["enum"] == list(formats.NAMES)
    assert found["log_level"]["enum"] == list(get_args(config.FIELDS["log_level"].annotation))


@each_row("page, block", EXAMPLES)
def test_the_examples_of_the_pages_are_valid(page: str, block: str) -> None:
    """Each holdfast.toml that a page shows."""
    assert list(VALIDATOR.iter_errors(tomllib.loads(block))) == []


KEYS = [*config.FIELDS, "handlers.onn", "project.name", "colour", "handlers", "project"]
WORDS = ["off", "remind", "hold", "tell", "info", "fatal", "hybrid", "", "/", "/ ", " ", "a", "/a", "a/", "x" * 501]
SINGLE = [*WORDS, *formats.NAMES, True, False, -1, 0, 3, -0.5, 0.0, 0.5]
VALUES = [*SINGLE, [], *([each] for each in SINGLE), ["a", "/"], [["a"]]]


def agrees(values: dict[str, Any]) -> bool:
    """Return whether schema and loader both accept a file with these keys, or both refuse it."""
    text = "".join(f"{key} = {tomlkit.item(value).as_string()}\n" for key, value in values.items())
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text(text, "utf-8")
    return refused(text) == bool(config.check(paths.user_config()))


@each_row("key", KEYS)
def test_the_schema_refuses_what_the_loader_refuses(key: str) -> None:
    """And accepts what it accepts: each value for each key."""
    assert [value for value in VALUES if not agrees({key: value})] == []


@each_row(
    "text",
    [
        'exclude_patterns = ["("]',
        'exclude_patterns = ["a?"]',
        "freshness_days = nan",
        "freshness_days = inf",
    ],
)
def test_what_a_schema_cannot_say(text: str) -> None:
    """All that only the loader refuses; the page of the configuration names it."""
    paths.user_config().parent.mkdir(parents=True)
    paths.user_config().write_text(text)

    assert not refused(text)
    assert config.check(paths.user_config())
