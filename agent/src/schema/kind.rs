//! The kinds of objects that the writer carries: where each is read, what it is called, when it is created.

use crate::postgres::pg_dump::Section;

/// What an object is, in the order in which objects that need nothing from each other are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
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
pub(super) const QUERIES: [(Kind, &str); 28] = [
    (Kind::Schema, include_str!("sql/schemas.sql")),
    (Kind::Collation, include_str!("sql/collations.sql")),
    (Kind::Extension, include_str!("sql/extensions.sql")),
    (Kind::Type, include_str!("sql/enums.sql")),
    (Kind::Type, include_str!("sql/composites.sql")),
    (Kind::Type, include_str!("sql/ranges.sql")),
    (Kind::Domain, include_str!("sql/domains.sql")),
    (Kind::DomainCheck, include_str!("sql/domain_checks.sql")),
    (Kind::Routine, include_str!("sql/routines.sql")),
    (Kind::Table, include_str!("sql/tables.sql")),
    (Kind::Sequence, include_str!("sql/sequences.sql")),
    (Kind::Default, include_str!("sql/defaults.sql")),
    (Kind::Check, include_str!("sql/checks.sql")),
    (Kind::Partition, include_str!("sql/partitions.sql")),
    (Kind::View, include_str!("sql/views.sql")),
    (
        Kind::MaterializedView,
        include_str!("sql/materialized_views.sql"),
    ),
    (Kind::Key, include_str!("sql/keys.sql")),
    (Kind::Index, include_str!("sql/indexes.sql")),
    (
        Kind::IndexPartition,
        include_str!("sql/index_partitions.sql"),
    ),
    (Kind::LateCheck, include_str!("sql/late_checks.sql")),
    (Kind::Statistics, include_str!("sql/statistics.sql")),
    (Kind::ForeignKey, include_str!("sql/foreign_keys.sql")),
    (Kind::Rule, include_str!("sql/rules.sql")),
    (Kind::Trigger, include_str!("sql/triggers.sql")),
    (Kind::Policy, include_str!("sql/policies.sql")),
    (Kind::RowSecurity, include_str!("sql/row_security.sql")),
    (Kind::DefaultGrants, include_str!("sql/default_grants.sql")),
    (Kind::EventTrigger, include_str!("sql/event_triggers.sql")),
];

impl Kind {
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
    pub(super) fn section(self, finds_rows: bool) -> Section {
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
            | Self::ForeignGrant => Section::Pre,
            Self::Key | Self::Index if finds_rows => Section::Key,
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
            | Self::EventTrigger => Section::Post,
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
