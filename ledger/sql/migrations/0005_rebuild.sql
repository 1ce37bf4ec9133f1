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
