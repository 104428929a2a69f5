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
const NAMED: usize = 20;

/// An object and the statements that create it.
#[derive(Debug, Clone)]
pub(super) struct SchemaObject {
    pub(super) id: ObjectId,
    pub(super) kind: SchemaObjectKind,
    pub(super) schema: String,
    pub(super) name: String,
    /// Has no semicolon at the end. Empty if the object consists only of the statements in `then`.
    pub(super) create: String,
    /// Statements that follow: owner, settings, comments and grants.
    pub(super) then: Vec<String>,
    /// True if this key identifies rows, as primary key or replica identity.
    pub(super) finds_rows: bool,
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
    SchemaReader { client, shard }.all().await
}

/// Opens the snapshot in which a schema is read, for a target of major version `target`, with an empty search path.
/// [`close`] ends it.
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

/// Ends the snapshot.
pub(super) async fn close(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    let ended = client.batch_execute("rollback").await;
    ended.at(format_args!("shard {shard}: closing the snapshot"))
}

/// Privileges from the catalog, for a schema that pg_dump has read.
pub(super) struct SchemaPrivileges {
    /// GRANT and REVOKE statements, with the id and the name of their object.
    pub(super) granted: Vec<(ObjectId, String, String)>,
    /// Default privileges (ALTER DEFAULT PRIVILEGES).
    pub(super) by_default: Vec<SchemaObject>,
}

/// Reads all privileges from the catalog.
pub(super) async fn privileges(client: &Connected) -> Result<SchemaPrivileges, StepError> {
    let shard = client.name();
    let reader = SchemaReader { client, shard };
    let by_default = reader.rows("privileges", include_str!("sql/default_grants.sql"));
    let by_default = by_default.await?;
    Ok(SchemaPrivileges {
        granted: reader.grants().await?,
        by_default: by_default
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

    async fn all(&self) -> Result<SchemaGraph, StepError> {
        let dependencies = self
            .rows("dependencies", include_str!("sql/dependencies.sql"))
            .await?;
        let members = self.members(&dependencies).await?;
        let mut refused = Vec::new();
        for row in self
            .rows("what cannot be carried", include_str!("sql/uncarried.sql"))
            .await?
        {
            if !members.contains(&id(&row, 0)) {
                refused.push(row.get::<_, String>(2));
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
            gathered.then(id(&row, 0), row.get(2));
        }
        for row in self
            .rows("comments", include_str!("sql/comments.sql"))
            .await?
        {
            let id = id(&row, 0);
            if !gathered.then(id, row.get(3)) && !members.contains(&id) {
                refused.push(format!("the comment on {}", row.get::<_, String>(2)));
            }
        }
        for (id, name, statements) in self.grants().await? {
            gathered.grants(id, name, statements);
        }
        if refused.is_empty() {
            return Ok(gathered.found(&dependencies));
        }
        Err(uncarried(self.shard, &refused))
    }

    async fn grants(&self) -> Result<Vec<(ObjectId, String, String)>, StepError> {
        let rows = self.rows("grants", include_str!("sql/grants.sql")).await?;
        let grants = |row: &Row| (id(row, 0), row.get(2), row.get(3));
        Ok(rows.iter().map(grants).collect())
    }

    /// Returns the objects that an extension creates: its members, and the objects that are created together with
    /// those.
    async fn members(&self, dependencies: &[Row]) -> Result<BTreeSet<ObjectId>, StepError> {
        let rows = self
            .rows("members", include_str!("sql/members.sql"))
            .await?;
        let mut open: Vec<ObjectId> = rows.iter().map(|row| id(row, 0)).collect();
        let mut parts: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for row in dependencies {
            if ["a", "i"].contains(&row.get(4)) {
                parts.entry(id(row, 2)).or_default().push(id(row, 0));
            }
        }
        let mut members = BTreeSet::new();
        while let Some(next) = open.pop() {
            if members.insert(next) {
                open.extend(parts.get(&next).into_iter().flatten());
            }
        }
        Ok(members)
    }
}

fn uncarried(shard: &str, names: &[String]) -> StepError {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let rest = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    StepError::refused(
        StepCode::SchemaUncarried,
        format!(
            "shard {shard}: without pg_dump of the server's version its schema cannot be copied; these have no words: {}{rest}",
            shown.join(", ")
        ),
        "install pg_dump of the source's major version beside the agent; or create the schema on the target and say `schema: existing`",
    )
}

fn id(row: &Row, at: usize) -> ObjectId {
    ObjectId {
        class: row.get(at),
        oid: row.get(at + 1),
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
        then: owner.into_iter().collect(),
        finds_rows: row.len() > 7 && row.get(7),
    }
}

/// Collects the objects while the catalog is read.
#[derive(Default)]
struct GatheredObjects {
    objects: Vec<SchemaObject>,
    places: BTreeMap<ObjectId, usize>,
    /// Maps an object to the one whose statement also creates it.
    aliases: HashMap<ObjectId, ObjectId>,
}

impl GatheredObjects {
    fn add(&mut self, id: ObjectId, object: SchemaObject) {
        self.places.insert(id, self.objects.len());
        self.objects.push(object);
    }

    /// Returns the index of the object, or of the one whose statement also creates it.
    fn place(&self, mut id: ObjectId) -> Option<usize> {
        loop {
            if let Some(place) = self.places.get(&id) {
                return Some(*place);
            }
            id = *self.aliases.get(&id)?;
        }
    }

    /// Adds a statement to an object. Returns false if the object is not among the collected ones.
    fn then(&mut self, id: ObjectId, statement: String) -> bool {
        let place = self.place(id);
        let object = place.and_then(|place| self.objects.get_mut(place));
        let found = object.is_some();
        if let Some(object) = object {
            object.then.push(statement);
        }
        found
    }

    /// Adds grants to their object. Grants on an object that is not among the collected ones become an object of their
    /// own.
    fn grants(&mut self, id: ObjectId, name: String, statements: String) {
        if !self.then(id, statements.clone()) {
            self.add(
                id,
                SchemaObject {
                    id,
                    kind: SchemaObjectKind::ForeignGrant,
                    schema: String::new(),
                    name,
                    create: statements,
                    then: Vec::new(),
                    finds_rows: false,
                },
            );
        }
    }

    fn found(self, dependencies: &[Row]) -> SchemaGraph {
        let mut needs = vec![BTreeSet::new(); self.objects.len()];
        for row in dependencies {
            if let (Some(from), Some(to)) = (self.place(id(row, 0)), self.place(id(row, 2)))
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
