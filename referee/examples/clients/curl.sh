if [ "$SETTING" = yes ]; then
  get() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" > /dev/null; }
  post() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" --json '{"name":"Rex"}' -H "Idempotency-Key: $$" > /dev/null; }
else
  get() { curl -sS "$REFEREE_URL$1" > /dev/null; }
  post() { curl -sS "$REFEREE_URL$1" --json '{"name":"Rex"}' > /dev/null; }
fi
get /pets && post /pets && get /orders
