//! Names that look like anything else: through plan, copy, verification, abort, roll back and the drop of the old rows,
//! with the whole schema by names of this kind. Nothing of them is ever executed, and nothing is left behind.

use crate::fleet::Fleet;
use plans::sql::{quote_ident, quote_literal};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Each is at most 63 bytes long, as the server keeps them.
const NAMES: [&str; 24] = [
    "z\ny",
    // Behind a name with a newline, a script that was taken apart by lines had an open quote here.
    ";select evil.pwn(); --",
    "z\n-- Name: t; Type: TABLE; Schema: names; Owner: -\n--",
    "z\n--\n-- PostgreSQL database dump complete\n--\n",
    "z\nDROP TABLE names.plain;",
    "plain",
    "it's",
    "a\"b",
    "a\"\"; select evil.pwn(); --",
    "c\rr",
    "t\tb",
    "back\\slash\\",
    "$$;select evil.pwn();$$",
    "%I %s %L",
    "${file:/etc/passwd}",
    "ééééééééééééééééééééééééééééééé",
    "🐘🔥",
    "\u{202e}gnp.exe",
    "=cmd('calc')!A1",
    "a|b|c",
    "`tick` ```",
    "<script>alert(1)</script>",
    "--leading",
    "../../etc/passwd",
];

/// Records each call outside of the transaction that made it: a slot outlives a roll back.
const EVIL: &str = "
    create schema evil;
    create function evil.pwn() returns text language plpgsql as $f$
    begin
      perform pg_catalog.pg_create_physical_replication_slot('pwned_' || pg_catalog.pg_backend_pid());
      return 'x';
    end $f$";

const PWNED: &str =
    "select count(*) from pg_catalog.pg_replication_slots where slot_name ~ '^pwned'";

/// Objects of users, by name and kind.
const OBJECTS: &str = "
    select count(*) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')";
const SCHEMAS: &str = "select count(*) from pg_catalog.pg_namespace where oid >= 16384 and nspname !~ '^pg_' and nspname <> 'shardwright'";

/// A table of each name, with everything that hangs on it under the same name, and objects of other kinds.
fn schema() -> String {
    let mut sql = format!(
        "{EVIL}; create schema names; create schema views; create schema types; create schema routines; create schema sequences; \
         create schema indexes;"
    );
    for name in NAMES {
        let (ident, text) = (quote_ident(name), quote_literal(name));
        sql += &format!(
            "create type types.{ident} as enum ({text});
             create function routines.{ident}() returns trigger language plpgsql as $body$begin /* {comment} */ return new; end$body$;
             create sequence sequences.{ident};
             create table names.{ident} (tenant_id bigint, id bigint, {ident} text default {text}, kind types.{ident} default {text},
               constraint {key} primary key (tenant_id, id));
             alter table names.{ident} add constraint {check} check ({ident} <> 'x' or id > 0);
             create trigger {ident} before update on names.{ident} for each row execute function routines.{ident}();
             create policy {ident} on names.{ident} using (true);
             create rule {ident} as on delete to names.{ident} where old.id = -1 do instead nothing;
             create statistics indexes.{ident} on tenant_id, id from names.{ident};
             create index on names.{ident} ({ident});
             create view views.{ident} as select {ident} from names.{ident};
             comment on table names.{ident} is {text};
             comment on column names.{ident}.{ident} is {text};
             insert into names.{ident} (tenant_id, id) select t, i from unnest('{{50, 150, 250}}'::bigint[]) t, generate_series(1, 5) i;",
            key = quote_ident(&format!(
                "k{}",
                &name.chars().take(20).collect::<String>()
            )),
            check = quote_ident(&format!("c{}", &name.chars().take(20).collect::<String>())),
            comment = name.replace("*/", "").replace('$', ""),
        );
    }
    sql.replacen(
        "create schema names;",
        &format!(
            "create schema names; create schema {};",
            quote_ident(NAMES[0])
        ),
        1,
    ) + "; analyze"
}

