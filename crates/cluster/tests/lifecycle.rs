//! Clusters from creation to removal, on real servers.

use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::{Binaries, Cluster, ClusterError, Options, Shutdown, sweep};

fn options_without_fsync(name: &str) -> Options {
    Options::temporary(name).setting("fsync", "off")
}

/// Runs one statement over TCP with the password.
fn psql(cluster: &Cluster, sql: &str) -> Result<String, String> {
    let dsn = cluster.dsn("postgres", "postgres");
    let (address, _) = dsn.split_once(" password=").expect("a password reference");
    let output = Command::new(cluster.binaries().path("psql"))
        .args(["-X", "-A", "-t", "-c", sql, address])
        .env(
            "PGPASSWORD",
            std::fs::read_to_string(cluster.password_file()).expect("password"),
        )
        .output()
        .expect("psql");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

fn system_identifier(cluster: &Cluster) -> String {
    let sql = "select system_identifier from pg_control_system()";
    psql(cluster, sql).expect("system identifier")
}

fn processes_in(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .map(|it| it.path());
    entries
        .filter(|it| std::fs::read_link(it.join("cwd")).is_ok_and(|cwd| cwd == data))
        .collect()
}

#[test]
fn a_frozen_cluster_answers_after_it_is_thawed() {
    let cluster = Cluster::launch(options_without_fsync("frozen")).expect("launched");
    let dsn = cluster.dsn("postgres", "postgres");
    assert_eq!(dsn, cluster.dsn_by(cluster.port(), "postgres", "postgres"));
    cluster.freeze().expect("frozen");
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| psql(&cluster, "select 1"));
        let is_stopped = |path: &PathBuf| {
            let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('T'))
        };
        assert!(processes_in(&cluster.data()).iter().all(is_stopped));
        assert!(!answer.is_finished());
        cluster.thaw();
        assert_eq!(answer.join().expect("ended").as_deref(), Ok("1"));
    });
}

#[test]
fn a_cluster_survives_a_crash_and_leaves_nothing_behind() {
    let cluster = Cluster::launch(options_without_fsync("crash")).expect("launched");
    let (port, pid) = (cluster.port(), cluster.postmaster_pid().expect("running"));
    psql(&cluster, "create table t as select 7 as n").expect("created");

    cluster.kill().expect("killed");
    assert_eq!(cluster.postmaster_pid(), None);
    assert_eq!(processes_in(&cluster.data()), Vec::<PathBuf>::new());
    assert!(matches!(
        cluster.kill(),
        Err(ClusterError::NotRunning { .. })
    ));

    cluster.start().expect("recovered");
    assert_ne!(cluster.postmaster_pid(), Some(pid));
    assert_eq!(cluster.port(), port);
    assert_eq!(psql(&cluster, "select n from t"), Ok("7".to_owned()));

    cluster.restart().expect("restarted");
    cluster.stop(Shutdown::Immediate).expect("stopped");
    cluster
        .stop(Shutdown::Fast)
        .expect("stopping twice is no error");
    cluster.start().expect("started");

    let (dir, data) = (cluster.dir().to_owned(), cluster.data());
    drop(cluster);
    assert!(!dir.exists());
    assert_eq!(processes_in(&data), Vec::<PathBuf>::new());
}

#[test]
fn a_restored_server_has_the_data_of_its_copy() {
    let server = Cluster::launch(options_without_fsync("restored")).expect("launched");
    psql(&server, "create table t as select 1 as n").expect("created");
    let copy = server
        .standby("copy", options_without_fsync("copy"))
        .expect("copied");
    psql(&server, "update t set n = 2").expect("updated");
    let before = (server.port(), system_identifier(&server));
    server.kill().expect("killed");
    server.restore(&copy).expect("restored");
    server.start().expect("started");
    assert_eq!((server.port(), system_identifier(&server)), before);
    assert_eq!(psql(&server, "select n from t").expect("read"), "1");
    psql(&server, "update t set n = 3").expect("it is not a standby");
    drop(copy);
    assert_eq!(psql(&server, "select n from t").expect("read"), "3");
}

#[test]
fn concurrent_clusters_have_different_ports_and_system_identifiers() {
    let (first, second) = std::thread::scope(|scope| {
        let other =
            scope.spawn(|| Cluster::launch(options_without_fsync("twin")).expect("launched"));
        (
            Cluster::launch(options_without_fsync("twin")).expect("launched"),
            other.join().expect("joined"),
        )
    });
    assert_ne!(first.port(), second.port());
    assert_ne!(system_identifier(&first), system_identifier(&second));
}

