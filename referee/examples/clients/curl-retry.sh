[ "$SETTING" = yes ] && own="Idempotency-Key: $$" || own="X-None: none"
get() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" > /dev/null; }
post() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" --json '{"name":"Rex"}' -H "$own" > /dev/null; }
get /pets && post /pets && get /orders
