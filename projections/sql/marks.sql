-- What is said beside recorded events and is not in them.

-- name: marks
-- Of some events those that were reversed, whose table was voided, or that were recorded late.
SELECT event.position,
       event.recorded_at - event.at > %(late)s AS late,
       reversal.position AS reversed_by,
       voided.position AS voided_by
FROM skuggbok.event
LEFT JOIN skuggbok.reversal ON reversal.larp = event.larp AND reversal.original = event.position
LEFT JOIN skuggbok.game_table voided
    ON voided.larp = event.larp AND voided.table_ = event.table_ AND voided.phase = 'voided'
    AND voided.position > event.position
WHERE event.larp = (SELECT larp FROM skuggbok.larp WHERE slug = %(slug)s) AND event.position = ANY (%(positions)s)
  AND (event.recorded_at - event.at > %(late)s OR reversal.position IS NOT NULL OR voided.position IS NOT NULL);
