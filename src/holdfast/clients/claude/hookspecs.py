"""The events of Claude Code: when each fires, what a handler may answer, and an example. This is the reference.

The pages on events and outcomes are generated from it, registration and matching read it, and pluggy checks handlers
against it. A function's signature names the model that has the event's fields.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.plugins.hooks import Hook, hook

if TYPE_CHECKING:
    from holdfast.clients.claude.events import models
    from holdfast.plugins.context import Context
    from holdfast.plugins.hooks import Answer
    from holdfast.plugins.state import State

EVENTS: dict[str, Hook] = {}
"""Every event, by its name and in the client's own order (client fact §1.1)."""
spec = partial(hook, EVENTS)


@spec(
    "advise",
    "environment",
    "initial_message",
    "reload_skills",
    "tell_user",
    "terminal",
    "title",
    "watch",
    matcher="source",
    values=("startup", "resume", "clear", "compact", "fork"),
)
def on_session_start(event: models.SessionStart, context: Context, options: Any, state: State) -> Answer:
    """Fires when a session begins or continues: `startup`, `resume`, `clear`, `compact`, `fork`.

    After a compaction, this is the one event on which lost context can be restored.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="compact")
        def on_session_start(event, context):
            notes = context.root / "NOTES.md"
            if notes.is_file():
                return advise(f"The project's notes:\\n{notes.read_text()}")
    """


@spec("advise", "environment", "tell_user", "terminal", matcher="trigger", values=("init", "maintenance"))
def on_setup(event: models.Setup, context: Context, options: Any, state: State) -> Answer:
    """Fires when the client is run to set up or to maintain a project (`--init`, `--maintenance`).

    Example::

        from holdfast import environment, hookimpl

        @hookimpl(match="init")
        def on_setup(event):
            return environment({"PROJECT_STAGE": "setup"})
    """


