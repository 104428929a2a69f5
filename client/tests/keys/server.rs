//! A server with unusual settings, on which the predicates must not depend, and the results that it computes for keys.

use super::golden::{Entry, Group, Set, hex};
use super::values::{BUCKETS, Samples};
use cluster::Cluster;
use connect::Dsn;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use std::error::Error;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Row};

/// A database with another collation than "C".
const DATABASE: &str = "create database keys template template0 encoding 'UTF8' \
    lc_collate 'C' lc_ctype 'C' locale_provider icu icu_locale 'en-US'";
/// Unusual settings. With them, every predicate and literal must have the same meaning as with the default settings.
const SETTINGS: &str = "-c TimeZone=Asia/Kolkata -c DateStyle=SQL,DMY -c IntervalStyle=sql_standard \
    -c bytea_output=escape -c standard_conforming_strings=off -c escape_string_warning=off";
/// The settings with which the server prints the texts of keys.
const PLAIN: &str = "begin; set local TimeZone = 'UTC'; set local DateStyle = 'ISO'; \
    set local bytea_output = 'hex'";

/// A private cluster and a session in it.
pub(crate) struct Server {
    pub(crate) client: Client,
    _cluster: Cluster,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let launch = || {
            let options = cluster::Options::temporary("keys").setting("fsync", "off");
            Cluster::launch(options).unwrap()
        };
        let cluster = tokio::task::spawn_blocking(launch).await.unwrap();
        let first = connect(&cluster, "postgres").await;
        first.batch_execute(DATABASE).await.unwrap();
        let client = connect(&cluster, "keys").await;
        Self {
            client,
            _cluster: cluster,
        }
    }

    /// Creates a table with the samples' keys, written in PostgreSQL's binary form; `id` is the position.
    pub(crate) async fn table(&self, samples: &Samples) -> String {
        let name = format!("t{}_{}", samples.keys.len(), samples.declared.join("_"));
        let columns: Vec<String> = (1..)
            .zip(&samples.declared)
            .map(|(n, declared)| format!("k{n} {declared} not null"))
            .collect();
        let columns = columns.join(", ");
        let create = format!("create table {name} (id int primary key, {columns})");
        self.client.batch_execute(&create).await.unwrap();
        let values: Vec<String> = (1..=samples.declared.len())
            .map(|n| format!("${}", n + 1))
            .collect();
        let insert = format!("insert into {name} values ($1, {})", values.join(", "));
        let insert = self.client.prepare(&insert).await.unwrap();
        for (id, key) in (0_i32..).zip(&samples.keys) {
            let values: Vec<Binary> = key.values().iter().map(Binary).collect();
            let mut params: Vec<&(dyn ToSql + Sync)> = vec![&id];
            params.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
            self.client.execute(&insert, &params).await.unwrap();
        }
        name
    }

    /// Returns the results that the server computes for the samples, whose rows are in `table`.
    pub(crate) async fn compute(&self, table: &str, samples: &Samples) -> Group {
        self.check_literals(table, samples).await;
        let columns: Vec<(String, KeyType)> = (1..)
            .zip(&samples.kinds)
            .map(|(n, kind)| (format!("t.k{n}"), *kind))
            .collect();
        let mut columns_of_query = vec!["id".to_owned()];
        columns_of_query.extend(columns.iter().map(|(column, _)| format!("{column}::text")));
        if let [(column, kind)] = columns.as_slice() {
            let hashed = kind.hash_expression(column);
            columns_of_query.push(hashed.clone());
            columns_of_query.extend(BUCKETS.map(|of| format!("({hashed} & {})::int4", of - 1)));
        }
        let order: Vec<String> = columns
            .iter()
            .map(|(column, kind)| kind.comparable_expression(column))
            .collect();
        let query = format!(
            "select {} from {table} t order by {}",
            columns_of_query.join(", "),
            order.join(", ")
        );
        self.client.batch_execute(PLAIN).await.unwrap();
        let rows = self.client.query(&query, &[]).await.unwrap();
        self.client.batch_execute("commit").await.unwrap();
        let mut sets = Vec::new();
        for set in &samples.sets {
            sets.push(self.members(table, samples, set).await);
        }
        Group {
            name: samples.declared.join(","),
            keys: rows.iter().map(|row| entry(row, samples)).collect(),
            sets,
        }
    }

    async fn members(&self, table: &str, samples: &Samples, set: &KeySet) -> Set {
        let predicate = samples.columns().predicate(set, "");
        let query = format!("select id from {table} where {predicate} order by id");
        let rows = self.client.query(&query, &[]).await;
        let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {predicate}"));
        let position = |row: &Row| usize::try_from(row.get::<_, i32>(0)).unwrap();
        Set {
            set: set.clone(),
            members: rows.iter().map(position).collect(),
            predicate,
        }
    }

    /// Checks that the literal of every key is equal to the value that was written in binary form.
    async fn check_literals(&self, table: &str, samples: &Samples) {
        let conditions: Vec<String> = (0..samples.keys.len())
            .map(|id| {
                let values = samples.keys[id].values().iter().zip(&samples.kinds);
                let equal: Vec<String> = (1..)
                    .zip(values)
                    .map(|(n, (value, kind))| format!("k{n} = {}", value.sql_literal(*kind)))
                    .collect();
                format!("(id = {id} and {})", equal.join(" and "))
            })
            .collect();
        for chunk in conditions.chunks(100) {
            let query = format!("select count(*) from {table} where {}", chunk.join(" or "));
            let found: i64 = self.client.query_one(&query, &[]).await.unwrap().get(0);
            assert_eq!(usize::try_from(found), Ok(chunk.len()), "{table}");
        }
    }
}

