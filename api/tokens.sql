-- Tokens: who may ask. Only hashes are kept.

-- name: find
-- Who shows some tokens, of those that are valid now.
SELECT token.hash, token.id, token.role, larp.slug, token.character
FROM skuggbok.token LEFT JOIN skuggbok.larp USING (larp)
WHERE token.hash = ANY ($1)
  AND token.revoked_at IS NULL AND (token.expires_at IS NULL OR token.expires_at > now());

-- name: larp
-- A LARP's number. A LARP is one from its first event on.
SELECT larp.larp FROM skuggbok.larp JOIN skuggbok.head USING (larp)
WHERE larp.slug = %(larp)s AND head.position > 0;

-- name: has_character
-- Whether a character exists in a LARP.
SELECT EXISTS (SELECT FROM skuggbok.character WHERE larp = %(larp)s AND character = %(character)s);

-- name: create
-- A new token; `larp` NULL for an admin's.
INSERT INTO skuggbok.token (id, hash, larp, role, character, label, created_at, expires_at, once_hash, said_hash)
VALUES (
    %(id)s, %(hash)s, %(larp)s, %(role)s, %(character)s, %(label)s, now(), %(expires_at)s, %(once_hash)s, %(said_hash)s
)
ON CONFLICT ON CONSTRAINT token_once_key DO NOTHING
RETURNING id, role, character, label, created_at, expires_at, revoked_at;

-- name: made_once
-- The token that was made with an idempotency key before, and what was said then.
SELECT said_hash, id, role, character, label, created_at, expires_at, revoked_at
FROM skuggbok.token WHERE once_hash = %(once_hash)s;

-- name: list
-- The tokens of a LARP, the oldest first.
SELECT id, role, character, label, created_at, expires_at, revoked_at
FROM skuggbok.token
WHERE larp = %(larp)s AND (%(after)s::text IS NULL OR id > %(after)s)
ORDER BY id LIMIT %(limit)s;

-- name: revoke
-- End a token of the LARP, or, for an admin, an admin's. Once revoked it stays so, as of the first time.
UPDATE skuggbok.token SET revoked_at = coalesce(revoked_at, now())
WHERE id = %(id)s AND (larp = %(larp)s OR (%(admins)s AND larp IS NULL))
RETURNING id, pg_notify('skuggbok_revoked', id);

-- name: is_valid
-- Whether a token is valid now.
SELECT EXISTS (
    SELECT FROM skuggbok.token
    WHERE id = %(id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
);

-- name: given_admin
-- The admin token that the settings name; nothing if it is known already.
INSERT INTO skuggbok.token (id, hash, role, label, created_at)
VALUES (%(id)s, %(hash)s, 'admin', %(label)s, now())
ON CONFLICT ON CONSTRAINT token_hash_key DO NOTHING;

-- name: lock
-- One process at a time makes the first admin token.
SELECT pg_advisory_xact_lock(%(key)s);

-- name: has_admin
-- Whether there has ever been an admin token.
SELECT EXISTS (SELECT FROM skuggbok.token WHERE larp IS NULL);
