//! Reads every object of a database from its catalog, with the statements that create it.
//!
//! In one read-only snapshot, the reader first lists unsupported objects and fails if there are any. Then it reads the
//! objects by kind, their settings, comments and grants, and the dependencies.
//!
//! The server writes the definitions (`pg_get_indexdef` and similar functions). With an empty search path all names in
//! them are qualified, and the functions that the queries call are those of pg_catalog. The reader takes no locks on
//! tables: the comparison of the moving tables detects a schema that changes in the meantime.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use connect::Connected;
use plans::failure::StepCode;
use tokio_postgres::Row;

use super::kind::{QUERIES, SchemaObjectKind};
use crate::error::{StepError, WithIntent};
use crate::postgres::archive::ObjectId;

/// Maximum number of objects in one failure message.
const MAX_NAMED: usize = 20;

/// An object and the statements that create it.
#[derive(Debug, Clone)]
pub(super) struct SchemaObject {
    pub(super) id: ObjectId,
    pub(super) kind: SchemaObjectKind,
    pub(super) schema: String,
    pub(super) name: String,
    /// The first statement, without a semicolon at the end. Empty if the object has only the statements in `further`.
    pub(super) create: String,
    /// The statements after the first one: owner, settings, comments and grants.
    pub(super) further: Vec<String>,
    /// True if this key identifies rows, as primary key or replica identity.
    pub(super) identifies_rows: bool,
}

/// The objects of a schema and their dependencies.
#[derive(Debug)]
pub(super) struct SchemaGraph {
    pub(super) objects: Vec<SchemaObject>,
    /// The dependencies of each object, as indexes into `objects`.
    pub(super) needs: Vec<BTreeSet<usize>>,
}

/// Reads all objects from the catalog.
///
/// # Errors
/// Returns `schema.uncarried`, with the names of unsupported objects.
pub(super) async fn read(client: &Connected) -> Result<SchemaGraph, StepError> {
    let shard = client.name();
    SchemaReader { client, shard }.read_all().await
}

/// Begins the transaction whose snapshot a schema is read in, with an empty search path, for a target of major version
/// `target`. [`close`] ends the transaction.
pub(super) async fn open(client: &Connected, target: u32) -> Result<(), StepError> {
    let shard = client.name();
    client
        .batch_execute(&format!(
            "begin isolation level repeatable read read only; set local search_path = ''; \
             set local quote_all_identifiers = off; set local shardwright.target_version = {target}"
        ))
        .await
        .at(format_args!("shard {shard}: opening a snapshot"))
}

/// Ends the transaction.
pub(super) async fn close(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    let ended = client.batch_execute("rollback").await;
    ended.at(format_args!("shard {shard}: closing the snapshot"))
}

/// Privileges from the catalog, for a schema that pg_dump has read.
pub(super) struct SchemaPrivileges {
    /// GRANT and REVOKE statements, with the id and the name of their object.
    pub(super) granted: Vec<(ObjectId, String, String)>,
    /// The statements ALTER DEFAULT PRIVILEGES.
    pub(super) default_privileges: Vec<SchemaObject>,
}

/// Reads all privileges from the catalog.
pub(super) async fn privileges(client: &Connected) -> Result<SchemaPrivileges, StepError> {
    let shard = client.name();
    let reader = SchemaReader { client, shard };
    let rows = reader.rows("privileges", include_str!("sql/default_grants.sql"));
    let rows = rows.await?;
    Ok(SchemaPrivileges {
        granted: reader.grants().await?,
        default_privileges: rows
            .iter()
            .map(|row| object(SchemaObjectKind::DefaultGrants, row))
            .collect(),
    })
}

struct SchemaReader<'a> {
    client: &'a Connected,
    shard: &'a str,
}

