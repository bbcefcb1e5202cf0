//! The choice of a transport for each agent, and what no transport passes on.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use temporal_agents::{
    Agent, AgentsPlugin,
    agent::GuardrailOutput,
    client::WorkflowStreamItems,
    guardrail,
    wire::{AgentRequest, EventKind, RunEvent},
    worker::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport, InProcessDeltas, WorkflowStreamDeltas},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};

const ANSWER: &str = "The lamp would not go out.";

/// Checks the whole answer.
#[guardrail(output)]
fn everything_passes(_output: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5")
}

fn guarded() -> Agent {
    narrator().output_guardrail(everything_passes)
}

/// Events that a function in the process of the worker has received.
type Received = Arc<Mutex<Vec<RunEvent>>>;

fn to(received: &Received) -> InProcessDeltas {
    let received = Arc::clone(received);
    InProcessDeltas::new(move |event| received.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone()))
}

/// The text of the last attempt.
fn text_of(received: &Received) -> String {
    let mut text = String::new();
    for event in &*received.lock().unwrap_or_else(PoisonError::into_inner) {
        match &event.kind {
            EventKind::AttemptDelta { .. } => text.clear(),
            EventKind::TextDelta { delta, .. } => text.push_str(delta),
            _ => {}
        }
    }
    text
}

/// Runs an agent whose first attempt breaks off, and returns the topics of the workflow's stream.
async fn run(agent: fn() -> Agent, plugin: impl FnOnce(AgentsPlugin) -> AgentsPlugin) -> anyhow::Result<Vec<String>> {
    let model = FakeModel::script([text(ANSWER).chunk_size(3).breaking_after(4)]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .agent(agent)
        .model(&model)
        .plugin(plugin)
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    assert_eq!(env.await_run(&started).await?.output()?, ANSWER);
    let mut items = WorkflowStreamItems::new(env.client(), &*started.info().workflow_id);
    let mut topics = Vec::new();
    while let Some(item) = items.next().await {
        topics.push(item?.topic);
    }
    topics.dedup();
    env.finish().await?;
    Ok(topics)
}

#[tokio::test]
async fn a_function_in_the_process_receives_the_whole_text_of_the_last_attempt() -> anyhow::Result<()> {
    let received = Received::default();
    assert_eq!(run(narrator, |plugin| plugin.deltas(to(&received))).await?, [""; 0]);
    assert_eq!(text_of(&received), ANSWER);
    let events = received.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(events.iter().all(|event| event.id.contains("/1-model#")), "{events:?}");
    Ok(())
}

#[tokio::test]
async fn an_agent_can_have_a_transport_of_its_own() -> anyhow::Result<()> {
    let received = Received::default();
    let of_agent = |plugin: AgentsPlugin| {
        plugin.deltas(WorkflowStreamDeltas::new()).agent_deltas("narrator", to(&received)).without_agent_deltas("other")
    };
    assert_eq!(run(narrator, of_agent).await?, [""; 0]);
    assert_eq!(text_of(&received), ANSWER);
    let without = |plugin: AgentsPlugin| plugin.deltas(WorkflowStreamDeltas::new()).without_agent_deltas("narrator");
    assert_eq!(run(narrator, without).await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn the_providers_own_events_are_published_unless_guardrails_check_the_answer() -> anyhow::Result<()> {
    let with_openai = |plugin: AgentsPlugin| plugin.deltas(WorkflowStreamDeltas::new().openai_topic("openai"));
    let topics = run(narrator, with_openai).await?;
    assert!(topics.iter().any(|topic| topic == "openai"), "{topics:?}");
    assert_eq!(run(guarded, with_openai).await?, ["run_events"]);
    Ok(())
}

/// A transport that does not work.
#[derive(Clone, Copy, Debug)]
enum Broken {
    OpensWithAPanic,
    SendsWithAPanic,
    NeverSends,
}

impl DeltaTransport for Broken {
    fn open(&self, _source: &DeltaSource) -> Box<dyn DeltaChannel> {
        assert!(!matches!(self, Self::OpensWithAPanic), "no channel");
        Box::new(*self)
    }

    fn waits_for_last_batch(&self) -> bool {
        true
    }
}

impl DeltaChannel for Broken {
    fn send(&mut self, _batch: DeltaBatch) -> BoxFuture<'_, bool> {
        assert!(!matches!(self, Self::SendsWithAPanic), "no batch");
        std::future::pending().boxed()
    }
}

#[rstest]
#[tokio::test]
async fn a_transport_that_does_not_work_fails_no_call(
    #[values(Broken::OpensWithAPanic, Broken::SendsWithAPanic, Broken::NeverSends)] broken: Broken,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    run(narrator, |plugin| plugin.deltas(broken)).await?;
    assert!(begun.elapsed() < Duration::from_mins(1), "a call waits for 1 s at most");
    Ok(())
}
