//! After a take-over the agent opens keys that an interrupted attempt left closed, before all other work of the
//! migration.
//!
//! The tests run a complete agent on real shards. The controller is simulated: it assigns one dispatch and releases
//! every attempt.

use std::sync::{Arc, Mutex};

use plans::id::{Epoch, StepId};
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::wire::{
    CutoverAnswer, CutoverCall, CutoverQuery, Dispatch, Heartbeat, HeartbeatReply, Outcome, Report,
    WireSecret, Work,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::bench::{Bench, ITEM, VERSION};
use super::interrupted::again;
use super::shard::{LIMIT, Shard as Database, until};
use crate::controller::Controller;
use crate::worker::{DeletedRows, Worker};
use controller_client::{ControllerClient, Identity};

const CLOSED: i64 = i64::MAX;

/// The simulated controller, with the reports that it has received, and the agent.
pub(super) struct Play {
    reports: mpsc::UnboundedReceiver<Report>,
    asked: Arc<Mutex<Vec<CutoverQuery>>>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Play {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Play {
    pub(super) async fn start(dispatch: Dispatch) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (heard, reports) = mpsc::unbounded_channel();
        let asked = Arc::default();
        let script = Script {
            secret: dispatch.secret.clone(),
            work: Arc::new(Mutex::new(Some(Work::Step(Box::new(dispatch))))),
            asked: Arc::clone(&asked),
            heard,
        };
        let controller = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(script.clone().serve(stream));
            }
        });
        let caller = ControllerClient::new(&Identity::default()).unwrap();
        let agent = {
            let files = DeletedRows {
                folder: std::env::temp_dir(),
                keep: std::time::Duration::MAX,
            };
            Worker::new(
                "x",
                Controller::new(&url, caller),
                std::env::temp_dir(),
                files,
            )
        };
        Self {
            reports,
            asked,
            tasks: [controller, tokio::spawn(agent.run())],
        }
    }

    pub(super) async fn outcome(&mut self) -> Outcome {
        let report = tokio::time::timeout(LIMIT, self.reports.recv()).await;
        match report.expect("in time").expect("a report") {
            Report::Step(report) => report.outcome,
            other @ Report::Inspected { .. } => panic!("{other:?}"),
        }
    }

    fn released(&self) -> Vec<Direction> {
        let asked = self.asked.lock().expect("asked");
        let direction = |ask: &CutoverQuery| {
            let CutoverQuery::Release { direction, .. } = ask else {
                panic!("{ask:?}");
            };
            *direction
        };
        asked.iter().map(direction).collect()
    }
}

#[derive(Clone)]
struct Script {
    work: Arc<Mutex<Option<Work>>>,
    asked: Arc<Mutex<Vec<CutoverQuery>>>,
    /// The secret that every call must contain.
    secret: Option<WireSecret>,
    heard: mpsc::UnboundedSender<Report>,
}

impl Script {
    /// Answers the requests of one connection.
    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((path, body)) = request(&mut stream).await {
            let answer = self.answer(&path, &body).await.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            if stream.write_all((head + &answer).as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, path: &str, body: &[u8]) -> Value {
        match path.rsplit('/').next().expect("a word") {
            "claim" => {
                let work = self.work.lock().expect("work").take();
                match work {
                    Some(work) => json!(work),
                    None => std::future::pending().await,
                }
            }
            "heartbeat" => {
                let beat: Heartbeat = serde_json::from_slice(body).expect("a heartbeat");
                assert!(beat.key.is_some());
                for holding in beat.holding {
                    assert_eq!(holding.secret, self.secret);
                }
                json!(HeartbeatReply {
                    lease_ms: 10_000,
                    directives: Vec::new(),
                })
            }
            "cutover" => {
                let call: CutoverCall = serde_json::from_slice(body).expect("a call");
                assert_eq!(call.secret, self.secret);
                self.asked.lock().expect("asked").push(call.query);
                json!(CutoverAnswer::Released)
            }
            "report" => {
                let report = serde_json::from_slice(body).expect("a report");
                if let Report::Step(step) = &report {
                    assert_eq!(step.secret, self.secret);
                }
                self.heard.send(report).expect("heard");
                json!({})
            }
            other => panic!("{other}"),
        }
    }
}

/// Reads path and body of the next request. Returns `None` when the connection is closed.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let header = line.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((path, body))
}

