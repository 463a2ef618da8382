-- What a run refers to beside its own text, by SHA-256: texts of other workflows, records and
-- documents of catalogs. All of it only adds: a program that does not know these tables goes on.
CREATE TABLE IF NOT EXISTS run_refs(
  run INTEGER NOT NULL REFERENCES runs(key) ON DELETE CASCADE,
  hash BLOB NOT NULL,
  PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_refs_hash ON run_refs(hash);

-- A text stays while a run refers to it, whoever removes others.
CREATE TRIGGER IF NOT EXISTS texts_referenced BEFORE DELETE ON texts
WHEN EXISTS (SELECT 1 FROM run_refs WHERE hash = old.hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