async fn connect(cluster: &Cluster, database: &str) -> Client {
    let text = cluster.dsn(database, "postgres");
    let dsn = Dsn::parse(&format!("{text} options='{SETTINGS}'")).unwrap();
    connect::connect_plain(&dsn).await.unwrap().0
}

fn entry(row: &Row, samples: &Samples) -> Entry {
    let position = usize::try_from(row.get::<_, i32>(0)).unwrap();
    let key = samples.keys[position].clone();
    let columns = samples.kinds.len();
    let is_single = columns == 1;
    let bucket = |n: usize| u32::try_from(row.get::<_, i32>(columns + 2 + n)).unwrap();
    Entry {
        texts: (1..=columns).map(|n| row.get(n)).collect(),
        // The server has no such form. The comparison shows that the order of these bytes is that of the server.
        ordered: hex(&key.ordered_bytes()),
        hash: is_single.then(|| row.get::<_, i64>(2).to_string()),
        buckets: match is_single {
            true => (0..BUCKETS.len()).map(bucket).collect(),
            false => Vec::new(),
        },
        key,
    }
}

/// A value in the binary form of its column's type, which no conversion to text can change.
#[derive(Debug)]
struct Binary<'k>(&'k Key);

impl ToSql for Binary<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Key::Int(value) if *kind == Type::INT2 => {
                out.extend_from_slice(&i16::try_from(*value)?.to_be_bytes());
            }
            Key::Int(value) if *kind == Type::INT4 => {
                out.extend_from_slice(&i32::try_from(*value)?.to_be_bytes());
            }
            Key::Int(value) | Key::Timestamp(value) => out.extend_from_slice(&value.to_be_bytes()),
            Key::Text(text) => out.extend_from_slice(text.as_bytes()),
            Key::Uuid(bytes) => out.extend_from_slice(bytes),
            Key::Bytes(bytes) => out.extend_from_slice(bytes),
            Key::Date(days) => out.extend_from_slice(&days.to_be_bytes()),
            Key::Row(_) => return Err("a row is written column by column".into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
