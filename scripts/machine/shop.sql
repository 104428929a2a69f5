-- Two tables of a shop, owned by shop_owner; the application may write to them.
create role shop_owner nologin;
create role application login password 'application';
create database shop owner shop_owner;
\connect shop
alter schema public owner to shop_owner;
alter default privileges for role shop_owner grant select, insert, update on tables to application;
