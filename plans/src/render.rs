//! Prints a plan as text for people.

mod seeding;

use crate::plan::{MoveTrial, Plan, PlannedMove, TargetState, Until};
use crate::request::Mode;
use crate::table::{CopyBy, MovingTable, TableKey, stream_format};
use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text of the whole plan.
#[must_use]
pub fn plan_text(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut out, plan);
    for planned in &plan.moves {
        let _ = write_move(&mut out, plan, planned);
        let _ = write_details(&mut out, planned);
    }
    write_end(&mut out, plan);
    out
}

/// Returns the facts for an operator's decision: the keys of each move, their amount, the effects, and the findings.
#[must_use]
pub fn plan_summary(plan: &Plan) -> String {
    let mut out = String::new();
    let _ = write_head(&mut out, plan);
    for planned in &plan.moves {
        let _ = write_move(&mut out, plan, planned);
        let tables = planned.moving.tables.iter();
        let texts: Vec<String> = tables.map(|table| with_rows(planned, table)).collect();
        let _ = writeln!(out, "  {:<16} {}", "tables", texts.join(", "));
    }
    write_end(&mut out, plan);
    out
}

/// Writes notes, findings, trials and the hash.
fn write_end(out: &mut String, plan: &Plan) {
    if !plan.notes.is_empty() {
        let _ = writeln!(out, "\nNotes");
    }
    for note in &plan.notes {
        let _ = writeln!(out, "  {}", one_line(note));
    }
    if !plan.findings.is_empty() {
        let _ = writeln!(out, "\nFindings");
    }
    for finding in &plan.findings {
        let severity = finding.severity.name();
        let (object, problem) = (one_line(&finding.object), one_line(&finding.problem));
        let _ = writeln!(out, "  {severity}: {object}: {problem}");
        let _ = writeln!(out, "      {}", one_line(&finding.remedy));
    }
    if !plan.trials.is_empty() {
        let _ = writeln!(out, "\nTrials");
    }
    for trial in &plan.trials {
        let _ = writeln!(out, "  {}", trial_text(trial));
    }
    let _ = writeln!(out, "\nPlan hash {}", plan.hash);
}

/// Describes the trial run of a move.
fn trial_text(trial: &MoveTrial) -> String {
    let figures = &trial.figures;
    let without_rows = match figures.without_rows {
        0 => String::new(),
        number => format!("; no moving row was found in {number} of these tables"),
    };
    format!(
        "{}: {} objects of the schema, and {} rows ({}) of {} tables, tried on the target in {} ms and rolled back{without_rows}",
        trial.id,
        figures.objects,
        figures.rows,
        bytes(i64::try_from(figures.bytes).unwrap_or(i64::MAX)),
        figures.tables,
        figures.milliseconds
    )
}

/// Returns whether a character changes where or in which direction the following text is displayed: control characters,
/// line ends, and characters that change the direction of writing.
#[must_use]
pub fn is_disruptive(char: char) -> bool {
    let is_separator_or_direction_mark = matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_separator_or_direction_mark || char.is_control()
}

/// Escapes the disruptive characters ([`is_disruptive`]) of a name or text that comes from a user or a database, so
/// that it stays on one line and in its place.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_disruptive) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        match is_disruptive(char) {
            true => line.extend(char.escape_debug()),
            false => line.push(char),
        }
    }
    Cow::Owned(line)
}

fn write_head(out: &mut String, plan: &Plan) -> std::fmt::Result {
    let moves = plan.moves.len();
    writeln!(
        out,
        "{} on map {}: {moves} move{}",
        plan.operation,
        plan.map,
        if moves == 1 { "" } else { "s" }
    )?;
    let last = i64::try_from(moves)
        .unwrap_or(i64::MAX)
        .saturating_add(plan.map_version.0);
    writeln!(out, "  map version      {} -> {last}", plan.map_version)?;
    writeln!(
        out,
        "  moves            about {} rows, {}",
        plan.estimate.rows,
        bytes(plan.estimate.bytes)
    )?;
    if let Some(duration) = &plan.estimate.duration {
        let (range, basis) = (duration.range(), duration.basis());
        writeln!(
            out,
            "  takes            about {range} {basis}, without waits"
        )?;
    }
    if moves > 1 {
        writeln!(
            out,
            "  at once          {} moves, {} on one shard",
            plan.options.moves_at_once, plan.options.moves_per_shard
        )?;
    }
    Ok(())
}

fn write_move(out: &mut String, plan: &Plan, planned: &PlannedMove) -> std::fmt::Result {
    let moving = &planned.moving;
    let state = match planned.target {
        TargetState::New => "new",
        TargetState::Live => "live",
        TargetState::Standby => "standby of the source",
    };
    writeln!(
        out,
        "\nMove {}: {} from shard {} to shard {} ({state}), {}",
        planned.id,
        moving.keys,
        moving.source,
        moving.target,
        planned.mode.name()
    )?;
    writeln!(out, "  {}", planned.why)?;
    for after in &planned.after {
        let until = match after.until {
            Until::Flipped => "flipped",
            Until::Finished => "finished",
        };
        writeln!(out, "  waits            until move {} is {until}", after.id)?;
    }
    writeln!(
        out,
        "  moves            about {} rows, {}",
        planned.estimate.rows,
        bytes(planned.estimate.bytes)
    )?;
    let duration = planned.estimate.duration.as_ref();
    if let Some(duration) = duration.filter(|_| plan.moves.len() > 1) {
        writeln!(out, "  takes            about {}", duration.range())?;
    }
    if planned.target == TargetState::Standby {
        return seeding::write(out, plan, planned);
    }
    write_modes(out, plan, planned)
}

