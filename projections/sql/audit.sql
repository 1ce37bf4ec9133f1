-- Comparing what is stored with what is derived again.

-- name: journal
-- The whole journal of a LARP, all columns.
SELECT position, body, hash, type, table_ AS table, character_ AS character, at, recorded_at
FROM skuggbok.event WHERE larp = %(larp)s ORDER BY position;

-- name: sums
-- Assets whose balances do not add up to nothing.
SELECT asset, sum(balance) FROM skuggbok.balance WHERE larp = %(larp)s GROUP BY asset HAVING sum(balance) <> 0
ORDER BY asset;

-- name: secrets
-- What is hidden, or was: for checking against the commitments in the journal.
SELECT commitment, nonce, value, position, uncovered FROM skuggbok.secret WHERE larp = %(larp)s ORDER BY position;