impl SchemaReader<'_> {
    fn what(&self, doing: &str) -> String {
        format!("shard {}: reading the schema: {doing}", self.shard)
    }

    async fn rows(&self, doing: &str, sql: &str) -> Result<Vec<Row>, StepError> {
        self.client.query(sql, &[]).await.at(self.what(doing))
    }

    async fn read_all(&self) -> Result<SchemaGraph, StepError> {
        let dependencies = self
            .rows("dependencies", include_str!("sql/dependencies.sql"))
            .await?;
        let members = self.members(&dependencies).await?;
        let mut unsupported = Vec::new();
        for row in self
            .rows("unsupported objects", include_str!("sql/uncarried.sql"))
            .await?
        {
            if !members.contains(&id(&row, 0)) {
                unsupported.push(row.get::<_, String>(2));
            }
        }
        let mut gathered = GatheredObjects::default();
        for (kind, sql) in QUERIES {
            for row in self.rows(kind.label(), sql).await? {
                let id = id(&row, 0);
                if !members.contains(&id) {
                    gathered.add(id, object(kind, &row));
                }
            }
        }
        for row in self
            .rows("aliases", include_str!("sql/aliases.sql"))
            .await?
        {
            gathered.aliases.insert(id(&row, 0), id(&row, 2));
        }
        for row in self
            .rows("settings", include_str!("sql/settings.sql"))
            .await?
        {
            gathered.add_statement(id(&row, 0), row.get(2));
        }
        for row in self
            .rows("comments", include_str!("sql/comments.sql"))
            .await?
        {
            let id = id(&row, 0);
            if !gathered.add_statement(id, row.get(3)) && !members.contains(&id) {
                unsupported.push(format!("the comment on {}", row.get::<_, String>(2)));
            }
        }
        for (id, name, statements) in self.grants().await? {
            gathered.add_grants(id, name, statements);
        }
        if unsupported.is_empty() {
            return Ok(gathered.into_graph(&dependencies));
        }
        Err(unsupported_error(self.shard, &unsupported))
    }

    async fn grants(&self) -> Result<Vec<(ObjectId, String, String)>, StepError> {
        let rows = self.rows("grants", include_str!("sql/grants.sql")).await?;
        let grants = |row: &Row| (id(row, 0), row.get(2), row.get(3));
        Ok(rows.iter().map(grants).collect())
    }

    /// Returns the objects that the creation of an extension creates: its members, and the objects that belong to
    /// members.
    async fn members(&self, dependencies: &[Row]) -> Result<BTreeSet<ObjectId>, StepError> {
        let rows = self
            .rows("members", include_str!("sql/members.sql"))
            .await?;
        let mut pending: Vec<ObjectId> = rows.iter().map(|row| id(row, 0)).collect();
        let mut parts: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for row in dependencies {
            // Automatic and internal dependencies: the object belongs to the other one.
            if ["a", "i"].contains(&row.get(4)) {
                parts.entry(id(row, 2)).or_default().push(id(row, 0));
            }
        }
        let mut members = BTreeSet::new();
        while let Some(next) = pending.pop() {
            if members.insert(next) {
                pending.extend(parts.get(&next).into_iter().flatten());
            }
        }
        Ok(members)
    }
}

fn unsupported_error(shard: &str, names: &[String]) -> StepError {
    let more = names.len().saturating_sub(MAX_NAMED);
    let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let rest = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    StepError::refused(
        StepCode::SchemaUncarried,
        format!(
            "shard {shard}: the agent finds no pg_dump of the server's version, and does not support these objects of the schema itself: {}{rest}",
            shown.join(", ")
        ),
        "install pg_dump of the source's major version on the agent's host; or create the schema on the target and set `schema: existing` in the request",
    )
}

fn id(row: &Row, column: usize) -> ObjectId {
    ObjectId {
        class: row.get(column),
        oid: row.get(column + 1),
    }
}

fn object(kind: SchemaObjectKind, row: &Row) -> SchemaObject {
    let (identity, owner): (String, Option<String>) = (row.get(4), row.get(5));
    let owner = owner.map(|owner| {
        format!(
            "alter {} {identity} owner to {}",
            kind.label().to_lowercase(),
            plans::sql::quote_ident(&owner)
        )
    });
    SchemaObject {
        id: id(row, 0),
        kind,
        schema: row.get(2),
        name: row.get(3),
        create: row.get(6),
        further: owner.into_iter().collect(),
        identifies_rows: row.len() > 7 && row.get(7),
    }
}

/// Collects the objects while the catalog is read.
#[derive(Default)]
struct GatheredObjects {
    objects: Vec<SchemaObject>,
    indexes: BTreeMap<ObjectId, usize>,
    /// Maps an object to the one whose statement also creates it.
    aliases: HashMap<ObjectId, ObjectId>,
}

impl GatheredObjects {
    fn add(&mut self, id: ObjectId, object: SchemaObject) {
        self.indexes.insert(id, self.objects.len());
        self.objects.push(object);
    }

    /// Returns the index of the object, or of the one whose statement also creates it.
    fn index(&self, mut id: ObjectId) -> Option<usize> {
        loop {
            if let Some(index) = self.indexes.get(&id) {
                return Some(*index);
            }
            id = *self.aliases.get(&id)?;
        }
    }

    /// Adds a statement to an object. Returns false if the object is not among the collected ones.
    fn add_statement(&mut self, id: ObjectId, statement: String) -> bool {
        let index = self.index(id);
        let object = index.and_then(|index| self.objects.get_mut(index));
        let exists = object.is_some();
        if let Some(object) = object {
            object.further.push(statement);
        }
        exists
    }

    /// Adds grants to their object. Grants on an object that is not among the collected ones become an object of their
    /// own.
    fn add_grants(&mut self, id: ObjectId, name: String, statements: String) {
        if !self.add_statement(id, statements.clone()) {
            self.add(
                id,
                SchemaObject {
                    id,
                    kind: SchemaObjectKind::GrantOnOtherObject,
                    schema: String::new(),
                    name,
                    create: statements,
                    further: Vec::new(),
                    identifies_rows: false,
                },
            );
        }
    }

    fn into_graph(self, dependencies: &[Row]) -> SchemaGraph {
        let mut needs = vec![BTreeSet::new(); self.objects.len()];
        for row in dependencies {
            if let (Some(from), Some(to)) = (self.index(id(row, 0)), self.index(id(row, 2)))
                && from != to
                && let Some(own) = needs.get_mut(from)
            {
                own.insert(to);
            }
        }
        SchemaGraph {
            objects: self.objects,
            needs,
        }
    }
}
