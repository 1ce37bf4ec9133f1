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
