//! Tests of the orchestrator against real PostgreSQL clusters.

// A test says what it expects by unwrapping it.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

mod access;
mod adopt;
mod api;
mod attempts;
mod command_line;
mod compat;
mod connections;
mod contexts;
mod controllers;
mod examinations;
mod fail_points;
mod fixture;
mod followers;
mod fuzzed;
mod hooks;
mod inspections;
mod lifecycle;
mod limits;
mod maps;
mod mistakes;
mod once;
mod operations;
mod protected;
mod reconcile;
mod report;
mod seeding;
mod service;
mod sql_routes;
mod sql_views;
mod store_contract;
mod store_tls;
mod top;
mod verify;
mod virtual_shards;
mod ways;
