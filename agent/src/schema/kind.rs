//! The kinds of schema objects that the writer supports: the query that reads each kind, its name, and the section in
//! which it is created.

use crate::postgres::pg_dump::RestoreSection;

/// The kind of an object. Objects that do not depend on each other are created in this order.
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
    /// The attachment of a table to a partitioned table.
    Partition,
    View,
    MaterializedView,
    /// Privileges on an object that has no statement of its own: the server or an extension has created it.
    GrantOnOtherObject,
    /// A primary key, unique or exclusion constraint.
    Key,
    Index,
    IndexPartition,
    /// A CHECK constraint that is NOT VALID: existing rows need not fulfil it.
    NotValidCheck,
    /// Extended statistics. They come before foreign keys, because tables are analyzed before foreign keys are added.
    Statistics,
    ForeignKey,
    Rule,
    Trigger,
    Policy,
    RowSecurity,
    DefaultGrants,
    EventTrigger,
}

/// The catalog queries that read objects, by kind.
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
        SchemaObjectKind::NotValidCheck,
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
    /// Returns the name of the kind for messages, as pg_dump uses it. For kinds with an owner it is also the keyword of
    /// ALTER .. OWNER TO.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Schema => "SCHEMA",
            Self::Collation => "COLLATION",
            Self::Extension => "EXTENSION",
            Self::Type => "TYPE",
            Self::Domain => "DOMAIN",
            Self::DomainCheck | Self::Check | Self::NotValidCheck => "CHECK CONSTRAINT",
            Self::Routine => "ROUTINE",
            Self::Table => "TABLE",
            Self::Sequence => "SEQUENCE",
            Self::Default => "DEFAULT",
            Self::Partition => "TABLE ATTACH",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::GrantOnOtherObject => "ACL",
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

    /// Returns the section in which an object is created, unless it depends on an object of a later section. A key that
    /// identifies rows (`identifies_rows`) is created right after the copy.
    pub(super) fn section(self, identifies_rows: bool) -> RestoreSection {
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
            | Self::GrantOnOtherObject => RestoreSection::Pre,
            Self::Key | Self::Index if identifies_rows => RestoreSection::Key,
            Self::Key
            | Self::Index
            | Self::IndexPartition
            | Self::NotValidCheck
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

    /// Returns whether the copy writes rows into objects of this kind, which must therefore exist before the copy.
    pub(super) fn receives_rows(self) -> bool {
        matches!(self, Self::Table | Self::Partition)
    }

    /// Returns whether the creation of the object builds an index. Several of them can be created concurrently.
    pub(super) fn is_index(self) -> bool {
        matches!(self, Self::Key | Self::Index)
    }
}
