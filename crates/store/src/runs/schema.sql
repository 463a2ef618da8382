-- Proves that the key next to this file is the one that its rows were written with.
CREATE TABLE proof(id INTEGER PRIMARY KEY CHECK (id = 1), mac BLOB NOT NULL) STRICT;

-- Workflow texts and large event data, each stored once under its SHA-256.
CREATE TABLE texts(hash BLOB NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE blobs(hash BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

-- The index of runs. `last_seq` and `head` record how long the event chain was when the row was
-- last written, and `seal` is a MAC over the row. Keys are never reused.
CREATE TABLE runs(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  title TEXT NOT NULL,
  text BLOB NOT NULL REFERENCES texts(hash),
  actor TEXT NOT NULL,
  workspace TEXT NOT NULL,
  parent TEXT,
  durability TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  status TEXT NOT NULL,
  waiting TEXT,
  wake_ms INTEGER,
  updated_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  last_seq INTEGER NOT NULL,
  head BLOB NOT NULL,
  seal BLOB NOT NULL,
  quarantined INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_text ON runs(text);
CREATE INDEX runs_parent ON runs(parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_status ON runs(status);
CREATE INDEX runs_workflow ON runs(workflow);
CREATE INDEX runs_workflow_status ON runs(workflow, status);
CREATE INDEX runs_workspace ON runs(workspace);
CREATE INDEX runs_workspace_status ON runs(workspace, status);
CREATE INDEX runs_open ON runs(ended_ms) WHERE ended_ms IS NULL;
CREATE INDEX runs_ended ON runs(ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX runs_wake ON runs(wake_ms) WHERE wake_ms IS NOT NULL;
CREATE INDEX runs_succeeded ON runs(workflow, ended_ms)
  WHERE status = 'succeeded' AND quarantined = 0;

-- The journal. The rowid orders the events of all runs; the indexes are narrow.
CREATE TABLE events(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  data BLOB,
  blob BLOB REFERENCES blobs(hash),
  mac BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_run ON events(run, seq);
CREATE INDEX events_blob ON events(blob) WHERE blob IS NOT NULL;

-- Messages from people and other processes to a run, with the replies.
CREATE TABLE inbox(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  at_ms INTEGER NOT NULL,
  data BLOB NOT NULL,
  mac BLOB NOT NULL,
  answer BLOB,
  answer_mac BLOB,
  answered_ms INTEGER
) STRICT;
CREATE INDEX inbox_run ON inbox(run);
CREATE INDEX inbox_pending ON inbox(run) WHERE answer IS NULL;

-- Which process drives which run. A row in `holders` is a heartbeat; epochs only increase.
CREATE TABLE holders(
  id TEXT NOT NULL PRIMARY KEY,
  pid INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE leases(
  run INTEGER PRIMARY KEY REFERENCES runs(key) ON DELETE CASCADE,
  holder TEXT,
  epoch INTEGER NOT NULL
) STRICT;
CREATE INDEX leases_holder ON leases(holder) WHERE holder IS NOT NULL;

-- The last value given for each input.
CREATE TABLE input_history(
  workspace TEXT NOT NULL,
  workflow TEXT NOT NULL,
  input TEXT NOT NULL,
  value TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace, workflow, input)
) STRICT, WITHOUT ROWID;
