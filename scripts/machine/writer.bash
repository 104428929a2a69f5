#!/usr/bin/env bash
# An application of the test of the packages: writes orders of tenants 1 to 1000 to the shard that the map names.
#
# writer.bash NUMBER: until /run/writers/stop is there; what was acknowledged is in /run/writers/NUMBER, "id tenant" each.
# Order of one transaction: look up the shard where it is not known, insert, note. A refusal means to look again.
set -euo pipefail
readonly NUMBER=$1 LEDGER=/run/writers/$1
declare -A ports=([shard-a]=5441 [shard-b]=5442)
declare -A known=()

export PGPASSWORD=application PGAPPNAME=writer-$NUMBER
: >"$LEDGER"
: >"$LEDGER.refused"
for ((id = NUMBER; ; id += 10)); do
    if [[ -e /run/writers/stop ]]; then exit 0; fi
    tenant=$((1 + id * 7919 % 1000))
    until
        half=$((tenant > 500))
        shard=${known[$half]:=$(shardwright map locate tenants "$tenant")}
        [[ -n $shard ]] && psql -X -q -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate -h 127.0.0.1 -p "${ports[$shard]}" -U application -d shop \
            -c "insert into orders (tenant_id, id, amount) values ($tenant, $id, $id)" 2>>"$LEDGER.refused"
    do
        unset "known[$half]"
    done
    echo "$id $tenant" >>"$LEDGER"
done
