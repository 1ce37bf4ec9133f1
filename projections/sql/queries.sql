-- What the API asks. Each query answers a whole page; none runs once an item.

-- name: larps
-- LARPs by name; a journal without an event is none yet.
SELECT larp.slug AS larp, event.body AS founded, head.position,
       (SELECT count(*) FROM skuggbok.character c WHERE c.larp = larp.larp) AS characters,
       (SELECT count(*) FROM skuggbok.asset a WHERE a.larp = larp.larp) AS assets,
       (SELECT count(*) FROM skuggbok.game_table t WHERE t.larp = larp.larp) AS tables
FROM skuggbok.larp
JOIN skuggbok.head USING (larp)
JOIN skuggbok.event ON event.larp = larp.larp AND event.position = 1
WHERE larp.slug > %(after)s AND (%(only)s::text IS NULL OR larp.slug = %(only)s)
ORDER BY larp.slug LIMIT %(limit)s;

-- name: number
-- The number of a LARP and its head.
SELECT larp, position FROM skuggbok.larp JOIN skuggbok.head USING (larp) WHERE slug = %(slug)s AND position > 0;

-- name: head
-- The number of a LARP, where its journal ends, and its last hash.
SELECT larp, position, hash FROM skuggbok.larp JOIN skuggbok.head USING (larp) WHERE slug = %(slug)s AND position > 0;

-- name: characters
-- Characters by name.
SELECT character, name, credit_limit, position FROM skuggbok.character
WHERE larp = %(larp)s AND character > %(after)s ORDER BY character LIMIT %(limit)s;

-- name: assets
-- Assets by name.
SELECT asset, kind, name FROM skuggbok.asset
WHERE larp = %(larp)s AND asset > %(after)s ORDER BY asset LIMIT %(limit)s;

-- name: purses
-- Purses by character, one or a page: tokens, notes held, and notes owed with whoever or whatever holds them.
WITH page AS (
    SELECT larp, character, name FROM skuggbok.character
    WHERE larp = %(larp)s AND character > %(after)s AND (%(only)s::text IS NULL OR character = %(only)s)
    ORDER BY character LIMIT %(limit)s
)
SELECT page.character, page.name, head.position,
       coalesce(held.amounts, '{}') AS held,
       coalesce(owed.notes, '[]') AS owes
FROM page
JOIN skuggbok.head ON head.larp = page.larp
LEFT JOIN LATERAL (
    SELECT json_object_agg(b.asset, b.balance ORDER BY b.asset) AS amounts
    FROM skuggbok.balance b
    WHERE b.larp = page.larp AND b.account = 'purse/' || page.character AND b.balance <> 0
) held ON true
LEFT JOIN LATERAL (
    SELECT json_agg(json_build_array(b.account, b.asset, b.balance) ORDER BY b.asset, b.account) AS notes
    FROM skuggbok.balance b
    WHERE b.larp = page.larp AND starts_with(b.asset, 'iou/')
      AND b.asset > 'iou/' || page.character || '/' AND b.asset < 'iou/' || page.character || '0' AND b.balance > 0
) owed ON true
ORDER BY page.character;

-- name: statement
-- The newest movements of some accounts: the newest of each of their assets, put together; and what corrected them.
SELECT entry.position, entry.line, event.at, event.recorded_at, event.type, event.table_ AS table,
       entry.account, entry.asset, entry.change, entry.balance,
       event.recorded_at - event.at > %(late)s AS late,
       reversed.position AS reversed_by, reverses.original AS reverses, voided.position AS voided_by
FROM (
    SELECT account, asset FROM skuggbok.balance WHERE larp = %(larp)s AND account = ANY (%(accounts)s)
) held
CROSS JOIN LATERAL (
    SELECT e.* FROM skuggbok.entry e
    WHERE e.larp = %(larp)s AND e.account = held.account AND e.asset = held.asset
      AND (e.position, e.line) < (%(position)s, %(line)s) AND e.position <= %(until)s
    ORDER BY e.position DESC, e.line DESC LIMIT %(limit)s
) entry
JOIN skuggbok.event ON event.larp = %(larp)s AND event.position = entry.position
LEFT JOIN skuggbok.reversal reversed
    ON reversed.larp = %(larp)s AND reversed.original = entry.position AND reversed.position <= %(until)s
LEFT JOIN skuggbok.reversal reverses ON reverses.larp = %(larp)s AND reverses.position = entry.position
LEFT JOIN skuggbok.game_table voided
    ON voided.larp = %(larp)s AND voided.table_ = event.table_ AND voided.phase = 'voided'
    AND voided.position > entry.position AND voided.position <= %(until)s
ORDER BY entry.position DESC, entry.line DESC LIMIT %(limit)s;

-- name: statement_by_at
-- The same by when it happened: all movements of the purse are looked at, for nothing sorts them by that.
SELECT entry.position, entry.line, event.at, event.recorded_at, event.type, event.table_ AS table,
       entry.account, entry.asset, entry.change, entry.balance,
       event.recorded_at - event.at > %(late)s AS late,
       reversed.position AS reversed_by, reverses.original AS reverses, voided.position AS voided_by
