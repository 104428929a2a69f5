//! Properties of the decoder: random bytes never cause a panic; each encoded message decodes to the same value; a
//! truncated or extended message is refused.

use bytes::{BufMut, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;

use super::trim::{LARGE, LEFT_OUT};
use super::*;

fn encode(change: &Change) -> Bytes {
    let mut out = BytesMut::new();
    match change {
        Change::Begin(begin) => {
            out.put_u8(b'B');
            out.put_u64(begin.final_lsn.0);
            out.put_i64(begin.commit_time_us);
            out.put_u32(begin.xid);
        }
        Change::Commit(commit) => {
            out.put_u8(b'C');
            out.put_u8(commit.flags);
            out.put_u64(commit.commit_lsn.0);
            out.put_u64(commit.end_lsn.0);
            out.put_i64(commit.commit_time_us);
        }
        Change::Origin { commit_lsn, name } => {
            out.put_u8(b'O');
            out.put_u64(commit_lsn.0);
            put_text(&mut out, name);
        }
        Change::Relation(relation) => put_relation(&mut out, relation),
        Change::Type(name) => {
            out.put_u8(b'Y');
            out.put_u32(name.id);
            put_text(&mut out, &name.namespace);
            put_text(&mut out, &name.name);
        }
        Change::Insert { relation, new } => {
            out.put_u8(b'I');
            out.put_u32(*relation);
            put_tuple(&mut out, b'N', new);
        }
        Change::Update { relation, old, new } => {
            out.put_u8(b'U');
            out.put_u32(*relation);
            put_old(&mut out, old);
            put_tuple(&mut out, b'N', new);
        }
        Change::Delete { relation, old } => {
            out.put_u8(b'D');
            out.put_u32(*relation);
            put_old(&mut out, old);
        }
        Change::Truncate {
            cascade,
            restart_identity,
            relations,
        } => {
            out.put_u8(b'T');
            out.put_u32(u32::try_from(relations.len()).expect("few"));
            out.put_u8(u8::from(*cascade) | u8::from(*restart_identity) << 1);
            relations.iter().for_each(|id| out.put_u32(*id));
        }
        Change::Message(message) => {
            out.put_u8(b'M');
            out.put_u8(u8::from(message.transactional));
            out.put_u64(message.lsn.0);
            put_text(&mut out, &message.prefix);
            put_counted(&mut out, &message.content);
        }
    }
    out.freeze()
}

fn put_relation(out: &mut BytesMut, relation: &Relation) {
    out.put_u8(b'R');
    out.put_u32(relation.id);
    put_text(out, &relation.namespace);
    put_text(out, &relation.name);
    out.put_u8(u8::try_from(relation.replica_identity).expect("ascii"));
    out.put_u16(u16::try_from(relation.columns.len()).expect("few"));
    for column in &relation.columns {
        out.put_u8(u8::from(column.key));
        put_text(out, &column.name);
        out.put_u32(column.type_oid);
        out.put_i32(column.typmod);
    }
}

fn put_old(out: &mut BytesMut, old: &OldRow) {
    match old {
        OldRow::Absent => {}
        OldRow::Key(tuple) => put_tuple(out, b'K', tuple),
        OldRow::Full(tuple) => put_tuple(out, b'O', tuple),
    }
}

fn put_tuple(out: &mut BytesMut, mark: u8, tuple: &Tuple) {
    out.put_u8(mark);
    out.put_u16(u16::try_from(tuple.0.len()).expect("few"));
    for value in &tuple.0 {
        match value {
            TupleValue::Null => out.put_u8(b'n'),
            TupleValue::UnchangedToast => out.put_u8(b'u'),
            TupleValue::LeftOut => out.put_u8(LEFT_OUT),
            TupleValue::Text(bytes) => {
                out.put_u8(b't');
                put_counted(out, bytes);
            }
            TupleValue::Binary(bytes) => {
                out.put_u8(b'b');
                put_counted(out, bytes);
            }
        }
    }
}

fn put_counted(out: &mut BytesMut, bytes: &Bytes) {
    out.put_u32(u32::try_from(bytes.len()).expect("short"));
    out.put_slice(bytes);
}

fn put_text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

fn text() -> impl Strategy<Value = String> {
    "[^\\x00]{0,12}"
}

fn lsn() -> impl Strategy<Value = Lsn> {
    any::<u64>().prop_map(Lsn)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..20).prop_map(Bytes::from)
}

fn tuple() -> impl Strategy<Value = Tuple> {
    let value = prop_oneof![
        Just(super::TupleValue::Null),
        Just(super::TupleValue::UnchangedToast),
        Just(super::TupleValue::LeftOut),
        bytes().prop_map(super::TupleValue::Text),
        bytes().prop_map(super::TupleValue::Binary),
    ];
    vec(value, 0..6).prop_map(Tuple)
}

fn known_row() -> impl Strategy<Value = OldRow> {
    prop_oneof![
        tuple().prop_map(OldRow::Key),
        tuple().prop_map(OldRow::Full)
    ]
}

