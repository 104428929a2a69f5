"""A PostgreSQL server with a database for each shard, whose guard refuses keys by real SQL."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

# The attempts are counted by a sequence, which a rollback does not change.
_SCHEMA = """
create table orders (tenant_id bigint not null, id bigint not null, note text, primary key (tenant_id, id));
create table guard (key_from bigint not null, code text not null, at_commit boolean not null, times bigint not null);
create sequence attempts minvalue 0 start 0;
create sequence refusals minvalue 0 start 0;
create function refuse() returns trigger language plpgsql as $$
declare
    rule guard;
begin
    if tg_argv[0] = 'now' then perform nextval('attempts'); end if;
    for rule in select * from guard where new.tenant_id >= key_from and at_commit = (tg_argv[0] = 'commit') loop
        if nextval('refusals') < rule.times then
            if rule.code = '57P01' then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(60); end if;
            raise exception 'key % is refused', new.tenant_id using errcode = rule.code;
        end if;
    end loop;
    return new;
end $$;
create trigger guard before insert or update on orders for each row execute function refuse('now');
create constraint trigger guard_at_commit after insert or update on orders deferrable initially deferred
    for each row execute function refuse('commit');
"""


class Server:
    """A private server on loopback."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shardwright-conformance-"))
        self.port = 0
        self._bin = _find_programs()
        self._account = _account()
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)

    def start(self) -> None:
        """Creates the cluster and starts it."""
        data = self.folder / "data"
        self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
        self.port = _free_port()
        settings = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=200"
        self._run("pg_ctl", "-D", str(data), "-l", str(self.folder / "log"), "-w", "-o", settings, "start")

    def stop(self) -> None:
        """Stops the server and removes its files."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def dsn(self, database: str, port: int | None = None) -> str:
        """The connection string of a database, directly or through a proxy."""
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/{database}?sslmode=disable"

    def create(self, database: str) -> None:
        """Creates the database of a shard."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as session:
            session.execute(f'create database "{database}"'.encode())
        with psycopg.connect(self.dsn(database), autocommit=True) as session:
            session.execute(_SCHEMA.encode())

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        account = self._account
        who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        output = self.folder / "setup.log"
        with output.open("ab") as log:
            done = subprocess.run(command, stdout=log, stderr=log, cwd="/", check=False, **who)  # type: ignore[call-overload]
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed:\n{output.read_text()}")


def _find_programs() -> Path:
    named = os.environ.get("SHARDWRIGHT_PG_BIN")
    folders = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise RuntimeError("PostgreSQL's programs are missing: run scripts/setup test")


def _account() -> pwd.struct_passwd | None:
    """The account for the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
