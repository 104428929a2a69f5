//! Compares the effect of sets with that of the changes that they replace, on a table in memory.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use plans::key::KeyType;
use plans::table::{
    BinaryForm, Column as Planned, Format, KeyColumn, MovingTable, TableKey, TableName,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::super::change::key_differs;
use super::*;
use crate::postgres::pgoutput::{OldRow, Relation, RelationColumn};
use crate::stream::apply::compact::compact_changes;
use crate::stream::apply::downstream_table::{DownstreamColumn, DownstreamTable};

/// `k` is the key, `a` is a column that no UPDATE may set, and `big` may be left out if it did not change.
const COLUMNS: [&str; 4] = ["k", "a", "v", "big"];

/// Returns a target for [`COLUMNS`]. If `has_unsettable`, no UPDATE may set the column `a`.
pub(in crate::stream::apply) fn target(has_unsettable: bool) -> Arc<ApplyTarget> {
    let planned = COLUMNS.map(|name| Planned {
        name: name.to_owned(),
        data_type: "text".to_owned(),
        generated: false,
        binary: BinaryForm::Stable,
    });
    let columns = COLUMNS.map(|name| RelationColumn {
        key: name == "k",
        name: name.to_owned(),
        type_oid: 25,
        typmod: -1,
    });
    let key = TableKey::Columns(vec![KeyColumn {
        name: "k".to_owned(),
        kind: KeyType::Text,
    }]);
    let plan = MovingTable {
        identity: vec!["k".to_owned()],
        columns: planned.to_vec(),
        ..MovingTable::bare(TableName::parse("item"), key)
    };
    let relation = Relation {
        id: 1,
        namespace: "public".to_owned(),
        name: "item".to_owned(),
        replica_identity: 'd',
        columns: columns.to_vec(),
    };
    let downstream_columns =
        COLUMNS.map(|name| DownstreamColumn::text(name, has_unsettable && name == "a"));
    let downstream_table = DownstreamTable {
        columns: downstream_columns.to_vec(),
        has_other_unique_keys: false,
    };
    Arc::new(
        ApplyTarget::new(0, &plan, relation, &downstream_table, Format::Text).expect("a target"),
    )
}

type TestRow = [String; 4];
/// Rows by key.
type TestTable = BTreeMap<String, TestRow>;

fn tuple(row: [Option<&str>; 4]) -> Tuple {
    let value = |text: Option<&str>| {
        text.map_or(TupleValue::UnchangedToast, |text| {
            TupleValue::Text(text.to_owned().into())
        })
    };
    Tuple(row.map(value).to_vec())
}

fn text(row: &Tuple, at: usize) -> Option<String> {
    match &row.0[at] {
        TupleValue::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        TupleValue::Null
        | TupleValue::UnchangedToast
        | TupleValue::LeftOut
        | TupleValue::Binary(_) => None,
    }
}

fn key(row: &Tuple) -> String {
    text(row, 0).expect("a key")
}

fn test_row(row: &Tuple) -> TestRow {
    [0, 1, 2, 3].map(|at| text(row, at).expect("a value"))
}

/// Updates the row with the key of `before` to the values of `new`. Returns `None` if this row does not exist, or if
/// its value of `a` is not that of `new`.
fn update(table: &mut TestTable, before: &Tuple, new: &Tuple) -> Option<()> {
    let mut row = table.remove(&key(before))?;
    if Some(&row[1]) != text(new, 1).as_ref() {
        return None;
    }
    for (at, value) in row.iter_mut().enumerate() {
        *value = text(new, at).unwrap_or_else(|| value.clone());
    }
    insert(table, row)
}

fn insert(table: &mut TestTable, row: TestRow) -> Option<()> {
    let before = table.insert(row[0].clone(), row);
    before.is_none().then_some(())
}

/// Executes the changes one by one. Returns `None` if a change does not affect exactly one row.
fn execute_one_by_one<'a>(
    mut table: TestTable,
    changes: impl IntoIterator<Item = &'a RowChange>,
) -> Option<TestTable> {
    for change in changes {
        match &change.kind {
            RowChangeKind::Insert(new) => insert(&mut table, test_row(new))?,
            RowChangeKind::Update { new, .. } => update(&mut table, change.key_image(), new)?,
            RowChangeKind::Delete(old) => table.remove(&key(old)).map(drop)?,
        }
    }
    Some(table)
}

