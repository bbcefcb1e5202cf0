//! Measures replays of the histories of earlier runs, each in a fresh process: this program's
//! `replay`.

use std::{env, path::Path};

use anyhow::ensure;
use tokio::process::Command;

use super::{Column, Scale, table::Table};
use crate::replay::Report;

pub(super) async fn measure(column: Column, scale: &Scale, histories: &Path, table: &mut Table) -> anyhow::Result<()> {
    let wanted = [("W2 tools", scale.replays), ("W4 handoff", scale.replays), ("W3 T=50", scale.long_replays)];
    for (workload, n) in wanted {
        let file = histories.join(format!("{workload}.bin"));
        let replayed = Command::new(env::current_exe()?)
            .arg("replay")
            .arg("--history")
            .arg(&file)
            .args(["--n", &n.to_string()])
            .output()
            .await?;
        ensure!(replayed.status.success(), "{workload} does not replay: {}", String::from_utf8_lossy(&replayed.stderr));
        let Report { n, wall_s: _, cpu_s, rss_peak_kb: _ } = serde_json::from_slice(&replayed.stdout)?;
        let each = cpu_s * 1000.0 / f64::from(u32::try_from(n)?);
        table.note(&format!("{workload} replay CPU, ms"), column, each);
    }
    Ok(())
}
