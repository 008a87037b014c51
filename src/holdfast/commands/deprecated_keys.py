"""Earlier names of keys in `--json`, printed beside the present ones in this release only."""

from __future__ import annotations

from typing import Any

_WORKFLOW = {"paused": "resting"}
_AGENT = {"status": "fate", "last_message": "words"}
_GUIDANCE = {"characters": "units", "digest": "mark", "decided_by": "step"}
_REASON = {"reason": "why"}
_EARLIER: dict[str, tuple[dict[str, str], ...]] = {
    "": (
        *(_WORKFLOW, {"previous_owner": "before"}, {"todo_recipients": "todos_told"}, _REASON),
        *({"disabled_by": "off"}, {"cold_fallbacks": "gone_cold"}),
    ),
    "[]": (_WORKFLOW,),
    "[].data": ({"last_message": "words"}, _GUIDANCE, _REASON, {"previous_owner": "before"}, {"restored": "came"}),
    "accumulating.[]": (_REASON,),
    "agents.[]": (_AGENT,),
    "deliveries.[]": (_GUIDANCE,),
    "events.*.[]": ({"inactive_reason": "idle"},),
    "last_save": (_REASON,),
    "left_alone.[]": (_REASON,),
    "no_event.[]": (_REASON,),
    "prospects.[]": ({"restored": "how"} | _REASON,),
    "servers.[]": ({"launcher": "entry"},),
    "todo_recipients.[]": ({"sent_at": "told_at"},),
    "unused_results.[]": (_AGENT,),
    "workflows.[]": (_WORKFLOW,),
    "would_save": ({"remedy": "way"},),
}
"""The renamed keys of an object (present name -> earlier name), by its place in what a command prints.

`[]` is an entry of a list, `*` one of an object whose keys are names. The keys of a group are renamed only together, so
that other objects stay as they are.
"""


def with_earlier(value: Any, place: str = "") -> Any:
    """Return a value for `--json` with the earlier name of each renamed key added, for scripts that still use it."""
    if isinstance(value, list | tuple):
        return [with_earlier(each, _below(place, "[]")) for each in value]
    if not isinstance(value, dict):
        return value
    named = {key: with_earlier(each, _inner(place, str(key))) for key, each in value.items()}
    for group in _EARLIER.get(place, ()):
        if group.keys() <= named.keys():
            named |= {earlier: named[key] for key, earlier in group.items() if earlier not in named}
    return named


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _inner(place: str, key: str) -> str:
    """Return the place of an object's entry; `*` if the table doesn't name it."""
    named = _below(place, key)
    return named if any(each == named or each.startswith(f"{named}.") for each in _EARLIER) else _below(place, "*")