/// Executes the changes by sets. Returns `None` if a set does not affect the expected number of rows.
fn execute_by_sets(mut table: TestTable, changes: &[RowChange]) -> Option<TestTable> {
    let net = NetChanges::of(changes)?;
    for set in &net.sets {
        for row in &set.rows {
            match set.operation {
                SetOperation::Delete => table.remove(&key(row)).map(drop)?,
                SetOperation::ProveMissing => (!table.contains_key(&key(row))).then_some(())?,
                SetOperation::Update => update(&mut table, row, row)?,
                SetOperation::Insert => insert(&mut table, test_row(row))?,
            }
        }
    }
    execute_one_by_one(table, net.remaining.iter().copied())
}

#[derive(Debug, Clone)]
enum TestOperation {
    Insert([String; 4]),
    Update {
        from: String,
        row: [String; 4],
        large: bool,
    },
    Delete(String),
}

fn change(target: &Arc<ApplyTarget>, op: &TestOperation) -> RowChange {
    let bare = |key: &String| tuple([Some(key), Some(""), Some(""), Some("")]);
    let kind = match op {
        TestOperation::Insert(row) => {
            RowChangeKind::Insert(tuple(row.each_ref().map(|v| Some(v.as_str()))))
        }
        TestOperation::Delete(key) => RowChangeKind::Delete(bare(key)),
        TestOperation::Update { from, row, large } => {
            let [k, a, v, big] = row.each_ref().map(|v| Some(v.as_str()));
            let new = tuple([k, a, v, big.filter(|_| *large)]);
            let before = bare(from);
            let key_changed = key_differs(target, &before, &new);
            let old = if key_changed {
                OldRow::Key(before)
            } else {
                OldRow::Absent
            };
            RowChangeKind::Update {
                old,
                new,
                key_changed,
            }
        }
    };
    RowChange::new(target.clone(), kind)
}

fn key_text() -> impl Strategy<Value = String> {
    (0..4_u8).prop_map(|key| key.to_string())
}

/// Generates a row. With a probability of `others` to 10 its value of `a` is not the usual one.
fn row(others: u32) -> impl Strategy<Value = [String; 4]> {
    let a = prop_oneof![10 - others => Just("1"), others => Just("2")].prop_map(str::to_owned);
    let value = || (0..100_u8).prop_map(|v| v.to_string());
    (key_text(), a, value(), value()).prop_map(|(k, a, v, big)| [k, a, v, big])
}

/// Generates an operation; see [`row`] for `others`.
fn op(others: u32) -> impl Strategy<Value = TestOperation> {
    let keeps_key = (row(others), any::<bool>()).prop_map(|(row, large)| TestOperation::Update {
        from: row[0].clone(),
        row,
        large,
    });
    let changes_key = (key_text(), row(others), any::<bool>());
    let changes_key =
        changes_key.prop_map(|(from, row, large)| TestOperation::Update { from, row, large });
    prop_oneof![
        3 => row(others).prop_map(TestOperation::Insert),
        3 => keeps_key,
        1 => changes_key,
        3 => key_text().prop_map(TestOperation::Delete),
    ]
}

/// Returns the operations as changes, without those that would affect no row in their turn. Every 17th operation is
/// kept in any case.
fn possible_changes(
    mut table: TestTable,
    ops: Vec<TestOperation>,
    target: &Arc<ApplyTarget>,
) -> Vec<RowChange> {
    let mut changes = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        let change = change(target, op);
        let next = execute_one_by_one(table.clone(), [&change]);
        if next.is_some() || index % 17 == 16 {
            table = next.unwrap_or(table);
            changes.push(change);
        }
    }
    changes
}

