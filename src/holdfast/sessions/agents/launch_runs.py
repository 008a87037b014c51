"""The SQL that puts launches beside the runs they started."""

ON = "runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
BOTH = f"launches JOIN runs ON {ON}"
ALL = f"launches LEFT JOIN runs ON {ON}"  # those too of whose run nothing is known
