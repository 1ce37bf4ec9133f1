-- How often each face of each die was seen.

-- name: statement
-- Counted per table, die and face within the batch.
dice AS (
    INSERT INTO skuggbok.die (larp, table_, game, die, face, dice, seen, position)
    SELECT head.larp, d.*
    FROM head, unnest(
        %(die_table)b, %(die_game)b, %(die)b, %(die_face)b, %(die_dice)b, %(die_seen)b, %(die_position)b
    ) AS d
    ON CONFLICT (larp, table_, die, face) DO UPDATE
    SET seen = die.seen + excluded.seen, position = excluded.position
)
