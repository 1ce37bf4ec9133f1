-- Notes: how they moved until a position, and what issued those that lie somewhere.

-- name: note_moves
-- Two rows a posting, from before to, of every kind of note that is owed then: those that a character owes, may hold,
-- or all. Whatever an account held of it at any time has a balance, if only 0.
WITH owed AS MATERIALIZED (
    SELECT b.asset
    FROM skuggbok.balance b
    CROSS JOIN LATERAL (
        SELECT e.balance FROM skuggbok.entry e
        WHERE e.larp = b.larp AND e.account = b.account AND e.asset = b.asset AND e.position <= %(position)s
        ORDER BY e.position DESC, e.line DESC LIMIT 1
    ) last
    WHERE b.larp = %(larp)s AND b.account > 'debtor/' AND b.account < 'debtor0' AND last.balance <> 0
      AND (%(only)s::text IS NULL OR b.account = 'debtor/' || %(only)s OR EXISTS (
          SELECT FROM skuggbok.balance held
          WHERE held.larp = b.larp AND held.account = 'purse/' || %(only)s AND held.asset = b.asset
      ))
)
SELECT e.position, e.asset, e.account, e.change, reversal.original
FROM skuggbok.balance b
CROSS JOIN LATERAL (
    SELECT e.* FROM skuggbok.entry e
    WHERE e.larp = b.larp AND e.account = b.account AND e.asset = b.asset AND e.position <= %(position)s
    OFFSET 0
) e
LEFT JOIN skuggbok.reversal ON reversal.larp = b.larp AND reversal.position = e.position
WHERE b.larp = %(larp)s AND starts_with(b.asset, 'iou/') AND b.asset = ANY (ARRAY(SELECT asset FROM owed))
ORDER BY e.position, e.line;

-- name: origins
-- What issued some notes.
SELECT position, at, recorded_at, type, table_ AS table FROM skuggbok.event
WHERE larp = %(larp)s AND position = ANY (%(positions)s);