@spec(
    "terminal",
    matcher="reason",
    timeout_s=1.5,
    values=("clear", "resume", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"),
    longest_timeout_s=60.0,
    waits="Claude Code ends then, and what runs in the background with it",
)
def on_session_end(event: models.SessionEnd, context: Context, options: Any, state: State) -> Answer:
    """Fires when a session ends.

    All handlers together have 1.5 seconds, unless one asks for more with `timeout`.

    Example::

        from holdfast import hookimpl

        @hookimpl
        def on_session_end(event, context):
            context.log(f"the session ended: {event.reason}")
    """


@spec(
    "advise",
    "block",
    "stop",
    "suppress_prompt",
    "tell_user",
    "terminal",
    "title",
    strict=True,
    timeout_s=30.0,
    text="prompt",
)
def on_user_prompt_submit(event: models.UserPromptSubmit, context: Context, options: Any, state: State) -> Answer:
    """Fires before a prompt is processed, including prompts that the client made itself.

    The client makes one when a background task ends, or on a schedule. A prompt can't be rewritten.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl
        def on_user_prompt_submit(event):
            if "deploy" in event.prompt and not event.task_notification:
                return advise("Deployments of this project go through the release branch.")
    """


@spec("advise", "block", "stop", "suppress_prompt", "tell_user", "terminal", matcher="command_name", strict=True)
def on_user_prompt_expansion(event: models.UserPromptExpansion, context: Context, options: Any, state: State) -> Answer:
    """Fires when a typed slash command, skill or MCP prompt expands, after `UserPromptSubmit`.

    Example::

        from holdfast import block, hookimpl

        @hookimpl(match="release")
        def on_user_prompt_expansion(event):
            if not event.command_args:
                return block("/release needs a version")
    """


@spec(
    "advise",
    "allow",
    "ask",
    "change_input",
    "defer",
    "deny",
    "stop",
    "tell_user",
    "terminal",
    matcher="tool_name",
    strict=True,
)
def on_pre_tool_use(event: models.PreToolUse, context: Context, options: Any, state: State) -> Answer:
    """Fires before a tool is called, ahead of the permission check, in every permission mode.

    To block is to deny. An inline shell command of a skill reaches these functions too (`PreSkillShellCommand`).

    Example::

        from holdfast import deny, hookimpl
        from holdfast.events import PreToolUse

        @hookimpl(match="shell")
        def on_pre_tool_use(event: PreToolUse):
            if "printenv" in event.tool_input.get("command", ""):
                return deny("this would print secrets")
    """


@spec(
    *("ask", "defer", "deny", "stop", "tell_user", "terminal"),
    matcher="tool_name",
    strict=True,
    since=(2, 1, 332),
    drops={
        "allow": "an approval changes nothing for a skill's command",
        "advise": "Claude Code passes no advice on for a skill's command",
        "change_input": "Claude Code refuses a skill's command if its input is changed",
    },
)
def on_pre_skill_shell_command(
    event: models.PreSkillShellCommand, context: Context, options: Any, state: State
) -> Answer:
    """Fires before an inline shell command of a skill or slash command runs.

    Skills write such commands as `` !`git status` ``. No PreToolUse fires for them, so `on_pre_tool_use` functions
    whose matcher selects Bash get this event too; they usually suffice. Deny, ask and defer all keep the command from
    running.

    Example::

        from holdfast import deny, hookimpl

        @hookimpl
        def on_pre_skill_shell_command(event):
            if event.command_source == "projectSettings":
                return deny(f"/{event.command_name} runs a command of this repository: {event.tool_input['command']}")
    """


@spec("advise", "block", "change_output", "classify", "stop", "tell_user", "terminal", matcher="tool_name")
def on_post_tool_use(event: models.PostToolUse, context: Context, options: Any, state: State) -> Answer:
    """Fires after a tool call succeeded; for a subagent in the background, after its launch.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Edit|Write")
        def on_post_tool_use(event):
            if event.tool_input.get("file_path", "").endswith(".proto"):
                return advise("The generated code follows the .proto files by `make generate`.")
    """


@spec("advise", "block", "stop", "tell_user", "terminal", matcher="tool_name")
def on_post_tool_use_failure(event: models.PostToolUseFailure, context: Context, options: Any, state: State) -> Answer:
    """Fires after a tool call started and failed; not for refused calls and invalid arguments.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Bash")
        def on_post_tool_use_failure(event):
            if "command not found" in event.error:
                return advise("The tools of this project are installed by `make tools`.")
    """


@spec("advise", "block", "stop", "tell_user", "terminal")
def on_post_tool_batch(event: models.PostToolBatch, context: Context, options: Any, state: State) -> Answer:
    """Fires once after all calls of one assistant message, even if some never ran.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl
        def on_post_tool_batch(event):
            if sum(call.is_agent_launch for call in event.tool_calls) > 5:
                return advise("This machine runs at most five subagents well at a time.")
    """


@spec("allow", "change_input", "deny", "tell_user", "terminal", matcher="tool_name", strict=True)
def on_permission_request(event: models.PermissionRequest, context: Context, options: Any, state: State) -> Answer:
    """Fires when the user is about to be asked for a permission, or nobody is there to ask.

    A changed input counts only together with allow.

    Example::

        from holdfast import allow, hookimpl

        @hookimpl(match="Bash")
        def on_permission_request(event):
            if event.tool_input.get("command") == "make test":
                return allow()
    """


@spec("retry", "terminal", matcher="tool_name")
def on_permission_denied(event: models.PermissionDenied, context: Context, options: Any, state: State) -> Answer:
    """Fires when auto mode denied a tool call.

    Example::

        from holdfast import hookimpl, retry

        @hookimpl(match="Read")
        def on_permission_denied(event):
            return retry()
    """


@spec("block", "force_turn", "stop", "tell_user", "terminal", text="last_assistant_message")
def on_stop(event: models.Stop, context: Context, options: Any, state: State) -> Answer:
    """Fires when the model has finished a turn, unless the user interrupted it.

    `force_turn` and `block` make the model take another turn, so never return them without a condition that ends.

    Example::

        from holdfast import force_turn, hookimpl

        @hookimpl
        def on_stop(event, context):
            if not event.stop_hook_active and (context.root / "FAILING").exists():
                return force_turn("The file FAILING is still there: the tests have not passed yet.")
    """


@spec("terminal", matcher="error", text="last_assistant_message")
def on_stop_failure(event: models.StopFailure, context: Context, options: Any, state: State) -> Answer:
    """Fires instead of `Stop` when a turn died of an API error, inside subagents too.

    Example::

        from holdfast import hookimpl, terminal

        @hookimpl(match="rate_limit|overloaded")
        def on_stop_failure(event):
            return terminal("\\x1b]9;Claude is waiting for the API\\x07")
    """


@spec("advise", "tell_user", "terminal", matcher="agent_type")
def on_subagent_start(event: models.SubagentStart, context: Context, options: Any, state: State) -> Answer:
    """Fires when a subagent starts. Advice reaches the subagent, not the main conversation.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Explore")
        def on_subagent_start(event):
            return advise("The folder `vendor/` holds other people's code.")
    """


@spec("block", "force_turn", "stop", "tell_user", "terminal", matcher="agent_type", text="last_assistant_message")
def on_subagent_stop(event: models.SubagentStop, context: Context, options: Any, state: State) -> Answer:
    """Fires when a subagent has finished a run, maybe several times for one agent.

    It says nothing about success, and answers go to the subagent.
    It also fires for a compaction's own agent (`event.is_compaction`).

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl
        def on_subagent_stop(event):
            if not event.is_compaction and not event.last_assistant_message:
                return tell_user(f"The agent {event.agent_type} ended without a word.")
    """


@spec(
    "block", "instruct_summary", matcher="trigger", values=("manual", "auto"), reply="text", text="custom_instructions"
)
def on_pre_compact(event: models.PreCompact, context: Context, options: Any, state: State) -> Answer:
    """Fires before a compaction, which may still be given up or take effect much later.

    Example::

        from holdfast import hookimpl, instruct_summary

        @hookimpl
        def on_pre_compact(event):
            if not event.in_subagent:
                return instruct_summary("Keep the names of all failing tests.")
    """


@spec("tell_user", matcher="trigger", values=("manual", "auto"), reply="text", text="compact_summary")
def on_post_compact(event: models.PostCompact, context: Context, options: Any, state: State) -> Answer:
    """Fires after a compaction; `SessionStart` with source `compact` came before it.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="auto")
        def on_post_compact(event):
            return tell_user(f"The conversation was compacted to {len(event.compact_summary)} characters.")
    """


@spec("block", "tell_user", "terminal", text="task_subject")
def on_task_created(event: models.TaskCreated, context: Context, options: Any, state: State) -> Answer:
    """Fires when the model creates a task in the client's task list; blocking deletes it again.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_task_created(event):
            if not event.task_description:
                return block("a task needs a description")
    """


@spec("block", "stop", "tell_user", "terminal", reply="exit code", text="task_subject")
def on_task_completed(event: models.TaskCompleted, context: Context, options: Any, state: State) -> Answer:
    """Fires before a task is marked completed; blocking refuses that.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_task_completed(event, context):
            if (context.root / "FAILING").exists():
                return block("the tests have not passed yet")
    """


@spec("block", "stop", "tell_user", "terminal", reply="exit code", text="teammate_name")
def on_teammate_idle(event: models.TeammateIdle, context: Context, options: Any, state: State) -> Answer:
    """Fires when a team member is about to go idle; blocking keeps it working.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_teammate_idle(event, context):
            if event.teammate_name == "tester" and (context.root / "FAILING").exists():
                return block("the tests have not passed yet")
    """


@spec("allow", "ask", "deny", "tell_user", "terminal", matcher="to_model", timeout_s=30.0, since=(2, 1, 251))
def on_pre_model_switch(event: models.PreModelSwitch, context: Context, options: Any, state: State) -> Answer:
    """Fires before the session's model changes; the matcher tests the new model.

    If the handlers take too long, the client blocks the switch.

    Example::

        from holdfast import ask, hookimpl

        @hookimpl
        def on_pre_model_switch(event):
            if (event.estimated_cache_write_usd or 0) > 1:
                return ask(f"this switch costs about {event.estimated_cache_write_usd:.2f} US dollars")
    """


@spec("advise", "tell_user", "terminal", matcher="to_model", timeout_s=30.0, since=(2, 1, 251))
def on_post_model_switch(event: models.PostModelSwitch, context: Context, options: Any, state: State) -> Answer:
    """Fires after the session's model changed; advice reaches the new model with its first request.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match=".*haiku.*")
        def on_post_model_switch(event):
            return advise("Larger changes of this project are planned before they are made.")
    """


@spec("terminal", matcher="notification_type", text="message")
def on_notification(event: models.Notification, context: Context, options: Any, state: State) -> Answer:
    """Fires when the client notifies the user.

    Example::

        from holdfast import hookimpl, terminal

        @hookimpl(match="permission_prompt|idle_prompt")
        def on_notification(event):
            return terminal("\\x07")
    """


@spec("display", "terminal", timeout_s=10.0, text="delta")
def on_message_display(event: models.MessageDisplay, context: Context, options: Any, state: State) -> Answer:
    """Fires for each piece of the assistant's text that appears on the screen.

    The conversation keeps the original text.

    Example::

        from holdfast import display, hookimpl

        @hookimpl
        def on_message_display(event):
            if "hunter2" in event.delta:
                return display(event.delta.replace("hunter2", "(hidden)"))
    """


@spec(
    "block",
    "terminal",
    matcher="source",
    values=("user_settings", "project_settings", "local_settings", "policy_settings", "skills"),
    text="file_path",
)
def on_config_change(event: models.ConfigChange, context: Context, options: Any, state: State) -> Answer:
    """Fires when a settings or skill file changed; blocking keeps the change from taking effect.

    Example::

        from holdfast import block, hookimpl

        @hookimpl(match="project_settings")
        def on_config_change(event):
            return block("the project's settings change by review only")
    """


@spec("terminal", matcher="load_reason", text="file_path")
def on_instructions_loaded(event: models.InstructionsLoaded, context: Context, options: Any, state: State) -> Answer:
    """Fires when a CLAUDE.md, a rule or a file imported by one was loaded.

    Example::

        from holdfast import hookimpl

        @hookimpl(match="nested_traversal")
        def on_instructions_loaded(event, context):
            context.log(f"loaded {event.file_path}")
    """


@spec("environment", "tell_user", "terminal", "watch", text="new_cwd")
def on_cwd_changed(event: models.CwdChanged, context: Context, options: Any, state: State) -> Answer:
    """Fires when the model's working directory has changed.

    Example::

        from holdfast import environment, hookimpl

        @hookimpl
        def on_cwd_changed(event):
            return environment({"WORKING_IN": event.new_cwd})
    """


@spec("environment", "tell_user", "terminal", "watch", matcher="file_path")
def on_file_changed(event: models.FileChanged, context: Context, options: Any, state: State) -> Answer:
    """Fires when a watched file changed; the matcher tests its name and also adds it to what is watched.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="pyproject.toml")
        def on_file_changed(event):
            return tell_user(f"{event.file_path}: {event.event}")
    """


@spec("tell_user", "terminal", matcher="source", since=(2, 1, 219), text="directory")
def on_directory_added(event: models.DirectoryAdded, context: Context, options: Any, state: State) -> Answer:
    """Fires when a folder was added to those the session may work in.

    With source `slash_command`, the model sees the text of `tell_user` too.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="slash_command")
        def on_directory_added(event):
            return tell_user(f"{event.directory} is now part of this session.")
    """


@spec("worktree", reply="text", text="name", replaces=True, waits="Claude Code waits for the folder's name")
def on_worktree_create(event: models.WorktreeCreate, context: Context, options: Any, state: State) -> Answer:
    """Fires when a worktree is to be created, and replaces the client's own `git worktree`.

    A handler creates the folder. If no handler names a folder, the client makes no worktree and shows why.
    Don't handle this event only to observe it.

    Example::

        from holdfast import hookimpl, worktree

        @hookimpl
        def on_worktree_create(event, context):
            folder = context.root.parent / f"{context.root.name}-{event.name}"
            folder.mkdir(exist_ok=True)
            return worktree(str(folder))
    """


@spec(
    "terminal",
    text="worktree_path",
    replaces=True,
    waits="Claude Code takes the folder for removed once it has the answer",
)
def on_worktree_remove(event: models.WorktreeRemove, context: Context, options: Any, state: State) -> Answer:
    """Fires when a worktree that a handler made is to be removed; a handler for it must remove the folder.

    Registering this event replaces the client's own removal. The client takes silence for success.

    Example::

        import shutil

        from holdfast import hookimpl

        @hookimpl
        def on_worktree_remove(event, context):
            if event.worktree_path.startswith(f"{context.root}-"):  # the example of on_worktree_create made it
                shutil.rmtree(event.worktree_path)
    """


@spec("answer", "terminal", matcher="mcp_server_name", text="message")
def on_elicitation(event: models.Elicitation, context: Context, options: Any, state: State) -> Answer:
    """Fires when an MCP server asks the user something; the matcher tests the server's name.

    Example::

        from holdfast import answer, hookimpl

        @hookimpl(match="demo")
        def on_elicitation(event):
            if event.mode == "url":
                return answer("decline")
    """


@spec("answer", "terminal", matcher="mcp_server_name")
def on_elicitation_result(event: models.ElicitationResult, context: Context, options: Any, state: State) -> Answer:
    """Fires after the user answered an MCP server, and may change the answer.

    Example::

        from holdfast import answer, hookimpl

        @hookimpl(match="demo")
        def on_elicitation_result(event):
            if event.action == "accept" and not event.content:
                return answer("cancel")
    """