fn table_with_keys(keys: BTreeSet<String>) -> TestTable {
    let row = |key: String| (key.clone(), [key, "1".into(), "old".into(), "large".into()]);
    keys.into_iter().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Sets fail if and only if one of the changes would fail, and otherwise have the same effect.
    #[test]
    fn sets_have_the_effect_of_the_changes(
        keys in btree_set(key_text(), 0..4),
        ops in vec(op(0), 0..40),
    ) {
        let (table, target) = (table_with_keys(keys), target(false));
        let changes = possible_changes(table.clone(), ops, &target);
        prop_assert_eq!(execute_by_sets(table.clone(), &changes), execute_one_by_one(table, &changes));
    }

    /// A set succeeds only if the changes succeed, also if an UPDATE compares a column that it may not set.
    #[test]
    fn no_set_hides_a_difference_in_a_column_that_cannot_be_set(
        keys in btree_set(key_text(), 0..4),
        ops in vec(op(2), 0..40),
    ) {
        let (table, target) = (table_with_keys(keys), target(true));
        let changes = possible_changes(table.clone(), ops, &target);
        if let Some(effect) = execute_by_sets(table.clone(), &changes) {
            prop_assert_eq!(Some(effect), execute_one_by_one(table, &changes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The effect is the same one by one and by sets, and the dirty keys are the same.
    #[test]
    fn superseded_changes_have_no_effect(
        keys in btree_set(key_text(), 0..4),
        ops in vec(op(1), 0..40),
    ) {
        let (table, target) = (table_with_keys(keys), target(true));
        let changes = possible_changes(table.clone(), ops, &target);
        let dirty_keys = |changes: &[RowChange]| changes.iter().flat_map(RowChange::keys).collect::<BTreeSet<_>>();
        let (all, effect) = (dirty_keys(&changes), execute_one_by_one(table.clone(), &changes));
        let mut kept = changes;
        compact_changes(&mut kept);
        prop_assert_eq!(dirty_keys(&kept), all);
        if let Some(effect_by_sets) = execute_by_sets(table.clone(), &kept) {
            prop_assert_eq!(Some(effect_by_sets), effect.clone());
        }
        prop_assert_eq!(execute_one_by_one(table, &kept), effect);
    }
}

#[test]
fn of_updates_that_set_all_columns_only_the_last_is_kept() {
    let update = |key: &str, v: &str, large: bool| TestOperation::Update {
        from: key.to_owned(),
        row: [key, "1", v, "x"].map(str::to_owned),
        large,
    };
    let count_kept = |target: &Arc<ApplyTarget>, ops: &[TestOperation]| {
        let mut changes = ops.iter().map(|op| change(target, op)).collect();
        compact_changes(&mut changes);
        changes.len()
    };
    let (target, ops) = (
        target(true),
        [update("1", "a", true), update("2", "b", true)],
    );
    let [one, other] = &ops;
    let many: Vec<TestOperation> = (0..50).flat_map(|_| ops.clone()).collect();
    assert_eq!(count_kept(&target, &many), 2);
    // The row keeps the large value of the first UPDATE.
    let without_large_value = update("1", "c", false);
    assert_eq!(
        count_kept(&target, &[one.clone(), other.clone(), without_large_value]),
        3
    );
    // The new key may have been the key of another row.
    let changes_key = TestOperation::Update {
        from: "3".to_owned(),
        row: ["4", "1", "a", "x"].map(str::to_owned),
        large: true,
    };
    assert_eq!(
        count_kept(&target, &[one.clone(), changes_key, one.clone()]),
        3
    );
    let mut with_unique_keys = Arc::into_inner(target).expect("no other reference");
    with_unique_keys.has_other_unique_keys = true;
    assert_eq!(count_kept(&Arc::new(with_unique_keys), &many), 100);
}

#[test]
fn a_row_that_is_inserted_and_deleted_must_not_exist_before() {
    let (target, table) = (target(false), TestTable::new());
    let row = ["1", "1", "x", "x"].map(str::to_owned);
    let table_with_row = TestTable::from([("1".to_owned(), row.clone())]);
    let changes = [
        TestOperation::Insert(row),
        TestOperation::Delete("1".to_owned()),
    ]
    .map(|op| change(&target, &op));
    assert_eq!(execute_by_sets(table.clone(), &changes), Some(table));
    assert_eq!(execute_by_sets(table_with_row, &changes), None);
}

#[test]
fn changes_of_a_row_become_one() {
    let target = target(false);
    let row = |v: &str| ["1", "1", v, "x"].map(str::to_owned);
    let update = |v: &str| TestOperation::Update {
        from: "1".to_owned(),
        row: row(v),
        large: false,
    };
    let ops = [TestOperation::Insert(row("a")), update("b"), update("c")];
    let changes = ops.map(|op| change(&target, &op));
    let net = NetChanges::of(&changes).expect("net changes");
    let [set] = &net.sets[..] else {
        panic!("{} sets", net.sets.len())
    };
    assert_eq!((set.operation, set.rows.len()), (SetOperation::Insert, 1));
    assert_eq!(test_row(&set.rows[0]), row("c"));
}

/// The rest of the received message must not stay in memory with a row of it.
#[test]
fn remaining_changes_do_not_keep_the_received_message() {
    let message = Bytes::from(b"1abx and other rows".to_vec());
    let row = || {
        Tuple(
            (0..4)
                .map(|at| TupleValue::Text(message.slice(at..=at)))
                .collect(),
        )
    };
    let update = |old| RowChangeKind::Update {
        old,
        new: row(),
        key_changed: false,
    };
    let kinds = [
        RowChangeKind::Insert(row()),
        update(OldRow::Absent),
        update(OldRow::Full(row())),
        update(OldRow::Key(row())),
        RowChangeKind::Delete(row()),
    ];
    let target = target(false);
    let change = |kind| RowChange::new(Arc::clone(&target), kind);
    let mut changes = kinds.map(change).into();
    assert!(compact_changes(&mut changes));
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|change| *change.key_image() == row()));
    assert!(message.is_unique());
}
