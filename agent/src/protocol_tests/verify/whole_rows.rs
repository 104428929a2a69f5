//! Rows without a key, which only all columns identify: equal rows are counted, compared and repaired.

use cluster::Binaries;
use plans::names::Direction;
use plans::step::verify::DifferenceKind;

use super::case::{AWKWARD, VerifyCase, rows};
use super::dirty::judge;
use crate::protocol_tests::bench::code;

/// Creates the table `awkward` with each row twice, and without a unique constraint.
async fn case(name: &str) -> VerifyCase {
    let mut ddl = AWKWARD
        .replace("code int unique", "code int")
        .replace("stored,\n    primary key (tenant_id, id))", "stored)");
    // Newer servers refuse an UPDATE of a published table whose replica identity contains a generated column.
    if Binaries::find(None).expect("found").major() >= 18 {
        ddl = ddl.replace(
            "generated always as (coalesce(txt, '-') || '!') stored",
            "default '-!'",
        );
    }
    let ddl = format!("{ddl} alter table public.awkward replica identity full;");
    let twice = |order| format!("{0}; {0}", rows(order));
    VerifyCase::new(name, &ddl, &twice("g"), &twice("g % 7, g desc")).await
}

/// Returns the condition that selects one of the two rows with this id.
fn one(id: i64) -> String {
    format!("ctid = (select max(ctid) from public.awkward where id = {id})")
}

#[tokio::test]
async fn one_of_two_equal_rows_that_is_missing_or_changed_is_found_and_written_again() {
    let case = case("w_repair").await;
    assert_eq!(case.verify(1).await.expect("equal").rows_compared, 128);
    let damage = format!(
        "delete from public.awkward where {}; update public.awkward set txt = '' where {};
         insert into public.awkward (tenant_id, id) values (100, 9), (100, 9)",
        one(7),
        one(8),
    );
    case.target.batch_execute(&damage).await.expect("damaged");
    assert_eq!(code(case.verify(2).await), "verify.different");
    let named = case.named().await;
    let kinds =
        |wanted: fn(&DifferenceKind) -> bool| named.iter().filter(|(_, kind)| wanted(kind)).count();
    // If one of two equal rows is missing, their number has changed.
    assert_eq!(
        kinds(|kind| matches!(kind, DifferenceKind::Changed { .. })),
        2,
        "{named:?}"
    );
    assert_eq!(
        kinds(|kind| matches!(kind, DifferenceKind::Extra)),
        2,
        "{named:?}"
    );
    let verified = case.run(3, true).await.expect("repaired");
    assert_eq!((verified.different, verified.repaired), (0, 4));
    assert_eq!(case.bench.assert_equal().await, 128);
    case.verify(4).await.expect("equal");
}

#[tokio::test]
async fn a_change_of_one_of_two_equal_rows_is_applied_and_compared_again() {
    let case = case("w_dirty").await;
    case.verify(1).await.expect("equal");
    for id in [7, 8, 12] {
        let change = format!(
            "update public.awkward set txt = 'one', big = null where {}",
            one(id)
        );
        case.source.batch_execute(&change).await.expect("changed");
    }
    let gone = format!("delete from public.awkward where {}", one(9));
    case.source.batch_execute(&gone).await.expect("deleted");
    case.drain().await;
    assert_eq!(case.bench.assert_equal().await, 127);
    // An update has an old and a new key, and a delete has one.
    assert_eq!(
        judge(&case, &case.context, Direction::Forward).await,
        (0, 7)
    );
    let plant = "delete from public.awkward where id = 8 and txt = 'one'";
    case.target.batch_execute(plant).await.expect("planted");
    assert_eq!(
        judge(&case, &case.context, Direction::Forward).await,
        (1, 7)
    );
}
