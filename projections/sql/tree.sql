-- The Merkle tree over a journal's event hashes.

-- name: filled
-- How many subtrees of each level are there.
SELECT level, max(index) + 1 FROM skuggbok.tree WHERE larp = %(larp)s GROUP BY level;

-- name: leaves
-- The hashes of events in a row.
SELECT hash FROM skuggbok.event WHERE larp = %(larp)s AND position > %(first)s AND position <= %(end)s
ORDER BY position;

-- name: nodes
-- Subtrees of one level in a row.
SELECT hash FROM skuggbok.tree WHERE larp = %(larp)s AND level = %(level)s AND index >= %(first)s AND index < %(end)s
ORDER BY index;

-- name: fill
-- Keep subtrees; another process may have done so meanwhile.
INSERT INTO skuggbok.tree (larp, level, index, hash)
SELECT %(larp)b::integer, %(level)b::smallint, made.* FROM unnest(%(index)b, %(hash)b) AS made
ON CONFLICT ON CONSTRAINT tree_pkey DO NOTHING;

-- name: parts
-- What some subtrees consist of: of each, the hashes of one level in a row.
SELECT part.level, part.index, part.hash
FROM unnest(%(level)b, %(first)b, %(end)b) AS wanted (level, first, end_)
CROSS JOIN LATERAL (
    SELECT 0::bigint AS level, event.position - 1 AS index, event.hash
    FROM skuggbok.event
    WHERE wanted.level = 0 AND event.larp = %(larp)b
      AND event.position > wanted.first AND event.position <= wanted.end_
    UNION ALL
    SELECT tree.level, tree.index, tree.hash
    FROM skuggbok.tree
    WHERE wanted.level > 0 AND tree.larp = %(larp)b AND tree.level = wanted.level
      AND tree.index >= wanted.first AND tree.index < wanted.end_
) part;

-- name: hash_at
-- The hash of one event.
SELECT hash FROM skuggbok.event WHERE larp = %(larp)s AND position = %(position)s;

-- name: hashes
-- All hashes of a journal, for reading it whole.
SELECT position, hash FROM skuggbok.event WHERE larp = %(larp)s ORDER BY position;

-- name: signing_key
-- The key that signs this database's checkpoints.
SELECT key FROM skuggbok.signing_key;

-- name: make_signing_key
-- The first process makes it.
INSERT INTO skuggbok.signing_key (key) VALUES (%(key)s) ON CONFLICT DO NOTHING;

-- name: imported
-- Remember that a LARP came from an export.
INSERT INTO skuggbok.imported (larp, position) VALUES (%(larp)s, %(position)s);
