//! Compares sets with the changes that they replace, on a table in memory.

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
use crate::stream::apply::known::{KnownColumn, KnownTable};

/// `k` is the key, `a` is a column that no UPDATE may set, and `big` may be left out if it did not change.
const COLUMNS: [&str; 4] = ["k", "a", "v", "big"];

pub(in crate::stream::apply) fn target(has_fixed: bool) -> Arc<ApplyTarget> {
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
    let there = COLUMNS.map(|name| KnownColumn::text(name, has_fixed && name == "a"));
    let known = KnownTable {
        columns: there.to_vec(),
        has_other_unique_keys: false,
    };
    Arc::new(ApplyTarget::new(0, &plan, relation, &known, Format::Text).expect("a target"))
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

fn whole(row: &Tuple) -> TestRow {
    [0, 1, 2, 3].map(|at| text(row, at).expect("a value"))
}

/// Finds the row that has the key of `before` and the fixed value of `new`, and sets the values of `new`.
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

/// Returns `None` if a change does not affect exactly one row.
fn one_by_one<'a>(
    mut table: TestTable,
    changes: impl IntoIterator<Item = &'a RowChange>,
) -> Option<TestTable> {
    for change in changes {
        match &change.kind {
            RowChangeKind::Insert(new) => insert(&mut table, whole(new))?,
            RowChangeKind::Update { new, .. } => update(&mut table, change.key_image(), new)?,
            RowChangeKind::Delete(old) => table.remove(&key(old)).map(drop)?,
        }
    }
    Some(table)
}

/// Returns `None` if a set does not affect the expected number of rows.
fn by_sets(mut table: TestTable, changes: &[RowChange]) -> Option<TestTable> {
    let net = NetChanges::of(changes)?;
    for set in &net.sets {
        for row in &set.rows {
            match set.operation {
                SetOperation::Delete => table.remove(&key(row)).map(drop)?,
                SetOperation::ProveMissing => (!table.contains_key(&key(row))).then_some(())?,
                SetOperation::Update => update(&mut table, row, row)?,
                SetOperation::Insert => insert(&mut table, whole(row))?,
            }
        }
    }
    one_by_one(table, net.remaining.iter().copied())
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

/// `other` of ten rows have another fixed value.
fn row(other: u32) -> impl Strategy<Value = [String; 4]> {
    let a = prop_oneof![10 - other => Just("1"), other => Just("2")].prop_map(str::to_owned);
    let value = || (0..100_u8).prop_map(|v| v.to_string());
    (key_text(), a, value(), value()).prop_map(|(k, a, v, big)| [k, a, v, big])
}

fn op(other: u32) -> impl Strategy<Value = TestOperation> {
    let stays = (row(other), any::<bool>()).prop_map(|(row, large)| TestOperation::Update {
        from: row[0].clone(),
        row,
        large,
    });
    let moves = (key_text(), row(other), any::<bool>());
    let moves = moves.prop_map(|(from, row, large)| TestOperation::Update { from, row, large });
    prop_oneof![
        3 => row(other).prop_map(TestOperation::Insert),
        3 => stays,
        1 => moves,
        3 => key_text().prop_map(TestOperation::Delete),
    ]
}

/// Returns changes that fit together, except for every 17th, which may not.
fn follow(
    mut table: TestTable,
    ops: Vec<TestOperation>,
    target: &Arc<ApplyTarget>,
) -> Vec<RowChange> {
    let mut taken = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let change = change(target, op);
        let next = one_by_one(table.clone(), [&change]);
        if next.is_some() || at % 17 == 16 {
            table = next.unwrap_or(table);
            taken.push(change);
        }
    }
    taken
}

