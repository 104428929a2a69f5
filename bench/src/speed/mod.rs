//! Compares the speed of Shardwright with that of plain PostgreSQL (the limit), of PostgreSQL's logical replication and
//! of other tools, one after the other on one machine.
//!
//! First the benchmark starts the servers and programs ([`setup`]) and creates the data set (`data.sql`). Then there
//! are rounds in which each tool does the same work once. At the end it computes medians and ratios ([`figures`]).
//! Meanwhile a thread records which processes use the cores ([`busy`]), so that each figure shows what limits it.

mod agents;
mod apply;
mod busy;
mod cutovers;
mod database;
mod figures;
mod fleet;
mod goals;
mod hot;
mod impact;
mod load;
mod memory;
mod native;
mod options;
mod parts;
mod pgcopydb;
mod pglogical;
mod processes;
mod raw;
mod resident;
mod routed;
mod seeding;
mod setup;
mod shardwright;
mod staying;
mod throttle;
mod window;
mod writers;

use database::Database;
use figures::{Report, Samples};
pub use options::{Options, Part};
use setup::BenchmarkSetup;

/// Measures all parts that the options select, prints the table of figures and writes the JSON file. If a part fails,
/// the other parts are measured nevertheless.
///
/// # Errors
/// The names of the parts that failed (the error of each was printed before), or the file cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut report = Report::default();
    let _sampler = report.samples.cpu.sample_until_dropped();
    let mut failed = Vec::new();
    let mut part = |name, work: &dyn Fn(&mut Report) -> anyhow::Result<()>| {
        if let Err(error) = work(&mut report) {
            eprintln!("{name} failed: {error:#}");
            failed.push(name);
        }
        write_json(options, &report)
    };
    if options.only.is_none_or(Part::has_rounds) {
        part("rounds", &|report| {
            let done = measure_rounds(options, &mut report.samples);
            goals::add_figures(report, options);
            done
        })?;
    }
    if options.wants(Part::Window) {
        eprintln!("{} cutovers", options.cutovers());
        part("window", &|report| {
            window::measure(&options.programs, options.cutovers(), report)
        })?;
    }
    if options.wants(Part::Hot) {
        part("hot", &|report| {
            hot::measure(&options.programs, options.cutovers_of_hot(), report)
        })?;
    }
    if options.wants(Part::Writers) {
        part("writers", &|report| {
            writers::measure(&options.programs, options.cutovers_beside(), report)
        })?;
    }
    if options.wants(Part::Staying) {
        part("staying", &|report| staying::measure(options, report))?;
    }
    if options.wants(Part::Parts) {
        part("parts", &|report| parts::measure(options, report))?;
    }
    if options.wants(Part::Seeding) {
        part("seeding", &|report| seeding::measure(options, report))?;
    }
    if options.wants(Part::Fleet) {
        part("fleet", &|report| {
            fleet::measure(&options.programs, options.quick, report)
        })?;
    }
    if options.wants(Part::Agents) {
        let work = (options.items(), options.rounds());
        part("agents", &|report| {
            agents::measure(&options.programs, work, report)
        })?;
    }
    if options.wants(Part::Memory) {
        part("memory", &|report| memory::measure(options, report))?;
    }
    println!("{}", report.text());
    anyhow::ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Writes the results so far to the JSON file, if one is requested.
fn write_json(options: &Options, report: &Report) -> anyhow::Result<()> {
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report.json())?)?;
    }
    Ok(())
}

