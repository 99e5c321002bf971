#!/bin/sh
# A planner that does as its option `case` says: what a program can do wrong, and what it may do.
answer() { # answer KEYS STAGES: a plan for the model toy
  printf '{"schema": "stagecraft/plan/1", "microbatch_size": 32, %s, "stages": [%s]}\n' "$1" "$2"
}
usual='"microbatches": 8, "schedule": {"name": "1f1b"}'
stages='{"layers": ["conv1", "relu1"], "devices": ["gpu0"]}, {"layers": ["pool1", "fc 2"], "devices": ["gpu1"]}'

request=$(cat)
case "$request" in
  *'"case":"good"'*) answer "$usual" "$stages" ;;
  *'"case":"detailed"'*) printf '{"plan": %s, "details": {"rounds": 7}}' "$(answer "$usual" "$stages")" ;;
  *'"case":"training"'*) answer "$usual, \"training\": {\"optimizer_copies\": 0}" "$stages" ;;
  *'"case":"exit"'*) printf 'over here: \033[31mred\033[0m \377 \302\205 \342\202\254\nand\there\n' >&2; exit 3 ;;
  *'"case":"crash"'*) kill -SEGV $$ ;;
  *'"case":"hang"'*) echo 'soon' >&2; sleep 60 ;;
  *'"case":"quiet hang"'*) exec >&- 2>&-; sleep 60 ;;
  *'"case":"silent"'*) echo 'nothing to say' >&2 ;;
  *'"case":"garbage"'*) echo 'Loading the request ...'; answer "$usual" "$stages"; echo 'a warning' >&2 ;;
  *'"case":"binary"'*) printf '\000\001' ;;
  *'"case":"huge"'*) head -c 70000000 /dev/zero ;;
  *'"case":"loud"'*) head -c 300000 /dev/zero | tr '\0' x >&2; echo 'last words' >&2; exit 1 ;;
  *'"case":"family"'*) (sleep 60; echo x) & answer "$usual" "$stages" ;;
  *'"case":"lists"'*) echo '[]' ;;
  *'"case":"beside"'*) printf '{"plan": %s, "notes": 1}' "$(answer "$usual" "$stages")" ;;
  *'"case":"more"'*) answer "$usual, \"note\": 1" "$stages" ;;
  *'"case":"size"'*) printf '{"schema": "stagecraft/plan/1", "microbatch_size": 16, %s, "stages": [%s]}' "$usual" "$stages" ;;
  *'"case":"length"'*) answer '"microbatches": 4, "schedule": {"name": "1f1b"}' "$stages" ;;
  *'"case":"schedule"'*) answer '"microbatches": 8, "schedule": {"name": "gpipe"}' "$stages" ;;
  *'"case":"unknown schedule"'*) answer '"microbatches": 8, "schedule": {"name": "2f2b"}' "$stages" ;;
  *'"case":"literal"'*) answer '"microbatches": 8, "schedule": {"name": "literal"}' "$stages" ;;
  *'"case":"asynchronous"'*) answer '"microbatches": 8, "schedule": {"name": "pipedream"}' "$stages" ;;
  *'"case":"coverage"'*) answer "$usual" '{"layers": ["conv1"], "devices": ["gpu0"]}' ;;
  *'"case":"device"'*) answer "$usual" '{"layers": ["conv1", "relu1", "pool1", "fc 2"], "devices": ["gpu99"]}' ;;
  *'"case":"infeasible"'*) echo '{"infeasible": {"reason": "too large", "device": "gpu1", "stage": null,
    "excess_bytes": 1048576, "smallest_memory_bytes": 2147483648, "hint": "buy more"}}' ;;
  *'"case":"infeasible without reason"'*) echo '{"infeasible": {}}' ;;
  *'"case":"infeasible and more"'*) echo '{"infeasible": {"reason": "x"}, "plan": {}}' ;;
  *'"case":"infeasible device"'*) echo '{"infeasible": {"reason": "x", "device": "gpu99"}}' ;;
  *'"case":"infeasible excess"'*) echo '{"infeasible": {"reason": "x", "excess_bytes": -1}}' ;;
  *) echo "no case chosen" >&2; exit 1 ;;
esac
