-- Webhooks: where a LARP's events are sent to, how far each of them got, and what its requests are signed with.

-- `position`: the last event that was delivered, or that its types pass over. `attempts`: failed ones, of the event
-- after it, the next of them not before `due_at`. `revision` moves with whatever an organiser changes, so that an
-- attempt that was under way meanwhile does not count. `leased_by`: the process that delivers it, until `leased_until`.
CREATE TABLE skuggbok.webhook (
    larp integer NOT NULL REFERENCES skuggbok.larp,
    id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    types text[], -- NULL: all
    label text,
    created_at timestamptz NOT NULL,
    switched_off text CHECK (switched_off IN ('disabled', 'gone', 'exhausted')), -- NULL: it is on
    revision bigint NOT NULL DEFAULT 1,
    position bigint NOT NULL CHECK (position >= 0),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    due_at timestamptz NOT NULL,
    leased_by text,
    leased_until timestamptz,
    success_at timestamptz,
    success_position bigint,
    success_status integer,
    failure_at timestamptz,
    failure_position bigint,
    failure_status integer,
    failure_reason text,
    CONSTRAINT webhook_pkey PRIMARY KEY (larp, id),
    CONSTRAINT webhook_lease_ends CHECK ((leased_by IS NULL) = (leased_until IS NULL))
) WITH (fillfactor = 50);

-- What a webhook's secrets are derived from, together with the database's own key; neither is a secret without the
-- other. `until` NULL: the current one; others sign beside it until then.
CREATE TABLE skuggbok.webhook_secret (
    larp integer NOT NULL,
    webhook text COLLATE "C" NOT NULL,
    salt bytea NOT NULL CHECK (length(salt) = 32),
    created_at timestamptz NOT NULL,
    until timestamptz,
    once_hash bytea CHECK (length(once_hash) = 32), -- of the idempotency key with which it was made
    said_hash bytea CHECK (length(said_hash) = 32),
    CONSTRAINT webhook_secret_pkey PRIMARY KEY (larp, webhook, salt),
    CONSTRAINT webhook_secret_once_key UNIQUE (larp, once_hash),
    CONSTRAINT webhook_secret_webhook FOREIGN KEY (larp, webhook) REFERENCES skuggbok.webhook ON DELETE CASCADE
);
CREATE UNIQUE INDEX webhook_secret_current ON skuggbok.webhook_secret (larp, webhook) WHERE until IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON skuggbok.webhook, skuggbok.webhook_secret TO skuggbok_service;
