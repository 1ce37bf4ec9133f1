-- What tables tell beside their views. Each query answers a whole page.

-- name: rounds
-- The rounds of a table in order, each with its number.
SELECT numbered.number, numbered.position, event.at, numbered.round
FROM (
    SELECT larp, position, round, row_number() OVER (ORDER BY position) AS number
    FROM skuggbok.round WHERE larp = %(larp)s AND table_ = %(table)s
) numbered
JOIN skuggbok.event USING (larp, position)
WHERE numbered.position > %(after)s
ORDER BY numbered.position LIMIT %(limit)s;

-- name: result
-- How a table ended, or that it has not.
SELECT result.how, result.winner, result.loser, opening.at AS opened_at, ending.at AS closed_at
FROM skuggbok.result
JOIN skuggbok.event opening ON opening.larp = result.larp AND opening.position = result.opened
LEFT JOIN skuggbok.event ending ON ending.larp = result.larp AND ending.position = result.closed
WHERE result.larp = %(larp)s AND result.table_ = %(table)s;

-- name: lid_moves
-- The movements of a table's lids in order.
SELECT lid_move.position, lid_move.line, event.at, lid_move.half, lid_move.round, lid_move.from_, lid_move.to_,
       lid_move.lids
FROM skuggbok.lid_move
JOIN skuggbok.event USING (larp, position)
WHERE lid_move.larp = %(larp)s AND lid_move.table_ = %(table)s
  AND (lid_move.position, lid_move.line) > (%(after)s, %(line)s)
ORDER BY lid_move.position, lid_move.line LIMIT %(limit)s;

-- name: lids
-- Where a table's lids last lay in each half.
SELECT half, account, lids FROM skuggbok.lid
WHERE larp = %(larp)s AND table_ = %(table)s ORDER BY half, account;

-- name: dice_of_table
-- The dice of a table.
SELECT game, die, face, dice, seen FROM skuggbok.die
WHERE larp = %(larp)s AND table_ = %(table)s ORDER BY die, face;

-- name: dice
-- The dice of all tables.
SELECT game, die, face, dice, sum(seen)::bigint AS seen FROM skuggbok.die
WHERE larp = %(larp)s GROUP BY game, die, face, dice ORDER BY game, die, dice, face;
