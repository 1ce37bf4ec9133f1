-- The whole schema as it is now: what all migrations together make. A test compares the two.
-- Every key begins with the LARP, so that the tables can be sharded by it. Slugs sort by code point ("C").

-- A LARP's number never leaves the database; its slug is what the hashes cover.
CREATE TABLE skuggbok.larp (
    larp integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug text COLLATE "C" NOT NULL,
    CONSTRAINT larp_slug_key UNIQUE (slug)
);

-- Where each journal ends. An append is a compare-and-swap on this row.
CREATE TABLE skuggbok.head (
    larp integer PRIMARY KEY REFERENCES skuggbok.larp,
    position bigint NOT NULL CHECK (position >= 0),
    hash bytea NOT NULL CHECK (length(hash) = 32)
) WITH (fillfactor = 20);

-- The journal. `body` is the text that is hashed; the other columns repeat what it says, for filters.
CREATE TABLE skuggbok.event (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    position bigint NOT NULL CHECK (position >= 1),
    recorded_at timestamptz NOT NULL,
    at timestamptz NOT NULL,
    type text COLLATE "C" NOT NULL,
    table_ text COLLATE "C",
    character_ text COLLATE "C",
    hash bytea NOT NULL CHECK (length(hash) = 32),
    body bytea NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (larp, position)
);
CREATE INDEX event_table ON skuggbok.event (larp, table_, position) WHERE table_ IS NOT NULL;
CREATE INDEX event_character ON skuggbok.event (larp, character_, position) WHERE character_ IS NOT NULL;
CREATE INDEX event_type ON skuggbok.event (larp, type, position);

CREATE FUNCTION skuggbok.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the journal is append-only: % on %.% is refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'event_append_only';
END $$;

CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON skuggbok.event
    FOR EACH ROW EXECUTE FUNCTION skuggbok.refuse_change();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON skuggbok.event
    FOR EACH STATEMENT EXECUTE FUNCTION skuggbok.refuse_change();

-- What the commitments in the journal hide. `uncovered`: the position that showed it, if any did.
CREATE TABLE skuggbok.secret (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    commitment text COLLATE "C" NOT NULL,
    seat text COLLATE "C",
    what text NOT NULL,
    nonce text NOT NULL,
    value bytea NOT NULL,
    position bigint NOT NULL,
    uncovered bigint,
    CONSTRAINT secret_pkey PRIMARY KEY (larp, table_, commitment)
) WITH (fillfactor = 80);

-- Books as of some position, to start from; disposable. They hold no secrets.
CREATE TABLE skuggbok.snapshot (
    larp integer PRIMARY KEY REFERENCES skuggbok.larp,
    position bigint NOT NULL,
    hash bytea NOT NULL,
    shape text NOT NULL,
    book bytea NOT NULL
);

-- Access. Tokens are kept as hashes only. `larp` NULL: an admin's.
CREATE TABLE skuggbok.token (
    id text COLLATE "C" PRIMARY KEY,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    larp integer REFERENCES skuggbok.larp,
    role text NOT NULL CHECK (role IN ('admin', 'organiser', 'banker', 'keeper', 'player', 'tool')),
    character text COLLATE "C",
    label text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT token_hash_key UNIQUE (hash),
    CONSTRAINT token_admin_has_no_larp CHECK ((role = 'admin') = (larp IS NULL)),
    CONSTRAINT token_player_has_character CHECK ((role = 'player') = (character IS NOT NULL))
);
CREATE INDEX token_larp ON skuggbok.token (larp, id);

-- ---- projections ----

CREATE TABLE skuggbok.asset (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    asset text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('token', 'promise', 'internal')),
    name text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (larp, asset)
);

CREATE TABLE skuggbok.character (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    character text COLLATE "C" NOT NULL,
    name text NOT NULL,
    credit_limit jsonb NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (larp, character)
);

-- What is in each account. Accounts that are empty again stay, with 0.
CREATE TABLE skuggbok.balance (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    account text COLLATE "C" NOT NULL,
    asset text COLLATE "C" NOT NULL,
    balance bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (larp, account, asset),
    CONSTRAINT balance_not_negative CHECK (balance >= 0 OR account = 'mint' OR starts_with(account, 'debtor/')),
    CONSTRAINT balance_in_range CHECK (balance BETWEEN -9007199254740991 AND 9007199254740991)
) WITH (fillfactor = 60);
-- Who holds a character's notes.
CREATE INDEX balance_note ON skuggbok.balance (larp, asset, account) WHERE starts_with(asset, 'iou/');

-- Each movement with the balance after it: a balance as of a position is one probe. `line` counts within the event.
CREATE TABLE skuggbok.entry (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    account text COLLATE "C" NOT NULL,
    asset text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    line integer NOT NULL,
    change bigint NOT NULL CHECK (change <> 0),
    balance bigint NOT NULL,
    PRIMARY KEY (larp, account, asset, position, line),
    CONSTRAINT entry_not_negative CHECK (balance >= 0 OR account = 'mint' OR starts_with(account, 'debtor/'))
);

-- What each seat paid into a table and got out of it, notes as iou/D/asset.
CREATE TABLE skuggbok.pot (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    character text COLLATE "C" NOT NULL,
    asset text COLLATE "C" NOT NULL,
    paid_in bigint NOT NULL,
    paid_out bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (larp, table_, character, asset)
) WITH (fillfactor = 70);

-- Each table as everybody may see it.
CREATE TABLE skuggbok.game_table (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    phase text NOT NULL,
    position bigint NOT NULL,
    view bytea NOT NULL,
    PRIMARY KEY (larp, table_)
) WITH (fillfactor = 50);

-- ---- privileges: the service may append to the journal, and neither change nor delete ----

GRANT USAGE ON SCHEMA skuggbok TO skuggbok_service;
GRANT SELECT, INSERT ON skuggbok.larp, skuggbok.event TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE (position, hash) ON skuggbok.head TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE (uncovered) ON skuggbok.secret TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE ON skuggbok.snapshot TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE (revoked_at) ON skuggbok.token TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    skuggbok.asset, skuggbok.character, skuggbok.balance, skuggbok.entry, skuggbok.pot, skuggbok.game_table
    TO skuggbok_service;
-- Idempotency keys: what came of a command, found again by whoever sent it. Kept as long as the journal.

-- A secret of this database, for keyed hashes. One row.
CREATE TABLE skuggbok.secret_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO skuggbok.secret_key (key)
VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Keys and bodies are remembered as keyed hashes only: nobody guesses a sealed hand by replaying.
CREATE TABLE skuggbok.receipt (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    token text COLLATE "C" NOT NULL,
    key_hash bytea NOT NULL CHECK (length(key_hash) = 32),
    said_hash bytea NOT NULL CHECK (length(said_hash) = 32),
    first_position bigint NOT NULL,
    last_position bigint NOT NULL CHECK (last_position >= first_position),
    CONSTRAINT receipt_pkey PRIMARY KEY (larp, token, key_hash)
);

GRANT SELECT ON skuggbok.secret_key TO skuggbok_service;
GRANT SELECT, INSERT ON skuggbok.receipt TO skuggbok_service;
