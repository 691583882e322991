CREATE TABLE public.api_key_secrets (
    hash text NOT NULL,
    key_id text NOT NULL,
    prefix text NOT NULL,
    created_at bigint NOT NULL,
    ends_at bigint,
    checksum bigint
);
CREATE TABLE public.api_keys (
    id text NOT NULL,
    name text NOT NULL,
    environment text NOT NULL,
    plan text NOT NULL,
    per_minute bigint NOT NULL,
    per_day bigint NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    checksum bigint,
    owner text,
    epoch bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    before text NOT NULL,
    after text NOT NULL
);
CREATE TABLE public.bans (
    key_id text NOT NULL,
    started_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    level bigint NOT NULL,
    reason text NOT NULL,
    lifted_at bigint
);
CREATE TABLE public.categories (
    id bigint NOT NULL,
    name text NOT NULL,
    description text,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.category_changes (
    version bigint NOT NULL,
    category_id bigint NOT NULL
);
CREATE TABLE public.category_counter (
    last_id bigint NOT NULL,
    count bigint NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.change_versions (
    kind text NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.console_logins (
    hash text NOT NULL,
    actor text NOT NULL,
    ends_at bigint NOT NULL,
    role text DEFAULT 'admin'::text NOT NULL
);
CREATE TABLE public.console_sessions (
    hash text NOT NULL,
    id text NOT NULL,
    actor text NOT NULL,
    opened_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    last_seen_at bigint DEFAULT 0 NOT NULL,
    role text DEFAULT 'admin'::text NOT NULL
);
CREATE TABLE public.key_changes (
    version bigint NOT NULL,
    key_id text NOT NULL
);
CREATE TABLE public.key_route_usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    key_id text NOT NULL,
    route text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE public.last_ids (
    kind text NOT NULL,
    last_id bigint NOT NULL
);
CREATE TABLE public.operator_tokens (
    id text NOT NULL,
    hash text NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    role text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
CREATE TABLE public.orders (
    id bigint NOT NULL,
    pet_id bigint NOT NULL,
    quantity bigint NOT NULL,
    ship_date text,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.outcomes (
    key_id text NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint text NOT NULL,
    resource text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.pets (
    id bigint NOT NULL,
    name text NOT NULL,
    category_id bigint NOT NULL,
    status text NOT NULL,
    quantity bigint NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.rehearsal (
    turned_by bigint NOT NULL,
    turned_at bigint NOT NULL,
    taken_by bigint NOT NULL
);
CREATE TABLE public.rehearsal_notes (
    key_id text NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    answered_at_ms bigint NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    target_digest text NOT NULL,
    body_digest text,
    idempotency_digest text,
    step text,
    is_early bigint NOT NULL,
    status bigint,
    retry_after bigint,
    is_delivered bigint NOT NULL,
    is_done bigint NOT NULL,
    has_created bigint NOT NULL,
    turned_by bigint DEFAULT 0 NOT NULL,
    retry_after_ms bigint
);
CREATE TABLE public.rehearsed_keys (
    key_id text NOT NULL,
    script text NOT NULL,
    "position" bigint NOT NULL,
    holds_until_ms bigint
);
CREATE TABLE public.route_usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    route text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    took_0 bigint NOT NULL,
    took_1 bigint NOT NULL,
    took_2 bigint NOT NULL,
    took_3 bigint NOT NULL,
    took_4 bigint NOT NULL,
    took_5 bigint NOT NULL,
    took_6 bigint NOT NULL,
    took_7 bigint NOT NULL,
    took_8 bigint NOT NULL,
    took_9 bigint NOT NULL,
    took_10 bigint NOT NULL,
    took_11 bigint NOT NULL,
    took_12 bigint NOT NULL,
    took_13 bigint NOT NULL
);
CREATE TABLE public.usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    key_id text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.window_counts (
    key_id text NOT NULL,
    minute_ends bigint NOT NULL,
    minute_used bigint NOT NULL,
    day bigint NOT NULL,
    day_used bigint NOT NULL
);
INSERT INTO public.api_key_secrets VALUES
	('J125X4IAcGwodWas_IL7kWLBeATELhCxteUHuNYhG6Y', 'key_hof3163booh8AGVh', 'petcat_test_o6Nf', 1795411564, NULL, 7878771832);
INSERT INTO public.api_keys VALUES
	('key_hof3163booh8AGVh', 'ci', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795411564, NULL, NULL, 7803186631, NULL, 0);
INSERT INTO public.audit_entries VALUES
	(1, 1795407964, 'test', 'cli', 'operator.create', 'op_hof3161xqu8J23DX', 'null', '{"name":"admin","role":"admin","expiresAt":null}'),
	(2, 1795411564, 'admin', 'api', 'clock.turn', 'clock', '{"turnedBy":0}', '{"turnedBy":3600}'),
	(3, 1795411564, 'root', 'cli', 'key.create', 'key_hof3163booh8AGVh', 'null', '{"name":"ci","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}');
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795411564, 'key_hof3163booh8AGVh', 4752282075);
INSERT INTO public.category_counter VALUES
	(1, 1, 22);
INSERT INTO public.change_versions VALUES
	('categories', 0),
	('clock', 1),
	('keys', 1);
INSERT INTO public.key_changes VALUES
	(1, 'key_hof3163booh8AGVh');
INSERT INTO public.key_route_usage VALUES
	('hour', 1795410000, '*', 'GET /v1/categories', 0, 0, 1, 0, 1795411564, 1795411564),
	('hour', 1795410000, '*', 'POST /v1/categories', 1, 0, 0, 0, 1795411564, 1795411564),
	('hour', 1795410000, 'key_hof3163booh8AGVh', 'GET /v1/categories', 0, 0, 1, 0, 1795411564, 1795411564),
	('hour', 1795410000, 'key_hof3163booh8AGVh', 'POST /v1/categories', 1, 0, 0, 0, 1795411564, 1795411564);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-23T04:26:04.550Z'),
	('002-pets-orders-outcomes', '2026-11-23T04:26:04.550Z'),
	('003-usage-audit-sessions', '2026-11-23T04:26:04.550Z'),
	('004-row-checksums', '2026-11-23T04:26:04.550Z'),
	('005-session-last-seen', '2026-11-23T04:26:04.550Z'),
	('006-catalog-bytes', '2026-11-23T04:26:04.550Z'),
	('007-category-changes', '2026-11-23T04:26:04.550Z'),
	('008-attempts', '2026-11-23T04:26:04.550Z'),
	('009-filter-indexes', '2026-11-23T04:26:04.550Z'),
	('010-operators', '2026-11-23T04:26:04.550Z'),
	('011-rehearsal', '2026-11-23T04:26:04.550Z'),
	('012-route-usage', '2026-11-23T04:26:04.550Z'),
	('013-rehearsal-turns', '2026-11-23T04:26:04.550Z'),
	('014-outcomes-bans-usage@0.2.0', '2026-11-23T04:26:04.550Z');
INSERT INTO public.last_ids VALUES
	('pets', 0),
	('orders', 0),
	('audit_entries', 3);
INSERT INTO public.operator_tokens VALUES
	('op_hof3161xqu8J23DX', 'GhO-nzOc5bQobLCKl-j_HyUd_B6dNuN0zaCbyvhnd2Y', 'admin', 'petcat_op_gTGidg', 'admin', 1795407964, NULL, NULL);
INSERT INTO public.outcomes VALUES
	('key_hof3163booh8AGVh', 'oukhjkbZlmsZxE5OAqoY_FAeZ92Wa8qi4BvZhVCVCfk', 'GYeY1uaYi-pR3JRnIVBGE6FjAZ91qKlxroKEW1dze-A', '{"id":1,"name":"Dog"}', 1795411564),
	('', '5lmoXapLMN80cgDXDmoyphTjnTRBboCJtXfHWxsEBPs', '', '', 1795411564),
	('', 'Yxw4bhA3yuVBdmBny1hZm8CW_iy_eTOKFJWDGkDF8Ac', '', '', 1795411564),
	('', 'ho4Re3_ToFfx2MvvjEirq3DwFLWDmeTjpJ4UgEo-Z7o', '', '', 1795411564);
INSERT INTO public.rehearsal VALUES
	(3600, 1795407964, 3600);
INSERT INTO public.rehearsal_notes VALUES
	('key_hof3163booh8AGVh', 0, 1795407964000, 1795407964000, 'POST', '/v1/categories', 'tgVWg7KIT84mdKcmnwlF0y', 'jzGNp_Q91ni5T1xWy1rHyv', 'oukhjkbZlmsZxE5OAqoY_F', 'ok', 0, 201, NULL, 1, 1, 1, 3600, NULL),
	('key_hof3163booh8AGVh', 1, 1795407964000, 1795407964000, 'GET', '/v1/categories', 'tgVWg7KIT84mdKcmnwlF0y', NULL, NULL, 'limit:600', 0, 429, 600, 1, 0, 0, 3600, 600000);
INSERT INTO public.rehearsed_keys VALUES
	('key_hof3163booh8AGVh', 'ok,limit:600,ok,error', 2, 1795412164000);
INSERT INTO public.route_usage VALUES
	('minute', 1795411560, 'GET /v1/categories', 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795411560, 'POST /v1/categories', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795410000, 'GET /v1/categories', 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795410000, 'POST /v1/categories', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/categories', 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/categories', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795411560, '*', 1, 0, 1, 0, 1795411564, 1795411564),
	('minute', 1795411560, 'key_hof3163booh8AGVh', 1, 0, 1, 0, 1795411564, 1795411564);
INSERT INTO public.window_counts VALUES
	('key_hof3163booh8AGVh', 1795411624, 1, 20780, 1);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.categories
    ADD CONSTRAINT categories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.category_changes
    ADD CONSTRAINT category_changes_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.change_versions
    ADD CONSTRAINT change_versions_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.console_logins
    ADD CONSTRAINT console_logins_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_id_key UNIQUE (id);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.outcomes
    ADD CONSTRAINT create_outcomes_by_key PRIMARY KEY (key_id, idempotency_key);
ALTER TABLE ONLY public.key_changes
    ADD CONSTRAINT key_changes_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.key_route_usage
    ADD CONSTRAINT key_route_usage_by_time PRIMARY KEY (period, starts_at, key_id, route);
ALTER TABLE ONLY public.kysely_migration
    ADD CONSTRAINT kysely_migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.last_ids
    ADD CONSTRAINT last_ids_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.operator_tokens
    ADD CONSTRAINT operator_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.operator_tokens
    ADD CONSTRAINT operator_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rehearsal_notes
    ADD CONSTRAINT rehearsal_notes_by_key PRIMARY KEY (key_id, number);
ALTER TABLE ONLY public.rehearsed_keys
    ADD CONSTRAINT rehearsed_keys_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.route_usage
    ADD CONSTRAINT route_usage_by_time PRIMARY KEY (period, starts_at, route);
ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_by_time PRIMARY KEY (period, starts_at, key_id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_pkey PRIMARY KEY (key_id);
CREATE INDEX api_key_secrets_by_key ON public.api_key_secrets USING btree (key_id);
CREATE INDEX api_keys_by_age ON public.api_keys USING btree (created_at, id);
CREATE INDEX api_keys_by_expiry ON public.api_keys USING btree (expires_at, id);
CREATE INDEX api_keys_by_name ON public.api_keys USING btree (lower(name), id);
CREATE INDEX api_keys_by_owner ON public.api_keys USING btree (owner, created_at, id);
CREATE INDEX api_keys_by_plan ON public.api_keys USING btree (plan, created_at, id);
CREATE INDEX api_keys_by_state ON public.api_keys USING btree (revoked_at, expires_at, id);
CREATE INDEX audit_entries_by_action ON public.audit_entries USING btree (action, id);
CREATE INDEX audit_entries_by_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_by_target ON public.audit_entries USING btree (target, id);
CREATE INDEX bans_by_end ON public.bans USING btree (ends_at);
CREATE INDEX bans_by_key ON public.bans USING btree (key_id, started_at);
CREATE INDEX create_outcomes_by_age ON public.outcomes USING btree (created_at);
CREATE INDEX key_route_usage_by_key ON public.key_route_usage USING btree (key_id, period, starts_at);
CREATE INDEX orders_by_pet ON public.orders USING btree (pet_id, ((id + 0)));
CREATE INDEX pets_by_category ON public.pets USING btree (category_id, ((id + 0)));
CREATE INDEX pets_by_category_and_status ON public.pets USING btree (category_id, status, ((id - 0)));
CREATE INDEX pets_by_status ON public.pets USING btree (status, ((id + 0)));
CREATE INDEX usage_by_key ON public.usage USING btree (key_id, period, starts_at);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.bans
    ADD CONSTRAINT bans_key_id_fkey1 FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES public.pets(id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
