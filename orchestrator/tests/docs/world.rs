//! Machines in which the commands of a page are run, in one shell, from its first block to its last.
//!
//! Each has two servers and the programs; what pages write for an address, a folder or an id is put in its place.

use crate::blocks::{Block, Mark};
use cluster::{Cluster, Options};
use connect::{Dsn, Session};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// No page takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// Of every role.
const PASSWORD: &str = "secret";

/// One database with all rows, and a server for the second shard; no controller.
const UNSHARDED: &str = "unsharded";
/// The first shard of a shop, and a server for the second; no controller.
const SHOP: &str = "shop";
/// A controller and an agent, two shards and a map of theirs.
const SHARDS: &str = "shards";
/// A split of them that waits for its approval.
const MIGRATION: &str = "migration";
/// What the record of a release is made in.
pub(crate) const RECORD: &str = "record";

const FUNCTIONS: &str = r#"set -euo pipefail
leave() { local status=$?; trap '' EXIT; kill $(jobs -p) 2>/dev/null || true; wait; exit $status; }
trap leave EXIT
trap 'exit 143' TERM
ready() { until shardwright agent list -o name 2>/dev/null | grep -q .; do sleep 0.1; done; }
serve() {
  shardwright serve 2>>log &
  echo $! >controller
  until curl -sf "$SHARDWRIGHT_CONTROLLER/readyz" >/dev/null; do sleep 0.1; done
}
systemctl() {
  case "$*" in
    "stop shardwright") kill "$(<controller)"; wait "$(<controller)" ;;
    "start shardwright") serve ;;
    *) echo "systemctl $*: nothing stands for it here" >&2; return 1 ;;
  esac
}
below() { sed -i -e '0,/^[a-z]*:$/ { /^[a-z]*:$/ r /dev/stdin' -e '}' "$1"; }
"#;
const GRANT: &str = r#"for port in "$PORT_A" "$PORT_B"; do
  psql -X -q -p "$port" -d shop -v ON_ERROR_STOP=1 -v role=mover -v owner=shop_owner -f grants.sql
done
"#;
const START: &str = r#"serve
shardwright-agent --name a1 --spool-dir spool 2>>log &
ready
"#;
const REGISTER: &str = r#"for shard in "shard-a port=$PORT_A" "shard-b port=$PORT_B"; do
  shardwright shard add "${shard% *}" --dsn "host=127.0.0.1 ${shard#* } user=mover dbname=shop password=\${env:SHARD_PASSWORD}"
done
shardwright map create tenants --key bigint --range ..=shard-a
"#;
const SUBMIT: &str = r#"shardwright plan split tenants --source shard-a --into shard-a --into shard-b --even rows \
  --table tenants=id --table accounts=tenant_id --table orders=tenant_id --ignore schema_migrations -o plan.json
ID=$(shardwright apply plan.json)
shardwright wait "$ID" --for condition=ready --timeout 2m
"#;

