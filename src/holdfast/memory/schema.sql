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


-- the last prompt that a person gave to a session, and how often its conversation has begun anew
CREATE TABLE IF NOT EXISTS askings (
    project TEXT NOT NULL, session TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    prompt TEXT NOT NULL DEFAULT '', beginnings INTEGER NOT NULL DEFAULT 0, asked_at TEXT NOT NULL,
    PRIMARY KEY (project, session));

-- for the log: made when somebody first asks for it, so that no event pays for it before.

CREATE INDEX IF NOT EXISTS sessions_ended_at ON sessions (project, ended_at);
CREATE INDEX IF NOT EXISTS sessions_first_seen ON sessions (project, first_seen);
CREATE INDEX IF NOT EXISTS sessions_last_seen ON sessions (project, last_seen);
