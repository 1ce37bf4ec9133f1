-- What is in each account.

-- name: statement
-- The newest balance of every account that the batch moved.
balances AS (
    INSERT INTO skuggbok.balance (larp, account, asset, balance, position)
    SELECT head.larp, b.*
    FROM head, unnest(%(balance_account)b, %(balance_asset)b, %(balance)b, %(balance_position)b) AS b
    ON CONFLICT (larp, account, asset) DO UPDATE SET balance = excluded.balance, position = excluded.position
)