pub(crate) struct World {
    name: String,
    a: Cluster,
    b: Cluster,
    address: String,
    folder: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs SQL as the superuser.
async fn sql(cluster: &Cluster, database: &str, text: &str) {
    let dsn = Dsn::parse(&cluster.dsn(database, "postgres")).unwrap();
    let session = connect::connect(&dsn, &Session::named("docs"))
        .await
        .unwrap();
    session.batch_execute(text).await.unwrap();
    session.close().await;
}

impl World {
    pub(crate) async fn new(name: &str) -> Self {
        let launch = |part: &str| {
            let options = Options::temporary(&format!("docs-{part}")).setting("fsync", "off");
            tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap())
        };
        let (a, b) = tokio::join!(launch("a"), launch("b"));
        let (a, b) = (a.unwrap(), b.unwrap());
        let rows = match name {
            UNSHARDED => include_str!("unsharded.sql"),
            _ => include_str!("shop.sql"),
        };
        for (cluster, rows) in [(&a, rows), (&b, "")] {
            for make in [
                "create role shop_owner",
                "create database shop owner shop_owner",
                "create database control",
            ] {
                sql(cluster, "postgres", make).await;
            }
            sql(cluster, "shop", "alter schema public owner to shop_owner").await;
            sql(
                cluster,
                "shop",
                &format!("set role shop_owner; set search_path = public; {rows}"),
            )
            .await;
            sql(cluster, "shop", &roles()).await;
        }
        let folder =
            std::env::temp_dir().join(format!("shardwright-docs-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&folder).unwrap();
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::copy(top.join("docs/grants.sql"), folder.join("grants.sql")).unwrap();
        Self {
            name: name.to_owned(),
            a,
            b,
            address: format!("127.0.0.1:{}", cluster::free_port().unwrap()),
            folder,
        }
    }

    /// What a page writes, and what it is here.
    fn here(&self, text: &str) -> String {
        let (a, b) = (self.a.port(), self.b.port());
        let folder = self.folder.display();
        let mut text = text.to_owned();
        for (written, here) in [
            ("127.0.0.1:7432", self.address.clone()),
            ("127.0.0.1:7499", self.address.clone()),
            ("10.0.0.1", format!("127.0.0.1 port={a}")),
            ("10.0.0.2", format!("127.0.0.1 port={b}")),
            ("54311", a.to_string()),
            ("54312", b.to_string()),
            ("docs/grants.sql", "grants.sql".to_owned()),
            ("PASSWORD=...", format!("PASSWORD={PASSWORD}")),
            ("/var/lib/shardwright", format!("{folder}/state")),
            ("/etc/shardwright", folder.to_string()),
            ("maps/MAP/", "maps/tenants/".to_owned()),
            (" ID\n", " $ID\n".to_owned()),
            (" ID ", " $ID ".to_owned()),
        ] {
            text = text.replace(written, &here);
        }
        text
    }

    /// What stands there before the page begins.
    fn setting(&self) -> String {
        let mut script = FUNCTIONS.to_owned();
        let steps: &[&str] = match self.name.as_str() {
            UNSHARDED => &[],
            SHOP | RECORD => &[GRANT],
            SHARDS => &[GRANT, START, REGISTER],
            MIGRATION => &[GRANT, START, REGISTER, SUBMIT],
            other => panic!("there is no world {other}"),
        };
        script.extend(steps.iter().copied());
        script
    }

    fn script(&self, blocks: &[&Block]) -> String {
        let mut script = self.setting();
        for block in blocks {
            let text = self.here(&block.text);
            let place = block.place();
            let run = match (&block.mark, block.language.as_str()) {
                (Some(Mark::File { name, .. }), _) => format!("cat >{name} <<'EOF'\n{text}EOF\n"),
                (Some(Mark::Into { name, .. }), _) => format!("below {name} <<'EOF'\n{text}EOF\n"),
                (Some(Mark::Is { name, .. }), _) => {
                    format!("diff {name} - >&2 <<'EOF'\n{text}EOF\n")
                }
                (_, "sql") => format!("psql -X -q -v ON_ERROR_STOP=1 <<'EOF'\n{text}EOF\n"),
                (_, "python") => format!("python3 - <<'EOF'\n{text}EOF\n"),
                _ => text,
            };
            writeln!(script, "echo '== {place}' >&2\n{run}").unwrap();
            if run.lines().any(|line| line.ends_with('&')) {
                script.push_str("ready\n");
            }
        }
        script
    }

    /// A shell that finds the programs and the servers.
    fn shell(&self) -> Command {
        let mut command = Command::new("bash");
        let (a, b) = (self.a.port().to_string(), self.b.port().to_string());
        let store = format!(
            "host=127.0.0.1 port={} user=postgres dbname=control password=${{env:PGPASSWORD}}",
            self.b.port()
        );
        let programs = Path::new(env!("CARGO_BIN_EXE_shardwright"))
            .parent()
            .unwrap();
        let path = std::env::var("PATH").unwrap();
        let servers = self.a.binaries().dir();
        let path = format!("{}:{}:{path}", programs.display(), servers.display());
        command
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("SHARDWRIGHT_PG_BIN", servers)
            .env("SHARDWRIGHT_CONFIG", self.folder.join("config.yaml"))
            .env("PGPASSWORD", PASSWORD)
            .env("SHARD_PASSWORD", PASSWORD)
            .env("PGHOST", "127.0.0.1")
            .env("PGUSER", "postgres")
            .env("SHARDWRIGHT_LISTEN", &self.address)
            .env("PORT_A", &a)
            .env("PORT_B", &b);
        match self.name.as_str() {
            // Statements of a page are for the first server's database,
            UNSHARDED => command
                .env("PGPORT", a)
                .env("PGDATABASE", "shop")
                .env("PGUSER", "shop_owner"),
            SHOP => command.env("PGPORT", a),
            // and otherwise for the control store.
            _ => command
                .env("PGPORT", b)
                .env("PGDATABASE", "control")
                .env("SHARDWRIGHT_STORE", store),
        };
        command.env("SHARDWRIGHT_CONTROLLER", format!("http://{}", self.address));
        command
    }

    /// Runs a page's blocks; they must end well.
    pub(crate) async fn run(&self, blocks: &[&Block]) {
        self.execute(self.shell(), &self.script(blocks)).await;
    }

    /// Runs a script of its own in this world; it must end well.
    pub(crate) async fn run_script(&self, script: &str, variables: &[(&str, &str)]) {
        let mut command = self.shell();
        command.envs(variables.iter().copied());
        let script = format!("{}{script}", self.setting());
        self.execute(command, &script).await;
    }

    /// Where its controller is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A file that a script has written.
    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    async fn execute(&self, mut command: Command, script: &str) {
        let said = std::fs::File::create(self.folder.join("said")).unwrap();
        command.arg("-c").arg(script).process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said);
        let mut child = command.spawn().unwrap();
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let Ok(ended) = tokio::time::timeout(LIMIT, child.wait()).await else {
            let _ = kill_process_group(group.unwrap(), Signal::TERM);
            panic!("not in time: {}", self.said());
        };
        assert!(ended.unwrap().success(), "{}", self.said());
    }

    /// What the page's commands have printed, and the end of the programs' log.
    fn said(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let log = read("log");
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(30)..].join("\n");
        format!("{}\n{last}", read("said"))
    }
}

/// The agents' role, without its grants, and passwords that pages may use.
fn roles() -> String {
    let mut text = format!("create role mover login password '{PASSWORD}';");
    for role in ["shop_owner", "postgres"] {
        write!(text, "alter role {role} login password '{PASSWORD}';").unwrap();
    }
    text
}
