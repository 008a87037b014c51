"""The client's files about the agents of its Workflow tool: this module implements `files.agent_runs.AgentRuns`.

The format is undocumented (client fact §8), so whatever is not exactly as expected counts as unknown and is left alone.
"""

from __future__ import annotations

from holdfast.clients.claude.workflow_runs.journals import carry as carry
from holdfast.clients.claude.workflow_runs.journals import carry_agent as carry_agent
from holdfast.clients.claude.workflow_runs.journals import ended as ended
from holdfast.clients.claude.workflow_runs.journals import folder as folder
from holdfast.clients.claude.workflow_runs.journals import journal as journal
from holdfast.clients.claude.workflow_runs.journals import named_in as named_in
from holdfast.clients.claude.workflow_runs.journals import run_of as run_of
from holdfast.clients.claude.workflow_runs.scripts import script as script
from holdfast.clients.claude.workflow_runs.scripts import script_name as script_name
