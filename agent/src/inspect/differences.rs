//! Reads the reports of a migration's last comparisons. Each report is on the downstream shard of its direction.

use plans::names::Direction;
use plans::step::verify::{Differences, ReportTask};

use super::session;
use crate::compare;
use crate::error::{StepError, WithIntent};

/// Returns the reports of both directions, the older one first.
pub(super) async fn run(task: &ReportTask) -> Result<Differences, StepError> {
    let copies = [
        (Direction::Forward, &task.target),
        (Direction::Reverse, &task.source),
    ];
    let mut reports = Vec::new();
    for (direction, shard) in copies {
        let client = session(shard, "report").await?;
        let name = shard.name.as_str();
        let row = client
            .query_one(
                "select pg_catalog.to_regclass('shardwright.verification') is not null",
                &[],
            )
            .await
            .at(format_args!("shard {name}: looking for schema shardwright"))?;
        if row.get(0) {
            let id = task.migration.as_str();
            reports.extend(compare::read_report(&client, id, direction).await?);
        }
    }
    reports.sort_by_key(|report| report.run);
    Ok(Differences { reports })
}
