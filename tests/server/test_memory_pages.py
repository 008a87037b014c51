"""A waiting process has its own copies of the memory pages that its event will write to."""

from __future__ import annotations

import json
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from holdfast.server import memory_pages

if TYPE_CHECKING:
    import pytest

    from tests.conftest import RunPython

PAGES = """
import json, os, resource
from holdfast.server import memory_pages, rehearsal
rehearsal.warm_up()
def copied(rehearse, objects):
    reading, writing = os.pipe()
    if os.fork() == 0:
        rehearse()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        memory_pages.copy(objects)
        os.write(writing, b"%d" % (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))
        os._exit(0)
    return int(os.read(reading, 64))
print(json.dumps([copied(rehearse, rehearsal._used) for rehearse in (lambda: None, rehearsal.of_handlers)]))
"""
"""Says how many pages a forked process copies when it uses all there is: before its rehearsal, and after it."""


def test_a_rehearsed_process_has_its_own_copy_of_what_it_will_use(run_python: RunPython) -> None:
    """Else the system copies page after page while the event waits."""
    before, after = json.loads(run_python(PAGES))
    assert before > 100
    assert after < before / 10


def test_all_that_is_loaded_is_known_down_to_its_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is called by its code, and the code by its constants. Other folders are left out."""
    for name in ("sample", "other"):
        monkeypatch.setitem(sys.modules, f"holdfast.{name}", ModuleType(name))
    vars(sys.modules["holdfast.sample"])["Sample"] = Sample
    vars(sys.modules["holdfast.other"])["elsewhere"] = elsewhere = object()

    known = set(map(id, memory_pages.objects({"sample"})))
    code = Sample.wrapped.__wrapped__.__code__
    assert {id(Sample), id(Sample.wrapped), id(code), *map(id, code.co_consts)} <= known
    assert id(vars(Sample)["named"].fget.__code__) in known
    assert id(elsewhere) not in known


class Sample:
    """Something with functions in it."""

    @staticmethod
    @cache
    def wrapped() -> str:
        """Return a text."""
        return "a text of some length"

    @property
    def named(self) -> str:
        """A text."""
        return "another text"


Sample.__module__ = "holdfast.sample"  # of ours
