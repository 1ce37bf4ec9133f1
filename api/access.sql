-- What admitting a request asks, beside its token.

-- name: sits
-- Whether a character sits at a table that is not over.
SELECT EXISTS (
    SELECT FROM skuggbok.game_table
    JOIN skuggbok.larp USING (larp)
    CROSS JOIN LATERAL json_array_elements(convert_from(view, 'UTF8')::json -> 'seats') AS seat
    WHERE larp.slug = %(larp)s AND phase NOT IN ('closed', 'voided')
      AND seat ->> 'character' = %(character)s AND NOT coalesce((seat ->> 'left')::boolean, false)
);
