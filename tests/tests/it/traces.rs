//! Traces of runs, read by a collector of OpenTelemetry.

mod chats;
mod collector;
mod guarded;
mod hosts;
mod judged;
mod kills;
mod live;
mod mcp;
mod nexus;
mod opened;
mod projected;
mod remote;
mod settings;
mod side_by_side;
mod traced;

use std::{fs, path::Path};

use temporal_agents::trace::{Otlp, export_history, export_workflow};
use temporal_agents_testing::{AgentEnvironment, history};
use temporalio_common::data_converters::DataConverter;

use self::collector::{Collector, check_conventions, tree};
use crate::transcript::archive::{Reading, desk, script};

const READING: &str = "\
invoke_workflow reading
  invoke_agent desk
    call_model gpt-5
      chat gpt-5
    execute_tool transfer_to_archivist archivist
  invoke_agent archivist";

#[tokio::test]
async fn every_recorded_history_is_one_tree_with_attributes_of_the_conventions() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let otlp = Otlp::new(&collector.url)?;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1");
    let mut trees = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        let history = history::load(&path)?;
        let count = export_history(history.clone(), &DataConverter::default(), &otlp).await?;
        let spans = collector.spans(count).await?;
        check_conventions(&spans);
        assert!(spans.iter().all(|span| span.service.as_deref() == Some("temporal-agents")));
        // Sent again, they are the same spans.
        export_history(history, &DataConverter::default(), &otlp).await?;
        assert_eq!(collector.spans(count).await?, spans);
        trees.push(format!("{}\n{}", path.file_stem().unwrap_or_default().display(), tree(&spans)));
    }
    trees.sort();
    insta::assert_snapshot!(trees.join("\n\n"));
    Ok(())
}

#[tokio::test]
async fn a_workflow_is_exported_with_retries_handoffs_and_nested_agents_and_without_content() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder().workflow::<Reading>()?.model(&script()).agents((desk,)).start().await?;
    let run = env.run(Reading::run, "Where is the atlas?".to_owned()).await?;
    let mut collector = Collector::start().await?;
    let count = export_workflow(env.client(), &run.workflow_id, &Otlp::new(&collector.url)?).await?;
    let spans = collector.spans(count).await?;
    check_conventions(&spans);
    let tree = tree(&spans);
    assert!(tree.starts_with(READING), "{tree}");
    assert!(tree.contains("execute_tool translate translator"), "{tree}");
    assert!(
        spans.iter().any(|span| span.operation() == "execute_tool" && span.status == "STATUS_CODE_ERROR"),
        "{tree}"
    );
    let text = format!("{spans:?}");
    assert!(!text.contains("atlas") && !text.contains("shelf"), "content is opt-in: {text}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_collector_that_is_down_is_an_error_that_names_it() {
    let otlp = Otlp::new("http://127.0.0.1:9").expect("the URL is well-formed");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1/trip.json");
    let history = history::load(path).expect("the history is there");
    let error = export_history(history, &DataConverter::default(), &otlp).await.expect_err("nobody listens");
    assert!(
        error.to_string().starts_with("the collector did not take the spans, of which 0 of 15 were sent"),
        "{error}"
    );
    assert!(Otlp::new("no url").is_err());
}
