-- Comparing what is stored with what is derived again.

-- name: larps
-- LARPs by name whose journals have begun, as far as anything shows it: a head or an event.
SELECT larp.slug FROM skuggbok.larp
WHERE (%(only)s::text IS NULL OR larp.slug = %(only)s)
  AND (EXISTS (SELECT FROM skuggbok.head WHERE head.larp = larp.larp AND head.position > 0)
    OR EXISTS (SELECT FROM skuggbok.event WHERE event.larp = larp.larp))
ORDER BY larp.slug;

-- name: head
-- The number of a LARP, and its head, if there is one.
SELECT larp.larp, head.position, head.hash
FROM skuggbok.larp LEFT JOIN skuggbok.head USING (larp)
WHERE larp.slug = %(slug)s
  AND (head.position > 0 OR EXISTS (SELECT FROM skuggbok.event WHERE event.larp = larp.larp));

-- name: journal
-- The whole journal of a LARP, all columns.
SELECT position, body, hash, type, table_ AS table, character_ AS character, at, recorded_at
FROM skuggbok.event WHERE larp = %(larp)s ORDER BY position;

-- name: sums
-- Assets whose balances do not add up to nothing.
SELECT asset, sum(balance) FROM skuggbok.balance WHERE larp = %(larp)s GROUP BY asset HAVING sum(balance) <> 0
ORDER BY asset;

-- name: snapshot
-- The Book that was kept.
SELECT position, hash, shape, book FROM skuggbok.snapshot WHERE larp = %(larp)s;

-- name: receipts
-- What came of commands that were sent with a key, in the order of their events.
SELECT token, first_position AS first, last_position AS last
FROM skuggbok.receipt WHERE larp = %(larp)s ORDER BY first_position, last_position;

-- name: secrets
-- What is hidden, or was: for checking against the commitments in the journal.
SELECT position, commitment, nonce, value FROM skuggbok.secret WHERE larp = %(larp)s ORDER BY position;

-- name: create_commitments
-- What the journal commits to, to compare with.
CREATE TEMPORARY TABLE commitment (
    table_ text COLLATE "C" NOT NULL,
    commitment text COLLATE "C" NOT NULL,
    seat text COLLATE "C",
    what text NOT NULL,
    position bigint NOT NULL,
    uncovered bigint,
    PRIMARY KEY (table_, commitment)
);

-- name: drop_commitments
-- Leave nothing behind.
DROP TABLE IF EXISTS pg_temp.commitment;

-- name: commit
-- Commitments of some events.
INSERT INTO pg_temp.commitment (table_, commitment, seat, what, position)
SELECT * FROM unnest(%(table)b, %(commitment)b, %(seat)b, %(what)b, %(position)b)
ON CONFLICT DO NOTHING;

-- name: uncover
-- Where some of them were uncovered.
UPDATE pg_temp.commitment SET uncovered = u.position
FROM unnest(%(table)b, %(commitment)b, %(position)b) AS u (table_, commitment, position)
WHERE commitment.table_ = u.table_ AND commitment.commitment = u.commitment AND commitment.uncovered IS NULL;

-- name: differing_secrets
-- What is hidden and not committed to, or the other way round, or not as the journal says.
SELECT c.position, s.position, c.seat, s.seat, c.what, s.what, c.uncovered, s.uncovered
FROM (SELECT * FROM skuggbok.secret WHERE larp = %(larp)s) s
FULL JOIN pg_temp.commitment c USING (table_, commitment)
WHERE (c.position, c.seat, c.what, c.uncovered) IS DISTINCT FROM (s.position, s.seat, s.what, s.uncovered)
  -- What lay hidden when a journal was exported did not come with it.
  AND NOT (s.position IS NULL AND c.uncovered IS NULL
           AND c.position <= (SELECT coalesce(max(position), 0) FROM skuggbok.imported WHERE larp = %(larp)s))
ORDER BY coalesce(c.position, s.position) LIMIT %(limit)s;