/// Creates a shard that attempt `number` has sealed. If `version` is set, the shard was notified of the flip to it.
async fn sealed(bench: &Bench, database: &Database, number: i64, version: Option<i64>) {
    bench.guard(database, CLOSED).await;
    let session = bench.ours(database).await;
    session
        .execute(
            "update shardwright.move set attempt = $1, flipped = $2",
            &[&(number * 1000), &version],
        )
        .await
        .expect("an attempt");
}

/// Returns a dispatch of a step for a new owner, after the steps in `done`.
fn dispatch(bench: &Bench, step: StepKind, done: &[(StepKind, Value)]) -> Dispatch {
    let outputs = done.iter().cloned();
    Dispatch {
        epoch: Epoch(2),
        secret: Some(WireSecret::from_bits([2; 32])),
        outputs: outputs
            .map(|(kind, output)| (StepId::from(kind.name()), output))
            .collect(),
        ..(*again(bench, step).dispatch).clone()
    }
}

#[tokio::test]
async fn a_sealed_source_is_opened_before_the_tables_are_compared() {
    let bench = Bench::new("reshaped", ITEM).await;
    sealed(&bench, &bench.source, 1, None).await;
    sealed(&bench, &bench.target, 1, None).await;
    // The plan has other definitions of the tables than both shards.
    let done = [(StepKind::CreateTarget, json!(TargetCreated::default()))];
    let mut play = Play::start(dispatch(&bench, StepKind::Cutover, &done)).await;
    let outcome = play.outcome().await;
    assert!(matches!(outcome, Outcome::Reshaped { .. }), "{outcome:?}");
    assert_eq!(play.released(), [Direction::Forward]);
    let session = bench.source.session().await;
    assert_eq!(bench.register(&session).await, 0, "the source is open");
}

#[tokio::test]
async fn a_sealed_source_is_opened_before_it_is_verified_again() {
    let bench = Bench::new("verifiedagain", ITEM).await;
    sealed(&bench, &bench.source, 1, None).await;
    sealed(&bench, &bench.target, 1, None).await;
    let done = [(StepKind::CreateTarget, json!(TargetCreated::default()))];
    let mut play = Play::start(dispatch(&bench, StepKind::Verify, &done)).await;
    play.outcome().await;
    assert_eq!(play.released(), [Direction::Forward]);
    let session = bench.source.session().await;
    assert_eq!(bench.register(&session).await, 0, "the source is open");
}

#[tokio::test]
async fn a_target_that_a_withdrawn_roll_back_sealed_is_opened_before_the_old_rows_go() {
    let bench = Bench::new("withdrawn", ITEM).await;
    let app = bench.source.session().await;
    let row = "insert into public.item values (100, 1, 'old')";
    app.batch_execute(row).await.expect("a row");
    sealed(&bench, &bench.source, 2, Some(VERSION + 1)).await;
    sealed(&bench, &bench.target, 2, Some(VERSION + 1)).await;
    bench.own(&bench.target.session().await).await;
    // While another session has locked the rows like this, they cannot be dropped.
    app.batch_execute("begin; select from public.item for share")
        .await
        .expect("locked");
    let done = [(StepKind::Cutover, json!({}))];
    let mut play = Play::start(dispatch(&bench, StepKind::DropOld, &done)).await;
    let session = bench.target.session().await;
    until("the target is open", || async {
        bench.register(&session).await == 0
    })
    .await;
    assert_eq!(play.released(), [Direction::Reverse]);
    let row = "insert into public.item values (100, 2, 'new')";
    session.batch_execute(row).await.expect("the owner writes");
    app.batch_execute("rollback").await.expect("let go");
    let outcome = play.outcome().await;
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
}
