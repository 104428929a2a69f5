-- Run on each server as its superuser: Shardwright's role, which owns the tables, and the application's.
-- Variable: password.
create role mover login replication password :'password';
create role app login password :'password';
grant set on parameter session_replication_role to mover;
grant pg_read_all_stats to mover;
create database bank owner mover;
