-- Which event reversed which.

-- name: statement
-- The reversals of the batch.
reversals AS (
    INSERT INTO skuggbok.reversal (larp, original, position)
    SELECT head.larp, r.* FROM head, unnest(%(reversal_original)b, %(reversal_position)b) AS r
)