async fn start() -> Fleet {
    let fleet = Fleet::start("names", &["a", "b"]).await;
    fleet.sql("a", &schema()).await;
    let tables: BTreeMap<String, Value> = NAMES
        .iter()
        .map(|name| (format!("names.{name}"), json!("tenant_id")))
        .collect();
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": tables},
        }))
        .await;
    fleet
}

async fn rows(fleet: &Fleet, shard: &str, from: i64) -> i64 {
    let mut rows = 0;
    for name in NAMES {
        let ident = quote_ident(name);
        let count = format!(
            "select count(*) from names.{ident} where tenant_id >= {from} and {ident} = {}",
            quote_literal(name)
        );
        rows += fleet.number(shard, &count).await;
    }
    rows
}

async fn never_called(fleet: &Fleet) {
    assert_eq!(fleet.number("a", PWNED).await, 0, "evil.pwn() was called");
    assert_eq!(fleet.number("b", PWNED).await, 0, "evil.pwn() was called");
}

/// What was written of a migration holds each name, and nothing of it is markup or a line of its own.
async fn reported(fleet: &Fleet, id: &str) {
    let html = fleet.ok(&["report", id, "--format", "html"]).await;
    assert!(!html.contains("<script>alert"), "{html}");
    assert!(html.contains("=cmd(&#39;calc&#39;)!A1"), "{html}");
    let page = fleet.ok(&["report", id, "--format", "md"]).await;
    // The plan is a block of text, whose fence is longer than any in it.
    let (page, plan) = page.split_once("## The plan").unwrap();
    assert!(
        plan.starts_with("\n\n````text\n") && plan.matches("````").count() == 2,
        "{plan}"
    );
    assert!(!page.contains("<script>alert"), "{page}");
    for start in ["y`", "y |", "DROP TABLE", "--\n"] {
        assert!(!page.lines().any(|line| line.starts_with(start)), "{page}");
    }
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut head = None;
    for line in page.lines() {
        match (line.starts_with('|'), head) {
            (true, None) => head = Some(columns(line)),
            (true, Some(head)) => assert_eq!(columns(line), head, "{line}\n{page}"),
            (false, _) => head = None,
        }
    }
}

const TO_B: &str =
    "operation: move\nmap: shop\nmoves:\n- {source: a, target: b, keys: {from: 100, to: 200}}\n";

#[tokio::test]
async fn names_that_look_like_anything_else_are_names() {
    let fleet = start().await;
    let count = NAMES.len() as i64;

    let id = fleet.reach(TO_B, "waiting").await;
    assert_eq!(rows(&fleet, "b", 0).await, 5 * count);
    reported(&fleet, &id).await;
    fleet.ok(&["abort", &id, "--yes"]).await;
    fleet.wait(&id, "unwound").await;
    never_called(&fleet).await;
    assert_eq!(
        (
            fleet.number("b", OBJECTS).await,
            fleet.number("b", SCHEMAS).await
        ),
        (0, 0)
    );
    assert_eq!(fleet.leftovers(&[]).await.total(), 0);

    let held = format!("{TO_B}options: {{cutover: automatic, hold: {{seconds: 600}}}}\n");
    let id = fleet.reach(&held, "flipped").await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    fleet.wait(&id, "rolled_back").await;
    fleet.ok(&["finish", &id, "--yes"]).await;
    assert_eq!(fleet.leftovers(&[]).await.total(), 0);
    never_called(&fleet).await;
    assert_eq!(
        (
            fleet.number("b", OBJECTS).await,
            fleet.number("b", SCHEMAS).await
        ),
        (0, 0)
    );

    let whole = format!("{TO_B}options: {{cutover: automatic, hold: {{seconds: 0}}}}\n");
    let id = fleet.reach(&whole, "completed").await;
    assert_eq!(
        (rows(&fleet, "a", 100).await, rows(&fleet, "b", 0).await),
        (5 * count, 5 * count)
    );
    never_called(&fleet).await;
    reported(&fleet, &id).await;
    let (here, there) = (
        fleet.number("a", OBJECTS).await,
        fleet.number("b", OBJECTS).await,
    );
    assert_eq!(here, there);
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}
