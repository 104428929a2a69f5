//! The list of all migrations, newest first, with a filter and pages.

use super::marks;
use super::open::{MigrationListRow, OpenMigration};
use super::page::{DashboardPage, Fragment, PageError};
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::store::Migration;
use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use chrono::Utc;
use plans::id::MigrationId;
use plans::state::migration::MigrationState;
use serde::Deserialize;

/// The number of migrations that are read at once, until the page is full.
const READ_MIGRATIONS: i64 = 1_000;
/// The number of rows in a page.
const PAGE_ROWS: usize = 50;

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct MigrationsQuery {
    /// `open`, `attention`, `ended`, or the name of a state; empty: all.
    state: String,
    /// Shows only migrations in which one of these contains the text: id, name, shard, map, keys, submitting user.
    q: String,
    /// The page begins after this migration.
    after: String,
}

impl MigrationsQuery {
    /// Returns the query string of this page, or of the page that begins after `after`.
    fn query(&self, after: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("state", &*self.state), ("q", &*self.q), ("after", after)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// The states that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateFilter {
    All,
    Unfinished,
    Attention,
    Ended,
    One(MigrationState),
}

impl StateFilter {
    fn parse(name: &str) -> Result<Self, ControlError> {
        match name {
            "" => Ok(Self::All),
            "open" => Ok(Self::Unfinished),
            "attention" => Ok(Self::Attention),
            "ended" => Ok(Self::Ended),
            state => {
                let mut states = MigrationState::ALL.into_iter();
                let named = states.find(|each| each.name() == state);
                named
                    .map(Self::One)
                    .ok_or_else(|| ControlError::missing("state", state))
            }
        }
    }

    fn includes(self, m: &Migration) -> bool {
        match self {
            Self::All => true,
            Self::Unfinished => m.finished_at.is_none(),
            Self::Ended => m.finished_at.is_some(),
            Self::Attention => matches!(
                m.state,
                MigrationState::Waiting | MigrationState::Paused | MigrationState::Failed
            ),
            Self::One(state) => m.state == state,
        }
    }
}

/// The form above the list.
#[derive(Template)]
#[template(path = "migrations/filter.html")]
struct MigrationsFilterForm {
    q: String,
    states: Vec<StateChoice>,
}

struct StateChoice {
    name: &'static str,
    label: String,
    chosen: bool,
}

impl MigrationsFilterForm {
    fn new(query: &MigrationsQuery) -> Self {
        let groups = [
            ("", "all states"),
            ("open", "not ended"),
            ("attention", "waits for an operator"),
            ("ended", "ended"),
        ];
        let groups = groups.map(|(name, label)| (name, label.to_owned()));
        let states =
            MigrationState::ALL.map(|s| (s.name(), marks::of_migration(s).text.to_owned()));
        let states = groups.into_iter().chain(states);
        Self {
            q: query.q.clone(),
            states: states
                .map(|(name, label)| StateChoice {
                    name,
                    label,
                    chosen: name == query.state,
                })
                .collect(),
        }
    }
}

/// The rows.
#[derive(Template)]
#[template(path = "migrations/list.html")]
struct MigrationsList {
    rows: Vec<ListedMigration>,
    /// True if a filter is set.
    filtered: bool,
    newest: Option<String>,
    older: Option<String>,
}

struct ListedMigration {
    row: MigrationListRow,
    map: String,
    by: String,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<MigrationsQuery>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Migrations".to_owned(),
        live: Some(format!("/live/migrations?{}", query.query(&query.after))),
        fragments: fragments(&controller, &query).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    query: &MigrationsQuery,
) -> Result<Vec<Fragment>, ControlError> {
    Ok(vec![
        Fragment::new("filter", &MigrationsFilterForm::new(query)),
        Fragment::new("list", &list(controller, query).await?),
    ])
}

async fn list(
    controller: &Controller,
    query: &MigrationsQuery,
) -> Result<MigrationsList, ControlError> {
    let mut page = matching_migrations(controller, query).await?;
    let has_older = page.len() > PAGE_ROWS;
    page.truncate(PAGE_ROWS);
    let now = Utc::now();
    let unfinished = controller.store().unfinished().await?;
    let is_on_page = |id| page.iter().any(|m| &m.id == id);
    let views: Vec<OpenMigration> = unfinished
        .iter()
        .filter(|snapshot| is_on_page(&snapshot.migration.id))
        .map(|snapshot| OpenMigration::new(controller, snapshot, now))
        .collect();
    let last = page.last().filter(|_| has_older);
    Ok(MigrationsList {
        filtered: !query.state.is_empty() || !query.q.is_empty(),
        newest: (!query.after.is_empty()).then(|| query.query("")),
        older: last.map(|m| query.query(m.id.as_str())),
        rows: page.iter().map(|m| listed_row(m, &views)).collect(),
    })
}

/// Returns the migrations of the page, newest first, and one more if another page follows.
async fn matching_migrations(
    controller: &Controller,
    query: &MigrationsQuery,
) -> Result<Vec<Migration>, ControlError> {
    let states = StateFilter::parse(&query.state)?;
    let mut after = Some(MigrationId(query.after.clone())).filter(|id| !id.as_str().is_empty());
    let mut matching = Vec::new();
    loop {
        let batch = controller
            .store()
            .list(READ_MIGRATIONS, after.as_ref())
            .await?;
        let is_last = i64::try_from(batch.len()).is_ok_and(|rows| rows < READ_MIGRATIONS);
        after = batch.last().map(|m| m.id.clone());
        let is_matching = |m: &Migration| states.includes(m) && contains_text(m, &query.q);
        matching.extend(batch.into_iter().filter(is_matching));
        if is_last || matching.len() > PAGE_ROWS {
            return Ok(matching);
        }
    }
}

fn listed_row(m: &Migration, unfinished: &[OpenMigration]) -> ListedMigration {
    ListedMigration {
        row: MigrationListRow::new(m, unfinished),
        map: m.plan.map.to_string(),
        by: m.submitted_by.clone(),
    }
}

/// Returns whether any text of the migration contains `part`.
fn contains_text(m: &Migration, part: &str) -> bool {
    let part = part.trim().to_lowercase();
    let plan = &m.plan;
    let texts = [
        m.id.to_string(),
        m.operation.to_string(),
        plan.id.clone(),
        plan.operation.clone(),
        plan.map.to_string(),
        plan.moving.source.to_string(),
        plan.moving.target.to_string(),
        plan.moving.keys.to_string(),
        m.submitted_by.clone(),
    ];
    part.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&part))
}
