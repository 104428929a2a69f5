# Where the servers of the test matrix are: a version that this system has, else what `scripts/setup matrix` installs.

# The folder that they are installed in; the servers' account must be able to read it, so for root it is not his own.
matrix_folder() {
    if [[ -n ${SHARDWRIGHT_PG_MATRIX:-} ]]; then echo "$SHARDWRIGHT_PG_MATRIX"
    elif [[ $EUID -eq 0 ]]; then echo /var/cache/shardwright/postgres
    else echo "${XDG_CACHE_HOME:-$HOME/.cache}/shardwright/postgres"
    fi
}

# The folder of one version's programs, or nothing.
matrix_bin() { # MAJOR
    local dir
    for dir in "/usr/lib/postgresql/$1/bin" "$(matrix_folder)/node_modules/pg$1/native/bin"; do
        if [[ -x $dir/postgres && -x $dir/initdb && -x $dir/pg_ctl ]]; then
            echo "$dir"
            return
        fi
    done
}

# The folder that has pg_basebackup of the newest version and no other program, or nothing.
matrix_backup_bin() {
    local dir
    dir=$(matrix_folder)/backup/bin
    if [[ -x $dir/pg_basebackup ]]; then echo "$dir"; fi
}