/// Measures the parts that have rounds on the common data set: copies, backlogs of changes, then an application during
/// a migration.
fn measure_rounds(options: &Options, samples: &mut Samples) -> anyhow::Result<()> {
    let setup = BenchmarkSetup::start(&options.programs)?;
    let source = Database::new(&setup.source, "bench")?;
    let ours = Database::new(&setup.target, "ours")?;
    eprintln!("creating {} rows", options.items() * 141 / 100);
    source.recreate()?;
    ours.recreate()?;
    source.script(include_str!("data.sql"), &[("items", options.items())])?;
    shardwright::register(&setup, &source, &ours)?;
    let rounds = |part| {
        if options.wants(part) {
            options.rounds()
        } else {
            0
        }
    };
    let copies = rounds(Part::Copy);
    for round in 1..=copies {
        eprintln!("round {round} of {copies}: half of the database");
        copy_half(&setup, &source, &ours, samples)?;
        eprintln!("round {round} of {copies}: the whole database");
        copy_whole(&setup, &source, samples)?;
    }
    let backlogs = rounds(Part::Apply);
    for round in 1..=backlogs {
        eprintln!("round {round} of {backlogs}: a backlog of changes");
        apply::round(&setup, (&source, &ours), options.items(), samples)?;
    }
    if backlogs > 0 {
        apply_by_pglogical(options, samples)?;
    }
    if options.wants(Part::Impact) || options.wants(Part::Throttle) {
        let load = load::Load::new(&source, setup.folder(), options.items())?;
        let (seconds, loads) = (options.load_seconds(), rounds(Part::Impact));
        for round in 1..=loads {
            eprintln!("round {round} of {loads}: an application during a migration");
            impact::round(&setup, &load, seconds, samples)?;
        }
        let holds = rounds(Part::Throttle);
        for round in 1..=holds {
            eprintln!(
                "round {round} of {holds}: an application whose latency must not exceed a limit"
            );
            throttle::round(&setup, &load, seconds, samples)?;
        }
    }
    Ok(())
}

/// Applies the same backlogs with pglogical, on servers that exist only for this measurement.
fn apply_by_pglogical(options: &Options, samples: &mut Samples) -> anyhow::Result<()> {
    let (items, rounds) = (options.items(), options.rounds());
    let Some(pair) = pglogical::Pair::start(items)? else {
        eprintln!("pglogical is not installed");
        return Ok(());
    };
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}: a backlog of changes, by pglogical");
        apply::by_pglogical(&pair, items, samples)?;
    }
    Ok(())
}

/// Copies half of the tenants with `COPY` through pipes, with a subscription, and with a migration that is aborted
/// before its cutover.
fn copy_half(
    setup: &BenchmarkSetup,
    source: &Database,
    ours: &Database,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let predicate = shardwright::moving_predicate();
    let other = ours.other_database("other");
    other.recreate()?;
    raw::make_tables(source, &other)?;
    samples.time("raw.copy", || raw::copy(source, &other, &predicate))?;
    samples.time("raw.build", || raw::build(source, &other))?;
    other.recreate()?;
    raw::make_tables(source, &other)?;
    samples.time("native.copy", || native::copy(source, &other, &predicate))?;
    native::end(&other)?;
    samples.time("native.build", || raw::build(source, &other))?;
    other.recreate()?;
    let (id, times) = shardwright::copy_and_verify(setup, &shardwright::half_request())?;
    samples.add("ours.copy", times.copy);
    samples.add("ours.build", times.database - times.copy);
    samples.add("ours.verify", times.verify);
    samples.cpu.take_sample();
    samples.add_profile("ours.copy", times.copy_span);
    samples.add_profile("ours.build", times.build_span);
    samples.add_profile("ours.verify", times.verify_span);
    samples.time("raw.digest", || raw::digest([source, ours], &predicate))?;
    shardwright::abort(setup, &id)
}

/// Copies all tenants with all indexes and foreign keys, with pgcopydb if it is installed, and with a migration.
fn copy_whole(
    setup: &BenchmarkSetup,
    source: &Database,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    if pgcopydb::is_installed() {
        let other = Database::new(&setup.target, "other")?;
        other.recreate()?;
        samples.time("pgcopydb.whole", || {
            pgcopydb::clone(source, &other, setup.folder())
        })?;
        other.recreate()?;
    }
    let (id, times) = shardwright::copy_and_verify(setup, &shardwright::whole_request())?;
    samples.add("ours.whole", times.database);
    samples.add("ours.whole_verify", times.verify);
    samples.cpu.take_sample();
    samples.add_profile("ours.whole", times.copy_and_build_span());
    shardwright::abort(setup, &id)
}
