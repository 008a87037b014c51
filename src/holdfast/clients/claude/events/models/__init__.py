"""The fields of each event, one module per event, loaded on first use. Type checkers find all of them here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.clients.claude.events.models.config_change import ConfigChange as ConfigChange
    from holdfast.clients.claude.events.models.cwd_changed import CwdChanged as CwdChanged
    from holdfast.clients.claude.events.models.directory_added import DirectoryAdded as DirectoryAdded
    from holdfast.clients.claude.events.models.elicitation import Elicitation as Elicitation
    from holdfast.clients.claude.events.models.elicitation_result import ElicitationResult as ElicitationResult
    from holdfast.clients.claude.events.models.file_changed import FileChanged as FileChanged
    from holdfast.clients.claude.events.models.instructions_loaded import InstructionsLoaded as InstructionsLoaded
    from holdfast.clients.claude.events.models.message_display import MessageDisplay as MessageDisplay
    from holdfast.clients.claude.events.models.notification import Notification as Notification
    from holdfast.clients.claude.events.models.permission_denied import PermissionDenied as PermissionDenied
    from holdfast.clients.claude.events.models.permission_request import PermissionRequest as PermissionRequest
    from holdfast.clients.claude.events.models.post_compact import PostCompact as PostCompact
    from holdfast.clients.claude.events.models.post_model_switch import PostModelSwitch as PostModelSwitch
    from holdfast.clients.claude.events.models.post_tool_batch import PostToolBatch as PostToolBatch
    from holdfast.clients.claude.events.models.post_tool_batch import ToolCall as ToolCall
    from holdfast.clients.claude.events.models.post_tool_use import PostToolUse as PostToolUse
    from holdfast.clients.claude.events.models.post_tool_use_failure import PostToolUseFailure as PostToolUseFailure
    from holdfast.clients.claude.events.models.pre_compact import PreCompact as PreCompact
    from holdfast.clients.claude.events.models.pre_model_switch import PreModelSwitch as PreModelSwitch
    from holdfast.clients.claude.events.models.pre_skill_shell_command import (
        PreSkillShellCommand as PreSkillShellCommand,
    )
    from holdfast.clients.claude.events.models.pre_tool_use import PreToolUse as PreToolUse
    from holdfast.clients.claude.events.models.session_end import SessionEnd as SessionEnd
    from holdfast.clients.claude.events.models.session_start import SessionStart as SessionStart
    from holdfast.clients.claude.events.models.setup import Setup as Setup
    from holdfast.clients.claude.events.models.stop import Stop as Stop
    from holdfast.clients.claude.events.models.stop_failure import StopFailure as StopFailure
    from holdfast.clients.claude.events.models.subagent_start import SubagentStart as SubagentStart
    from holdfast.clients.claude.events.models.subagent_stop import SubagentStop as SubagentStop
    from holdfast.clients.claude.events.models.task_completed import TaskCompleted as TaskCompleted
    from holdfast.clients.claude.events.models.task_created import TaskCreated as TaskCreated
    from holdfast.clients.claude.events.models.teammate_idle import TeammateIdle as TeammateIdle
    from holdfast.clients.claude.events.models.user_prompt_expansion import UserPromptExpansion as UserPromptExpansion
    from holdfast.clients.claude.events.models.user_prompt_submit import UserPromptSubmit as UserPromptSubmit
    from holdfast.clients.claude.events.models.worktree_create import WorktreeCreate as WorktreeCreate
    from holdfast.clients.claude.events.models.worktree_remove import WorktreeRemove as WorktreeRemove
