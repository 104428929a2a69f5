//! The kinds of objects that the writer carries: where each is read, what it is called, when it is created.

use crate::postgres::pg_dump::RestoreSection;

/// What an object is, in the order in which objects that need nothing from each other are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SchemaObjectKind {
    Schema,
    Collation,
    Extension,
    Type,
    Domain,
    DomainCheck,
    Routine,
    Table,
    Sequence,
    Default,
    Check,
    /// A table's place among the partitions of another one.
    Partition,
    View,
    MaterializedView,
    /// Changed privileges of what the server or an extension has made.
    ForeignGrant,
    /// A primary key, unique or exclusion constraint.
    Key,
    Index,
    IndexPartition,
    /// A constraint that old rows need not fulfil.
    LateCheck,
    /// Before foreign keys, in front of which tables are analyzed.
    Statistics,
    ForeignKey,
    Rule,
    Trigger,
    Policy,
    RowSecurity,
    DefaultGrants,
    EventTrigger,
}

/// Every catalog query that yields objects.
pub(super) const QUERIES: [(SchemaObjectKind, &str); 28] = [
    (SchemaObjectKind::Schema, include_str!("sql/schemas.sql")),
    (
        SchemaObjectKind::Collation,
        include_str!("sql/collations.sql"),
    ),
    (
        SchemaObjectKind::Extension,
        include_str!("sql/extensions.sql"),
    ),
    (SchemaObjectKind::Type, include_str!("sql/enums.sql")),
    (SchemaObjectKind::Type, include_str!("sql/composites.sql")),
    (SchemaObjectKind::Type, include_str!("sql/ranges.sql")),
    (SchemaObjectKind::Domain, include_str!("sql/domains.sql")),
    (
        SchemaObjectKind::DomainCheck,
        include_str!("sql/domain_checks.sql"),
    ),
    (SchemaObjectKind::Routine, include_str!("sql/routines.sql")),
    (SchemaObjectKind::Table, include_str!("sql/tables.sql")),
    (
        SchemaObjectKind::Sequence,
        include_str!("sql/sequences.sql"),
    ),
    (SchemaObjectKind::Default, include_str!("sql/defaults.sql")),
    (SchemaObjectKind::Check, include_str!("sql/checks.sql")),
    (
        SchemaObjectKind::Partition,
        include_str!("sql/partitions.sql"),
    ),
    (SchemaObjectKind::View, include_str!("sql/views.sql")),
    (
        SchemaObjectKind::MaterializedView,
        include_str!("sql/materialized_views.sql"),
    ),
    (SchemaObjectKind::Key, include_str!("sql/keys.sql")),
    (SchemaObjectKind::Index, include_str!("sql/indexes.sql")),
    (
        SchemaObjectKind::IndexPartition,
        include_str!("sql/index_partitions.sql"),
    ),
    (
        SchemaObjectKind::LateCheck,
        include_str!("sql/late_checks.sql"),
    ),
    (
        SchemaObjectKind::Statistics,
        include_str!("sql/statistics.sql"),
    ),
    (
        SchemaObjectKind::ForeignKey,
        include_str!("sql/foreign_keys.sql"),
    ),
    (SchemaObjectKind::Rule, include_str!("sql/rules.sql")),
    (SchemaObjectKind::Trigger, include_str!("sql/triggers.sql")),
    (SchemaObjectKind::Policy, include_str!("sql/policies.sql")),
    (
        SchemaObjectKind::RowSecurity,
        include_str!("sql/row_security.sql"),
    ),
    (
        SchemaObjectKind::DefaultGrants,
        include_str!("sql/default_grants.sql"),
    ),
    (
        SchemaObjectKind::EventTrigger,
        include_str!("sql/event_triggers.sql"),
    ),
];

impl SchemaObjectKind {
    /// The word for people, as pg_dump has it; where the kind has owners, also SQL's.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Schema => "SCHEMA",
            Self::Collation => "COLLATION",
            Self::Extension => "EXTENSION",
            Self::Type => "TYPE",
            Self::Domain => "DOMAIN",
            Self::DomainCheck | Self::Check | Self::LateCheck => "CHECK CONSTRAINT",
            Self::Routine => "ROUTINE",
            Self::Table => "TABLE",
            Self::Sequence => "SEQUENCE",
            Self::Default => "DEFAULT",
            Self::Partition => "TABLE ATTACH",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::ForeignGrant => "ACL",
            Self::Key => "CONSTRAINT",
            Self::Index => "INDEX",
            Self::IndexPartition => "INDEX ATTACH",
            Self::ForeignKey => "FK CONSTRAINT",
            Self::Statistics => "STATISTICS",
            Self::Rule => "RULE",
            Self::Trigger => "TRIGGER",
            Self::Policy => "POLICY",
            Self::RowSecurity => "ROW SECURITY",
            Self::DefaultGrants => "DEFAULT ACL",
            Self::EventTrigger => "EVENT TRIGGER",
        }
    }

    /// When it is created if nothing that it needs comes later. A key by which rows are found comes right
    /// after the copy.
    pub(super) fn section(self, finds_rows: bool) -> RestoreSection {
        match self {
            Self::Schema
            | Self::Collation
            | Self::Extension
            | Self::Type
            | Self::Domain
            | Self::DomainCheck
            | Self::Routine
            | Self::Table
            | Self::Sequence
            | Self::Default
            | Self::Check
            | Self::Partition
            | Self::View
            | Self::MaterializedView
            | Self::ForeignGrant => RestoreSection::Pre,
            Self::Key | Self::Index if finds_rows => RestoreSection::Key,
            Self::Key
            | Self::Index
            | Self::IndexPartition
            | Self::LateCheck
            | Self::ForeignKey
            | Self::Statistics
            | Self::Rule
            | Self::Trigger
            | Self::Policy
            | Self::RowSecurity
            | Self::DefaultGrants
            | Self::EventTrigger => RestoreSection::Post,
        }
    }

    /// Rows are copied into it, so it cannot wait for what is built after the copy.
    pub(super) fn takes_rows(self) -> bool {
        matches!(self, Self::Table | Self::Partition)
    }

    /// Scans a table, and needs no other index: many can be built side by side.
    pub(super) fn is_index(self) -> bool {
        matches!(self, Self::Key | Self::Index)
    }
}
