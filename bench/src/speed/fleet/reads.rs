//! Measures the requests of users and applications: the whole map, the map that the client already has (its ETag
//! matches), and lists of migrations.

use super::controller::RunningController;
use super::store::MAP;
use anyhow::{Context, ensure};
use reqwest::header::{ETAG, IF_NONE_MATCH};
use std::time::Instant;

/// The number of requests of each kind. The result is their median.
const REQUESTS: usize = 7;

/// Makes all requests and passes their durations to `add`.
pub(super) async fn measure(
    controller: &RunningController,
    add: &mut impl FnMut(&str, f64),
) -> anyhow::Result<()> {
    let path = format!("/api/v1/maps/{MAP}");
    let (mut first, mut whole, mut known) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let mut answer = controller.get(&path).send().await?.error_for_status()?;
        let tag = answer
            .headers()
            .get(ETAG)
            .cloned()
            .context("the map has no ETag")?;
        let mut bytes = 0;
        let mut first_chunk = None;
        while let Some(chunk) = answer.chunk().await? {
            first_chunk.get_or_insert_with(|| began.elapsed());
            bytes += chunk.len();
        }
        first.push(first_chunk.unwrap_or_default().as_secs_f64());
        whole.push(began.elapsed().as_secs_f64());
        size = bytes;
        let began = Instant::now();
        let answer = controller
            .get(&path)
            .header(IF_NONE_MATCH, tag)
            .send()
            .await?;
        ensure!(answer.status() == 304, "a known map: {}", answer.status());
        known.push(began.elapsed().as_secs_f64() * 1e3);
    }
    add("map_first_s", median(&mut first));
    add("map_s", median(&mut whole));
    add("map_mib", f64::from(u32::try_from(size)?) / 1048576.0);
    add("map_known_ms", median(&mut known));
    add("overview_ms", request_ms(controller, "/").await?);
    add(
        "list_ms",
        request_ms(controller, "/api/v1/migrations?limit=1000").await?,
    );
    Ok(())
}

/// Returns the duration of a request in milliseconds.
async fn request_ms(controller: &RunningController, path: &str) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        controller
            .get(path)
            .send()
            .await?
            .error_for_status()?
            .bytes()
            .await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&mut took))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
