//! Traces of a chat while it is open: the spans of each answer leave with the answer.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin,
    agent::GuardrailOutput,
    client::ChatHandle,
    guardrail, tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::{ChatOutcome, ChatRequest},
    workflow::{AgentSet, ChatWorkflow},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, text, tool_call},
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::UntypedWorkflow;

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{QUEUE, Traced, by_id},
};

const CHAT: &str = "chat-7";
/// The spans of an answer: an agent, two calls of the model and one of the tool, and their attempts.
const OF_ANSWER: usize = 7;

/// Weighs a letter.
#[tool]
async fn weigh() -> String {
    "20 g".to_owned()
}

/// Card numbers go to no model.
#[guardrail(input, blocking)]
fn no_cards(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("4111"))
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(weigh).input_guardrail(no_cards)
}

fn chats() -> AgentSet {
    AgentSet::new((clerk,))
}

fn plugin() -> AgentsPlugin {
    let model = FakeModel::function(|call, _| -> Reply {
        if call.turn == 1 { tool_call("weigh", json!({})) } else { text("It weighs 20 g.") }
    });
    AgentsPlugin::new(model).agent(clerk)
}

/// Starts a worker, and a chat on it.
async fn open(url: &str, has_cache: bool) -> anyhow::Result<(Traced, ChatHandle)> {
    let otlp = Otlp::new(url)?;
    let traced = Traced::start_chats(|env| Ok(Tracing::new(env.client(), otlp)), plugin(), chats, has_cache).await?;
    let options = WorkflowStartOptions::new(QUEUE, CHAT).build();
    traced.env.client().start_workflow(ChatWorkflow::run, ChatRequest::new("clerk"), options).await?;
    let chat = ChatHandle::new(traced.env.client(), CHAT);
    Ok((traced, chat))
}

/// Ends the chat, and waits until its spans are sent.
async fn end(traced: &Traced, chat: &ChatHandle) -> anyhow::Result<()> {
    chat.end().await?;
    let handle = traced.env.client().get_workflow_handle::<UntypedWorkflow>(CHAT);
    handle.get_result(WorkflowGetResultOptions::default()).await?;
    traced.tracing.flush().await;
    Ok(())
}

/// Checks that an answer is one tree below the workflow.
fn check_answer(spans: &[Span]) {
    check_conventions(spans);
    let drawn = tree(spans);
    let lines: Vec<&str> = drawn.lines().collect();
    let expected = [
        "invoke_agent clerk",
        "  call_model gpt-5",
        "    chat gpt-5",
        "  call_tool weigh",
        "    execute_tool weigh",
        "  call_model gpt-5",
        "    chat gpt-5",
    ];
    assert_eq!(lines, expected, "{drawn}");
}

#[rstest]
#[tokio::test]
async fn spans_of_an_answer_leave_while_the_chat_is_open(#[values(true, false)] has_cache: bool) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let (traced, chat) = open(&collector.url, has_cache).await?;
    let mut live = Vec::new();
    for message in ["Weigh this.", "And this."] {
        let reply = chat.send(message).await?;
        assert!(matches!(reply.outcome, ChatOutcome::Answered { .. }), "{reply:?}");
        traced.tracing.flush().await;
        let answer = collector.spans(OF_ANSWER).await?;
        check_answer(&answer);
        live.extend(answer);
    }
    let mut from_history = Collector::start().await?;
    end(&traced, &chat).await?;
    let last = collector.end().await?;
    let count = export_workflow(traced.env.client(), CHAT, &Otlp::new(&from_history.url)?).await?;
    let whole = from_history.spans(count).await?;
    let ids = |spans: &[Span]| -> BTreeSet<String> { spans.iter().map(|span| span.id.clone()).collect() };
    if has_cache {
        assert_eq!(last.iter().map(Span::operation).collect::<Vec<_>>(), ["invoke_workflow"]);
    } else {
        // The worker does not remember what it has sent: the same spans come again.
        assert!(ids(&last).is_subset(&ids(&whole)), "{last:#?}");
    }
    let sent_before = ids(&live);
    live.extend(last.into_iter().filter(|span| !sent_before.contains(&span.id)));
    tree(&live);
    assert_eq!(by_id(&live), by_id(&whole));
    assert_eq!(traced.tracing.lost(), 0);
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_guardrail_that_trips_in_a_chat_has_one_span() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let (traced, chat) = open(&collector.url, true).await?;
    let reply = chat.send("My card is 4111.").await?;
    assert!(matches!(reply.outcome, ChatOutcome::Failed { .. }), "{reply:?}");
    traced.tracing.flush().await;
    let tripped = collector.spans(1).await?;
    assert_eq!(tripped[0].operation(), "guardrail", "{tripped:?}");
    chat.send("Weigh this.").await?;
    traced.tracing.flush().await;
    let answer = collector.spans(OF_ANSWER).await?;
    check_answer(&answer);
    end(&traced, &chat).await?;
    let last = collector.end().await?;
    assert_eq!(last.iter().map(Span::operation).collect::<Vec<_>>(), ["invoke_workflow"]);
    tree(&[tripped, answer, last].concat());
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn spans_that_no_collector_took_come_again_at_the_end() -> anyhow::Result<()> {
    let (traced, chat) = open("http://127.0.0.1:9", true).await?;
    chat.send("Weigh this.").await?;
    traced.tracing.flush().await;
    // The attempts; the others are not lost yet.
    assert_eq!(traced.tracing.lost(), 3);
    end(&traced, &chat).await?;
    assert_eq!(traced.tracing.lost(), OF_ANSWER as u64 + 1);
    traced.env.finish().await?;
    Ok(())
}
