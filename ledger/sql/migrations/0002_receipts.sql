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
