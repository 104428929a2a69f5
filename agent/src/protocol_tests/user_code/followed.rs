//! A change of the owner's table that the agent follows runs no code of the owner with the agent's privileges.

use super::{OWNED, as_owner, calls};
use crate::error::StepError;
use crate::protocol_tests::follow::Followed;

#[tokio::test]
async fn a_change_that_is_followed_runs_no_code_of_the_owner() {
    for (name, change, expected) in [
        (
            "evilcheck",
            "alter table public.item add constraint c check (evil.is(id))",
            "code.untrusted",
        ),
        (
            "evilcolumn",
            "alter table public.item add column g int generated always as (evil.same(id)) stored",
            "schema.drift",
        ),
        (
            "evildomain",
            "create domain evil.checked as int check (evil.is(value)); alter table public.item add column g evil.checked default 5",
            "schema.drift",
        ),
        (
            "evildefault",
            "alter table public.item add column g int default evil.same(5)",
            "schema.drift",
        ),
        (
            "evilrewrite",
            "alter table public.item add constraint c check (evil.is(tenant_id::int)) not valid; alter table public.item alter id type bigint",
            "",
        ),
        (
            "evilindex",
            "create index on public.item (evil.same(id))",
            "",
        ),
    ] {
        let mut f = Followed::new(name, OWNED).await;
        let row = "insert into public.item (tenant_id, id) values (100, 1)";
        as_owner(&f.other, row).await;
        as_owner(&f.app, change).await;
        let code = match f.try_follow().await {
            Ok(()) => String::new(),
            Err(StepError::Failed(failure)) => failure.code,
            Err(other) => panic!("{change}: {other:?}"),
        };
        assert_eq!(code, expected, "{change}");
        assert_eq!(calls(&f.other).await, 0, "{change}");
    }
}