/// Writes the steps of a move with their locks, and its tables.
fn write_details(out: &mut String, planned: &PlannedMove) -> std::fmt::Result {
    let moving = &planned.moving;
    writeln!(out, "  schema           {}", planned.schema_fingerprint)?;
    writeln!(out, "  Steps")?;
    for node in planned.graph.nodes() {
        writeln!(
            out,
            "    {:<14} {}",
            node.id.to_string(),
            node.kind.summary()
        )?;
        if node.kind.locks() != "none" {
            writeln!(out, "    {:<14}   locks: {}", "", node.kind.locks())?;
        }
    }
    if planned.mode == Mode::Online {
        let (format, why) = stream_format(&moving.tables);
        match planned.target {
            TargetState::Standby => writeln!(out, "  Changes arrive in {}", format.name())?,
            TargetState::New | TargetState::Live => {
                writeln!(out, "  Changes arrive in {}: {why}", format.name())?;
            }
        }
    }
    write_tables(out, planned)
}

/// Returns the name of a table with the estimated number of its moving rows.
fn with_rows(planned: &PlannedMove, table: &MovingTable) -> String {
    let name = table.table.to_string();
    let name = one_line(&name);
    match planned.estimate.of(&table.table) {
        Some(estimate) => format!("{name} (about {} rows)", estimate.rows),
        None => name.into_owned(),
    }
}

/// Writes the tables that move, and how each one moves.
fn write_tables(out: &mut String, planned: &PlannedMove) -> std::fmt::Result {
    let moving = &planned.moving;
    writeln!(out, "  Tables (parents first)")?;
    for table in &moving.tables {
        let key = match &table.key {
            TableKey::Columns(_) => format!("key {}", table.key_names().join(", ")),
            TableKey::Through(through) => format!("through {}", through.parent),
            TableKey::Schema(_) => "schema".to_owned(),
            TableKey::Group(group) => format!("group {group}"),
            TableKey::Reference => "reference".to_owned(),
        };
        let amount = match planned.estimate.of(&table.table) {
            Some(estimate) => format!(
                "about {} of {} rows move, {} of {}",
                estimate.rows,
                table.rows,
                bytes(estimate.bytes),
                bytes(table.bytes)
            ),
            None => format!(
                "the table has about {} rows, {}",
                table.rows,
                bytes(table.bytes)
            ),
        };
        let (name, key) = (table.table.to_string(), one_line(&key));
        writeln!(out, "    {:<32} {key:<20} {amount}", one_line(&name))?;
        let predicate = table.predicate(&moving.keys, "");
        writeln!(out, "        where {}", one_line(&predicate))?;
        if planned.target == TargetState::Standby {
            continue;
        }
        let by = match table.copy_by {
            CopyBy::Blocks => "blocks",
            CopyBy::KeyRanges => "key ranges",
        };
        writeln!(out, "        copied by {by}: {}", table.copy_why)?;
        let format = table.format.name();
        writeln!(out, "        copied in {format}: {}", table.format_why)?;
    }
    Ok(())
}

/// Writes the effects of the mode, and those of the other mode. The line `write block` describes the write-blocked
/// window.
fn write_modes(out: &mut String, plan: &Plan, planned: &PlannedMove) -> std::fmt::Result {
    let mut amount = bytes(planned.estimate.bytes);
    if let Some(duration) = &planned.estimate.duration {
        let range = duration.range();
        let _ = write!(amount, " (about {range})");
    }
    match planned.mode {
        Mode::Online => {
            write_block(out, plan)?;
            writeln!(
                out,
                "  offline instead  no capture; moving keys read-only while {amount} are copied and verified; no rollback after the flip"
            )
        }
        Mode::Offline => {
            writeln!(
                out,
                "  write block      moving keys only: read-only while {amount} are copied and verified; no rollback after the flip"
            )?;
            writeln!(
                out,
                "  online instead   a slot on the source decodes its log meanwhile; writes to moving keys are refused for 10 to 100 ms"
            )
        }
    }
}

/// Writes how long an online move refuses writes to the moving keys.
fn write_block(out: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(
        out,
        "  write block      moving keys only: 10 to 100 ms, plus the rest of the oldest writing transaction; an attempt is given up after {} ms",
        plan.options.write_stop_budget_ms
    )
}

/// Returns a number of bytes with a binary unit and one decimal.
#[must_use]
pub fn bytes(amount: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut tenths = i128::from(amount) * 10;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if unit == 0 {
        format!("{amount} B")
    } else {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}
