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
