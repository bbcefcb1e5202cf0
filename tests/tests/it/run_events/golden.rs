//! The facts of recorded histories of all releases: `tests/golden/events/<version>/<history>.txt`, one line for each fact.
//!
//! `UPDATE_GOLDEN=1` writes the missing files. `UPDATE_GOLDEN=all` writes each anew, after the histories.

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

use temporal_agents::client::RunEvents;
use temporal_agents_testing::history;
use temporalio_common::data_converters::DataConverter;

#[tokio::test]
async fn recorded_histories_have_the_facts_that_they_had() -> anyhow::Result<()> {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut paths: Vec<PathBuf> = Vec::new();
    for version in fs::read_dir(golden.join("histories"))? {
        for file in fs::read_dir(version?.path())? {
            paths.push(file?.path());
        }
    }
    paths.sort();
    anyhow::ensure!(!paths.is_empty(), "no history");
    for path in paths {
        let events = RunEvents::of_history(history::load(&path)?, &DataConverter::default()).await;
        let ids: BTreeSet<&str> = events.iter().map(|event| &*event.id).collect();
        assert_eq!(ids.len(), events.len(), "{}: an id comes twice", path.display());
        let mut lines = String::new();
        for event in &events {
            writeln!(lines, "{} {} {}", event.kind.name(), event.id, event.agent)?;
        }
        let version = path.parent().and_then(|parent| parent.file_name()).unwrap_or_default();
        let file = golden.join("events").join(version).join(path.file_stem().unwrap_or_default()).with_extension("txt");
        let update = std::env::var("UPDATE_GOLDEN").ok();
        if !file.exists() || update.as_deref() == Some("all") {
            anyhow::ensure!(update.is_some(), "{} is not recorded; set UPDATE_GOLDEN=1 to record it", file.display());
            fs::create_dir_all(file.parent().unwrap_or(&golden))?;
            fs::write(&file, &lines)?;
        }
        assert_eq!(lines, fs::read_to_string(&file)?, "{}", file.display());
    }
    Ok(())
}
