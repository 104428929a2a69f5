//! How fast a backlog is applied, beside PostgreSQL's own subscription that applies the same one:
//! `cargo test --release --workspace --locked --lib apply_beside_native -- --ignored --nocapture`.
//!
//! In each round one backlog is written, which every slot gets; those who apply take turns, and nothing else works.

use std::time::{Duration, Instant};

use plans::names::Direction;

use super::bench::Bench;
use super::shard::{Shard as Database, until};

const ROUNDS: usize = 5;
const SETTINGS: [(&str, &str); 5] = [
    ("shared_buffers", "256MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1h"),
    ("autovacuum", "off"),
    ("log_min_messages", "fatal"),
];

const TABLE: &str = "
    create table public.item (tenant_id bigint, id bigint, code bigint, v text, price numeric, at timestamptz, primary key (tenant_id, id));
    create index on public.item (code); create index on public.item (v)";
const FILL: &str = "insert into public.item
    select 100 + g % 100, g, g, md5(g::text), g / 100.0, 'epoch' from generate_series(1, 200000) g; analyze public.item";

/// Half of the changes insert, two fifths update, one tenth deletes: ten in a transaction.
const MIXED: &str = "create procedure public.work(round int) language plpgsql as $$
    begin for t in 1..10000 loop
      insert into public.item select 100 + g % 100, g, g, md5(g::text), g / 100.0, now()
        from generate_series(round * 1000000 + t * 5, round * 1000000 + t * 5 + 4) g;
      for n in 1..4 loop
        update public.item set price = price + 1 where (tenant_id, id) =
          (select 100 + i % 100, i from (select 1 + (random() * 140000)::bigint) r (i));
      end loop;
      delete from public.item where (tenant_id, id) = (100 + t % 100, 140000 + round * 10000 + t);
      commit;
    end loop; end $$";

/// Nine updates out of ten meet one row in a hundred.
const SKEWED: &str = "create procedure public.work(round int) language plpgsql as $$
    begin for t in 1..10000 loop
      for n in 1..10 loop
        update public.item set price = price + 1 where (tenant_id, id) =
          (select 100 + i % 100, i from (select 1 + (random() * case when n = 1 then 199998 else 1998 end)::bigint) r (i));
      end loop;
      commit;
    end loop; end $$";

/// A database that subscribes to the backlog in PostgreSQL's own way.
struct Native {
    database: Database,
    name: String,
}

impl Native {
    async fn new(bench: &Bench, name: &str, binary: bool) -> Self {
        let database = Database::on(bench.target.cluster.clone(), name).await;
        let there = database.session().await;
        for sql in [TABLE, FILL] {
            there.batch_execute(sql).await.expect("filled");
        }
        let app = bench.source.session().await;
        let slot = format!("select pg_create_logical_replication_slot('{name}', 'pgoutput')");
        app.batch_execute(&slot).await.expect("a slot");
        let cluster = &bench.source.cluster;
        let password = std::fs::read_to_string(cluster.password_file()).expect("a password");
        let row = app.query_one("select current_database()", &[]).await;
        let subscribe = format!(
            "create subscription {name} connection 'host={} port={} user=postgres dbname={} password={}' publication native
             with (connect = false, slot_name = {name}, binary = {binary}, enabled = false)",
            cluster.host(),
            cluster.port(),
            row.expect("read").get::<_, String>(0),
            password.trim(),
        );
        there.batch_execute(&subscribe).await.expect("subscribed");
        let refresh =
            format!("alter subscription {name} refresh publication with (copy_data = false)");
        there
            .batch_execute(&format!("alter subscription {name} enable"))
            .await
            .expect("enabled");
        there.batch_execute(&refresh).await.expect("refreshed");
        let native = Self {
            database,
            name: name.to_owned(),
        };
        native.stop().await;
        native
    }

    async fn stop(&self) {
        let there = self.database.session().await;
        let stop = format!("alter subscription {} disable", self.name);
        there.batch_execute(&stop).await.expect("disabled");
        until("the worker has ended", || async {
            let read =
                "select 1 from pg_stat_activity where backend_type = 'logical replication worker'";
            there.query_opt(read, &[]).await.expect("read").is_none()
        })
        .await;
    }

    /// From when the worker runs until the last row of the round is there.
    async fn apply(&self, round: i64) -> Duration {
        let there = self.database.session().await;
        let enable = format!("alter subscription {} enable", self.name);
        there.batch_execute(&enable).await.expect("enabled");
        until("the worker runs", || async {
            let read = "select 1 from pg_stat_subscription where pid is not null";
            there.query_opt(read, &[]).await.expect("read").is_some()
        })
        .await;
        let began = Instant::now();
        until("the backlog is applied", || async {
            let read = "select 1 from public.item where tenant_id = 100 and id = $1";
            let row = there.query_opt(read, &[&-round]).await.expect("read");
            row.is_some()
        })
        .await;
        let took = began.elapsed();
        self.stop().await;
        took
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn figures(what: &str, work: &str) {
    let bench = Bench::each_alone_with(&format!("figures_{what}"), TABLE, &SETTINGS).await;
    let app = bench.source.session().await;
    let there = bench.target.session().await;
    for session in [&app, &there] {
        session.batch_execute(FILL).await.expect("filled");
    }
    app.batch_execute(work).await.expect("work");
    let publish = format!(
        "create publication native for table public.item where {}",
        bench.predicate()
    );
    app.batch_execute(&publish).await.expect("published");
    let natives = [
        Native::new(&bench, &format!("native_{what}"), false).await,
        Native::new(&bench, &format!("binary_{what}"), true).await,
    ];
    bench.capture(Direction::Forward).await;
    let mut rates = [vec![], vec![], vec![]];
    for round in 1..=ROUNDS {
        let round = i64::try_from(round).expect("few");
        let work = format!("call public.work({round})");
        app.batch_execute(&work).await.expect("worked");
        let last = format!("insert into public.item values (100, -{round})");
        app.batch_execute(&last).await.expect("written");
        let (mut took, mut changes) = ([Duration::ZERO; 3], 0);
        for turn in 0..3 {
            let who = (turn + usize::try_from(round).expect("few")) % 3;
            took[who] = if let Some(native) = natives.get(who) {
                native.apply(round).await
            } else {
                let began = Instant::now();
                let stream = bench.stream(Direction::Forward).await;
                changes = bench.drain(&stream).await.expect("drained");
                let took = began.elapsed();
                stream.stop().await;
                took
            };
        }
        for (rates, took) in rates.iter_mut().zip(took) {
            rates.push(changes as f64 / took.as_secs_f64());
        }
        println!(
            "{what}, round {round}: {changes} changes; native, native binary, ours took {took:?}"
        );
    }
    bench.assert_equal().await;
    let ratios = rates[2]
        .iter()
        .zip(&rates[0])
        .map(|(ours, native)| ours / native);
    let ratio = median(ratios.collect());
    let [native, binary, ours] = rates.map(median);
    println!(
        "{what}: native {native:.0}/s, native binary {binary:.0}/s, ours {ours:.0}/s, {ratio:.2} times native (medians of {ROUNDS} rounds)"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "figures"]
async fn apply_beside_native() {
    figures("mixed", MIXED).await;
    figures("skewed", SKEWED).await;
}
