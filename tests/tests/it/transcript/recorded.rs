//! Histories of every release read as transcripts.

use std::path::Path;

use temporal_agents::client::transcript::{End, ToolKind, Transcript};
use temporal_agents_testing::history;
use temporalio_common::data_converters::DataConverter;

async fn recorded(name: &str) -> anyhow::Result<Transcript> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1").join(name);
    Ok(Transcript::of_history(history::load(path)?, &DataConverter::default()).await?)
}

#[tokio::test]
async fn runs_side_by_side_keep_apart() -> anyhow::Result<()> {
    let transcript = recorded("parallel_agents.json").await?;
    let turns: Vec<_> = transcript.runs.iter().map(|run| (run.parent.clone(), run.turns.len())).collect();
    assert_eq!(turns, [(None, 1), (None, 1), (None, 1), (None, 1)]);
    let numbers: Vec<u32> = transcript.calls().iter().map(|call| call.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    Ok(())
}

#[tokio::test]
async fn an_agent_used_as_a_tool_is_a_run_inside_the_turn_that_called_it() -> anyhow::Result<()> {
    let transcript = recorded("agents_as_tools.json").await?;
    let outer = &transcript.runs[0];
    let inside: Vec<_> =
        transcript.runs[1..].iter().map(|run| (&*run.id, run.parent.as_ref() == Some(&outer.id))).collect();
    let called: Vec<_> = outer.turns[0]
        .tools
        .iter()
        .map(|tool| match &tool.kind {
            ToolKind::Agent { run } => (&**run, tool.output.is_some()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(inside, called);
    assert_eq!(transcript.usage.input_tokens, 600);
    Ok(())
}

#[tokio::test]
async fn a_guardrail_that_is_an_agent_is_a_run_and_one_that_is_an_activity_is_told() -> anyhow::Result<()> {
    let transcript = recorded("guardrails-1.json").await?;
    let outer = &transcript.runs[0];
    assert_eq!(outer.guardrails[0].name, "no_abuse");
    assert_eq!(outer.guardrails[0].output, Some(serde_json::json!({"tripwire_triggered": false, "output_info": null})));
    assert_eq!(transcript.runs[1].id, format!("{}-input-guardrail-1", outer.id));
    assert_eq!(transcript.runs[1].parent.as_ref(), Some(&outer.id));
    Ok(())
}

#[tokio::test]
async fn a_run_that_was_paused_goes_on_with_the_tools_that_were_decided() -> anyhow::Result<()> {
    let asked = recorded("approval-1.json").await?;
    assert_eq!(asked.runs[0].turns[0].tools[0].kind, ToolKind::InWorkflow);
    let End::ContinuedAsNew { run_id } = &asked.end else { panic!("{:?}", asked.end) };
    let decided = recorded("approval-2.json").await?;
    assert_eq!(decided.continued_from.as_ref(), Some(&asked.run_id));
    assert_ne!(run_id, &asked.run_id);
    let first = &decided.runs[0].turns[0];
    assert!(first.calls.is_empty());
    assert!(matches!(first.tools[0].kind, ToolKind::Activity { .. }), "{first:?}");
    Ok(())
}
