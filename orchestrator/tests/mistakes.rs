//! What people type wrong: the error names what is wrong, and equal mistakes have equal exit codes.

use crate::fixture::{Server, program, request};
use std::path::PathBuf;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("mistakes-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The exit code, stdout and stderr.
async fn run(url: &str, line: &[&str]) -> (i32, String, String) {
    let output = program(url).args(line).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

const SPLIT: &str = "operation: split\nmap: tenants\nsource: a\ninto:\n\
    - { shard: a, keys: { to: 5 } }\n- { shard: b, keys: { from: 5 } }\n";

const HOOKS: &str = "hooks:\n- {name: a, on: [all], command: [/bin/true]}\n";

#[tokio::test]
async fn equal_mistakes_have_equal_exit_codes() {
    let (server, folder) = (Server::start().await, Folder::new());
    let binary = folder.file("binary.yaml", [0xff, 0xfe, 0x00]);
    let broken = folder.file("broken.yaml", "{");
    let overlap = folder.file("overlap.yaml", SPLIT.replace("to: 5", "to: 7"));
    let no_map = folder.file("no_map.yaml", SPLIT.replace("tenants", "nothing"));
    let limit = folder.file(
        "limit.yaml",
        format!("{SPLIT}options: {{ copy_streams: 17 }}\n"),
    );
    let hooks = folder.file("hooks.yaml", HOOKS);
    let hook = vec!["hook", "test", "nothing", "--hooks", &hooks];
    for (line, code, words) in [
        // Files that cannot be read, or that are malformed.
        (vec!["plan", "/nowhere/x"], 64, "no such file"),
        (vec!["apply", "/nowhere/x"], 64, "no such file"),
        (vec!["doctor", "/nowhere/x"], 64, "no such file"),
        (vec!["fleet", "apply", "/nowhere/x"], 64, "no such file"),
        (vec!["map", "repair", "/nowhere/x"], 64, "no such file"),
        (
            vec!["map", "set", "tenants", "/nowhere/x"],
            64,
            "no such file",
        ),
        (vec!["list", "--token-file", "/nowhere/x"], 64, "/nowhere/x"),
        (vec!["plan", &binary], 64, "not UTF-8 text"),
        (vec!["plan", &broken], 64, "cannot be read"),
        (vec!["apply", &broken], 64, "cannot be read"),
        (vec!["doctor", &broken], 64, "cannot be read"),
        (vec!["fleet", "apply", &broken], 64, "cannot be read"),
        (
            vec!["map", "create", "m", "-f", &broken],
            64,
            "cannot be read",
        ),
        // Arguments and requests with wrong values.
        (
            vec!["map", "create", "m", "--range", "..9=a", "--range", "5..=b"],
            64,
            "overlap",
        ),
        (
            vec!["map", "create", "m", "--key", "uuid", "--range", "x..=a"],
            64,
            "uuid",
        ),
        (vec!["map", "create", "m/x", "--range", "..=a"], 64, "m/x"),
        (vec!["plan", &overlap], 64, "overlap"),
        (vec!["plan", &limit], 64, "copy_streams"),
        (vec!["shard", "set", "a", "--capacity", "0"], 64, "capacity"),
        // Objects that do not exist.
        (
            vec!["map", "create", "m", "--range", "..=nothing"],
            3,
            "there is no shard nothing",
        ),
        (vec!["plan", &no_map], 3, "there is no map nothing"),
        (vec!["wait", "nothing", "--for", "flipped"], 3, "nothing"),
        (
            vec!["list", "--context", "nothing"],
            3,
            "no context nothing",
        ),
        (hook, 3, "no hook \"nothing\""),
    ] {
        let (found, out, said) = run(&server.url, &line).await;
        assert_eq!(found, code, "{line:?}: {said}");
        assert!(said.contains(words) && out.is_empty(), "{line:?}: {said}");
    }
}

#[tokio::test]
async fn a_document_of_another_kind_is_named_with_the_command_that_reads_it() {
    let (server, folder) = (Server::start().await, Folder::new());
    let request = folder.file("request.yaml", SPLIT);
    let plan = folder.file(
        "plan.json",
        "{\"api_version\": \"x\", \"operation\": \"split\", \"hash\": \"y\"}",
    );
    let fleet = folder.file("fleet.yaml", "shards: []\n");
    let repairs = folder.file("repairs.yaml", "map: tenants\nmap_version: 1\nmends: []\n");
    for (line, words) in [
        (
            vec!["apply", &request],
            ["is a request, not a plan", "shardwright plan"],
        ),
        (
            vec!["apply", &fleet],
            ["is a fleet file, not a plan", "shardwright fleet apply"],
        ),
        (
            vec!["plan", &plan],
            ["is a plan, not a request", "shardwright apply"],
        ),
        (
            vec!["plan", &repairs],
            ["not a request", "shardwright map repair"],
        ),
        (
            vec!["doctor", &fleet],
            ["is a fleet file, not a request", "shardwright fleet apply"],
        ),
        (
            vec!["fleet", "apply", &request],
            ["is a request, not a fleet file", "shardwright plan"],
        ),
        (
            vec!["map", "repair", &request],
            ["is a request, not", "shardwright plan"],
        ),
    ] {
        let (code, _, said) = run(&server.url, &line).await;
        assert_eq!(code, 64, "{line:?}: {said}");
        for words in words {
            assert!(said.contains(words), "{line:?}: {said}");
        }
    }
}

#[tokio::test]
async fn a_dry_run_has_the_verdict_of_the_run() {
    let (server, folder) = (Server::start().await, Folder::new());
    let map = |shard: &str| {
        format!(
            "maps:\n- {{ name: m, strategy: range, key: [bigint], mappings: [{{ keys: {{ range: [{{}}] }}, shard: {shard} }}] }}\n"
        )
    };
    let unknown = folder.file("unknown.yaml", map("s7"));
    let added = folder.file(
        "added.yaml",
        map("s7") + "shards:\n- { name: s7, dsn: host=x }\n",
    );
    let dsn = folder.file("dsn.yaml", "shards:\n- { name: s7, dsn: host=x port=y }\n");
    let settings = "maps:\n- { name: tenants, strategy: range, key: [bigint], settings: { tables: { t: [a, b] } }, mappings: [{ keys: { range: [{}] }, shard: a }] }\n";
    let settings = folder.file("settings.yaml", settings);
    for (line, code) in [
        (vec!["fleet", "apply", &unknown], 3),
        (vec!["fleet", "apply", &dsn], 64),
        (vec!["fleet", "apply", &settings, "--yes"], 64),
        (vec!["map", "create", "m", "--range", "..=s7"], 3),
        (vec!["map", "create", "tenants", "--range", "..=a"], 7),
        (
            vec!["map", "create", "m", "--range", "..9=a", "--range", "5..=b"],
            64,
        ),
        (
            vec!["map", "assign", "tenants", "--range", "..5=b", "--yes"],
            64,
        ),
        (vec!["map", "set", "tenants", "--table", "t=a,b"], 64),
        (vec!["shard", "add", "a", "host=x"], 7),
        (vec!["shard", "add", "c", "host=x port=y"], 64),
        (vec!["shard", "set", "a", "--dsn", "host=x port=y"], 64),
        (vec!["shard", "remove", "a", "--yes"], 7),
        (vec!["fleet", "apply", &added], 0),
    ] {
        let dry: Vec<&str> = line.iter().copied().chain(["--dry-run"]).collect();
        let (code_dry, _, dry) = run(&server.url, &dry).await;
        let (code_run, _, said) = run(&server.url, &line).await;
        assert_eq!((code_dry, code_run), (code, code), "{line:?}: {dry} {said}");
        if code != 0 {
            assert_eq!(dry, said, "{line:?}");
        }
    }
}

#[tokio::test]
async fn keys_without_an_owner_are_named_when_a_map_is_made() {
    let (server, folder) = (Server::start().await, Folder::new());
    let line = ["map", "create", "m", "--range", "..5=a", "--range", "9..=b"];
    let dry = [&line[..], &["--dry-run"]].concat();
    let file = folder.file("m.csv", "from,to,shard\n,5,a\n9,,b\n");
    for line in [&dry[..], &line, &["map", "import", "i", &file]] {
        let (code, _, said) = run(&server.url, line).await;
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains("owns [5, 9)") && said.contains("shardwright map assign"),
            "{said}"
        );
    }
    let whole = ["map", "create", "w", "--range", "..5=a", "--range", "5..=b"];
    let (_, _, said) = run(&server.url, &whole).await;
    assert!(!said.contains("warning"), "{said}");
}

#[tokio::test]
async fn source_and_target_have_the_names_of_every_operation() {
    let server = Server::start().await;
    let mut requests = Vec::new();
    for line in [
        "move tenants --from a --to b",
        "move tenants --source a --target b",
        "move tenants --source a --into b",
        "merge tenants --from a --into b",
        "merge tenants --source a --to b",
        "merge tenants --source a --target b",
        "isolate tenants 5 --to b",
        "isolate tenants 5 --into b",
        "isolate tenants 5 --target b",
        "split tenants --source a --into a=..5 --into b=5..",
        "split tenants --from a --to a=..5 --target b=5..",
    ] {
        let line: Vec<&str> = ["plan"].into_iter().chain(line.split(' ')).collect();
        let line = [&line[..], &["--request"]].concat();
        let (code, request, said) = run(&server.url, &line).await;
        assert_eq!(code, 0, "{line:?}: {said}");
        requests.push(request);
    }
    requests.dedup();
    assert_eq!(requests.len(), 4, "{requests:?}");
}

#[tokio::test]
async fn a_shard_without_its_name_is_told_the_form_and_no_password_is_shown() {
    let server = Server::start().await;
    let shard = "s1 host=h password=hunter2";
    for line in [
        vec!["init", "--shard", shard],
        vec!["cleanup", "--dsn", shard],
        vec![
            "map",
            "export",
            "tenants",
            "--format",
            "pgbouncer",
            "--place",
            shard,
        ],
    ] {
        let (code, _, said) = run(&server.url, &line).await;
        assert_eq!(code, 64, "{said}");
        assert!(
            said.contains("NAME=DSN") && !said.contains("hunter2"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_plan_that_was_edited_or_applied_is_refused_also_on_a_dry_run() {
    let (server, folder) = (Server::start().await, Folder::new());
    let (url, agent) = (server.url.as_str(), server.agent("x", "x1"));
    let (written, plan) = (
        folder.file("request.yaml", request("")),
        folder.file("plan.json", ""),
    );
    let line = ["plan", &written, "-o", &plan];
    let ((code, _, said), ()) = tokio::join!(run(url, &line), agent.survey("f1"));
    assert_eq!(code, 0, "{said}");
    let text = std::fs::read_to_string(&plan).unwrap();
    let text = text.replace("\"operation\": \"split\"", "\"operation\": \"merge\"");
    let edited = folder.file("edited.json", text);
    for line in [vec!["apply", &edited, "--dry-run"], vec!["apply", &edited]] {
        let (code, _, said) = run(url, &line).await;
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("was changed after it was written"), "{said}");
    }
    let (code, _, said) = run(url, &["apply", &plan, "--dry-run"]).await;
    assert_eq!(code, 0, "{said}");
}

#[tokio::test]
async fn a_list_of_shards_says_which_were_reached() {
    let server = Server::start().await;
    for line in [&["shard", "list"][..], &["shard", "show", "a"]] {
        let (code, list, said) = run(&server.url, line).await;
        assert_eq!(code, 0, "{said}");
        assert!(
            list.contains("REACHED") && list.contains("not yet"),
            "{list}"
        );
    }
}
