//! Tests of calls: which moves join a call, and which moves a call does not wait for.

use super::*;

fn piece(from: i64) -> SharedPiece {
    SharedPiece {
        copy_statement: "copy t (k) from stdin (format binary)".to_owned(),
        filenode: 1,
        blocks: BlockRange { from, to: None },
    }
}

fn id(name: &str) -> MigrationId {
    MigrationId::from(name)
}

/// Returns a board with the given moves and their snapshots. Each move has the same four pieces to copy.
fn board(members: &[(&str, &str)]) -> CallBoard {
    let mut board = CallBoard::default();
    for (migration, snapshot) in members {
        board.enter(&id(migration), snapshot, (0..4).map(piece).collect());
    }
    board
}

/// Lets a stream of this move join a call. Returns the first block of its piece.
fn join_any(board: &mut CallBoard, migration: &str) -> Option<i64> {
    let take = |piece: &SharedPiece| Some((piece.blocks.from, "true".to_owned()));
    board.join_call(&id(migration), take).map(|(from, _)| from)
}

#[test]
fn a_call_is_answered_when_all_moves_with_the_piece_have_joined() {
    let mut board = board(&[("a", "1:1:"), ("b", "1:1:"), ("c", "1:1:")]);
    let call = board.open_call(&id("a"), &piece(0)).expect("a call");
    assert_eq!(
        join_any(&mut board, "a"),
        None,
        "no move joins its own call"
    );
    assert_eq!(join_any(&mut board, "b"), Some(0));
    assert!(!board.is_answered(call));
    assert_eq!(join_any(&mut board, "b"), None, "it has joined");
    assert_eq!(join_any(&mut board, "c"), Some(0));
    assert!(board.is_answered(call));
    assert_eq!(board.close_call(call).len(), 2);
    assert_eq!(
        board.open_call(&id("b"), &piece(0)),
        None,
        "all moves have copied the piece"
    );
}

#[test]
fn a_move_with_another_snapshot_is_not_called() {
    let mut board = board(&[("a", "1:1:"), ("b", "2:2:")]);
    assert_eq!(board.open_call(&id("a"), &piece(0)), None);
}

#[test]
fn a_move_joins_the_oldest_call_whose_piece_it_accepts() {
    let mut board = board(&[("a", "1:1:"), ("b", "1:1:")]);
    board.open_call(&id("a"), &piece(1)).expect("a call");
    board.open_call(&id("a"), &piece(0)).expect("another");
    let accept_other_than_1 = |piece: &SharedPiece| {
        let from = piece.blocks.from;
        (from != 1).then(|| (from, "true".to_owned()))
    };
    let joined = board
        .join_call(&id("b"), accept_other_than_1)
        .map(|(from, _)| from);
    assert_eq!(joined, Some(0));
    assert_eq!(join_any(&mut board, "b"), Some(1));
}

#[test]
fn calls_do_not_wait_for_a_late_move_until_it_looks_for_a_call() {
    let mut board = board(&[("a", "1:1:"), ("b", "1:1:")]);
    let call = board.open_call(&id("a"), &piece(0)).expect("a call");
    assert!(board.close_call(call).is_empty());
    assert_eq!(board.open_call(&id("a"), &piece(1)), None, "it is late");
    assert_eq!(join_any(&mut board, "b"), None);
    assert!(board.open_call(&id("a"), &piece(2)).is_some());
}

#[test]
fn calls_do_not_wait_for_a_move_that_has_left() {
    let mut board = board(&[("a", "1:1:"), ("b", "1:1:"), ("c", "1:1:")]);
    let call = board.open_call(&id("a"), &piece(0)).expect("a call");
    assert_eq!(join_any(&mut board, "b"), Some(0));
    board.leave(&id("c"));
    assert!(board.is_answered(call));
}
