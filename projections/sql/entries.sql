-- Each movement, with the balance after it.

-- name: statement
-- Two entries a posting.
entries AS (
    INSERT INTO skuggbok.entry (larp, account, asset, position, line, change, balance)
    SELECT head.larp, e.*
    FROM head, unnest(
        %(entry_account)b, %(entry_asset)b, %(entry_position)b, %(entry_line)b, %(entry_change)b, %(entry_balance)b
    ) AS e
)
