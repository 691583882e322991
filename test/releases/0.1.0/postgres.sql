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
    owner text
);
CREATE TABLE public.attempts (
    id text NOT NULL,
    at bigint NOT NULL
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
CREATE TABLE public.create_outcomes (
    key_id text NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint text NOT NULL,
    resource text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE public.kysely_migration_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
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
    has_created bigint NOT NULL
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
	('2oMKT4bn_php_rCqHlzkIlEWb0wAcMhKa1visWa7InA', 'key_bheCQj6GuuxfUgMz', 'petcat_live_8P3K', 1795217810, NULL, 7578249019),
	('IGf3XlRQ5cvKZN1GfYshXfIcjAmCFbeMuuYA8eaOoCw', 'key_Eqr2ryn3Dn2HrOEB', 'petcat_live_HXEt', 1795217810, NULL, 6200004747),
	('QHwp3AbSgjs78q0sjGhmuLKpI0vPLHUgxVTPapld-eg', 'key_KK6hk2nCm3z1uH8s', 'petcat_live_RBL1', 1795217810, NULL, 7822447516),
	('cTZdzD8Zj9ydD0g5QjkdgYVrYwQrq8WlsiNqII_UAAs', 'key_zt1cBWfu707fyJSG', 'petcat_live_PDVy', 1795217810, NULL, 6570651554),
	('9Mf6VxggyNPHwnUZ8IGJVtF4JUvWxigxiLBVZheokAI', 'key_p01NGXq8LAY4TNoX', 'petcat_live_7I2C', 1795217810, NULL, 6410426136),
	('k-iVWMMtpGdJXOHvYRspB3gvKuJRLU1sIDZk6-cjgi4', 'key_dlDIW5uEgj17d1SK', 'petcat_live_aIpi', 1795217810, NULL, 5083769403),
	('3FI8OL1AioKJ6OBK48kudPV3q3M80X_QxeX8SrVpMho', 'key_wlPLIjGvsVyQGWLn', 'petcat_live_MZrF', 1795217810, NULL, 6810987435),
	('csjLonkhggnVT7ise5Y36XjRt7XdxURDx6UK2ByiL94', 'key_2lONolCfqcdqeyTp', 'petcat_live_HITr', 1795217810, NULL, 6040686696),
	('jUPz3xK1Aeur2JoptW_sF0FRu7UvYYpNtjXZYElFFd8', 'key_4WUCdFZ6deHMOhgD', 'petcat_live_Y030', 1795217810, NULL, 6109797148),
	('l2BWRAHBTEg40ZdvME62rtnu0dexsm_obpf2Af3zWcI', 'key_WqqiQ7RKsAIkMr1f', 'petcat_live_pvt2', 1795217810, NULL, 4998161926),
	('J5fbFTTLM1zABXj-FKdGDH8PZQkJPqPZoOWqBl1ay1I', 'key_a7avlLDJIdhdw5hE', 'petcat_live_GtxX', 1795217810, NULL, 5832039503),
	('HeV4zke6__m29qpYmDbD9pMvDQZcWVIoFzYQP8M5o9s', 'key_a1fPP8eVUjrCgvzf', 'petcat_live_H28O', 1795217810, NULL, 8475167680),
	('kI7dmzedYXemTqFIvJ_gk6JRlVD-7kDWil9w1ZFtVjw', 'key_6dfJa4gC6G5VarWo', 'petcat_live_yNev', 1795217810, NULL, 5575835363),
	('lpwZ0NvRAGbrPfjvVvatQvGJGBk6l7v4P4VZaclkv8k', 'key_YogXspl84WKM63Pl', 'petcat_live_W18e', 1795217810, 1795397812, 7161110078),
	('pzOH6DOUljYYOJb7R-xyUw85esnpvKUqs-L31ONKkLE', 'key_YogXspl84WKM63Pl', 'petcat_live_r1Bs', 1795311412, NULL, 7489167055),
	('NCVV_VIqCTti3Ba-TQuWGyf8gwUtQ3FnlzRexebIQyo', 'key_Yx6MTSV8xS2p5jrm', 'petcat_live_rrCF', 1795217810, 1795311412, 7547333423),
	('dw5bL68zd91cqLGndj9RJ03bDhoSVJ8kHPyY99Tkoag', 'key_Yx6MTSV8xS2p5jrm', 'petcat_live_Q7oZ', 1795311412, NULL, 8414894724),
	('6Rv0eD4lcIP9CFBsVKWYMNxcNkku1VBSvXaXqcdXuuQ', 'key_UUXeg5v7gCvk0fLp', 'petcat_test_Qu3p', 1795311413, NULL, 6234022069);
INSERT INTO public.api_keys VALUES
	('key_Eqr2ryn3Dn2HrOEB', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 7074535324, 'cus_42'),
	('key_KK6hk2nCm3z1uH8s', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 6761138795, 'cus_42'),
	('key_zt1cBWfu707fyJSG', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 4571802843, NULL),
	('key_p01NGXq8LAY4TNoX', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795217810, NULL, NULL, 6158918540, NULL),
	('key_dlDIW5uEgj17d1SK', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, 4102401600, NULL, 5814896381, NULL),
	('key_wlPLIjGvsVyQGWLn', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, 1795221410, NULL, 4657351746, NULL),
	('key_YogXspl84WKM63Pl', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 6448230212, NULL),
	('key_Yx6MTSV8xS2p5jrm', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 5177006623, NULL),
	('key_4WUCdFZ6deHMOhgD', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 6628357006, NULL),
	('key_WqqiQ7RKsAIkMr1f', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 5792669494, NULL),
	('key_a7avlLDJIdhdw5hE', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 5772144629, NULL),
	('key_a1fPP8eVUjrCgvzf', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 5770543433, NULL),
	('key_6dfJa4gC6G5VarWo', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 7990852497, NULL),
	('key_2lONolCfqcdqeyTp', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, 1795311412, 7205912724, NULL),
	('key_bheCQj6GuuxfUgMz', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795217810, NULL, NULL, 5911408796, NULL),
	('key_UUXeg5v7gCvk0fLp', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795311413, NULL, NULL, 7370988539, NULL);
INSERT INTO public.attempts VALUES
	('d1c8551b-7551-4a51-b499-3e80148aa4c9', 1795304212),
	('b04d7689-c974-4253-bdfb-e910d5a880e4', 1795304212),
	('8fef0d87-2b41-4f15-a0d9-2a52a9d56972', 1795304212),
	('18a27f0f-f38d-4edd-9667-f4e433e9370e', 1795304212),
	('1745a7cd-1187-4600-ba43-0872da8193c7', 1795311474),
	('d333256c-dfe6-4b26-ab5d-f9432312c78c', 1795311476),
	('f044f1a3-07c6-49ce-b16c-05244e00ac99', 1795311481),
	('a7515143-5044-4aab-8acb-7ff06b407f1e', 1795311481),
	('4b99afbc-5e58-479e-aa54-c125f863506d', 1795311481);
INSERT INTO public.audit_entries VALUES
	(1, 1795217810, 'test', 'cli', 'operator.create', 'op_dfnMqjat9cCDiTXE', 'null', '{"name":"billing","role":"admin","expiresAt":null}'),
	(2, 1795217810, 'test', 'cli', 'operator.create', 'op_XSEr1XvAKpjHMOtp', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}'),
	(3, 1795217810, 'billing', 'api', 'key.create', 'key_bheCQj6GuuxfUgMz', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(4, 1795217810, 'billing', 'api', 'key.create', 'key_Eqr2ryn3Dn2HrOEB', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(5, 1795217810, 'billing', 'api', 'key.create', 'key_KK6hk2nCm3z1uH8s', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(6, 1795217810, 'billing', 'api', 'key.create', 'key_zt1cBWfu707fyJSG', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(7, 1795217810, 'billing', 'api', 'key.create', 'key_p01NGXq8LAY4TNoX', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}'),
	(8, 1795217810, 'billing', 'api', 'key.create', 'key_dlDIW5uEgj17d1SK', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}'),
	(9, 1795217810, 'billing', 'api', 'key.create', 'key_wlPLIjGvsVyQGWLn', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795221410}'),
	(10, 1795217810, 'billing', 'api', 'key.create', 'key_2lONolCfqcdqeyTp', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(11, 1795217810, 'billing', 'api', 'key.create', 'key_YogXspl84WKM63Pl', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(12, 1795217810, 'billing', 'api', 'key.create', 'key_Yx6MTSV8xS2p5jrm', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(13, 1795217810, 'billing', 'api', 'key.create', 'key_4WUCdFZ6deHMOhgD', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(14, 1795217810, 'billing', 'api', 'key.create', 'key_WqqiQ7RKsAIkMr1f', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(15, 1795217810, 'billing', 'api', 'key.create', 'key_a7avlLDJIdhdw5hE', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(16, 1795217810, 'billing', 'api', 'key.create', 'key_a1fPP8eVUjrCgvzf', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(17, 1795217810, 'billing', 'api', 'key.create', 'key_6dfJa4gC6G5VarWo', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(18, 1795311412, 'root', 'cli', 'operator.create', 'op_W1RvwuaQpXGgsNf1', 'null', '{"name":"support","role":"keys","expiresAt":null}'),
	(19, 1795311412, 'root', 'cli', 'operator.create', 'op_3gLJRKBWTJUwMN6Y', 'null', '{"name":"contractor","role":"admin","expiresAt":1795311413}'),
	(20, 1795311412, 'root', 'cli', 'operator.create', 'op_mbbnuOZtyYTeWgIu', 'null', '{"name":"leaver","role":"admin","expiresAt":null}'),
	(21, 1795311412, 'root', 'cli', 'operator.revoke', 'op_mbbnuOZtyYTeWgIu', '{"revokedAt":null}', '{"revokedAt":1795311412}'),
	(22, 1795311412, 'root', 'cli', 'key.rotate', 'key_YogXspl84WKM63Pl', '{"prefix":"petcat_live_W18e"}', '{"prefix":"petcat_live_r1Bs","oldEndsAt":1795397812}'),
	(23, 1795311412, 'root', 'cli', 'key.rotate', 'key_Yx6MTSV8xS2p5jrm', '{"prefix":"petcat_live_rrCF"}', '{"prefix":"petcat_live_Q7oZ","oldEndsAt":1795311412}'),
	(24, 1795311412, 'root', 'cli', 'key.revoke', 'key_2lONolCfqcdqeyTp', '{"revokedAt":null}', '{"revokedAt":1795311412}'),
	(25, 1795311413, 'root', 'cli', 'key.update', 'key_bheCQj6GuuxfUgMz', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}'),
	(26, 1795311413, 'root', 'cli', 'key.update', 'key_bheCQj6GuuxfUgMz', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}'),
	(27, 1795311413, 'root', 'cli', 'key.create', 'key_UUXeg5v7gCvk0fLp', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(28, 1795311413, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn"}', 'null'),
	(29, 1795311413, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}'),
	(30, 1795311472, 'operator', 'console', 'console.open', 'session_d64a2e49-fb5a-4e93-89ba-058d8cbd470d', 'null', '{"role":"admin","endsAt":1795354672}'),
	(31, 1795311472, 'operator', 'console', 'console.open', 'session_d1425573-f28f-47f1-8f41-5c2d93385dae', 'null', '{"role":"viewer","endsAt":1795354672}'),
	(32, 1795311472, 'operator', 'console', 'console.open', 'session_2734e1b9-b7dc-473f-af9c-07c4b057c02d', 'null', '{"role":"admin","endsAt":1795354672}'),
	(33, 1795311472, 'operator', 'console', 'console.revoke', 'session_2734e1b9-b7dc-473f-af9c-07c4b057c02d', '{"actor":"operator","endsAt":1795354672}', 'null'),
	(34, 1795311474, 'billing', 'api', 'ban.lift', 'key_a1fPP8eVUjrCgvzf', '{"banned":true}', '{"banned":false}');
INSERT INTO public.bans VALUES
	('key_6dfJa4gC6G5VarWo', 1795304212, 1795304272, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_a1fPP8eVUjrCgvzf', 1795311474, 1795311534, 1, 'refused 3 more times within a minute of a 429', 1795311474),
	('key_a7avlLDJIdhdw5hE', 1795311476, 1795311536, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795217810, 'key_KK6hk2nCm3z1uH8s', 4381930529),
	(3, 'Häschen 🐇', NULL, 1795217810, 'key_KK6hk2nCm3z1uH8s', 8315121519),
	(4, 'Parrot', NULL, 1795217810, 'key_KK6hk2nCm3z1uH8s', 6731249920),
	(5, 'Fish', 'quiet', 1795217810, 'key_KK6hk2nCm3z1uH8s', 8235985300),
	(6, 'Horse', 'needs a field', 1795311472, 'key_KK6hk2nCm3z1uH8s', 8434990707),
	(2, 'Cats', NULL, 1795217810, 'key_KK6hk2nCm3z1uH8s', 5529731820);
INSERT INTO public.category_changes VALUES
	(1, 7),
	(2, 2);
INSERT INTO public.category_counter VALUES
	(7, 6, 201);
INSERT INTO public.change_versions VALUES
	('clock', 0),
	('keys', 21),
	('categories', 2),
	('bans', 1);
INSERT INTO public.console_logins VALUES
	('YxpSYCLnNoeAQi1Bx8P7-741FzsCvZpi5JGVYIBhoNU', 'operator', 1795312072, 'keys');
INSERT INTO public.console_sessions VALUES
	('0jPCg0pzvjkO2ODCWmCmMtt4V10aamWHYIckmpUa8Co', 'session_d64a2e49-fb5a-4e93-89ba-058d8cbd470d', 'operator', 1795311472, 1795354672, 1795311472, 'admin'),
	('-FResPLFTUeq4yqlIjjsugP38VoX8MBR8Lm9Br81CJA', 'session_d1425573-f28f-47f1-8f41-5c2d93385dae', 'operator', 1795311472, 1795354672, 1795311472, 'viewer');
INSERT INTO public.create_outcomes VALUES
	('key_KK6hk2nCm3z1uH8s', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795217810),
	('key_KK6hk2nCm3z1uH8s', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795311472),
	('key_KK6hk2nCm3z1uH8s', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795311472),
	('key_KK6hk2nCm3z1uH8s', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795311472);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-22T01:36:50.992Z'),
	('002-pets-orders-outcomes', '2026-11-22T01:36:51.059Z'),
	('003-usage-audit-sessions', '2026-11-22T01:36:51.180Z'),
	('004-row-checksums', '2026-11-22T01:36:51.184Z'),
	('005-session-last-seen', '2026-11-22T01:36:51.185Z'),
	('006-catalog-bytes', '2026-11-22T01:36:51.190Z'),
	('007-category-changes', '2026-11-22T01:36:51.203Z'),
	('008-attempts', '2026-11-22T01:36:51.232Z'),
	('009-filter-indexes', '2026-11-22T01:36:51.256Z'),
	('010-operators', '2026-11-22T01:36:51.316Z'),
	('011-rehearsal', '2026-11-22T01:36:51.386Z'),
	('012-route-usage', '2026-11-22T01:36:51.401Z');
INSERT INTO public.kysely_migration_lock VALUES
	('migration_lock', 0);
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_dfnMqjat9cCDiTXE', 'RAgP6AqchX_ztIkEQofTnvn_7XxEhiM2sChvHdfOlXw', 'billing', 'petcat_op_NZdP4X', 'admin', 1795217810, NULL, NULL),
	('op_XSEr1XvAKpjHMOtp', 'jIFCC_LsbBFZtvQ9F_oe63jdeBWzGx3CPphQGnZC19U', 'dashboards', 'petcat_op_JuJupe', 'viewer', 1795217810, NULL, NULL),
	('op_W1RvwuaQpXGgsNf1', 'YjbEb8dWgs-EaxAQYhXB4EPgXRGW3KEn9kPajLp0nNg', 'support', 'petcat_op_91WwPT', 'keys', 1795311412, NULL, NULL),
	('op_3gLJRKBWTJUwMN6Y', 'R9xZcaipICwAmmQ_KlUInEHRkwgpRWyFYd72Em3DI-M', 'contractor', 'petcat_op_ozUcIR', 'admin', 1795311412, 1795311413, NULL),
	('op_mbbnuOZtyYTeWgIu', 'K-z9bpqb6ba99S6QuT7x5pej9MUTaDRz4meUYD8xox8', 'leaver', 'petcat_op_hZeyt3', 'admin', 1795311412, NULL, 1795311412);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795311472, 'key_KK6hk2nCm3z1uH8s', 4945609730),
	(2, 1, 1, NULL, 1795311472, 'key_KK6hk2nCm3z1uH8s', 6831010276);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795217810, 'key_KK6hk2nCm3z1uH8s', 8151561217),
	(3, 'Bella', 1, 'sold', 0, 1795217810, 'key_KK6hk2nCm3z1uH8s', 7653342899),
	(4, 'Polly', 4, 'available', 1, 1795311472, 'key_KK6hk2nCm3z1uH8s', 6289731403),
	(1, 'Rex II', 1, 'available', 7, 1795217810, 'key_KK6hk2nCm3z1uH8s', 6215842614);
INSERT INTO public.route_usage VALUES
	('minute', 1795304160, 'GET /v1/categories', 9, 0, 4, 0, 3, 1, 1, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795304160, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/categories', 9, 0, 4, 0, 3, 1, 1, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/categories', 9, 0, 4, 0, 3, 1, 1, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'GET /v1/categories', 12, 0, 9, 0, 14, 1, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'GET /v1/pets', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795311480, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/categories', 12, 0, 9, 0, 14, 1, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/pets', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0),
	('day', 1795305600, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/categories', 12, 0, 9, 0, 14, 1, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/pets', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795217760, '*', 17, 2, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_2lONolCfqcdqeyTp', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_Eqr2ryn3Dn2HrOEB', 3, 1, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_KK6hk2nCm3z1uH8s', 8, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_YogXspl84WKM63Pl', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_Yx6MTSV8xS2p5jrm', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_p01NGXq8LAY4TNoX', 0, 1, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_wlPLIjGvsVyQGWLn', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795217760, 'key_zt1cBWfu707fyJSG', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, '*', 17, 2, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_2lONolCfqcdqeyTp', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_Eqr2ryn3Dn2HrOEB', 3, 1, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_KK6hk2nCm3z1uH8s', 8, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_YogXspl84WKM63Pl', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_Yx6MTSV8xS2p5jrm', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_p01NGXq8LAY4TNoX', 0, 1, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_wlPLIjGvsVyQGWLn', 1, 0, 0, 0, 1795217810, 1795217810),
	('hour', 1795215600, 'key_zt1cBWfu707fyJSG', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, '*', 17, 2, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_2lONolCfqcdqeyTp', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_Eqr2ryn3Dn2HrOEB', 3, 1, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_KK6hk2nCm3z1uH8s', 8, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_YogXspl84WKM63Pl', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_Yx6MTSV8xS2p5jrm', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_p01NGXq8LAY4TNoX', 0, 1, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_wlPLIjGvsVyQGWLn', 1, 0, 0, 0, 1795217810, 1795217810),
	('day', 1795132800, 'key_zt1cBWfu707fyJSG', 1, 0, 0, 0, 1795217810, 1795217810),
	('minute', 1795304160, '*', 2, 0, 4, 0, 1795304210, 1795304212),
	('minute', 1795304160, 'key_6dfJa4gC6G5VarWo', 2, 0, 4, 0, 1795304210, 1795304212),
	('hour', 1795302000, '*', 2, 0, 4, 0, 1795304210, 1795304212),
	('hour', 1795302000, 'key_6dfJa4gC6G5VarWo', 2, 0, 4, 0, 1795304210, 1795304212),
	('day', 1795219200, '*', 2, 0, 4, 0, 1795304210, 1795304212),
	('day', 1795219200, 'key_6dfJa4gC6G5VarWo', 2, 0, 4, 0, 1795304210, 1795304212),
	('minute', 1795311420, '*', 18, 0, 9, 0, 1795311472, 1795311476),
	('minute', 1795311420, 'key_4WUCdFZ6deHMOhgD', 3, 0, 0, 0, 1795311476, 1795311476),
	('minute', 1795311420, 'key_KK6hk2nCm3z1uH8s', 9, 0, 0, 0, 1795311472, 1795311472),
	('minute', 1795311420, 'key_WqqiQ7RKsAIkMr1f', 2, 0, 1, 0, 1795311476, 1795311476),
	('minute', 1795311420, 'key_a1fPP8eVUjrCgvzf', 2, 0, 4, 0, 1795311472, 1795311474),
	('minute', 1795311420, 'key_a7avlLDJIdhdw5hE', 2, 0, 4, 0, 1795311474, 1795311476),
	('minute', 1795311480, '*', 10, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_4WUCdFZ6deHMOhgD', 1, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_6dfJa4gC6G5VarWo', 1, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_KK6hk2nCm3z1uH8s', 4, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_WqqiQ7RKsAIkMr1f', 1, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_a1fPP8eVUjrCgvzf', 1, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_a7avlLDJIdhdw5hE', 1, 0, 0, 0, 1795311481, 1795311481),
	('minute', 1795311480, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795311481, 1795311481),
	('hour', 1795309200, '*', 28, 0, 9, 0, 1795311472, 1795311481),
	('hour', 1795309200, 'key_4WUCdFZ6deHMOhgD', 4, 0, 0, 0, 1795311476, 1795311481),
	('hour', 1795309200, 'key_6dfJa4gC6G5VarWo', 1, 0, 0, 0, 1795311481, 1795311481),
	('hour', 1795309200, 'key_KK6hk2nCm3z1uH8s', 13, 0, 0, 0, 1795311472, 1795311481),
	('hour', 1795309200, 'key_WqqiQ7RKsAIkMr1f', 3, 0, 1, 0, 1795311476, 1795311481),
	('hour', 1795309200, 'key_a1fPP8eVUjrCgvzf', 3, 0, 4, 0, 1795311472, 1795311481),
	('hour', 1795309200, 'key_a7avlLDJIdhdw5hE', 3, 0, 4, 0, 1795311474, 1795311481),
	('hour', 1795309200, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795311481, 1795311481),
	('day', 1795305600, '*', 28, 0, 9, 0, 1795311472, 1795311481),
	('day', 1795305600, 'key_4WUCdFZ6deHMOhgD', 4, 0, 0, 0, 1795311476, 1795311481),
	('day', 1795305600, 'key_6dfJa4gC6G5VarWo', 1, 0, 0, 0, 1795311481, 1795311481),
	('day', 1795305600, 'key_KK6hk2nCm3z1uH8s', 13, 0, 0, 0, 1795311472, 1795311481),
	('day', 1795305600, 'key_WqqiQ7RKsAIkMr1f', 3, 0, 1, 0, 1795311476, 1795311481),
	('day', 1795305600, 'key_a1fPP8eVUjrCgvzf', 3, 0, 4, 0, 1795311472, 1795311481),
	('day', 1795305600, 'key_a7avlLDJIdhdw5hE', 3, 0, 4, 0, 1795311474, 1795311481),
	('day', 1795305600, 'key_bheCQj6GuuxfUgMz', 1, 0, 0, 0, 1795311481, 1795311481);
INSERT INTO public.window_counts VALUES
	('key_2lONolCfqcdqeyTp', 1795217870, 1, 20777, 1),
	('key_6dfJa4gC6G5VarWo', 1795304270, 2, 20778, 2),
	('key_Eqr2ryn3Dn2HrOEB', 1795217870, 4, 20777, 4),
	('key_YogXspl84WKM63Pl', 1795217870, 1, 20777, 1),
	('key_Yx6MTSV8xS2p5jrm', 1795217870, 1, 20777, 1),
	('key_bheCQj6GuuxfUgMz', 1795217870, 1, 20777, 1),
	('key_p01NGXq8LAY4TNoX', 1795217870, 1, 20777, 1),
	('key_wlPLIjGvsVyQGWLn', 1795217870, 1, 20777, 1),
	('key_zt1cBWfu707fyJSG', 1795217870, 1, 20777, 1),
	('key_a1fPP8eVUjrCgvzf', 1795311532, 2, 20779, 2),
	('key_a7avlLDJIdhdw5hE', 1795311534, 2, 20779, 2),
	('key_4WUCdFZ6deHMOhgD', 1795311536, 3, 20779, 3),
	('key_KK6hk2nCm3z1uH8s', 1795311532, 13, 20779, 13),
	('key_WqqiQ7RKsAIkMr1f', 1795311536, 2, 20779, 2);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.create_outcomes
    ADD CONSTRAINT create_outcomes_by_key PRIMARY KEY (key_id, idempotency_key);
ALTER TABLE ONLY public.kysely_migration_lock
    ADD CONSTRAINT kysely_migration_lock_pkey PRIMARY KEY (id);
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
CREATE INDEX attempts_by_age ON public.attempts USING btree (at);
CREATE INDEX audit_entries_by_action ON public.audit_entries USING btree (action, id);
CREATE INDEX audit_entries_by_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_by_target ON public.audit_entries USING btree (target, id);
CREATE INDEX bans_by_end ON public.bans USING btree (ends_at);
CREATE INDEX bans_by_key ON public.bans USING btree (key_id, started_at);
CREATE INDEX create_outcomes_by_age ON public.create_outcomes USING btree (created_at);
CREATE INDEX orders_by_pet ON public.orders USING btree (pet_id, ((id + 0)));
CREATE INDEX pets_by_category ON public.pets USING btree (category_id, ((id + 0)));
CREATE INDEX pets_by_category_and_status ON public.pets USING btree (category_id, status, ((id - 0)));
CREATE INDEX pets_by_status ON public.pets USING btree (status, ((id + 0)));
CREATE INDEX usage_by_key ON public.usage USING btree (key_id, period, starts_at);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.bans
    ADD CONSTRAINT bans_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES public.pets(id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
