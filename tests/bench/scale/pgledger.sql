-- Tables like pgledger's (https://github.com/pgr0ss/pgledger, as of July 2026), filled with the postings of a journal.
-- Columns, types and indexes are theirs; references are left out, which take no room. Its ids are 5 characters of
-- prefix and 26 of a ULID, which grow with time: here a number in as many.

CREATE SCHEMA pgledger;

CREATE TABLE pgledger.account (
    id text PRIMARY KEY,
    name text NOT NULL,
    currency text NOT NULL,
    balance numeric NOT NULL,
    version bigint NOT NULL,
    allow_negative_balance boolean NOT NULL,
    allow_positive_balance boolean NOT NULL,
    metadata jsonb,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE pgledger.transfer (
    id text PRIMARY KEY,
    from_account_id text NOT NULL,
    to_account_id text NOT NULL,
    amount numeric NOT NULL,
    created_at timestamptz NOT NULL,
    event_at timestamptz NOT NULL,
    metadata jsonb
);
CREATE INDEX ON pgledger.transfer (from_account_id);
CREATE INDEX ON pgledger.transfer (to_account_id);
CREATE INDEX ON pgledger.transfer (event_at);

CREATE TABLE pgledger.entry (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    transfer_id text NOT NULL,
    amount numeric NOT NULL,
    account_previous_balance numeric NOT NULL,
    account_current_balance numeric NOT NULL,
    account_version bigint NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX ON pgledger.entry (account_id);
CREATE INDEX ON pgledger.entry (transfer_id);

CREATE FUNCTION pgledger.id(prefix text, number bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN prefix || '_' || lpad(number::text, 26, '0');

-- Everything is joined with everything once: what statistics do not know yet must not make it a loop in a loop.
SET LOCAL enable_nestloop = off;

INSERT INTO pgledger.account
SELECT pgledger.id('pgla', row_number() OVER (ORDER BY position, account)), account, asset, balance, movements,
    account = 'mint', true, NULL, now(), now()
FROM (
    SELECT account, asset, b.balance, min(e.position) AS position, count(*) AS movements
    FROM skuggbok.entry e JOIN skuggbok.balance b USING (larp, account, asset)
    GROUP BY account, asset, b.balance
) AS accounts;

-- A posting is its two lines: the one with the even number is what it is taken from.
INSERT INTO pgledger.transfer
SELECT pgledger.id('pglt', one.position), payer.id, payee.id, -one.change, event.recorded_at, event.at,
    jsonb_build_object('memo', convert_from(event.body, 'UTF8')::jsonb -> 'data' -> 'memo')
FROM skuggbok.event
JOIN skuggbok.entry one USING (larp, position)
JOIN skuggbok.entry other USING (larp, position)
JOIN pgledger.account payer ON payer.name = one.account AND payer.currency = one.asset
JOIN pgledger.account payee ON payee.name = other.account AND payee.currency = other.asset
WHERE one.line = 0 AND other.line = 1
ORDER BY position;

INSERT INTO pgledger.entry
SELECT pgledger.id('pgle', row_number() OVER (ORDER BY position, line)), account.id, pgledger.id('pglt', position),
    change, entry.balance - change, entry.balance,
    row_number() OVER (PARTITION BY account.id ORDER BY position, line), event.recorded_at
FROM skuggbok.entry
JOIN skuggbok.event USING (larp, position)
JOIN pgledger.account ON account.name = entry.account AND account.currency = entry.asset
ORDER BY position, line;
