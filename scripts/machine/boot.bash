# Sourced: a small Debian that systemd boots in a container, without a network.
#
# The caller has sourced scripts/pgbench/machine.bash and set `folder`, below which the machine is.
# shellcheck shell=bash disable=SC2154

readonly BASE=target/machine
readonly SUITE=bookworm
# What a Debian server has, and what the packages want.
readonly CONTENT=systemd,systemd-sysv,dbus,ca-certificates,procps,man-db,postgresql

# Under a second name until it is complete.
make_base() {
    if [[ -d $BASE ]]; then return; fi
    say "a Debian 12 in $BASE, made once"
    rm -rf "$BASE.begun"
    debootstrap --variant=minbase --include="$CONTENT" "$SUITE" "$BASE.begun" >"$folder/debootstrap.log" 2>&1 ||
        fail "debootstrap: $(tail -n 5 "$folder/debootstrap.log")"
    mv "$BASE.begun" "$BASE"
}

# A copy of it, with the files that are given, in its folder /root.
boot() { # FILE...
    local machine=$folder/root
    cp --archive --reflink=auto "$BASE" "$machine"
    cp "$@" "$machine/root/"
    background machine systemd-nspawn --quiet --directory "$machine" --boot --private-network --register=no --keep-unit \
        --console=pipe
    eventually 60 booted || fail "the machine does not boot: $(tail -n 5 "$folder/machine.log")"
}

booted() {
    init=$(pgrep --parent "${pids[machine]}" --full systemd) || return 1
    [[ $(inside systemctl is-system-running 2>/dev/null) =~ ^(running|degraded)$ ]]
}

# Runs a command in the machine, as root, with an administrator's environment.
inside() { # COMMAND...
    nsenter --target "$init" --all -- env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        SHARDWRIGHT_TOKEN_FILE=/var/lib/shardwright/admin-token "$@"
}

# The same by a shell; the script is read from stdin as a whole, so that nothing in it reads the rest.
inside_shell() {
    inside bash -euo pipefail -c "$(cat)" </dev/null
}

journal() { # UNIT
    inside journalctl --no-pager --lines 20 --unit "$1"
}

is_active() { # UNIT
    [[ $(inside systemctl is-active "$1") == active ]]
}
