"""The tables of a SQLite ledger.

`n`: the place of a record among those of its scope and identity as they ended; 0: it is open.
`near`: a claim of any turn may meet it, since it is open, or nobody has its result, or none ended
later. It is cleared when the next record of the identity is inserted, so that a call that is made
once, as most are, costs one entry in one index and no more.
"""

APPLICATION_ID = 0x52475244
VERSION = 1

CREATE = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
  seq INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, near INTEGER NOT NULL DEFAULT 1,
  scope TEXT NOT NULL, identity BLOB NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
  owner TEXT NOT NULL, claimed REAL NOT NULL, lease REAL NOT NULL, delivered INTEGER NOT NULL,
  turn TEXT, tool TEXT NOT NULL, resource TEXT NOT NULL, ordinal INTEGER NOT NULL,
  content BLOB NOT NULL, generation INTEGER NOT NULL, key TEXT, fresh INTEGER NOT NULL,
  sends TEXT NOT NULL, tries INTEGER NOT NULL, ended REAL, seen TEXT, read_at REAL,
  settled_at REAL NOT NULL, asked_at REAL, answer TEXT, effect_id TEXT, call_ids TEXT NOT NULL,
  contract TEXT NOT NULL, scheme INTEGER NOT NULL, value BLOB, arguments BLOB NOT NULL,
  CHECK ((n = 0) = (state = 'open'))
);
CREATE UNIQUE INDEX one_open ON records (scope, identity, n) WHERE near = 1;
CREATE INDEX by_turn ON records (scope, identity, turn) WHERE near = 0 AND turn IS NOT NULL;
CREATE INDEX by_key ON records (scope, key) WHERE key IS NOT NULL;
CREATE INDEX by_effect ON records (scope, effect_id) WHERE effect_id IS NOT NULL;
CREATE TABLE answers (
  scope TEXT, identity BLOB, turn TEXT, seq INTEGER, PRIMARY KEY (scope, identity, turn, seq)
) WITHOUT ROWID;
CREATE TABLE former_keys (
  scope TEXT, key TEXT, seq INTEGER, PRIMARY KEY (scope, key, seq)
) WITHOUT ROWID;
CREATE TRIGGER only_first BEFORE INSERT ON records
WHEN new.near AND EXISTS (SELECT 1 FROM records AS met
  WHERE met.scope = new.scope AND met.identity = new.identity AND met.near = 1) BEGIN
  SELECT RAISE(IGNORE);
END;
CREATE TRIGGER keep_key AFTER UPDATE OF key ON records
WHEN old.key IS NOT NULL AND old.key IS NOT new.key BEGIN
  INSERT OR IGNORE INTO former_keys VALUES (old.scope, old.key, old.seq);
END;
"""
