-- Who and what there is in a LARP.

-- name: statement
-- Assets and characters that were added, and characters whose name or limits changed.
directory_asset AS (
    INSERT INTO skuggbok.asset (larp, asset, kind, name, position)
    SELECT head.larp, a.* FROM head, unnest(%(asset)b, %(asset_kind)b, %(asset_name)b, %(asset_position)b) AS a
), directory_character AS (
    INSERT INTO skuggbok.character (larp, character, name, credit_limit, position)
    SELECT head.larp, c.character, c.name, c.credit_limit::jsonb, c.position
    FROM head, unnest(%(added)b, %(added_name)b, %(added_limit)b, %(added_position)b)
        AS c (character, name, credit_limit, position)
), directory_changed AS (
    UPDATE skuggbok.character
    SET name = coalesce(c.name, character.name),
        credit_limit = character.credit_limit || c.credit_limit::jsonb,
        position = c.position
    FROM head, unnest(%(changed)b, %(changed_name)b, %(changed_limit)b, %(changed_position)b)
        AS c (character, name, credit_limit, position)
    WHERE character.larp = head.larp AND character.character = c.character
)
