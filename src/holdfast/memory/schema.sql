-- Tables whose modules haven't moved to `rows.py` yet.

-- snapshots, made at a compaction
CREATE TABLE IF NOT EXISTS seals (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, why TEXT NOT NULL, workflows TEXT NOT NULL, sealed_at TEXT NOT NULL,
    transcript TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT 0, claimed_by TEXT, claimed_at TEXT);
CREATE INDEX IF NOT EXISTS seals_session ON seals (project, session, sealed_at);
CREATE INDEX IF NOT EXISTS seals_claimed ON seals (project, claimed_by, sealed_at);
CREATE INDEX IF NOT EXISTS seals_sealed_at ON seals (project, sealed_at);

-- guidance that was sent to the model
CREATE TABLE IF NOT EXISTS deliveries (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, event TEXT NOT NULL, workflow TEXT NOT NULL, title TEXT NOT NULL, mark TEXT NOT NULL,
    units INTEGER NOT NULL, omitted INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
    transcript TEXT NOT NULL, size INTEGER NOT NULL,
    state TEXT NOT NULL, made_at TEXT NOT NULL, changed_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS deliveries_session ON deliveries (project, session, made_at);
CREATE INDEX IF NOT EXISTS deliveries_made_at ON deliveries (project, made_at);

-- what a summary had lost
CREATE TABLE IF NOT EXISTS losses (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, workflow TEXT NOT NULL, title TEXT NOT NULL, counts TEXT NOT NULL, noted_at TEXT NOT NULL,
    lost TEXT NOT NULL DEFAULT '{}');
CREATE INDEX IF NOT EXISTS losses_session ON losses (project, session, noted_at);
CREATE INDEX IF NOT EXISTS losses_noted_at ON losses (project, noted_at);

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

-- a workflow's phases when they were last looked at
CREATE TABLE IF NOT EXISTS phases_seen (
    project TEXT NOT NULL, worktree TEXT NOT NULL, workflow TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    finished INTEGER NOT NULL, phases TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (project, worktree, workflow));

-- each time a phase ran
CREATE TABLE IF NOT EXISTS attempts (
    project TEXT NOT NULL, worktree TEXT NOT NULL, workflow TEXT NOT NULL, phase TEXT NOT NULL, number INTEGER NOT NULL,
    host TEXT NOT NULL, client TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT, outcome TEXT NOT NULL, error TEXT NOT NULL,
    begun INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (project, worktree, workflow, phase, number));

-- earlier contents of state files
CREATE TABLE IF NOT EXISTS generations (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    path TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL, content BLOB NOT NULL, why TEXT NOT NULL,
    at TEXT NOT NULL, UNIQUE (project, worktree, path, number));

-- workflows that are over
CREATE TABLE IF NOT EXISTS archive (
    project TEXT NOT NULL, worktree TEXT NOT NULL, workflow TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    path TEXT NOT NULL, said TEXT NOT NULL, content BLOB NOT NULL, completed_at TEXT NOT NULL,
    PRIMARY KEY (project, worktree, workflow));
CREATE INDEX IF NOT EXISTS archive_completed_at ON archive (project, completed_at);

-- what a memory file said of a workflow
CREATE TABLE IF NOT EXISTS extracts (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    path TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, content TEXT NOT NULL, at TEXT NOT NULL,
    UNIQUE (project, worktree, path));
CREATE INDEX IF NOT EXISTS extracts_name ON extracts (project, worktree, name, digest);

-- what must not be saved from one again
CREATE TABLE IF NOT EXISTS tombstones (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    name TEXT NOT NULL, digest TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (project, worktree, name, digest));

-- what was put into the model's context
CREATE TABLE IF NOT EXISTS costs (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, reply TEXT NOT NULL, event TEXT NOT NULL, handler TEXT NOT NULL, agent INTEGER NOT NULL,
    units INTEGER NOT NULL, at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS costs_at ON costs (project, at);

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
CREATE INDEX IF NOT EXISTS attempts_ended_at ON attempts (project, ended_at);
CREATE INDEX IF NOT EXISTS attempts_started_at ON attempts (project, started_at);
CREATE INDEX IF NOT EXISTS deliveries_changed_at ON deliveries (project, changed_at);
CREATE INDEX IF NOT EXISTS generations_at ON generations (project, at);
CREATE INDEX IF NOT EXISTS launches_launched_at ON launches (project, launched_at);
CREATE INDEX IF NOT EXISTS launches_workflow ON launches (project, workflow);
CREATE INDEX IF NOT EXISTS runs_changed_at ON runs (project, changed_at);
