"""The hooks a handler file can implement: one function per event, each with a complete handler as its example.

A handler names only the arguments it wants of `(event, context)`, and returns `None`, one outcome or a list of them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from holdfast import events
    from holdfast.plugins.context import Context
    from holdfast.plugins.outcomes import Outcome

    Answer: TypeAlias = Outcome | Sequence[Outcome | None] | None

hookspec = HookspecMarker("holdfast")


def example(function: str) -> str:
    """Return the example handler file of a hook.

    Args:
        function: the hook's name, such as `on_pre_tool_use`.

    Raises:
        KeyError: there is no such hook.
    """
    _, _, code = (inspect.getdoc(globals()[function]) or "").partition("Example::\n\n")
    return inspect.cleandoc(code) + "\n"


@hookspec
def on_session_start(event: events.SessionStart, context: Context) -> Answer:
    """Fires when a session begins or goes on: `startup`, `resume`, `clear`, `compact`, `fork`.

    May answer: advise, tell_user, environment, watch, title, initial_message, reload_skills, terminal.
    After a compaction this is the one place where lost context can be given back.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="compact")
        def on_session_start(event, context):
            notes = context.root / "NOTES.md"
            if notes.is_file():
                return advise(f"The project's notes:\\n{notes.read_text()}")
    """


@hookspec
def on_setup(event: events.Setup, context: Context) -> Answer:
    """Fires when the client is run to set up or to maintain a project (`--init`, `--maintenance`).

    May answer: advise, environment, tell_user, terminal.

    Example::

        from holdfast import environment, hookimpl

        @hookimpl(match="init")
        def on_setup(event):
            return environment({"PROJECT_STAGE": "setup"})
    """


@hookspec
def on_session_end(event: events.SessionEnd, context: Context) -> Answer:
    """Fires when a session ends; all handlers together have 1.5 seconds, unless one asks for more with `timeout`.

    May answer: terminal.

    Example::

        from holdfast import hookimpl

        @hookimpl
        def on_session_end(event, context):
            context.log(f"the session ended: {event.reason}")
    """


@hookspec
def on_user_prompt_submit(event: events.UserPromptSubmit, context: Context) -> Answer:
    """Fires before a prompt is processed, also one the client made itself (a background task's end, a schedule).

    May answer: advise, block, title, suppress_prompt, tell_user, stop, terminal. A prompt cannot be rewritten.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl
        def on_user_prompt_submit(event):
            if "deploy" in event.prompt and not event.task_notification:
                return advise("Deployments of this project go through the release branch.")
    """


@hookspec
def on_user_prompt_expansion(event: events.UserPromptExpansion, context: Context) -> Answer:
    """Fires when a typed slash command, skill or MCP prompt expands, after `on_user_prompt_submit`.

    May answer: advise, block, suppress_prompt, tell_user, stop, terminal.

    Example::

        from holdfast import block, hookimpl

        @hookimpl(match="release")
        def on_user_prompt_expansion(event):
            if not event.command_args:
                return block("/release needs a version")
    """


@hookspec
def on_pre_tool_use(event: events.PreToolUse, context: Context) -> Answer:
    """Fires before a tool is called, ahead of the permission check, in every permission mode.

    May answer: deny, ask, allow, defer, change_input, advise, tell_user, stop, terminal. To block is to deny.

    Example::

        from holdfast import deny, hookimpl
        from holdfast.events import PreToolUse

        @hookimpl(match="Bash")
        def on_pre_tool_use(event: PreToolUse):
            if "printenv" in event.tool_input.get("command", ""):
                return deny("this would print secrets")
    """


@hookspec
def on_post_tool_use(event: events.PostToolUse, context: Context) -> Answer:
    """Fires after a tool call succeeded; for a subagent in the background, after its launch.

    May answer: advise, block, change_output, classify, stop, tell_user, terminal.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Edit|Write")
        def on_post_tool_use(event):
            if event.tool_input.get("file_path", "").endswith(".proto"):
                return advise("The generated code follows the .proto files by `make generate`.")
    """


@hookspec
def on_post_tool_use_failure(event: events.PostToolUseFailure, context: Context) -> Answer:
    """Fires after a tool call started and failed; not for refused calls and invalid arguments.

    May answer: advise, block, stop, tell_user, terminal.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Bash")
        def on_post_tool_use_failure(event):
            if "command not found" in event.error:
                return advise("The tools of this project are installed by `make tools`.")
    """


@hookspec
def on_post_tool_batch(event: events.PostToolBatch, context: Context) -> Answer:
    """Fires once after all calls of one assistant message, also when some never ran.

    May answer: advise, block, stop, tell_user, terminal.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl
        def on_post_tool_batch(event):
            if sum(call.is_agent_launch for call in event.tool_calls) > 5:
                return advise("This machine runs at most five subagents well at a time.")
    """


@hookspec
def on_permission_request(event: events.PermissionRequest, context: Context) -> Answer:
    """Fires when the user is about to be asked for a permission, or nobody is there to ask.

    May answer: allow, deny, change_input, tell_user, terminal. A changed input counts only together with allow.

    Example::

        from holdfast import allow, hookimpl

        @hookimpl(match="Bash")
        def on_permission_request(event):
            if event.tool_input.get("command") == "make test":
                return allow()
    """


@hookspec
def on_permission_denied(event: events.PermissionDenied, context: Context) -> Answer:
    """Fires when auto mode denied a tool call.

    May answer: retry, terminal.

    Example::

        from holdfast import hookimpl, retry

        @hookimpl(match="Read")
        def on_permission_denied(event):
            return retry()
    """


@hookspec
def on_stop(event: events.Stop, context: Context) -> Answer:
    """Fires when the model has finished a turn, unless the user interrupted it.

    May answer: force_turn, block, stop, tell_user, terminal. The first two make the model take another turn, so
    never say them without a condition that ends.

    Example::

        from holdfast import force_turn, hookimpl

        @hookimpl
        def on_stop(event, context):
            if not event.stop_hook_active and (context.root / "FAILING").exists():
                return force_turn("The file FAILING is still there: the tests have not passed yet.")
    """


@hookspec
def on_stop_failure(event: events.StopFailure, context: Context) -> Answer:
    """Fires instead of `on_stop` when a turn died of an API error, inside subagents too.

    May answer: terminal.

    Example::

        from holdfast import hookimpl, terminal

        @hookimpl(match="rate_limit|overloaded")
        def on_stop_failure(event):
            return terminal("\\x1b]9;Claude is waiting for the API\\x07")
    """


@hookspec
def on_subagent_start(event: events.SubagentStart, context: Context) -> Answer:
    """Fires when a subagent starts. Advice reaches the subagent, not the main conversation.

    May answer: advise, tell_user, terminal.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match="Explore")
        def on_subagent_start(event):
            return advise("The folder `vendor/` holds other people's code.")
    """


@hookspec
def on_subagent_stop(event: events.SubagentStop, context: Context) -> Answer:
    """Fires when a subagent has finished a run, maybe several times for one agent; it says nothing about success.

    May answer: force_turn, block, stop, tell_user, terminal. They are aimed at the subagent.
    A compaction's own agent comes here too: `event.is_compaction`.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl
        def on_subagent_stop(event):
            if not event.is_compaction and not event.last_assistant_message:
                return tell_user(f"The agent {event.agent_type} ended without a word.")
    """


@hookspec
def on_pre_compact(event: events.PreCompact, context: Context) -> Answer:
    """Fires before a compaction, which may still be given up or take effect much later.

    May answer: instruct_summary, block.

    Example::

        from holdfast import hookimpl, instruct_summary

        @hookimpl
        def on_pre_compact(event):
            if not event.in_subagent:
                return instruct_summary("Keep the names of all failing tests.")
    """


@hookspec
def on_post_compact(event: events.PostCompact, context: Context) -> Answer:
    """Fires after a compaction; `on_session_start` with source `compact` came before it.

    May answer: tell_user.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="auto")
        def on_post_compact(event):
            return tell_user(f"The conversation was compacted to {len(event.compact_summary)} characters.")
    """


@hookspec
def on_task_created(event: events.TaskCreated, context: Context) -> Answer:
    """Fires when the model creates a task in the client's task list; blocking deletes it again.

    May answer: block, tell_user, terminal.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_task_created(event):
            if not event.task_description:
                return block("a task needs a description")
    """


@hookspec
def on_task_completed(event: events.TaskCompleted, context: Context) -> Answer:
    """Fires before a task is marked completed; blocking refuses that.

    May answer: block, stop, tell_user, terminal.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_task_completed(event, context):
            if (context.root / "FAILING").exists():
                return block("the tests have not passed yet")
    """


@hookspec
def on_teammate_idle(event: events.TeammateIdle, context: Context) -> Answer:
    """Fires when a team member is about to go idle; blocking keeps it working.

    May answer: block, stop, tell_user, terminal.

    Example::

        from holdfast import block, hookimpl

        @hookimpl
        def on_teammate_idle(event, context):
            if event.teammate_name == "tester" and (context.root / "FAILING").exists():
                return block("the tests have not passed yet")
    """


@hookspec
def on_pre_model_switch(event: events.PreModelSwitch, context: Context) -> Answer:
    """Fires before the session's model changes; the matcher tests the new model.

    May answer: allow, deny, ask, tell_user, terminal.

    Example::

        from holdfast import ask, hookimpl

        @hookimpl
        def on_pre_model_switch(event):
            if (event.estimated_cache_write_usd or 0) > 1:
                return ask(f"this switch costs about {event.estimated_cache_write_usd:.2f} US dollars")
    """


@hookspec
def on_post_model_switch(event: events.PostModelSwitch, context: Context) -> Answer:
    """Fires after the session's model changed; advice reaches the new model with its first request.

    May answer: advise, tell_user, terminal.

    Example::

        from holdfast import advise, hookimpl

        @hookimpl(match=".*haiku.*")
        def on_post_model_switch(event):
            return advise("Larger changes of this project are planned before they are made.")
    """


@hookspec
def on_notification(event: events.Notification, context: Context) -> Answer:
    """Fires when the client notifies the user.

    May answer: terminal.

    Example::

        from holdfast import hookimpl, terminal

        @hookimpl(match="permission_prompt|idle_prompt")
        def on_notification(event):
            return terminal("\\x07")
    """


@hookspec
def on_message_display(event: events.MessageDisplay, context: Context) -> Answer:
    """Fires for each piece of the assistant's text that appears on the screen; the conversation keeps its own words.

    May answer: display, terminal.

    Example::

        from holdfast import display, hookimpl

        @hookimpl
        def on_message_display(event):
            if "hunter2" in event.delta:
                return display(event.delta.replace("hunter2", "(hidden)"))
    """


@hookspec
def on_config_change(event: events.ConfigChange, context: Context) -> Answer:
    """Fires when a settings or skill file changed; blocking keeps the change from taking effect.

    May answer: block, terminal.

    Example::

        from holdfast import block, hookimpl

        @hookimpl(match="project_settings")
        def on_config_change(event):
            return block("the project's settings change by review only")
    """


@hookspec
def on_instructions_loaded(event: events.InstructionsLoaded, context: Context) -> Answer:
    """Fires when a CLAUDE.md, a rule or a file imported by one was loaded.

    May answer: terminal.

    Example::

        from holdfast import hookimpl

        @hookimpl(match="nested_traversal")
        def on_instructions_loaded(event, context):
            context.log(f"loaded {event.file_path}")
    """


@hookspec
def on_cwd_changed(event: events.CwdChanged, context: Context) -> Answer:
    """Fires when the folder the model works in moved.

    May answer: watch, tell_user, environment, terminal.

    Example::

        from holdfast import environment, hookimpl

        @hookimpl
        def on_cwd_changed(event):
            return environment({"WORKING_IN": event.new_cwd})
    """


@hookspec
def on_file_changed(event: events.FileChanged, context: Context) -> Answer:
    """Fires when a watched file changed; the matcher tests its name and also adds it to what is watched.

    May answer: watch, tell_user, environment, terminal.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="pyproject.toml")
        def on_file_changed(event):
            return tell_user(f"{event.file_path}: {event.event}")
    """


@hookspec
def on_directory_added(event: events.DirectoryAdded, context: Context) -> Answer:
    """Fires when a folder was added to those the session may work in.

    May answer: tell_user, terminal. With source `slash_command` the model reads it.

    Example::

        from holdfast import hookimpl, tell_user

        @hookimpl(match="slash_command")
        def on_directory_added(event):
            return tell_user(f"{event.directory} is now part of this session.")
    """


@hookspec
def on_worktree_create(event: events.WorktreeCreate, context: Context) -> Answer:
    """Fires when a worktree is wanted, and replaces the client's own `git worktree`: a handler makes the folder.

    Where no handler names a folder, the client makes no worktree and shows why: don't handle this to look on.

    May answer: worktree.

    Example::

        from holdfast import hookimpl, worktree

        @hookimpl
        def on_worktree_create(event, context):
            folder = context.root.parent / f"{context.root.name}-{event.name}"
            folder.mkdir(exist_ok=True)
            return worktree(str(folder))
    """


@hookspec
def on_worktree_remove(event: events.WorktreeRemove, context: Context) -> Answer:
    """Fires when a worktree that a handler made is to be removed; a handler for it must remove the folder.

    May answer: terminal.

    Example::

        import shutil

        from holdfast import hookimpl

        @hookimpl
        def on_worktree_remove(event, context):
            if event.worktree_path.startswith(f"{context.root}-"):  # the example of on_worktree_create made it
                shutil.rmtree(event.worktree_path)
    """


@hookspec
def on_elicitation(event: events.Elicitation, context: Context) -> Answer:
    """Fires when an MCP server asks the user something; the matcher tests the server's name.

    May answer: answer, terminal.

    Example::

        from holdfast import answer, hookimpl

        @hookimpl(match="demo")
        def on_elicitation(event):
            if event.mode == "url":
                return answer("decline")
    """


@hookspec
def on_elicitation_result(event: events.ElicitationResult, context: Context) -> Answer:
    """Fires after the user answered an MCP server, and may change the answer.

    May answer: answer, terminal.

    Example::

        from holdfast import answer, hookimpl

        @hookimpl(match="demo")
        def on_elicitation_result(event):
            if event.action == "accept" and not event.content:
                return answer("cancel")
    """
