-- Each table as everybody may see it.

-- name: statement
-- The view after the last event of each table in the batch.
tables AS (
    INSERT INTO skuggbok.game_table (larp, table_, game, phase, position, view)
    SELECT head.larp, t.*
    FROM head, unnest(
        %(table)b, %(table_game)b, %(table_phase)b, %(table_position)b, %(table_view)b
    ) AS t
    ON CONFLICT (larp, table_) DO UPDATE
    SET phase = excluded.phase, position = excluded.position, view = excluded.view
)