FROM (
    SELECT e.* FROM skuggbok.balance held
    JOIN skuggbok.entry e ON e.larp = held.larp AND e.account = held.account AND e.asset = held.asset
    WHERE held.larp = %(larp)s AND held.account = ANY (%(accounts)s) AND e.position <= %(until)s
) entry
JOIN skuggbok.event ON event.larp = %(larp)s AND event.position = entry.position
LEFT JOIN skuggbok.reversal reversed
    ON reversed.larp = %(larp)s AND reversed.original = entry.position AND reversed.position <= %(until)s
LEFT JOIN skuggbok.reversal reverses ON reverses.larp = %(larp)s AND reverses.position = entry.position
LEFT JOIN skuggbok.game_table voided
    ON voided.larp = %(larp)s AND voided.table_ = event.table_ AND voided.phase = 'voided'
    AND voided.position > entry.position AND voided.position <= %(until)s
WHERE (event.at, entry.position, entry.line) < (
    coalesce((SELECT seen.at FROM skuggbok.event seen WHERE seen.larp = %(larp)s AND seen.position = %(position)s),
             'infinity'),
    %(position)s, %(line)s
)
ORDER BY event.at DESC, entry.position DESC, entry.line DESC LIMIT %(limit)s;

-- name: tables
-- Tables by name.
SELECT table_, view FROM skuggbok.game_table
WHERE larp = %(larp)s AND table_ > %(after)s
  AND (%(game)s::text IS NULL OR game = %(game)s) AND (%(phase)s::text IS NULL OR phase = %(phase)s)
ORDER BY table_ LIMIT %(limit)s;

-- name: table
-- One table.
SELECT view FROM skuggbok.game_table WHERE larp = %(larp)s AND table_ = %(table)s;

-- name: sealed
-- What is hidden at a table, the newest first; with a seat what that seat hides.
SELECT seat, what, value, position, commitment FROM skuggbok.secret
WHERE larp = %(larp)s AND table_ = %(table)s AND uncovered IS NULL AND (%(seat)s::text IS NULL OR seat = %(seat)s)
ORDER BY position DESC, what;

-- name: event
-- One event.
SELECT position, body, hash FROM skuggbok.event WHERE larp = %(larp)s AND position = %(position)s;

-- name: position_at
-- The last position recorded at or before a time: `recorded_at` never runs backwards, so a search by halves finds it.
WITH RECURSIVE search (low, high) AS (
    SELECT 0::bigint, %(head)s::bigint
    UNION ALL
    SELECT CASE WHEN probe.recorded_at <= %(time)s THEN middle ELSE low END,
           CASE WHEN probe.recorded_at <= %(time)s THEN high ELSE middle - 1 END
    FROM search
    CROSS JOIN LATERAL (SELECT (low + high + 1) / 2 AS middle) halves
    JOIN skuggbok.event probe ON probe.larp = %(larp)s AND probe.position = middle
    WHERE low < high
)
SELECT low FROM search WHERE low = high;

-- name: events
-- The journal, or those of its events that the filters let through.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s AND position < %(before)s
ORDER BY position LIMIT %(limit)s;

-- name: events_of_table
-- The events of one table.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s AND position < %(before)s AND table_ = %(table)s
  AND (%(type)s::text IS NULL OR type = %(type)s)
ORDER BY position LIMIT %(limit)s;

-- name: events_of_type
-- The events of one type.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s AND position < %(before)s AND type = %(type)s
ORDER BY position LIMIT %(limit)s;

-- name: events_of_accounts
-- The events that moved something in or out of some accounts, or in which a character did something; with
-- `also_accounts` only those that moved something there too, or were that character's (`also_character`) doing.
WITH matching AS (
    SELECT moved.position
    FROM (
        SELECT account, asset FROM skuggbok.balance WHERE larp = %(larp)s AND account = ANY (%(accounts)s)
    ) held
    CROSS JOIN LATERAL (
        SELECT DISTINCT entry.position
        FROM skuggbok.entry
        JOIN skuggbok.event ON event.larp = entry.larp AND event.position = entry.position
        WHERE entry.larp = %(larp)s AND entry.account = held.account AND entry.asset = held.asset
          AND entry.position > %(after)s AND entry.position < %(before)s
          AND (%(type)s::text IS NULL OR event.type = %(type)s)
          AND (%(table)s::text IS NULL OR event.table_ = %(table)s)
          AND (
              %(also_character)s::text IS NULL OR event.character_ = %(also_character)s
              OR EXISTS (
                  SELECT FROM skuggbok.balance other
                  JOIN skuggbok.entry moved USING (larp, account, asset)
                  WHERE other.larp = %(larp)s AND other.account = ANY (%(also_accounts)s)
                    AND moved.position = entry.position
              )
          )
        ORDER BY entry.position LIMIT %(limit)s
    ) moved
    UNION
    (
        SELECT position FROM skuggbok.event
        WHERE larp = %(larp)s AND character_ = %(character)s AND position > %(after)s AND position < %(before)s
          AND (%(type)s::text IS NULL OR type = %(type)s) AND (%(table)s::text IS NULL OR table_ = %(table)s)
        ORDER BY position LIMIT %(limit)s
    )
)
SELECT position, body, hash
FROM (SELECT position FROM matching ORDER BY position LIMIT %(limit)s) page
JOIN skuggbok.event USING (position)
WHERE event.larp = %(larp)s
ORDER BY position;
