-- The past, as of a position. What was recorded later is never read, however much there is of it.

-- name: began
-- When a journal begins.
SELECT recorded_at FROM skuggbok.event WHERE larp = %(larp)s AND position = 1;

-- name: purses
-- Purses by character, one or a page, as `purses` in queries.sql shows them now: an index probe for each balance.
-- `changed`: of a character that was changed since, the name is not what it was.
WITH page AS (
    SELECT c.larp, c.character, c.name, c.position AS changed FROM skuggbok.character c
    WHERE c.larp = %(larp)s AND c.character > %(after)s AND (%(only)s::text IS NULL OR c.character = %(only)s)
      AND (c.position <= %(position)s OR (
          SELECT added.position FROM skuggbok.event added
          WHERE added.larp = c.larp AND added.character_ = c.character ORDER BY added.position LIMIT 1
      ) <= %(position)s)
    ORDER BY c.character LIMIT %(limit)s
)
SELECT page.character, page.name, page.changed,
       coalesce(held.amounts, '{}') AS held, coalesce(owed.notes, '[]') AS owes
FROM page
LEFT JOIN LATERAL (
    SELECT json_object_agg(b.asset, last.balance ORDER BY b.asset) AS amounts
    FROM skuggbok.balance b
    CROSS JOIN LATERAL (
        SELECT e.balance FROM skuggbok.entry e
        WHERE e.larp = b.larp AND e.account = b.account AND e.asset = b.asset AND e.position <= %(position)s
        ORDER BY e.position DESC, e.line DESC LIMIT 1
    ) last
    WHERE b.larp = page.larp AND b.account = 'purse/' || page.character AND last.balance <> 0
) held ON true
LEFT JOIN LATERAL (
    SELECT json_agg(json_build_array(b.account, b.asset, last.balance) ORDER BY b.asset, b.account) AS notes
    FROM skuggbok.balance b
    CROSS JOIN LATERAL (
        SELECT e.balance FROM skuggbok.entry e
        WHERE e.larp = b.larp AND e.account = b.account AND e.asset = b.asset AND e.position <= %(position)s
        ORDER BY e.position DESC, e.line DESC LIMIT 1
    ) last
    WHERE b.larp = page.larp AND starts_with(b.asset, 'iou/')
      AND b.asset > 'iou/' || page.character || '/' AND b.asset < 'iou/' || page.character || '0' AND last.balance > 0
) owed ON true
ORDER BY page.character;

-- name: characters
-- Characters that had been added, by name. Whatever was changed since is not what it was: `position` tells.
SELECT c.character, c.name, c.credit_limit, c.position FROM skuggbok.character c
WHERE c.larp = %(larp)s AND c.character > %(after)s AND (%(only)s::text IS NULL OR c.character = %(only)s)
  AND (c.position <= %(position)s OR (
      SELECT added.position FROM skuggbok.event added
      WHERE added.larp = c.larp AND added.character_ = c.character ORDER BY added.position LIMIT 1
  ) <= %(position)s)
ORDER BY c.character LIMIT %(limit)s;

-- name: changes
-- What was said of some characters until then.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND type = ANY (%(types)s) AND character_ = ANY (%(characters)s) AND position <= %(position)s
ORDER BY position;

-- name: assets
-- Assets that had been defined, by name.
SELECT asset, kind, name FROM skuggbok.asset
WHERE larp = %(larp)s AND asset > %(after)s AND position <= %(position)s ORDER BY asset LIMIT %(limit)s;

-- name: tables
-- Tables that had been opened, by name; with phase and view if nothing has happened at them since.
SELECT t.table_ AS table,
       CASE WHEN t.position <= %(position)s THEN t.phase END AS phase,
       CASE WHEN t.position <= %(position)s THEN t.view END AS view
FROM skuggbok.game_table t
WHERE t.larp = %(larp)s AND t.table_ > %(after)s AND (%(only)s::text IS NULL OR t.table_ = %(only)s)
  AND (%(game)s::text IS NULL OR t.game = %(game)s)
  AND (t.position <= %(position)s OR (
      SELECT opened.position FROM skuggbok.event opened
      WHERE opened.larp = t.larp AND opened.table_ = t.table_ ORDER BY opened.position LIMIT 1
  ) <= %(position)s)
ORDER BY t.table_ LIMIT %(limit)s;

-- name: events_of_tables
-- What had happened at some tables, table by table.
SELECT table_, position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND table_ = ANY (%(tables)s) AND position <= %(position)s ORDER BY table_, position;
