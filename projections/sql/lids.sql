-- Where the lids lie, and how they came there.

-- name: statement
-- Each movement, and the newest count of each place that the batch touched.
lids_moved AS (
    INSERT INTO skuggbok.lid_move (larp, table_, position, line, half, round, from_, to_, lids)
    SELECT head.larp, m.table_, m.position, m.line, m.half, nullif(m.round, 0), m.from_, m.to_, m.lids
    FROM head, unnest(
        %(move_table)b, %(move_position)b, %(move_line)b, %(move_half)b, %(move_round)b, %(move_from)b, %(move_to)b,
        %(move_lids)b
    ) AS m (table_, position, line, half, round, from_, to_, lids)
), lids_lying AS (
    INSERT INTO skuggbok.lid (larp, table_, half, account, lids, position)
    SELECT head.larp, l.*
    FROM head, unnest(%(lid_table)b, %(lid_half)b, %(lid_account)b, %(lids)b, %(lid_position)b) AS l
    ON CONFLICT (larp, table_, half, account) DO UPDATE SET lids = excluded.lids, position = excluded.position
)
