# Moves keys in every way, and keeps the control store in the middle of it. AGENTS_CALL: where agents are listened to.
export USER=ada
shopt -s inherit_errexit
mkdir plans

serve() {
  shardwright serve --open --advertise "$AGENTS_CALL" 2>>log &
  until curl -sf "$SHARDWRIGHT_CONTROLLER/readyz" >/dev/null; do sleep 0.1; done
}
psql -X -q -p "$PORT_A" -d shop -v ON_ERROR_STOP=1 <<'SQL'
set role shop_owner;
create table items (tenant_id bigint, id bigint, note text, primary key (tenant_id, id));
insert into items select 1 + g % 1000, g, 'note ' || g from generate_series(1, 2000) g;
analyze;
SQL
serve
SHARDWRIGHT_CONTROLLER=$AGENTS_CALL shardwright-agent --name a1 --spool-dir spool 2>>log &
ready

shardwright token create reader --role viewer >/dev/null
shardwright token create a1 --role agent >/dev/null
shardwright token create gone --role operator >/dev/null
shardwright token revoke gone --yes >/dev/null
for shard in "shard-a port=$PORT_A" "shard-b port=$PORT_B"; do
  shardwright shard add "${shard% *}" --dsn "host=127.0.0.1 ${shard#* } user=mover dbname=shop password=\${env:SHARD_PASSWORD}"
done
shardwright map create tenants --key bigint --range ..=shard-a
shardwright map create items --key bigint --range ..=shard-a
shardwright doctor --shard shard-a >&2 || true

readonly TENANTS='tables: {tenants: id, accounts: tenant_id, orders: tenant_id}
ignore: [schema_migrations, items]'
readonly ITEMS='tables: {items: tenant_id}
ignore: [schema_migrations, tenants, accounts, orders]'
# plan NAME OPTIONS, with the request on stdin
plan() {
  { cat; echo "options: {$2}"; } >request.yaml
  shardwright plan request.yaml -o "plans/$1.json" >&2
}
# planned NAME MAP TABLES KEYS OPTIONS: a move from shard-a to shard-b
planned() {
  plan "$1" "$5" <<YAML
operation: move
map: $2
moves: [{source: shard-a, target: shard-b, keys: $4}]
$3
YAML
}
# move MAP TABLES KEYS OPTIONS: submits it and prints its id
move() {
  planned one "$@"
  shardwright apply plans/one.json
}
go() { shardwright "$@" --yes >&2; }
# until_so ID CONDITION: on its row of migration_status
until_so() {
  until [[ $(psql -XAtc "select $2 from shardwright.migration_status where id = '$1'") == t ]]; do sleep 0.2; done
}
# The agent has told how much there is to copy.
readonly COPIES="phase = 'copy' and phase_state = 'running' and rows_expected > 0"
until_is() { shardwright wait "$1" --for "$2" --timeout 1m >&2; }

completed=$(move tenants "$TENANTS" '{to: 100}' '')
until_is "$completed" ready
go approve "$completed"
until_is "$completed" flipped
go finish "$completed"
until_is "$completed" completed

rolled_back=$(move tenants "$TENANTS" '{from: 100, to: 200}' '')
until_is "$rolled_back" ready
go approve "$rolled_back"
until_is "$rolled_back" flipped
go rollback "$rolled_back"
until_is "$rolled_back" rolled_back
go finish "$rolled_back"
until_is "$rolled_back" finished

unwound=$(move tenants "$TENANTS" '{from: 200, to: 300}' '')
until_is "$unwound" ready
go abort "$unwound"
until_is "$unwound" unwound

offline=$(move tenants "$TENANTS" '{from: 100, to: 200}' 'mode: offline, cutover: automatic')
until_is "$offline" flipped
go finish "$offline"
until_is "$offline" completed

# What a shard does not let through: the definition of a moving table has changed on one side.
failed=$(move items "$ITEMS" '{to: 100}' 'max_attempts: 1')
until_is "$failed" ready
psql -X -q -p "$PORT_A" -d shop -c 'set role shop_owner; alter table items add column later integer'
go approve "$failed"
until_is "$failed" failed

# Keys of a mapping of which some are under way are not planned: first all plans, then the moves that stay.
plan split '' <<YAML
operation: split
map: tenants
source: shard-a
into:
- {shard: shard-a, keys: {ranges: [{from: 200, to: 300}, {from: 400}]}}
- {shard: shard-b, keys: {from: 300, to: 400}}
$TENANTS
YAML
plan merge 'copy_streams: 4, drop_pause_ms: 20' <<YAML
operation: merge
map: tenants
sources: [shard-a, shard-b]
into: shard-a
$TENANTS
YAML
planned move tenants "$TENANTS" '{from: 300, to: 400}' 'mode: offline, cutover: automatic'
plan isolate 'hold: {seconds: 60}' <<YAML
operation: isolate
map: tenants
key: 250
target: shard-b
$TENANTS
YAML
plan drain 'throttle: {latency_ms: 25, rate_bytes_s: 20000000}' <<YAML
operation: drain
map: tenants
source: shard-b
targets: [shard-a]
$TENANTS
YAML
plan rebalance 'moves_at_once: 1' <<YAML
operation: rebalance
map: tenants
by: rows
$TENANTS
YAML

planned waiting tenants "$TENANTS" '{from: 400, to: 500}' ''
# So slow that it is under way for as long as this goes on.
planned running tenants "$TENANTS" '{from: 500}' 'throttle: {rate_bytes_s: 1024}'
waiting=$(shardwright apply plans/waiting.json)
until_is "$waiting" ready
running=$(shardwright apply plans/running.json)
until_so "$running" "$COPIES"
shardwright pause "$running" >&2
until_so "$running" "phase_state <> 'running'"
shardwright resume "$running" >&2

shardwright map check tenants >&2 || true
shardwright map load tenants >&2 || true
shardwright reconcile >&2
shardwright cleanup >&2

until_so "$running" "$COPIES"
pg_dump --inserts --no-owner --no-privileges --schema shardwright control >dump
# Commands of psql are not SQL.
sed '/^\\/d' dump >store.sql
# The source has the tables of a migration that is under way.
pg_dump --schema-only --no-owner --no-privileges --schema shardwright -p "$PORT_A" shop | sed '/^\\/d' >shard.sql
cat >migrations.json <<JSON
{
  "completed": "$completed",
  "rolled_back": "$rolled_back",
  "unwound": "$unwound",
  "offline": "$offline",
  "failed": "$failed",
  "waiting": "$waiting",
  "running": "$running"
}
JSON
