//! The state of M9.

/// A transaction of the application that creates a table in the moving schema and inserts rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Creation {
    NotBegun,
    /// It holds the lock of CREATE TABLE on the schema until it ends. `early`: it began before the fence of the attempt.
    Open {
        early: bool,
    },
    Committed {
        early: bool,
    },
    RolledBack,
}

/// A table of the moving schema, by the transaction that creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CreatedTable {
    pub(crate) creation: Creation,
    /// The agent has put the guard on it, and its rows are on the target.
    pub(crate) adopted: bool,
    /// A write was accepted on the old owner after the flip.
    pub(crate) written_late: bool,
}

impl CreatedTable {
    pub(crate) const NONE: Self = Self {
        creation: Creation::NotBegun,
        adopted: false,
        written_late: false,
    };

    pub(crate) fn exists(self) -> bool {
        matches!(self.creation, Creation::Committed { .. })
    }

    /// Returns whether the table exists since a transaction that began before the fence.
    pub(crate) fn is_early(self) -> bool {
        self.creation == Creation::Committed { early: true }
    }

    pub(crate) fn holds_lock(self) -> bool {
        matches!(self.creation, Creation::Open { .. })
    }

    fn begins_early(&mut self) {
        match &mut self.creation {
            Creation::Open { early } | Creation::Committed { early } => *early = true,
            Creation::NotBegun | Creation::RolledBack => {}
        }
    }
}

/// How far an attempt of the cutover is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum AttemptStage {
    /// Before the gate. The agent adopts new tables.
    Idle,
    Gate,
    /// The register is fenced. The wait-out waits for the transactions in the list.
    /// `searched`: the agent has found no new table.
    Fenced {
        awaited: Vec<usize>,
        searched: bool,
    },
    Flipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WholeTablesState {
    pub(crate) stage: AttemptStage,
    pub(crate) attempt: u8,
    pub(crate) tables: Vec<CreatedTable>,
    /// An attempt was given up because of a new table.
    pub(crate) has_failed_attempt: bool,
}

impl WholeTablesState {
    /// Everything that began before this moment began before the fence.
    pub(crate) fn mark_early(&mut self) {
        self.tables.iter_mut().for_each(CreatedTable::begins_early);
    }

    pub(crate) fn has_unknown_table(&self) -> bool {
        self.tables
            .iter()
            .any(|table| table.exists() && !table.adopted)
    }
}
