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
