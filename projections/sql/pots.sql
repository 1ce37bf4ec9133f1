-- What each seat paid into a table, and what it got out of it.

-- name: statement
-- Added up per seat and asset within the batch.
pots AS (
    INSERT INTO skuggbok.pot (larp, table_, character, asset, paid_in, paid_out, position)
    SELECT head.larp, p.*
    FROM head, unnest(
        %(pot_table)b, %(pot_character)b, %(pot_asset)b, %(pot_in)b, %(pot_out)b, %(pot_position)b
    ) AS p
    ON CONFLICT (larp, table_, character, asset) DO UPDATE
    SET paid_in = pot.paid_in + excluded.paid_in,
        paid_out = pot.paid_out + excluded.paid_out,
        position = excluded.position
)