fn relation() -> impl Strategy<Value = Change> {
    let column = (any::<bool>(), text(), any::<u32>(), any::<i32>()).prop_map(
        |(key, name, type_oid, typmod)| RelationColumn {
            key,
            name,
            type_oid,
            typmod,
        },
    );
    let identity = prop::sample::select(vec!['d', 'n', 'f', 'i']);
    (any::<u32>(), text(), text(), identity, vec(column, 0..5)).prop_map(
        |(id, namespace, name, replica_identity, columns)| {
            Change::Relation(Relation {
                id,
                namespace,
                name,
                replica_identity,
                columns,
            })
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let rows = prop_oneof![
        (any::<u32>(), tuple()).prop_map(|(relation, new)| Change::Insert { relation, new }),
        (
            any::<u32>(),
            prop_oneof![Just(OldRow::Absent), known_row()],
            tuple()
        )
            .prop_map(|(relation, old, new)| Change::Update { relation, old, new }),
        (any::<u32>(), known_row()).prop_map(|(relation, old)| Change::Delete { relation, old }),
        (any::<bool>(), any::<bool>(), vec(any::<u32>(), 0..4)).prop_map(
            |(cascade, restart_identity, relations)| Change::Truncate {
                cascade,
                restart_identity,
                relations
            }
        ),
    ];
    let others = prop_oneof![
        (lsn(), any::<i64>(), any::<u32>()).prop_map(|(final_lsn, commit_time_us, xid)| {
            Change::Begin(Begin {
                final_lsn,
                commit_time_us,
                xid,
            })
        }),
        (any::<u8>(), lsn(), lsn(), any::<i64>()).prop_map(
            |(flags, commit_lsn, end_lsn, commit_time_us)| {
                Change::Commit(Commit {
                    flags,
                    commit_lsn,
                    end_lsn,
                    commit_time_us,
                })
            }
        ),
        (lsn(), text()).prop_map(|(commit_lsn, name)| Change::Origin { commit_lsn, name }),
        (any::<u32>(), text(), text()).prop_map(|(id, namespace, name)| Change::Type(TypeName {
            id,
            namespace,
            name
        })),
        (any::<bool>(), lsn(), text(), bytes()).prop_map(
            |(transactional, lsn, prefix, content)| {
                Change::Message(LogicalMessage {
                    transactional,
                    lsn,
                    prefix,
                    content,
                })
            }
        ),
    ];
    prop_oneof![rows, relation(), others]
}

/// Returns the kind of the message that an error is about.
fn kind_of(error: &DecodeError) -> Option<&'static str> {
    match error {
        DecodeError::Empty | DecodeError::UnknownKind { .. } => None,
        DecodeError::Truncated { kind, .. }
        | DecodeError::Invalid { kind, .. }
        | DecodeError::Excess { kind, .. } => Some(kind),
    }
}

/// Generates a row with values below and above the size limit of the trimmer.
fn wide_row() -> impl Strategy<Value = Tuple> {
    let size = prop::sample::select(vec![0, 1, LARGE, LARGE + 1, 3 * LARGE]);
    let large = size.prop_map(|size| Bytes::from(vec![b'n'; size]));
    let value = prop_oneof![
        Just(super::TupleValue::Null),
        Just(super::TupleValue::UnchangedToast),
        large.clone().prop_map(super::TupleValue::Text),
        large.prop_map(super::TupleValue::Binary),
    ];
    vec(value, 0..5).prop_map(Tuple)
}

fn wide_change() -> impl Strategy<Value = Change> {
    let relation = 7;
    let old = prop_oneof![
        Just(OldRow::Absent),
        wide_row().prop_map(OldRow::Key),
        wide_row().prop_map(OldRow::Full)
    ];
    prop_oneof![
        wide_row().prop_map(move |new| Change::Insert { relation, new }),
        (old, wide_row()).prop_map(move |(old, new)| Change::Update { relation, old, new }),
        wide_row().prop_map(move |old| Change::Delete {
            relation,
            old: OldRow::Full(old)
        }),
    ]
}

/// Returns the change with [`TupleValue::LeftOut`] in place of each large value.
fn without_large(change: Change) -> Change {
    let row = |row: Tuple| {
        let value = |value: TupleValue| match value {
            TupleValue::Text(ref bytes) | TupleValue::Binary(ref bytes) if bytes.len() > LARGE => {
                TupleValue::LeftOut
            }
            TupleValue::Null
            | TupleValue::UnchangedToast
            | TupleValue::LeftOut
            | TupleValue::Text(_)
            | TupleValue::Binary(_) => value,
        };
        Tuple(row.0.into_iter().map(value).collect())
    };
    let old_row = |old| match old {
        OldRow::Absent => OldRow::Absent,
        OldRow::Key(old) => OldRow::Key(row(old)),
        OldRow::Full(old) => OldRow::Full(row(old)),
    };
    match change {
        Change::Insert { relation, new } => Change::Insert {
            relation,
            new: row(new),
        },
        Change::Update { relation, old, new } => Change::Update {
            relation,
            old: old_row(old),
            new: row(new),
        },
        Change::Delete { relation, old } => Change::Delete {
            relation,
            old: old_row(old),
        },
        other @ (Change::Begin(_)
        | Change::Commit(_)
        | Change::Origin { .. }
        | Change::Relation(_)
        | Change::Type(_)
        | Change::Truncate { .. }
        | Change::Message(_)) => other,
    }
}

/// Returns the trimmed message when `message` arrives in pieces of `piece` bytes.
fn trimmed(message: &[u8], piece: usize) -> Bytes {
    let (mut trim, mut kept) = (MessageTrimmer::default(), BytesMut::new());
    for bytes in message.chunks(piece) {
        trim.take(bytes, &mut kept);
    }
    kept.freeze()
}

proptest! {
    #[test]
    fn of_a_trimmed_change_nothing_is_missing_but_large_values(
        change in wide_change(),
        piece in prop::sample::select(vec![1, 2, 3, 7, 4096, LARGE, 100 * LARGE]),
    ) {
        let kept = trimmed(&encode(&change), piece);
        prop_assert_eq!(decode(kept), Ok(without_large(change)));
    }

    #[test]
    fn what_holds_no_large_value_stays_as_it_is_when_trimmed(change in change(), piece in 1_usize..40) {
        let message = encode(&change);
        prop_assert_eq!(trimmed(&message, piece), message);
    }

    #[test]
    fn random_bytes_are_trimmed_without_panic(bytes in vec(any::<u8>(), 0..64), piece in 1_usize..9) {
        prop_assert!(trimmed(&bytes, piece).len() <= bytes.len());
    }

    #[test]
    fn what_is_encoded_comes_back(change in change()) {
        prop_assert_eq!(decode(encode(&change)), Ok(change));
    }

    #[test]
    fn a_message_cut_anywhere_is_truncated(change in change(), at in any::<prop::sample::Index>()) {
        let message = encode(&change);
        let cut = message.slice(..at.index(message.len() - 1) + 1);
        if cut.len() < message.len() {
            let truncated = matches!(decode(cut), Err(DecodeError::Truncated { .. }));
            prop_assert!(truncated);
        }
    }

    #[test]
    fn a_byte_too_many_is_refused(change in change(), excess in any::<u8>()) {
        let mut message = BytesMut::from(encode(&change).as_ref());
        let offset = message.len();
        message.put_u8(excess);
        let error = decode(message.freeze()).expect_err("excess");
        prop_assert_eq!(
            error.clone(),
            DecodeError::Excess { kind: kind_of(&error).unwrap_or(""), excess: 1, offset }
        );
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
        let _ = decode(Bytes::from(bytes));
    }

    #[test]
    fn random_bodies_of_known_kinds_never_panic(
        kind in prop::sample::select(b"BCORYIUDTM".to_vec()),
        body in vec(prop_oneof![Just(0u8), Just(1), 0u8..8, any::<u8>()], 0..64),
    ) {
        let mut message = vec![kind];
        message.extend(body);
        if let Err(error) = decode(Bytes::from(message)) {
            prop_assert!(kind_of(&error).is_some());
        }
    }
}

#[test]
fn values_are_slices_of_the_message() {
    let new = Tuple(vec![TupleValue::Text(Bytes::from_static(b"abc"))]);
    let message = encode(&Change::Insert { relation: 1, new });
    let range = message.as_ptr_range();
    let Ok(Change::Insert { new, .. }) = decode(message) else {
        panic!("an insert")
    };
    let [TupleValue::Text(bytes)] = new.0.as_slice() else {
        panic!("one text")
    };
    assert!(range.contains(&bytes.as_ptr()));
}

#[test]
fn errors_name_the_message_and_the_offset() {
    let refused = |bytes: &'static [u8]| decode(Bytes::from_static(bytes)).expect_err("refused");
    assert_eq!(refused(b"").to_string(), "pgoutput message is empty");
    assert_eq!(
        refused(b"S").to_string(),
        "pgoutput message has the unknown kind 0x53"
    );
    assert_eq!(
        refused(b"I\0\0\0\x01X").to_string(),
        "pgoutput insert message has an invalid new row mark at offset 5"
    );
    assert_eq!(
        refused(b"I\0\0\0\x01N\0\x01t\0\0\0\x09ab").to_string(),
        "pgoutput insert message ends within text value at offset 13"
    );
    assert_eq!(
        refused(b"I\0\0\0\x01N\0\x01t\xff\xff\xff\xff").to_string(),
        "pgoutput insert message has an invalid text value at offset 9"
    );
}

#[test]
fn debug_shows_no_row_values() {
    let new = Tuple(vec![TupleValue::Text(Bytes::from_static(b"geheim"))]);
    assert!(!format!("{:?}", Change::Insert { relation: 1, new }).contains("geheim"));
}
