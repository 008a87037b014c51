-- Tables whose modules haven't moved to `rows.py` yet.

-- a session of the client, while it is live and after
CREATE TABLE IF NOT EXISTS sessions (
    project TEXT NOT NULL, id TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    process INTEGER, process_start TEXT, namespace TEXT, attended INTEGER, transcript TEXT NOT NULL DEFAULT '', resting INTEGER NOT NULL DEFAULT 0,
    first_seen TEXT NOT NULL, last_seen TEXT NOT NULL, ended_at TEXT,
    PRIMARY KEY (project, id));
CREATE INDEX IF NOT EXISTS sessions_live ON sessions (project, worktree, ended_at, last_seen);
CREATE INDEX IF NOT EXISTS sessions_process ON sessions (project, process, first_seen);

-- which session owns a workflow
CREATE TABLE IF NOT EXISTS owners (
    project TEXT NOT NULL, worktree TEXT NOT NULL, workflow TEXT NOT NULL, session TEXT NOT NULL,
    branch TEXT NOT NULL DEFAULT '', host TEXT NOT NULL, client TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (project, worktree, workflow));
CREATE INDEX IF NOT EXISTS owners_session ON owners (project, worktree, session, since);
CREATE INDEX IF NOT EXISTS owners_since ON owners (project, worktree, since);

