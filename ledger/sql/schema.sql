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
    ends text, -- of commands that were carried out together: the last position of each, in order
    CONSTRAINT receipt_pkey PRIMARY KEY (larp, token, key_hash)
);

GRANT SELECT ON skuggbok.secret_key TO skuggbok_service;
GRANT SELECT, INSERT ON skuggbok.receipt TO skuggbok_service;

-- A token that was made with an idempotency key is derived from it, and so can be shown again without being kept.
ALTER TABLE skuggbok.token
    ADD COLUMN once_hash bytea CONSTRAINT token_once_key UNIQUE CHECK (length(once_hash) = 32),
    ADD COLUMN said_hash bytea CHECK (length(said_hash) = 32);
-- What tables tell beside their views: rounds that are over, results, where the lids went, and the dice that were seen.

-- What came of each round, as JSON as it is shown. Rounds are numbered in the order of their positions.
CREATE TABLE skuggbok.round (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    round bytea NOT NULL,
    PRIMARY KEY (larp, table_, position)
);

-- How each table ended. `opened`, `closed`: the positions of those events; `how` and `closed` NULL: it is open.
CREATE TABLE skuggbok.result (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    opened bigint NOT NULL,
    closed bigint,
    how text CHECK (how IN ('won', 'drawn', 'lost', 'burnt', 'voided')),
    winner text COLLATE "C",
    loser text COLLATE "C",
    position bigint NOT NULL,
    PRIMARY KEY (larp, table_),
    CONSTRAINT result_ends_somehow CHECK ((closed IS NULL) = (how IS NULL))
) WITH (fillfactor = 80);

-- The lids in the middle and before each seat, as they last lay in each half.
CREATE TABLE skuggbok.lid (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    half text NOT NULL CHECK (half IN ('1', '2', 'final')),
    account text COLLATE "C" NOT NULL,
    lids bigint NOT NULL CHECK (lids >= 0),
    position bigint NOT NULL,
    PRIMARY KEY (larp, table_, half, account)
) WITH (fillfactor = 70);

-- Who gave whom how many lids. `round` NULL: they were laid out or put away. `line` counts within the event.
CREATE TABLE skuggbok.lid_move (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    line integer NOT NULL,
    half text NOT NULL CHECK (half IN ('1', '2', 'final')),
    round integer,
    from_ text COLLATE "C" NOT NULL,
    to_ text COLLATE "C" NOT NULL,
    lids bigint NOT NULL CHECK (lids > 0),
    PRIMARY KEY (larp, table_, position, line)
);

-- How often each face of each die was seen. `dice`: whether the service rolled them.
CREATE TABLE skuggbok.die (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    table_ text COLLATE "C" NOT NULL,
    game text COLLATE "C" NOT NULL,
    die text COLLATE "C" NOT NULL,
    face text COLLATE "C" NOT NULL,
    dice text NOT NULL CHECK (dice IN ('reported', 'service')),
    seen bigint NOT NULL CHECK (seen > 0),
    position bigint NOT NULL,
    PRIMARY KEY (larp, table_, die, face)
) WITH (fillfactor = 70);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    skuggbok.round, skuggbok.result, skuggbok.lid, skuggbok.lid_move, skuggbok.die
    TO skuggbok_service;
-- Corrections, beside what they correct.

-- Which event reversed which. Each is reversed once at most, and a reversal reverses one.
CREATE TABLE skuggbok.reversal (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    original bigint NOT NULL,
    position bigint NOT NULL CHECK (position > original),
    PRIMARY KEY (larp, original),
    CONSTRAINT reversal_position_key UNIQUE (larp, position)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON skuggbok.reversal TO skuggbok_service;
-- Which version of each projection is written, and which of them have to be rebuilt.

-- The versions that the service has written since it last started.
CREATE TABLE skuggbok.projection (
    name text COLLATE "C" PRIMARY KEY,
    version integer NOT NULL CHECK (version >= 1)
);
-- What was there before this table was is of these versions.
INSERT INTO skuggbok.projection (name, version)
VALUES ('directory', 1), ('balances', 1), ('entries', 1), ('pots', 1), ('tables', 1);

-- A LARP's projections that are not what its journal says: another version wrote them, or could not apply `position`.
CREATE TABLE skuggbok.stale_projection (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    name text COLLATE "C" NOT NULL,
    position bigint,
    reason text NOT NULL,
    PRIMARY KEY (larp, name)
);

GRANT SELECT, INSERT, UPDATE ON skuggbok.projection TO skuggbok_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON skuggbok.stale_projection TO skuggbok_service;
-- Merkle trees over the event hashes, for checkpoints and proofs. Filled when they are asked for, not by appends.

-- Roots of complete subtrees: 256^level events, the first at position index * 256^level + 1. Leaves are not repeated.
CREATE TABLE skuggbok.tree (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    level smallint NOT NULL CHECK (level >= 1),
    index bigint NOT NULL CHECK (index >= 0),
    hash bytea NOT NULL CHECK (length(hash) = 32),
    CONSTRAINT tree_pkey PRIMARY KEY (larp, level, index)
);

-- The Ed25519 key that signs checkpoints, where many processes share a database. One row, made at the first need;
-- an embedded database has it in a file instead.
CREATE TABLE skuggbok.signing_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    key bytea NOT NULL CHECK (length(key) = 32)
);

