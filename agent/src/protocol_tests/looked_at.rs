//! The versions for the final recheck: every change of a moving table's definition, of its guards or of its file node
//! changes the version. Ordinary operations do not change it.

use super::bench::{Bench, ITEM};
use crate::postgres::versions::versions;

/// Each change is made alone, so that no other change hides it.
const CHANGES: [&str; 22] = [
    "alter table public.item add note text",
    "alter table public.item alter note set not null",
    "alter table public.item alter note type varchar(9)",
    "alter table public.item alter note set default 'n'",
    "alter table public.item alter note set statistics 7",
    "create index noted on public.item (note)",
    "alter table public.item add constraint checked check (tenant_id > 0)",
    "alter table public.item replica identity full",
    "create trigger last before insert on public.item for each row execute function suppress_redundant_updates_trigger()",
    "alter table public.item disable trigger last",
    "drop trigger last on public.item",
    "alter table public.item enable row level security",
    "create policy own on public.item using (tenant_id > 0)",
    "create rule kept as on delete to public.item do also select 1",
    "alter type public.word rename to other",
    "vacuum full public.item",
    "alter table public.whole attach partition public.item for values from (0) to (10000)",
    "create table public.beside partition of public.whole for values from (10000) to (20000)",
    "alter table public.whole detach partition public.beside",
    "alter table public.item rename to thing",
    "alter table public.thing rename to item",
    "alter schema public rename to elsewhere",
];

const DAILY: [&str; 3] = [
    "insert into public.item (tenant_id, id, note) values (1, 77, 'n')",
    "analyze public.item",
    "vacuum public.item",
];

#[tokio::test]
async fn whatever_changes_a_table_gives_it_another_version() {
    let bench = Bench::new("versions", ITEM).await;
    let session = bench.source.session().await;
    session
        .batch_execute(
            "create domain public.word as text; alter table public.item add said public.word",
        )
        .await
        .expect("a domain");
    let ours = bench.ours(&bench.source).await;
    let read = async || versions(&ours, &bench.tables).await.expect("read");
    let mut seen = read().await;
    for change in CHANGES {
        session.batch_execute(change).await.expect(change);
        let now = read().await;
        assert_ne!(now, seen, "{change}");
        seen = now;
        if change.starts_with("vacuum full") {
            let whole =
                "create table public.whole (like public.item) partition by range (tenant_id)";
            session.batch_execute(whole).await.expect(whole);
        }
        if change.starts_with("create index") {
            for daily in DAILY {
                session.batch_execute(daily).await.expect(daily);
                assert_eq!(read().await, seen, "{daily}");
            }
        }
    }
}
