//! The state of M10.

/// The number of parents, and of children.
pub(crate) const ROWS: usize = 2;

/// The child on the source whose identity a row of the target has. Its parent never has a moving key.
pub(crate) const SHARED_CHILD: usize = 1;

/// A key, by whether it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ParentKey {
    Moving,
    Other,
}

/// A change of one row, as the stream carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CapturedChange {
    /// Through the row filter: a parent with a moving key is new, or gone.
    ParentCame(usize),
    ParentWent(usize),
    /// A child is new, refers to another parent, or is gone.
    ChildInserted(usize, usize),
    ChildUpdated(usize, usize),
    ChildDeleted(usize),
}

/// The rows of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SourceRows {
    pub(crate) parents: [Option<ParentKey>; ROWS],
    /// The parent to which each child refers.
    pub(crate) children: [Option<usize>; ROWS],
}

impl SourceRows {
    pub(crate) fn moves(self, parent: usize) -> bool {
        self.parents[parent] == Some(ParentKey::Moving)
    }

    pub(crate) fn has_child_of(self, parent: usize) -> bool {
        self.children.contains(&Some(parent))
    }
}

/// The rows of the copy on the target, and whether its own child is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TargetRows {
    pub(crate) parents: [bool; ROWS],
    pub(crate) children: [Option<usize>; ROWS],
    pub(crate) has_own_child: bool,
}

/// The source with its log, and the target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DependentsState {
    pub(crate) source: SourceRows,
    /// The committed transactions.
    pub(crate) log: Vec<Vec<CapturedChange>>,
    /// The number of transactions that the snapshot of each table sees; `None` before the copy.
    pub(crate) parents_copied: Option<usize>,
    pub(crate) children_copied: Option<usize>,
    pub(crate) applied: usize,
    pub(crate) target: TargetRows,
    /// The stream has passed the snapshots, and the agent has removed children without a parent.
    pub(crate) has_caught_up: bool,
    /// A change did not affect exactly one row.
    pub(crate) has_failed: bool,
    pub(crate) has_entered: bool,
    pub(crate) has_left: bool,
    pub(crate) parent_left_with_child: bool,
}

impl DependentsState {
    /// Parent 0 moves and has child 0; parent 1 does not move and has child 1.
    pub(crate) fn initial() -> Self {
        Self {
            source: SourceRows {
                parents: [Some(ParentKey::Moving), Some(ParentKey::Other)],
                children: [Some(0), Some(1)],
            },
            log: Vec::new(),
            parents_copied: None,
            children_copied: None,
            applied: 0,
            target: TargetRows {
                parents: [false; ROWS],
                children: [None; ROWS],
                has_own_child: true,
            },
            has_caught_up: false,
            has_failed: false,
            has_entered: false,
            has_left: false,
            parent_left_with_child: false,
        }
    }

    pub(crate) fn is_copied(&self) -> bool {
        self.parents_copied.is_some() && self.children_copied.is_some()
    }

    /// Returns whether the stream has applied every transaction that a snapshot sees.
    pub(crate) fn has_passed_snapshots(&self) -> bool {
        let passed = |copied: Option<usize>| copied.is_some_and(|copied| copied <= self.applied);
        passed(self.parents_copied) && passed(self.children_copied)
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.is_copied() && self.applied == self.log.len()
    }

    pub(crate) fn is_equal(&self) -> bool {
        let source = self.source;
        (0..ROWS).all(|row| {
            let child = source.children[row].filter(|parent| source.moves(*parent));
            self.target.parents[row] == source.moves(row) && self.target.children[row] == child
        })
    }
}