-- how that changed; an empty session is nobody
CREATE TABLE IF NOT EXISTS ownings (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    workflow TEXT NOT NULL, title TEXT NOT NULL, session TEXT NOT NULL, before TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS ownings_freed ON ownings (project, worktree, session, at);
CREATE INDEX IF NOT EXISTS ownings_workflow ON ownings (project, worktree, workflow, session, at);
CREATE INDEX IF NOT EXISTS ownings_at ON ownings (project, at);

-- what the user is to be told, once
CREATE TABLE IF NOT EXISTS hints (
    project TEXT NOT NULL, session TEXT NOT NULL, topic TEXT NOT NULL, workflow TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL, noted_at TEXT NOT NULL, told_at TEXT,
    PRIMARY KEY (project, session, topic, workflow));
CREATE INDEX IF NOT EXISTS hints_noted_at ON hints (project, noted_at);

-- the client's own summary of a session
CREATE TABLE IF NOT EXISTS summaries (
    project TEXT NOT NULL, session TEXT NOT NULL, said TEXT NOT NULL, said_at TEXT NOT NULL,
    PRIMARY KEY (project, session));

-- calls of the Agent tool
CREATE TABLE IF NOT EXISTS launches (
    project TEXT NOT NULL, session TEXT NOT NULL, tool_use_id TEXT NOT NULL, agent_id TEXT,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, workflow TEXT, phase TEXT, launched_at TEXT NOT NULL, verdict TEXT,
    description TEXT NOT NULL DEFAULT '', prompt TEXT NOT NULL DEFAULT '', output TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (project, session, tool_use_id));
CREATE INDEX IF NOT EXISTS launches_verdict ON launches (project, session, verdict);
CREATE INDEX IF NOT EXISTS launches_agent ON launches (project, session, agent_id);

-- what a subagent has reported of itself; of a use an earlier version says nothing, and none of those is told as unused
CREATE TABLE IF NOT EXISTS runs (
    project TEXT NOT NULL, session TEXT NOT NULL, agent_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    agent_type TEXT NOT NULL, state TEXT NOT NULL, words TEXT NOT NULL,
    started_at TEXT NOT NULL, changed_at TEXT NOT NULL,
    digest TEXT NOT NULL DEFAULT '', transcript TEXT NOT NULL DEFAULT '', consumed_at TEXT DEFAULT 'unknown',
    resumed INTEGER NOT NULL DEFAULT 0, resumed_at TEXT, reminded_at TEXT,
    PRIMARY KEY (project, session, agent_id));
CREATE INDEX IF NOT EXISTS runs_state ON runs (project, session, state);
CREATE INDEX IF NOT EXISTS runs_consumed ON runs (project, session, consumed_at);
CREATE INDEX IF NOT EXISTS runs_resumed ON runs (project, session, resumed);

-- in which session the agents of another one go on
CREATE TABLE IF NOT EXISTS agent_heirs (
    project TEXT NOT NULL, session TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    heir TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (project, session));

-- the to-do list that a session was given
CREATE TABLE IF NOT EXISTS todo_lists (
    project TEXT NOT NULL, session TEXT NOT NULL, workflow TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL, digest TEXT NOT NULL, told_at TEXT NOT NULL,
    PRIMARY KEY (project, session, workflow));

-- the client's tasks
CREATE TABLE IF NOT EXISTS todo_tasks (
    project TEXT NOT NULL, session TEXT NOT NULL, task_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    subject TEXT NOT NULL, status TEXT NOT NULL, changed_at TEXT NOT NULL,
    PRIMARY KEY (project, session, task_id));

-- files a session has read
CREATE TABLE IF NOT EXISTS reads (
    project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL, session TEXT NOT NULL,
    path TEXT NOT NULL, content TEXT NOT NULL DEFAULT '', how TEXT NOT NULL DEFAULT 'read',
    compaction INTEGER NOT NULL DEFAULT -1, parts TEXT NOT NULL DEFAULT '', refused INTEGER NOT NULL DEFAULT -1,
    read_at TEXT NOT NULL, PRIMARY KEY (project, session, path));
CREATE INDEX IF NOT EXISTS reads_read_at ON reads (project, read_at);

-- how far a session's reading was looked at
CREATE TABLE IF NOT EXISTS readers (
    project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL, session TEXT NOT NULL,
    compactions INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, boundary TEXT DEFAULT '',
    reminded INTEGER NOT NULL DEFAULT -1, searched INTEGER NOT NULL DEFAULT 0, sought TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (project, session));

-- what became of each agent that was launched; a launch without a run has none of the run's columns.

-- A run whose result was used may be started again. A launch that was judged without a run brings nothing more.
CREATE VIEW IF NOT EXISTS agents AS
SELECT launches.project AS project, launches.session AS session, launches.worktree AS worktree,
    launches.tool_use_id AS tool_use_id, launches.agent_id AS agent_id, launches.agent_type AS agent_type,
    launches.workflow AS workflow, launches.phase AS phase, launches.description AS description,
    launches.prompt AS prompt, launches.output AS output, launches.verdict AS verdict,
    launches.launched_at AS launched_at, COALESCE(runs.resumed_at, launches.launched_at) AS since,
    runs.agent_type AS run_type, runs.state AS state, COALESCE(runs.words, '') AS words,
    COALESCE(runs.digest, '') AS digest, COALESCE(runs.transcript, '') AS transcript, runs.changed_at AS changed_at,
    CASE
        WHEN runs.resumed = 1 OR (launches.verdict IS NULL AND COALESCE(runs.state, 'running') = 'running')
            THEN 'running'
        WHEN runs.consumed_at IS NOT NULL OR COALESCE(runs.state, 'running') = 'running' THEN 'consumed'
        WHEN runs.state IN ('failed', 'missing') THEN 'failed'
        ELSE 'finished'
    END AS fate
FROM launches LEFT JOIN runs
    ON runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id;

-- what agents were asked for, so that none that has finished runs twice.

-- the last prompt that a person gave to a session, and how often its conversation has begun anew
CREATE TABLE IF NOT EXISTS askings (
    project TEXT NOT NULL, session TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    prompt TEXT NOT NULL DEFAULT '', beginnings INTEGER NOT NULL DEFAULT 0, asked_at TEXT NOT NULL,
    PRIMARY KEY (project, session));

-- what a call of the Agent tool asked for; `launches` has what became of it
CREATE TABLE IF NOT EXISTS agent_calls (
    project TEXT NOT NULL, session TEXT NOT NULL, tool_use_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    fingerprint TEXT NOT NULL, name TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'agent',
    prompt TEXT NOT NULL, epoch TEXT NOT NULL, process INTEGER, copy INTEGER NOT NULL DEFAULT 1,
    answered TEXT NOT NULL DEFAULT '', refused TEXT NOT NULL DEFAULT '', rerun_at TEXT, called_at TEXT NOT NULL,
    PRIMARY KEY (project, session, tool_use_id));
CREATE INDEX IF NOT EXISTS agent_calls_same ON agent_calls (project, fingerprint, called_at);
CREATE INDEX IF NOT EXISTS agent_calls_name ON agent_calls (project, session, kind, name);

-- runs of a script that starts agents (the client's Workflow tool)
CREATE TABLE IF NOT EXISTS script_runs (
    project TEXT NOT NULL, session TEXT NOT NULL, tool_use_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    run TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '',
    script TEXT NOT NULL DEFAULT '', digest TEXT NOT NULL, args TEXT NOT NULL, prompt TEXT NOT NULL,
    epoch TEXT NOT NULL, process INTEGER, folder TEXT NOT NULL DEFAULT '', answers TEXT NOT NULL DEFAULT '',
    reused TEXT NOT NULL DEFAULT '', ending TEXT NOT NULL DEFAULT '', used_at TEXT, rerun_at TEXT,
    launched_at TEXT NOT NULL, PRIMARY KEY (project, session, tool_use_id));
CREATE INDEX IF NOT EXISTS script_runs_launched_at ON script_runs (project, launched_at);
CREATE INDEX IF NOT EXISTS script_runs_run ON script_runs (project, run, launched_at);
CREATE INDEX IF NOT EXISTS script_runs_task ON script_runs (project, session, task);

-- the agents of such a run; `runs` has what they returned
CREATE TABLE IF NOT EXISTS script_agents (
    project TEXT NOT NULL, session TEXT NOT NULL, agent_id TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    run TEXT NOT NULL, key TEXT NOT NULL DEFAULT '', label TEXT NOT NULL DEFAULT '', noted_at TEXT NOT NULL,
    PRIMARY KEY (project, session, agent_id));
CREATE INDEX IF NOT EXISTS script_agents_run ON script_agents (project, session, run);

-- an agent's launch, whichever session noted it
CREATE INDEX IF NOT EXISTS launches_run ON launches (project, agent_id);

-- for the log: made when somebody first asks for it, so that no event pays for it before.

CREATE INDEX IF NOT EXISTS agent_calls_called_at ON agent_calls (project, called_at);
CREATE INDEX IF NOT EXISTS launches_launched_at ON launches (project, launched_at);
CREATE INDEX IF NOT EXISTS launches_workflow ON launches (project, workflow);
CREATE INDEX IF NOT EXISTS runs_changed_at ON runs (project, changed_at);
CREATE INDEX IF NOT EXISTS sessions_ended_at ON sessions (project, ended_at);
CREATE INDEX IF NOT EXISTS sessions_first_seen ON sessions (project, first_seen);
CREATE INDEX IF NOT EXISTS sessions_last_seen ON sessions (project, last_seen);