fn table(keys: BTreeSet<String>) -> TestTable {
    let row = |key: String| (key.clone(), [key, "1".into(), "old".into(), "large".into()]);
    keys.into_iter().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// In both directions: no set hides a change that would have affected no row, and no set affects fewer rows
    /// without such a change.
    #[test]
    fn sets_come_to_what_the_changes_come_to(
        there in btree_set(key_text(), 0..4),
        ops in vec(op(0), 0..40),
    ) {
        let (table, target) = (table(there), target(false));
        let changes = follow(table.clone(), ops, &target);
        prop_assert_eq!(by_sets(table.clone(), &changes), one_by_one(table, &changes));
    }

    /// Sets that would lose a comparison are not built.
    #[test]
    fn no_set_hides_another_value_that_cannot_be_set(
        there in btree_set(key_text(), 0..4),
        ops in vec(op(2), 0..40),
    ) {
        let (table, target) = (table(there), target(true));
        let changes = follow(table.clone(), ops, &target);
        if let Some(come_to) = by_sets(table.clone(), &changes) {
            prop_assert_eq!(Some(come_to), one_by_one(table, &changes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// In both directions, one by one and by sets; the dirty keys stay the same.
    #[test]
    fn changes_that_need_not_be_kept_change_nothing(
        there in btree_set(key_text(), 0..4),
        ops in vec(op(1), 0..40),
    ) {
        let (table, target) = (table(there), target(true));
        let changes = follow(table.clone(), ops, &target);
        let keys = |changes: &[RowChange]| changes.iter().flat_map(RowChange::keys).collect::<BTreeSet<_>>();
        let (all, come_to) = (keys(&changes), one_by_one(table.clone(), &changes));
        let mut kept = changes;
        compact_changes(&mut kept);
        prop_assert_eq!(keys(&kept), all);
        if let Some(come_to_by_sets) = by_sets(table.clone(), &kept) {
            prop_assert_eq!(Some(come_to_by_sets), come_to.clone());
        }
        prop_assert_eq!(one_by_one(table, &kept), come_to);
    }
}

#[test]
fn of_updates_that_say_all_the_last_is_kept() {
    let update = |key: &str, v: &str, large: bool| TestOperation::Update {
        from: key.to_owned(),
        row: [key, "1", v, "x"].map(str::to_owned),
        large,
    };
    let kept = |target: &Arc<ApplyTarget>, ops: &[TestOperation]| {
        let mut changes = ops.iter().map(|op| change(target, op)).collect();
        compact_changes(&mut changes);
        changes.len()
    };
    let (target, ops) = (
        target(true),
        [update("1", "a", true), update("2", "b", true)],
    );
    let [one, other] = &ops;
    let busy: Vec<TestOperation> = (0..50).flat_map(|_| ops.clone()).collect();
    assert_eq!(kept(&target, &busy), 2);
    // The row keeps the large value of the first UPDATE.
    let leaves_out = update("1", "c", false);
    assert_eq!(kept(&target, &[one.clone(), other.clone(), leaves_out]), 3);
    // The new key may have been the key of another row.
    let moves = TestOperation::Update {
        from: "3".to_owned(),
        row: ["4", "1", "a", "x"].map(str::to_owned),
        large: true,
    };
    assert_eq!(kept(&target, &[one.clone(), moves, one.clone()]), 3);
    let mut rivals = Arc::into_inner(target).expect("nobody has it");
    rivals.has_other_unique_keys = true;
    assert_eq!(kept(&Arc::new(rivals), &busy), 100);
}

#[test]
fn a_row_that_comes_and_goes_is_proved_to_have_been_missing() {
    let (target, table) = (target(false), TestTable::new());
    let row = ["1", "1", "x", "x"].map(str::to_owned);
    let there = TestTable::from([("1".to_owned(), row.clone())]);
    let changes = [
        TestOperation::Insert(row),
        TestOperation::Delete("1".to_owned()),
    ]
    .map(|op| change(&target, &op));
    assert_eq!(by_sets(table.clone(), &changes), Some(table));
    assert_eq!(by_sets(there, &changes), None);
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
    let net = NetChanges::of(&changes).expect("they fit");
    let [set] = &net.sets[..] else {
        panic!("{} sets", net.sets.len())
    };
    assert_eq!((set.operation, set.rows.len()), (SetOperation::Insert, 1));
    assert_eq!(whole(&set.rows[0]), row("c"));
}

/// Other data of the message in which a row arrived must not stay in memory with the row.
#[test]
fn changes_that_are_kept_keep_nothing_else() {
    let read = Bytes::from(b"1abx and other rows".to_vec());
    let row = || {
        Tuple(
            (0..4)
                .map(|at| TupleValue::Text(read.slice(at..=at)))
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
    assert!(read.is_unique());
}
