"""Events of subagents: their ends, and the results of their launches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.events import AgentResult, SubagentStop, agent_result, parse
from holdfast.testkit import recorded
from tests.tables import each_row


def test_a_foreground_agents_result_is_read() -> None:
    """A completed call holds the agent's id, type, words and tokens (client fact §3.4)."""
    assert agent_result(recorded.load("PostToolUse-Agent")["tool_response"]) == AgentResult(
        status="completed",
        agent_id="a23b8482eb527498b",
        agent_type="general-purpose",
        text="FG-SUBAGENT-RESULT",
        total_tokens=1220,
    )


def test_a_background_agents_launch_is_read() -> None:
    """A launch in the background holds the agent's id and where it writes, and no words yet."""
    result = agent_result(recorded.load("PostToolUse-Agent-background")["tool_response"])
    assert (result.status, result.agent_id, result.text) == ("async_launched", "ab8261ac2845e6b52", "")
    assert result.output_file.endswith("/tasks/ab8261ac2845e6b52.output")


def test_a_remote_agents_launch_is_read() -> None:
    """A remote agent is known by its task id."""
    response = {"status": "remote_launched", "taskId": "r1", "sessionUrl": "https://…", "outputFile": "/o"}
    assert agent_result(response) == AgentResult("remote_launched", agent_id="r1", output_file="/o")


@each_row(
    "response",
    [
        "one\ntwo",
        [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}],
        ["one", "two"],
        {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"content": "one\ntwo"},
    ],
)
def test_a_result_without_a_status_is_other(response: object) -> None:
    """A string, blocks, or an object without a status: I000-14 counts only the status `completed`."""
    assert agent_result(response) == AgentResult("other", text="one\ntwo")


@each_row("response", [None, 5, True, 1.5])
def test_what_is_no_result_is_other(response: object) -> None:
    """Nothing is made up about a response that says nothing."""
    assert agent_result(response) == AgentResult("other")


@each_row("tokens", [True, "1220", None, [1]])
def test_tokens_of_another_type_are_unknown(tokens: object) -> None:
    """A token count that is no number is no count."""
    assert agent_result({"totalTokens": tokens}).total_tokens is None


@each_row(
    "text, tokens, error",
    [
        ("API Error: 529 Overloaded", 0, True),
        ("API Error: 529 Overloaded", None, True),
        ("API Error handling is now in place", 1220, False),
        ("Done.", 0, False),
        ("I saw an API Error", 0, False),
    ],
)
def test_an_api_error_in_a_completed_result_is_told(text: str, tokens: int | None, error: bool) -> None:
    """Client 2.1.197 calls a failed agent completed: its words and its token count give it away."""
    response: dict[str, Any] = {"status": "completed", "content": [{"type": "text", "text": text}]}
    assert agent_result(response | {"totalTokens": tokens}).failed is error


@each_row(
    "signs, failed",
    [
        ({}, False),
        ({"is_error": True}, True),
        ({"is_error": False, "isError": False, "error": None}, False),
        ({"isError": True}, True),
        ({"isError": "true"}, True),
        ({"error": "2 tests FAILED"}, True),
        ({"error": {"code": 529}}, True),
        ({"error": ""}, False),
        ({"error": "none"}, False),
        ({"is_error": "false"}, False),
        ({"errorStatus": 529}, True),
        ({"status": "failed"}, True),
        ({"status": "Error"}, True),
        ({"subtype": "error"}, True),
        ({"content": [{"type": "text", "text": "Done.", "is_error": True}]}, True),
        ({"content": [{"type": "text", "text": "no error"}, "is_error", 3]}, False),
    ],
)
def test_any_sign_of_failure_beats_completed(signs: dict[str, Any], failed: bool) -> None:
    """I000-14: whatever the status says, and wherever the sign stands."""
    response: dict[str, Any] = {"status": "completed", "content": [{"type": "text", "text": "Done."}]}
    assert agent_result(response | signs).failed is failed
    if "content" in signs:
        assert agent_result(signs["content"]).failed is failed


def test_an_error_without_words_of_the_agent_is_told_in_its_own() -> None:
    """What a failed phase says has to say something."""
    assert agent_result({"status": "completed", "error": "out of memory"}).text == "out of memory"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "content", "agentId", "text", "totalTokens", "error"]), inner, max_size=4
        )
    ),
)


@given(VALUES)
def test_reading_a_result_never_raises(response: object) -> None:
    """Whatever a client returns, there is a result with text and a known status."""
    result = agent_result(response)
    assert result.status in ("completed", "async_launched", "remote_launched", "other")
    assert isinstance(result.text, str)
    assert isinstance(result.agent_id, str)


@each_row(
    "name, compaction",
    [("SubagentStop", False), ("SubagentStop-background", False), ("SubagentStop-compaction", True)],
)
def test_the_compactions_own_agent_is_told(name: str, compaction: bool) -> None:
    """A compaction's internal agent stops with an empty type and is nobody's task (client fact §0.10)."""
    event = parse(recorded.load(name))
    assert isinstance(event, SubagentStop)
    assert event.is_compaction is compaction