-- LARPs that came from an exported journal, up to which position. What lay hidden then is not in an export.
CREATE TABLE skuggbok.imported (
    larp integer PRIMARY KEY REFERENCES skuggbok.larp,
    position bigint NOT NULL CHECK (position >= 1),
    imported_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT ON skuggbok.tree, skuggbok.signing_key, skuggbok.imported TO skuggbok_service;
-- Webhooks: where a LARP's events are sent to, how far each of them got, and what its requests are signed with.

-- `position`: the last event that was delivered, or that its types pass over. `attempts`: failed ones, of the event
-- after it, the next of them not before `due_at`. `revision` moves with whatever an organiser changes, so that an
-- attempt that was under way meanwhile does not count. `leased_by`: the process that delivers it, until `leased_until`.
CREATE TABLE skuggbok.webhook (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    types text[], -- NULL: all
    label text,
    created_at timestamptz NOT NULL,
    switched_off text CHECK (switched_off IN ('disabled', 'gone', 'exhausted')), -- NULL: it is on
    revision bigint NOT NULL DEFAULT 1,
    position bigint NOT NULL CHECK (position >= 0),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    due_at timestamptz NOT NULL,
    leased_by text,
    leased_until timestamptz,
    success_at timestamptz,
    success_position bigint,
    success_status integer,
    failure_at timestamptz,
    failure_position bigint,
    failure_status integer,
    failure_reason text,
    CONSTRAINT webhook_pkey PRIMARY KEY (larp, id),
    CONSTRAINT webhook_lease_ends CHECK ((leased_by IS NULL) = (leased_until IS NULL))
) WITH (fillfactor = 50);

-- What a webhook's secrets are derived from, together with the database's own key; neither is a secret without the
-- other. `until` NULL: the current one; others sign beside it until then.
CREATE TABLE skuggbok.webhook_secret (
    larp integer NOT NULL,
    webhook text COLLATE "C" NOT NULL,
    salt bytea NOT NULL CHECK (length(salt) = 32),
    created_at timestamptz NOT NULL,
    until timestamptz,
    once_hash bytea CHECK (length(once_hash) = 32), -- of the idempotency key with which it was made
    said_hash bytea CHECK (length(said_hash) = 32),
    CONSTRAINT webhook_secret_pkey PRIMARY KEY (larp, webhook, salt),
    CONSTRAINT webhook_secret_once_key UNIQUE (larp, once_hash),
    CONSTRAINT webhook_secret_webhook FOREIGN KEY (larp, webhook) REFERENCES skuggbok.webhook ON DELETE CASCADE
);
CREATE UNIQUE INDEX webhook_secret_current ON skuggbok.webhook_secret (larp, webhook) WHERE until IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON skuggbok.webhook, skuggbok.webhook_secret TO skuggbok_service;
-- Events and entries take their LARP's number from its head, which refers to the LARP and is never deleted. Asking the
-- same for each row once more took a quarter of the time of an append.
ALTER TABLE skuggbok.event DROP CONSTRAINT event_larp_fkey;
ALTER TABLE skuggbok.entry DROP CONSTRAINT entry_larp_fkey;
-- No plan may depend on which LARPs there were when statistics were last taken. With one long LARP in them the planner
-- expects nothing of any other, and begins with all events of a new one; without, it expects some of every LARP.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'skuggbok'::regnamespace AND relkind = 'r' AND attname = 'larp' AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE skuggbok.%I ALTER COLUMN larp SET STATISTICS 0', name);
        -- Those that there are stay otherwise, and grow old. Before PostgreSQL 18 nobody can take them away.
        IF to_regproc('pg_clear_attribute_stats') IS NOT NULL THEN
            EXECUTE format('SELECT pg_clear_attribute_stats(%L, %L, %L, false)', 'skuggbok', name, 'larp');
        END IF;
    END LOOP;
END $$;
