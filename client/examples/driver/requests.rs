//! The requests to a connected map.

use crate::failure::{ApplicationError, Failure};
use crate::keys::value_of;
use crate::values::{Parameter, rows_of};
use client::{
    BoxError, Dsn, Identity, Isolation, Map, MapName, MapVersion, Options, ShardAccess, ShardName,
    Transaction, TransactionOptions,
};
use futures::FutureExt;
use serde::Deserialize;
use serde_json::{Map as Object, Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_postgres::types::ToSql;

/// The connected map.
#[derive(Default)]
pub(crate) struct Connected(RwLock<Option<Map>>);

#[derive(Deserialize)]
pub(crate) struct Connect {
    controllers: String,
    map: MapName,
    options: ConnectOptions,
    shards: HashMap<ShardName, String>,
}

/// Options of the library; times in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectOptions {
    retry_for: Option<f64>,
    longest_pause: Option<f64>,
    max_staleness: Option<f64>,
    report_load: Option<f64>,
    token_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
}

#[derive(Deserialize)]
pub(crate) struct Lookup {
    key: Value,
}

#[derive(Deserialize)]
pub(crate) struct WaitVersion {
    version: MapVersion,
}

#[derive(Deserialize)]
pub(crate) struct WithShard {
    key: Value,
    work: Vec<Statement>,
    options: WorkOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkOptions {
    isolation: Option<String>,
    synchronous_commit: Option<bool>,
}

#[derive(Deserialize)]
pub(crate) struct OnAll {
    sql: String,
    limit: usize,
    columns: Vec<String>,
    #[serde(default)]
    ignore_error: bool,
}

/// One statement of a transaction, or an error of the application.
#[derive(Deserialize)]
pub(crate) struct Statement {
    #[serde(default)]
    sql: String,
    #[serde(default)]
    params: Vec<Value>,
    #[serde(default)]
    ignore_error: bool,
    fail: Option<String>,
}

impl Connected {
    pub(crate) async fn connect(&self, request: Connect) -> Result<Value, Failure> {
        let dsns = request.shards.into_iter();
        let dsns = dsns.map(|(shard, dsn)| (shard, Dsn::parse(&dsn).unwrap()));
        let access = ShardAccess::fixed(dsns.collect());
        let options = request.options.into();
        let map = Map::connect_with(&request.controllers, &request.map, access, options).await?;
        self.replace(Some(map));
        Ok(Value::Null)
    }

    pub(crate) fn close(&self) -> Result<Value, Failure> {
        self.replace(None);
        Ok(Value::Null)
    }

    pub(crate) fn lookup(&self, request: &Lookup) -> Result<Value, Failure> {
        Ok(json!(self.map().shard_for(value_of(&request.key)?)?))
    }

    pub(crate) fn stats(&self) -> Result<Value, Failure> {
        let stats = self.map().stats();
        Ok(json!({
            "lookups": stats.lookups,
            "lookups_refused": stats.lookups_refused,
            "retries": stats.retries,
            "not_owner": stats.not_owner,
            "not_open": stats.not_open,
            "refreshes": stats.refreshes,
            "reconnects": stats.reconnects,
            "commits_unknown": stats.commits_unknown,
            "version": stats.version,
            "silence": stats.silence.as_secs_f64(),
        }))
    }

    pub(crate) async fn wait_version(&self, request: &WaitVersion) -> Result<Value, Failure> {
        let map = self.map();
        while map.current().version < request.version {
            let known = map.current().version;
            map.wait_for_newer(known, Duration::from_secs(60)).await;
        }
        Ok(Value::Null)
    }

    pub(crate) async fn with_shard(&self, request: WithShard) -> Result<Value, Failure> {
        let WithShard { key, work, options } = request;
        let (map, key, work) = (self.map(), value_of(&key)?, Arc::new(work));
        let rows = map.with_shard(key, options.into(), move |tx| {
            let work = Arc::clone(&work);
            async move { run(tx, &work).await }.boxed()
        });
        Ok(rows.await?)
    }

    pub(crate) async fn on_all(&self, request: OnAll) -> Result<Value, Failure> {
        let map = self.map();
        let query = map.on_all(request.limit, |part, tx| {
            let columns: Vec<&str> = request.columns.iter().map(String::as_str).collect();
            let predicate = part.predicate(&columns).unwrap();
            let statement = Statement {
                sql: request.sql.replace("{predicate}", &predicate),
                params: Vec::new(),
                ignore_error: request.ignore_error,
                fail: None,
            };
            async move { run(tx, &[statement]).await }.boxed()
        });
        let found = query.await?;
        let answer = |answer| match answer {
            Ok(rows) => json!({"ok": rows}),
            Err(error) => json!({"error": Failure::from(error).kind()}),
        };
        let shards = found.shards.into_iter();
        let shards: Object<String, Value> = shards
            .map(|(shard, rows)| (shard.to_string(), answer(rows)))
            .collect();
        Ok(json!({"version": found.version, "newer": found.newer, "shards": shards}))
    }

    fn map(&self) -> Map {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        map.clone().unwrap()
    }

    fn replace(&self, map: Option<Map>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = map;
    }
}

/// Executes the statements, and returns the rows of the last one.
async fn run(tx: &Transaction, statements: &[Statement]) -> Result<Value, BoxError> {
    let mut rows = Value::Array(Vec::new());
    for statement in statements {
        if let Some(text) = &statement.fail {
            return Err(ApplicationError(text.clone()).into());
        }
        let parameters: Vec<Parameter<'_>> = statement.params.iter().map(Parameter).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters
            .iter()
            .map(|one| one as &(dyn ToSql + Sync))
            .collect();
        match tx.query(&statement.sql, &parameters).await {
            Ok(found) => rows = rows_of(&found),
            Err(_) if statement.ignore_error => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rows)
}

impl From<ConnectOptions> for Options {
    fn from(options: ConnectOptions) -> Self {
        let time = |seconds: Option<f64>| seconds.map(Duration::from_secs_f64);
        let default = Self::default();
        Self {
            retry_for: time(options.retry_for).unwrap_or(default.retry_for),
            longest_pause: time(options.longest_pause).unwrap_or(default.longest_pause),
            max_staleness: time(options.max_staleness),
            report_load: time(options.report_load),
            identity: Identity {
                token_file: options.token_file,
                ca_file: options.ca_file,
            },
            ..default
        }
    }
}

impl From<WorkOptions> for TransactionOptions {
    fn from(options: WorkOptions) -> Self {
        let isolation = match options.isolation.as_deref() {
            Some("serializable") => Isolation::Serializable,
            Some("repeatable read") => Isolation::RepeatableRead,
            _ => Isolation::ReadCommitted,
        };
        Self {
            isolation,
            synchronous_commit: options.synchronous_commit.unwrap_or(true),
        }
    }
}
