-- Webhooks: what organisers see of them, and what delivering them asks. All times are the database's.

-- name: larp
-- A LARP's number and where its journal ends.
SELECT larp, position FROM skuggbok.larp JOIN skuggbok.head USING (larp) WHERE slug = %(slug)s;

-- name: lock
-- One request at a time makes webhooks and secrets in a LARP: of two with one key the second finds what the first made.
SELECT pg_advisory_xact_lock(%(lock)s, %(larp)s);

-- name: made_once
-- The webhook and the secret that were made with an idempotency key before, and what was said then.
SELECT webhook, salt, said_hash FROM skuggbok.webhook_secret WHERE larp = %(larp)s AND once_hash = %(once_hash)s;

-- name: create
-- A new webhook, unless there are as many as there may be; without a position it begins with what comes next.
INSERT INTO skuggbok.webhook (larp, id, url, types, label, created_at, position, due_at)
SELECT head.larp, %(id)s, %(url)s, %(types)s, %(label)s, now(), coalesce(%(position)s::bigint, head.position), now()
FROM skuggbok.head
WHERE head.larp = %(larp)s
  AND (SELECT count(*) FROM skuggbok.webhook WHERE webhook.larp = %(larp)s) < %(most)s
RETURNING id;

-- name: create_secret
-- The secret that signs from now on.
INSERT INTO skuggbok.webhook_secret (larp, webhook, salt, created_at, once_hash, said_hash)
VALUES (%(larp)s, %(webhook)s, %(salt)s, now(), %(once_hash)s, %(said_hash)s);

-- name: retire_secrets
-- Let all secrets end, none later than it would have.
UPDATE skuggbok.webhook_secret SET until = least(until, now() + %(overlap)s)
WHERE larp = %(larp)s AND webhook = %(webhook)s AND (until IS NULL OR until > now() + %(overlap)s);

-- name: shown
-- The webhooks of a LARP, one or a page, the oldest first.
SELECT webhook.id, webhook.url, webhook.types, webhook.label, webhook.created_at, webhook.switched_off,
       webhook.position, head.position - webhook.position AS backlog, webhook.attempts, webhook.due_at,
       webhook.success_at, webhook.success_position, webhook.success_status,
       webhook.failure_at, webhook.failure_position, webhook.failure_status, webhook.failure_reason,
       convert_from(founded.body, 'UTF8')::json ->> 'id' AS founding_id,
       (SELECT max(until) FROM skuggbok.webhook_secret earlier
        WHERE earlier.larp = webhook.larp AND earlier.webhook = webhook.id AND earlier.until > now()
       ) AS earlier_secrets_until
FROM skuggbok.webhook
JOIN skuggbok.head USING (larp)
JOIN skuggbok.event founded ON founded.larp = webhook.larp AND founded.position = 1
WHERE webhook.larp = %(larp)s AND webhook.id > %(after)s AND (%(only)s::text IS NULL OR webhook.id = %(only)s)
ORDER BY webhook.id LIMIT %(limit)s;

-- name: change
-- What an organiser changes; what is not changed comes as it was.
UPDATE skuggbok.webhook SET
    url = coalesce(%(url)s, url),
    types = CASE WHEN %(has_types)s THEN %(types)s::text[] ELSE types END,
    label = CASE WHEN %(has_label)s THEN %(label)s ELSE label END,
    switched_off = CASE WHEN %(enabled)s::boolean THEN NULL
                        WHEN NOT %(enabled)s::boolean THEN coalesce(switched_off, 'disabled')
                        ELSE switched_off END,
    attempts = 0, due_at = now(), revision = revision + 1
WHERE larp = %(larp)s AND id = %(id)s
RETURNING id;

-- name: replay
-- Begin again behind a position, at once.
UPDATE skuggbok.webhook SET position = %(position)s, attempts = 0, due_at = now(), revision = revision + 1
WHERE larp = %(larp)s AND id = %(id)s
RETURNING id;

-- name: touch
-- Let what is under way not count; the row is ours until the end of the transaction.
UPDATE skuggbok.webhook SET revision = revision + 1 WHERE larp = %(larp)s AND id = %(id)s RETURNING id;

-- name: delete
-- A webhook and its secrets.
DELETE FROM skuggbok.webhook WHERE larp = %(larp)s AND id = %(id)s RETURNING id;

-- name: notify
-- Tell all processes that webhooks are not what they were.
SELECT pg_notify(%(channel)s, %(payload)s);

-- ---- delivering ----

