//! A store that a newer controller has brought forward.

use crate::fixture::{Database, Server, program, step_name};
use plans::names::Direction;
use sqlx::PgPool;

/// What the next version might do: columns of each table, and a file that this program does not have.
const NEXT_VERSION: &str = "do $$ declare t text; begin
    for t in select relname from pg_class where relnamespace = 'shardwright'::regnamespace and relkind in ('r', 'p')
        and relname <> '_sqlx_migrations' and not relispartition loop
        execute format('alter table shardwright.%I add column added_later text, add column added_too integer not null default 1', t);
    end loop; end $$;
    insert into shardwright._sqlx_migrations (version, description, success, checksum, execution_time)
    values (999999, 'newer', true, '', 0)";

async fn bring_forward(pool: &PgPool) {
    sqlx::raw_sql(NEXT_VERSION).execute(pool).await.unwrap();
}

/// The leader's row, and how many rows were ever written.
async fn written(pool: &PgPool) -> (String, i64) {
    let text = "select (select l::text from shardwright.leader l), (select count(*) from shardwright.audit)";
    sqlx::query_as(text).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_program_does_not_start_on_a_newer_store_and_says_what_to_do() {
    let database = Database::new().await;
    drop(database.store().await);
    let pool = database.pool().await;
    bring_forward(&pool).await;
    let before = written(&pool).await;
    let mut serve = program("");
    serve.args(["serve", "--listen", "127.0.0.1:0", "--store", &database.dsn]);
    let ended = serve.output().await.unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let text = String::from_utf8(ended.stderr).unwrap();
    let told = "error: the control store could not be opened: its schema is of version 999999, \
        this program knows versions up to ";
    assert!(text.contains(told), "{text}");
    assert!(
        text.contains("hint: a newer controller has upgraded the store"),
        "{text}"
    );
    assert_eq!(written(&pool).await, before);
}

/// Sessions have read every table before it gets columns: none of their statements may depend on how many there are.
#[tokio::test]
async fn a_controller_that_runs_goes_on_while_a_newer_one_brings_the_schema_forward() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let paths = [
        "/api/v1/migrations".to_owned(),
        "/api/v1/operations".to_owned(),
        format!("/api/v1/operations/{id}"),
        format!("/api/v1/migrations/{id}"),
        format!("/api/v1/migrations/{id}/events"),
        format!("/api/v1/migrations/{id}/cleanup"),
        format!("/api/v1/operations/{id}/report"),
        "/api/v1/maps".to_owned(),
        "/api/v1/maps/tenants/versions".to_owned(),
        "/api/v1/shards".to_owned(),
        "/api/v1/agents".to_owned(),
        "/api/v1/tokens".to_owned(),
        "/api/v1/audit".to_owned(),
    ];
    let read = async || {
        // Every session of the pool has read everything.
        for path in paths.iter().flat_map(|path| [path; 4]) {
            let answer = server.get(path).await;
            assert_eq!(
                answer.status(),
                200,
                "{path}: {}",
                answer.text().await.unwrap()
            );
        }
    };
    agent.done(&agent.run_to("copy").await).await;
    read().await;
    bring_forward(&server.database.pool().await).await;
    read().await;
    let cutover = agent.run_to("cutover").await;
    assert_eq!(agent.flip(&cutover, Direction::Forward).await, 2);
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&hold).await;
    let last = agent.next().await;
    assert_eq!(step_name(&last), "drop_old");
    agent.done(&last).await;
    server.in_state(&id, "completed").await;
    read().await;
}
