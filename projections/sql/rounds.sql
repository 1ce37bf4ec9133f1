-- What came of each round.

-- name: statement
-- The rounds that were over in the batch.
rounds AS (
    INSERT INTO skuggbok.round (larp, table_, position, round)
    SELECT head.larp, r.* FROM head, unnest(%(round_table)b, %(round_position)b, %(round)b) AS r
)
