-- Versions of projections, and putting a new version in the place of an old one.

-- name: notice
-- Take down the versions that are written from now on; what another version wrote has to be rebuilt.
WITH changed AS (
    INSERT INTO skuggbok.projection (name, version)
    SELECT name, version FROM unnest(%(names)s::text[], %(versions)s::integer[]) AS written (name, version)
    ON CONFLICT (name) DO UPDATE SET version = excluded.version WHERE projection.version <> excluded.version
    RETURNING name, version
)
INSERT INTO skuggbok.stale_projection (larp, name, reason)
SELECT head.larp, changed.name, 'it was not written by version ' || changed.version
FROM changed CROSS JOIN skuggbok.head WHERE head.position > 0
ON CONFLICT (larp, name) DO NOTHING;

-- name: stale
-- What has to be rebuilt, LARP by LARP.
SELECT larp.slug AS larp, stale.name, stale.position, stale.reason
FROM skuggbok.stale_projection stale JOIN skuggbok.larp USING (larp)
ORDER BY larp.slug, stale.name LIMIT %(limit)s;

-- name: rebuilt
-- Some projections of a LARP are what its journal says.
DELETE FROM skuggbok.stale_projection WHERE larp = %(larp)s AND name = ANY (%(names)s);

-- name: larps
-- LARPs whose journals have begun, by name.
SELECT larp.slug FROM skuggbok.larp JOIN skuggbok.head USING (larp)
WHERE head.position > 0 AND (%(only)s::text IS NULL OR larp.slug = %(only)s) ORDER BY larp.slug;

-- name: columns
-- The columns of a table, and which of them are its key.
SELECT a.attname::text, a.attnum = ANY (i.indkey)
FROM pg_attribute a
JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- name: journal
-- Some events after a position, in order.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s ORDER BY position LIMIT %(limit)s;