-- name: larps
-- The LARPs whose news somebody waits for.
SELECT DISTINCT slug FROM skuggbok.webhook JOIN skuggbok.larp USING (larp) WHERE switched_off IS NULL;

-- name: claim
-- Take webhooks that are due and that nobody else delivers, those that have waited longest first.
UPDATE skuggbok.webhook SET leased_by = %(leased_by)s, leased_until = now() + %(lease)s
FROM (
    SELECT webhook.larp, webhook.id, larp.slug, convert_from(founded.body, 'UTF8')::json ->> 'id' AS founding_id
    FROM skuggbok.webhook
    JOIN skuggbok.larp ON larp.larp = webhook.larp
    JOIN skuggbok.head ON head.larp = webhook.larp
    JOIN skuggbok.event founded ON founded.larp = webhook.larp AND founded.position = 1
    WHERE webhook.switched_off IS NULL AND webhook.due_at <= now() AND webhook.position < head.position
      AND (webhook.leased_until IS NULL OR webhook.leased_until <= now())
    ORDER BY webhook.due_at LIMIT %(limit)s
    FOR UPDATE OF webhook SKIP LOCKED
) due
WHERE webhook.larp = due.larp AND webhook.id = due.id
RETURNING due.larp, due.slug, due.founding_id, webhook.id, webhook.url, webhook.types, webhook.position,
          webhook.attempts, webhook.revision, webhook.leased_by,
          ARRAY(
              SELECT salt FROM skuggbok.webhook_secret secret
              WHERE secret.larp = due.larp AND secret.webhook = due.id AND (until IS NULL OR until > now())
              ORDER BY created_at DESC LIMIT %(secrets)s
          ) AS salts;

-- name: next_due
-- In how many seconds the next one is due that this process does not deliver already.
SELECT extract(epoch FROM min(greatest(webhook.due_at, webhook.leased_until)) - now())::float8
FROM skuggbok.webhook JOIN skuggbok.head USING (larp)
WHERE webhook.switched_off IS NULL AND webhook.position < head.position
  AND NOT coalesce(starts_with(webhook.leased_by, %(worker)s), false);

-- name: head
-- Where a journal ends.
SELECT position FROM skuggbok.head WHERE larp = %(larp)s;

-- name: pending
-- The next events of the types that are wanted, up to a position.
SELECT position, body, hash FROM skuggbok.event
WHERE larp = %(larp)s AND position > %(after)s AND position <= %(upto)s
  AND (%(types)s::text[] IS NULL OR type = ANY (%(types)s))
ORDER BY position LIMIT %(limit)s;

-- name: delivered
-- An event arrived; the lease goes on.
UPDATE skuggbok.webhook SET
    position = %(position)s, attempts = 0, leased_until = now() + %(lease)s,
    success_at = now(), success_position = %(position)s, success_status = %(status)s
WHERE larp = %(larp)s AND id = %(id)s AND leased_by = %(leased_by)s AND revision = %(revision)s
  AND switched_off IS NULL
RETURNING id;

-- name: failed
-- An attempt failed: the next one is after a while, or none.
UPDATE skuggbok.webhook SET
    attempts = attempts + 1, due_at = now() + %(wait)s, switched_off = coalesce(switched_off, %(switched_off)s),
    failure_at = now(), failure_position = %(position)s, failure_status = %(status)s, failure_reason = %(reason)s
WHERE larp = %(larp)s AND id = %(id)s AND leased_by = %(leased_by)s AND revision = %(revision)s
RETURNING id;

-- name: passed
-- Nothing up to here is wanted that was not delivered. Who was served goes to the end of the queue.
UPDATE skuggbok.webhook SET position = greatest(position, %(position)s), due_at = now()
WHERE larp = %(larp)s AND id = %(id)s AND leased_by = %(leased_by)s AND revision = %(revision)s
  AND switched_off IS NULL;

-- name: release
-- Let others have it.
UPDATE skuggbok.webhook SET leased_by = NULL, leased_until = NULL
WHERE larp = %(larp)s AND id = %(id)s AND leased_by = %(leased_by)s;

-- name: release_all
-- Let others have all that a process had taken.
UPDATE skuggbok.webhook SET leased_by = NULL, leased_until = NULL WHERE starts_with(leased_by, %(worker)s);

-- name: backlog
-- How many events all webhooks that are switched on are behind, and how many of them failed last.
SELECT coalesce(sum(head.position - webhook.position), 0)::bigint AS events,
       count(*) FILTER (WHERE webhook.attempts > 0) AS failing
FROM skuggbok.webhook JOIN skuggbok.head USING (larp) WHERE webhook.switched_off IS NULL;