#[test]
fn the_defaults_serve_logical_replication_and_can_be_overridden() {
    let options = options_without_fsync("settings").setting("max_connections", "33");
    let cluster = Cluster::launch(options).expect("launched");
    let setting = |name: &str| psql(&cluster, &format!("show {name}")).expect("shown");
    let names = [
        "wal_level",
        "max_replication_slots",
        "fsync",
        "max_connections",
        "listen_addresses",
    ];
    let values: Vec<String> = names.iter().map(|name| setting(name)).collect();
    assert_eq!(values, ["logical", "20", "off", "33", "127.0.0.1"]);
    assert_eq!(setting("lc_collate"), "C");
    assert_eq!(setting("server_encoding"), "UTF8");
}

#[test]
fn a_wrong_password_is_refused_over_tcp() {
    let cluster = Cluster::launch(options_without_fsync("password")).expect("launched");
    std::fs::write(cluster.password_file(), "wrong").expect("written");
    let error = psql(&cluster, "select 1").expect_err("refused");
    assert!(error.contains("password authentication failed"), "{error}");
}

#[test]
fn the_error_of_a_failed_start_has_the_server_log() {
    let cluster = Cluster::create(options_without_fsync("broken").setting("wal_level", "much"))
        .expect("created");
    let error = cluster.start().expect_err("an unknown value").to_string();
    assert!(
        error.contains("invalid value for parameter \"wal_level\""),
        "{error}"
    );
}

#[test]
fn a_name_in_use_is_refused_and_its_cluster_keeps_running() {
    let options = options_without_fsync("taken");
    let first = Cluster::launch(options.clone()).expect("launched");
    assert!(matches!(
        Cluster::create(options),
        Err(ClusterError::Exists { .. })
    ));
    assert!(psql(&first, "select 1").is_ok());
}

#[test]
fn a_kept_cluster_is_opened_again_with_its_data() {
    let options = options_without_fsync("kept").keep();
    let first = Cluster::open(options.clone()).expect("made");
    first.start().expect("started");
    let port = first.port();
    psql(&first, "create table t as select 1 as n").expect("created");
    drop(first);

    let mut again = options.clone();
    again.keep = false;
    let second = Cluster::open(again).expect("opened");
    second.start().expect("started");
    assert_eq!(second.port(), port);
    assert_eq!(psql(&second, "select n from t"), Ok("1".to_owned()));
}

#[test]
fn a_running_cluster_is_adopted_after_its_owner_was_killed() {
    let options = options_without_fsync("adopted");
    let lost = std::mem::ManuallyDrop::new(Cluster::launch(options.clone()).expect("launched"));
    let adopted = Cluster::open(options).expect("opened");
    adopted.start().expect("runs already");
    assert_eq!(adopted.postmaster_pid(), lost.postmaster_pid());
    assert_eq!(adopted.port(), lost.port());
}

#[test]
fn a_sweep_removes_only_clusters_of_ended_processes() {
    let base = cluster::temporary_base().join(format!("sweep-{}", std::process::id()));
    let options = |name: &str| Options::new(&base, name).setting("fsync", "off");
    let living = Cluster::launch(options("living")).expect("launched");
    let kept = Cluster::launch(options("kept").keep()).expect("launched");
    let orphan = std::mem::ManuallyDrop::new(Cluster::launch(options("orphan")).expect("launched"));
    for (cluster, policy) in [(&kept, "kept"), (&*orphan, "temporary")] {
        let text = format!("1 1 an-earlier-boot {policy}\n");
        std::fs::write(cluster.dir().join("owner"), text).expect("written");
    }

    assert_eq!(sweep(&base).expect("swept"), 1);
    assert_eq!(sweep(&base).expect("swept"), 0);
    assert!(!orphan.dir().exists());
    assert_eq!(processes_in(&orphan.data()), Vec::<PathBuf>::new());
    assert!(living.postmaster_pid().is_some() && kept.postmaster_pid().is_some());
    drop((living, kept));
    std::fs::remove_dir_all(base).expect("removed");
}

#[test]
fn the_newest_programs_are_found_and_complete() {
    let binaries = Binaries::find(None).expect("found");
    assert!(binaries.major() >= 15);
    assert!(binaries.path("pg_dump").is_file());
}

#[test]
fn a_folder_that_the_server_cannot_enter_is_refused_before_anything_is_made() {
    let closed = cluster::temporary_base().join(format!("closed-{}", std::process::id()));
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::create_dir_all(&closed).expect("created");
    std::fs::set_permissions(&closed, private).expect("closed");
    let made = Cluster::create(Options::new(closed.join("base"), "inside"));
    if rustix::process::geteuid().is_root() {
        let error = made.expect_err("postgres cannot pass a folder of root");
        assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
        assert!(error.hint().is_some());
    } else {
        drop(made.expect("we run the server ourselves"));
    }
    std::fs::remove_dir_all(closed).expect("removed");
}
