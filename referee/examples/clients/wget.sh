[ "$SETTING" = yes ] && more="--tries=1" || more="--tries=4"
get() { wget -q $more -O /dev/null "$REFEREE_URL$1"; }
post() { wget -q $more -O /dev/null --post-data '{"name":"Rex"}' "$REFEREE_URL$1"; }
get /pets && post /pets && get /orders
