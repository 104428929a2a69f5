# Sourced: private servers and background programs of one run, all below $folder.
#
# The caller sets `folder`, and has `stop_everything` run at its end, however it ends.
# Everything is a child of the caller, is ended by its pid, and dies with a caller that is killed.
# shellcheck shell=bash disable=SC2154

declare -A pids=()  # by name: a program that runs
declare -A ports=() # by name: a server

# PostgreSQL's servers refuse to run as root; SIGQUIT ends them at once.
as_server=(setpriv --pdeathsig QUIT)
if [[ $EUID -eq 0 ]]; then as_server+=(--reuid postgres --regid postgres --init-groups); fi

say() { echo "== $*"; }
fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# Sets pg_bin to the programs of the newest server, as Shardwright itself finds them.
find_postgresql() {
    local dir major newest=14
    for dir in "${SHARDWRIGHT_PG_BIN:-}" /usr/lib/postgresql/*/bin; do
        [[ -x $dir/initdb && -x $dir/pgbench && $("$dir/postgres" --version) =~ \)\ ([0-9]+) ]] || continue
        major=${BASH_REMATCH[1]}
        if [[ $dir == "${SHARDWRIGHT_PG_BIN:-}" || $major -gt $newest ]]; then
            newest=$major pg_bin=$dir
        fi
        if [[ $dir == "${SHARDWRIGHT_PG_BIN:-}" ]]; then break; fi
    done
    [[ -n ${pg_bin:-} ]] || fail "PostgreSQL 15 or newer is missing; scripts/setup demo installs it"
    export SHARDWRIGHT_PG_BIN=$pg_bin PATH="$pg_bin:$PATH"
}

# Starts a program whose output goes to NAME.log.
background() { # NAME COMMAND...
    local name=$1
    shift
    setpriv --pdeathsig TERM -- "$@" >"$folder/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
}

# Runs a program (not a function, which would be a process between) so that a signal to the caller is not kept waiting.
foreground() { # COMMAND...
    local status=0
    "$@" <&0 &
    pids[foreground]=$!
    wait "${pids[foreground]}" || status=$?
    unset 'pids[foreground]'
    return "$status"
}

# Waits for the end of a program; returns its exit code.
ended() { # NAME
    local status=0
    wait "${pids[$1]}" || status=$?
    unset "pids[$1]"
    return "$status"
}

# Tries a command until it succeeds.
eventually() { # SECONDS COMMAND...
    local limit=$((SECONDS + $1))
    shift
    until "$@"; do
        if ((SECONDS >= limit)); then return 1; fi
        sleep 0.1
    done
}

make_server() { # NAME
    local dir=$folder/$1
    mkdir -m 700 "$dir"
    (umask 077 && echo "$PGPASSWORD" >"$dir/password")
    if [[ $EUID -eq 0 ]]; then chown -R postgres:postgres "$dir"; fi
    foreground "${as_server[@]}" initdb --pgdata "$dir/data" --username postgres --pwfile "$dir/password" \
        --auth scram-sha-256 --encoding UTF8 --no-locale --no-sync --no-instructions \
        >"$folder/initdb.log" 2>&1 || fail "initdb: $(tail -n 5 "$folder/initdb.log")"
    cat >>"$dir/data/postgresql.conf" <<'SETTINGS'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_wal_size = '4GB'
log_line_prefix = '%m %a %e '
SETTINGS
}

# Another program may take a port between our look and the start: then the next one is tried.
start_server() { # NAME
    local name=$1 data=$folder/$1/data port
    for _ in {1..10}; do
        port=$((10240 + RANDOM % 20000))
        if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue; fi
        background "$name" "${as_server[@]}" postgres -D "$data" -p "$port"
        if eventually 60 server_decided "$name" "$port" && kill -0 "${pids[$name]}" 2>/dev/null; then
            ports[$name]=$port
            return
        fi
        stop "$name"
    done
    fail "server $name did not start: $(tail -n 5 "$folder/$name.log")"
}

server_decided() { # NAME PORT
    pg_isready -q -h 127.0.0.1 -p "$2" || ! kill -0 "${pids[$1]}" 2>/dev/null
}

stop() { # NAME
    local pid=${pids[$1]:-} signal=TERM
    if [[ -z $pid ]]; then return 0; fi
    unset "pids[$1]"
    if [[ -n ${ports[$1]:-} ]]; then signal=QUIT; fi
    kill "-$signal" "$pid" 2>/dev/null || true
    eventually 20 gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

gone() { # PID
    ! kill -0 "$1" 2>/dev/null
}

# First what uses the servers, then the servers; then the controller's own server, if it left it.
# What fails here must not keep the rest from being ended.
stop_everything() {
    set +e
    local name data
    for name in foreground "${!pids[@]}"; do
        if [[ -z ${ports[$name]:-} ]]; then stop "$name"; fi
    done
    for name in "${!pids[@]}"; do stop "$name"; done
    for data in "$folder"/store/*/data; do
        if [[ -e $data/postmaster.pid ]]; then
            "${as_server[@]}" pg_ctl stop --silent --mode immediate --pgdata "$data"
        fi
    done
    rm -rf "$folder"
}
