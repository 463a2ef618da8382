-- What a run refers to besides its own text, by SHA-256: the texts of other workflows, and catalog
-- records and documents. These tables are purely additive: earlier versions still work.
CREATE TABLE IF NOT EXISTS run_refs(
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  hash BLOB NOT NULL,
  PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_refs_hash ON run_refs(hash);

-- A text is kept as long as a run refers to it, even if an earlier version tries to delete it.
CREATE TRIGGER IF NOT EXISTS texts_referenced BEFORE DELETE ON texts
WHEN EXISTS (SELECT 1 FROM run_refs WHERE hash = old.hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
