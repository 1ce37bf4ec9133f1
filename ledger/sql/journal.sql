-- The journal's queries. Every statement that writes is one statement, one commit.

-- name: found
-- A new LARP with an empty journal; nothing if the name is taken.
WITH larp AS (
    INSERT INTO skuggbok.larp (slug) VALUES (%(slug)s) ON CONFLICT ON CONSTRAINT larp_slug_key DO NOTHING
    RETURNING larp
)
INSERT INTO skuggbok.head (larp, position, hash) SELECT larp, 0, %(hash)s FROM larp;

-- name: append_head
-- An append, in parts: move the head, if it is still where it was expected. Nothing is written otherwise.
head AS (
    UPDATE skuggbok.head SET position = %(position)b, hash = %(hash)b
    WHERE larp = %(larp)b AND position = %(expected)b AND hash = %(expected_hash)b
    RETURNING larp
)

-- name: append_event
-- The events.
event AS (
    INSERT INTO skuggbok.event (larp, position, recorded_at, at, type, table_, character_, hash, body)
    SELECT head.larp, batch.*
    FROM head, unnest(
        %(event_position)b, %(event_recorded_at)b, %(event_at)b, %(event_type)b, %(event_table)b,
        %(event_character)b, %(event_hash)b, %(event_body)b
    ) AS batch
)

-- name: append_secret
-- What was hidden.
secret AS (
    INSERT INTO skuggbok.secret (larp, table_, commitment, seat, what, nonce, value, position, uncovered)
    SELECT head.larp, s.table_, s.commitment, s.seat, s.what, s.nonce, s.value, s.position, nullif(s.uncovered, 0)
    FROM head, unnest(
        %(secret_table)b, %(secret_commitment)b, %(secret_seat)b, %(secret_what)b, %(secret_nonce)b, %(secret_value)b,
        %(secret_position)b, %(secret_uncovered)b
    ) AS s (table_, commitment, seat, what, nonce, value, position, uncovered)
)

-- name: append_uncovered
-- What was uncovered.
uncovered AS (
    UPDATE skuggbok.secret SET uncovered = u.position
    FROM head, unnest(%(uncovered_table)b, %(uncovered_commitment)b, %(uncovered_position)b)
        AS u (table_, commitment, position)
    WHERE secret.larp = head.larp AND secret.table_ = u.table_ AND secret.commitment = u.commitment
)

-- name: append_receipt
-- What was sent with a key.
receipt AS (
    INSERT INTO skuggbok.receipt (larp, token, key_hash, said_hash, first_position, last_position, ends)
    SELECT head.larp, r.*
    FROM head, unnest(
        %(receipt_token)b, %(receipt_key)b, %(receipt_said)b, %(receipt_first)b, %(receipt_last)b, %(receipt_ends)b
    ) AS r
)

-- name: append_end
-- A row if it was appended, and a word to whoever listens.
SELECT head.larp, pg_notify('skuggbok', %(notice)b) FROM head;

-- name: secret_key
-- The database's own secret, for keyed hashes.
SELECT key FROM skuggbok.secret_key;

-- name: receipts
-- What came of commands that were sent with a key before.
SELECT receipt.token, receipt.key_hash, receipt.said_hash, receipt.first_position, receipt.last_position, receipt.ends
FROM unnest(%(tokens)b, %(keys)b) AS asked (token, key_hash)
JOIN skuggbok.receipt ON receipt.larp = %(larp)b AND receipt.token = asked.token
    AND receipt.key_hash = asked.key_hash;

-- name: range
-- Some events in a row.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position BETWEEN %(first)s AND %(last)s ORDER BY position;

-- name: of_table
-- The events of one table, up to a position.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND table_ = %(table)s AND position <= %(last)s ORDER BY position;

-- name: head
-- Where a journal ends.
SELECT larp.larp, head.position, head.hash
FROM skuggbok.larp JOIN skuggbok.head USING (larp) WHERE larp.slug = %(slug)s;

-- name: head_locked
-- The same, and nobody else appends before this transaction ends.
SELECT position, hash FROM skuggbok.head WHERE larp = %(larp)s FOR UPDATE;

-- name: snapshot
-- The newest Book of this shape, if the journal still has the event it was taken at.
SELECT snapshot.book
FROM skuggbok.snapshot JOIN skuggbok.event USING (larp, position)
WHERE larp = %(larp)s AND shape = %(shape)s AND event.hash = snapshot.hash;

-- name: save_snapshot
-- Keep a Book, unless there is a newer one of the same shape.
INSERT INTO skuggbok.snapshot (larp, position, hash, shape, book)
VALUES (%(larp)s, %(position)s, %(hash)s, %(shape)s, %(book)s)
ON CONFLICT (larp) DO UPDATE
SET position = excluded.position, hash = excluded.hash, shape = excluded.shape, book = excluded.book
WHERE snapshot.position < excluded.position OR snapshot.shape <> excluded.shape;

-- name: tail
-- The events after a position, in order.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s ORDER BY position;

-- name: events_at
-- Single events.
SELECT position, body, hash FROM skuggbok.event WHERE larp = %(larp)s AND position = ANY (%(positions)s);

-- name: secrets
-- What is still hidden.
SELECT commitment, table_ AS table, seat, what, nonce, value FROM skuggbok.secret
WHERE larp = %(larp)s AND position > %(after)s AND uncovered IS NULL;

-- name: secrets_of_tables
-- What is still hidden at some tables.
SELECT commitment, table_ AS table, seat, what, nonce, value FROM skuggbok.secret
WHERE larp = %(larp)s AND table_ = ANY (%(tables)s) AND uncovered IS NULL;

-- name: halted
-- A projection could not apply the event at a position: only a rebuild takes this note away.
INSERT INTO skuggbok.stale_projection (larp, name, position, reason)
VALUES (%(larp)s, %(name)s, %(position)s, %(reason)s)
ON CONFLICT (larp, name) DO UPDATE SET position = excluded.position, reason = excluded.reason;
