"""The tables of the library file. A change here raises ``SCHEMA`` and brings a migration."""

SCHEMA = 1
APPLICATION_ID = 0x70617071  # "papq": tells our files from other programs' SQLite files
TOKENIZER = "porter unicode61 remove_diacritics 2"

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE papers (
    number INTEGER PRIMARY KEY,  -- in the order in which the papers were added
    id TEXT NOT NULL UNIQUE,
    content_key TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    abstract TEXT NOT NULL,
    authors TEXT NOT NULL,  -- a JSON list
    year INTEGER,
    venue TEXT NOT NULL,
    url TEXT NOT NULL,
    retracted INTEGER NOT NULL,
    chunking TEXT NOT NULL DEFAULT ''  -- how the passages were cut; '' when they are not
);
CREATE INDEX papers_chunking ON papers (chunking);

CREATE TABLE places (
    paper INTEGER NOT NULL REFERENCES papers ON DELETE CASCADE,
    file TEXT NOT NULL,
    paragraph INTEGER NOT NULL,
    UNIQUE (paper, file, paragraph)
);

CREATE VIRTUAL TABLE keywords USING fts5 (
    title, abstract, content='papers', content_rowid='number', tokenize='{TOKENIZER}'
);
CREATE VIRTUAL TABLE keyword_counts USING fts5vocab ('keywords', 'row');
CREATE TRIGGER papers_added AFTER INSERT ON papers BEGIN
    INSERT INTO keywords (rowid, title, abstract) VALUES (new.number, new.title, new.abstract);
END;
CREATE TRIGGER papers_removed AFTER DELETE ON papers BEGIN
    INSERT INTO keywords (keywords, rowid, title, abstract)
    VALUES ('delete', old.number, old.title, old.abstract);
END;
CREATE TRIGGER papers_changed AFTER UPDATE OF title, abstract ON papers BEGIN
    INSERT INTO keywords (keywords, rowid, title, abstract)
    VALUES ('delete', old.number, old.title, old.abstract);
    INSERT INTO keywords (rowid, title, abstract) VALUES (new.number, new.title, new.abstract);
END;

CREATE TABLE passages (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    paper INTEGER NOT NULL REFERENCES papers ON DELETE CASCADE,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0  -- whether the present index holds it
);
CREATE INDEX passages_paper ON passages (paper);
CREATE INDEX passages_text_hash ON passages (text_hash);
CREATE INDEX passages_pending ON passages (number) WHERE NOT indexed;

CREATE TABLE vectors (
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,  -- float32, little-endian
    UNIQUE (text_hash, model)
);

CREATE TABLE word_vectors (
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    spans BLOB NOT NULL,  -- pairs of int32, offsets in the text
    matrix BLOB NOT NULL,  -- int8, one row for each word
    scales BLOB NOT NULL,  -- float32, one for each row
    UNIQUE (text_hash, model)
);

-- A vector that no passage needs any more goes with the last one that did.
CREATE TRIGGER passages_removed AFTER DELETE ON passages BEGIN
    DELETE FROM vectors WHERE text_hash = old.text_hash
    AND NOT EXISTS (SELECT 1 FROM passages WHERE text_hash = old.text_hash);
    DELETE FROM word_vectors WHERE text_hash = old.text_hash
    AND NOT EXISTS (SELECT 1 FROM passages WHERE text_hash = old.text_hash);
END;
"""
