-- How each table ended.

-- name: statement
-- Tables that were opened, some of which have ended in the same batch, and earlier ones that ended.
results_opened AS (
    INSERT INTO skuggbok.result (larp, table_, game, opened, closed, how, winner, loser, position)
    SELECT head.larp, o.table_, o.game, o.opened, nullif(o.closed, 0), o.how, o.winner, o.loser,
           greatest(o.opened, o.closed)
    FROM head, unnest(
        %(opened_table)b, %(opened_game)b, %(opened_position)b, %(opened_closed)b, %(opened_how)b,
        %(opened_winner)b, %(opened_loser)b
    ) AS o (table_, game, opened, closed, how, winner, loser)
), results_ended AS (
    UPDATE skuggbok.result
    SET closed = e.closed, how = e.how, winner = e.winner, loser = e.loser, position = e.closed
    FROM head, unnest(%(ended_table)b, %(ended_position)b, %(ended_how)b, %(ended_winner)b, %(ended_loser)b)
        AS e (table_, closed, how, winner, loser)
    WHERE result.larp = head.larp AND result.table_ = e.table_
)
