//! Measures the requests of users and applications: the whole map, the map that the client already has (its ETag
//! matches), and lists of migrations.

use super::controller::Serving;
use super::stock::MAP;
use anyhow::{Context, ensure};
use reqwest::header::{ETAG, IF_NONE_MATCH};
use std::time::Instant;

/// The number of requests of each kind. The result is their median.
const TIMES: usize = 7;

/// Makes all requests and passes their durations to `add`.
pub(super) async fn measure(
    serving: &Serving,
    add: &mut impl FnMut(&str, f64),
) -> anyhow::Result<()> {
    let path = format!("/api/v1/maps/{MAP}");
    let (mut first, mut whole, mut known) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..TIMES {
        let began = Instant::now();
        let mut answer = serving.get(&path).send().await?.error_for_status()?;
        let tag = answer
            .headers()
            .get(ETAG)
            .cloned()
            .context("a map without a tag")?;
        let mut bytes = 0;
        let mut came = None;
        while let Some(chunk) = answer.chunk().await? {
            came.get_or_insert_with(|| began.elapsed());
            bytes += chunk.len();
        }
        first.push(came.unwrap_or_default().as_secs_f64());
        whole.push(began.elapsed().as_secs_f64());
        size = bytes;
        let began = Instant::now();
        let answer = serving.get(&path).header(IF_NONE_MATCH, tag).send().await?;
        ensure!(answer.status() == 304, "a known map: {}", answer.status());
        known.push(began.elapsed().as_secs_f64() * 1e3);
    }
    add("map_first_s", middle(&mut first));
    add("map_s", middle(&mut whole));
    add("map_mib", f64::from(u32::try_from(size)?) / 1048576.0);
    add("map_known_ms", middle(&mut known));
    add("overview_ms", page(serving, "/").await?);
    add(
        "list_ms",
        page(serving, "/api/v1/migrations?limit=1000").await?,
    );
    Ok(())
}

/// Returns the duration of a request in milliseconds.
async fn page(serving: &Serving, path: &str) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let began = Instant::now();
        serving
            .get(path)
            .send()
            .await?
            .error_for_status()?
            .bytes()
            .await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(middle(&mut took))
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
