//! A model call that breaks off after part of its text and is made again, and readers that come back at any cursor: every
//! reader is left with the good text alone.
//!
//! `SEEDS=n` runs n of these stories for each transport, from the seed `SEED`.

use std::time::Duration;

use futures::future::try_join;
use rstest::rstest;
use temporal_agents::{
    Agent, AgentsPlugin,
    client::{RunEvents, WorkflowStreamItems},
    remote::transport::MemoryTransport,
    wire::{AgentRequest, EventKind, RunEvent},
    worker::{BrokerDeltas, HeartbeatDeltas, WorkflowStreamDeltas},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::text,
    history::{self, History},
};

use super::{lost::Random, reading::all};

const STORY: &str = "Once upon a time there was a lighthouse, and nobody knew who lit it each night, or why.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Off,
    Heartbeat,
    WorkflowStream,
    OtherTopic,
    Broker,
}

impl Transport {
    fn of(self, plugin: AgentsPlugin, broker: BrokerDeltas) -> AgentsPlugin {
        match self {
            Self::Off => plugin,
            Self::Heartbeat => plugin.deltas(HeartbeatDeltas::new()),
            Self::WorkflowStream => plugin.deltas(WorkflowStreamDeltas::new()),
            Self::OtherTopic => plugin.deltas(WorkflowStreamDeltas::new().topic("tokens").openai_topic("openai")),
            Self::Broker => plugin.deltas(broker),
        }
    }

    fn reader(self, env: &AgentEnvironment, broker: &BrokerDeltas) -> RunEvents {
        let events = RunEvents::new(env.client());
        if self == Self::Broker { events.deltas(broker.clone()) } else { events }
    }
}

fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5")
}

async fn environment(
    model: &FakeModel,
    transport: Transport,
    broker: &BrokerDeltas,
) -> anyhow::Result<AgentEnvironment> {
    let set = AgentSet::new((narrator,));
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(narrator)
        .model(model)
        .plugin(|plugin| transport.of(plugin, broker.clone()));
    Ok(builder.start().await?)
}

/// The text that a reader shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Screen {
    text: String,
    /// The attempt whose text it is.
    attempt: u32,
    is_whole: bool,
}

impl Screen {
    fn show(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::AttemptDelta { attempt, failure: None, .. } => {
                (self.attempt, self.text) = (*attempt, String::new());
            }
            EventKind::TextDelta { attempt, delta, .. } => {
                assert_eq!(*attempt, self.attempt, "its attempt has begun");
                self.text.push_str(delta);
            }
            EventKind::Message { text, .. } => {
                (self.text, self.is_whole) = (text.clone(), true);
            }
            _ => {}
        }
        let is_good = self.is_whole && self.text == STORY || !self.is_whole && STORY.starts_with(&self.text);
        assert!(is_good, "{self:?} after {event:?}");
    }
}

/// Reads to the end; leaves after this number of events, and comes back with the last cursor.
async fn read(events: &RunEvents, id: &str, leaves: &mut impl FnMut() -> usize) -> anyhow::Result<Vec<RunEvent>> {
    let (mut seen, mut screen) = (Vec::<RunEvent>::new(), Screen::default());
    loop {
        let cursor = seen.last().and_then(|event| event.cursor.clone());
        let mut stream = match cursor {
            None => events.watch_live(id),
            Some(cursor) => events.watch_live_from(id, cursor),
        };
        let mut left = leaves();
        while left > 0 {
            let Some(event) = stream.next().await else {
                assert!(screen.is_whole, "{screen:?}");
                return Ok(seen);
            };
            let event = event?;
            // A heartbeat has the latest deltas again, for a reader that has just come.
            if !seen.iter().any(|other| other.is_delta() && other.id == event.id) {
                screen.show(&event);
                seen.push(event);
            }
            left -= 1;
        }
    }
}

/// Lets a call break off after `breaks` parts; returns the history.
async fn story(transport: Transport, breaks: usize, random: &mut Random) -> anyhow::Result<History> {
    let size = 1 + random.below(9);
    let reply = text(STORY).chunk_size(size).chunk_pause(Duration::from_millis(12)).breaking_after(breaks);
    let model = FakeModel::script([reply]);
    let broker = BrokerDeltas::new(MemoryTransport::new());
    let env = environment(&model, transport, &broker).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    let id = started.info().workflow_id.clone();
    let events = transport.reader(&env, &broker);
    let mut leaves = || 1 + random.below(12);
    let (mut stays, others) = (|| usize::MAX, transport.reader(&env, &broker));
    let (steady, restless) = try_join(read(&events, &id, &mut stays), read(&others, &id, &mut leaves)).await?;
    let facts: Vec<_> = all(events.watch(&*id)).await?;
    for seen in [&steady, &restless] {
        let seen: Vec<_> = seen.iter().filter(|event| !event.is_delta()).collect();
        assert_eq!(seen, facts.iter().collect::<Vec<_>>(), "every fact once");
    }
    if transport != Transport::Off && breaks > 0 {
        assert!(steady.iter().any(|event| matches!(event.kind, EventKind::TextDelta { attempt: 2, .. })));
    }
    // After the end: from every cursor that a reader has held, with what it has shown until then.
    let mut screen = Screen::default();
    for event in &steady {
        screen.show(event);
        let mut later = screen.clone();
        let Some(cursor) = &event.cursor else { continue };
        for event in all(events.watch_live_from(&*id, cursor.clone())).await? {
            later.show(&event);
        }
        assert!(later.is_whole);
    }
    env.await_run(&started).await?.output()?;
    let history = history::fetch(env.client(), &id, None).await?;
    env.replay(&history).await?;
    env.finish().await?;
    Ok(history)
}

fn of_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[rstest]
#[tokio::test]
async fn readers_are_left_with_the_good_text_alone(
    #[values(
        Transport::Off,
        Transport::Heartbeat,
        Transport::WorkflowStream,
        Transport::OtherTopic,
        Transport::Broker
    )]
    transport: Transport,
) -> anyhow::Result<()> {
    let first = of_environment("SEED", 0);
    for seed in first..first + of_environment("SEEDS", 3) {
        let mut random = Random(seed);
        let breaks = random.below(20);
        println!("{transport:?}: SEED={seed} breaks off after {breaks}");
        story(transport, breaks, &mut random).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_stream_of_the_workflow_has_the_whole_text_of_the_last_attempt() -> anyhow::Result<()> {
    let reply = text(STORY).chunk_size(4).chunk_pause(Duration::from_millis(10)).breaking_after(7);
    let model = FakeModel::script([reply]);
    let broker = BrokerDeltas::new(MemoryTransport::new());
    let env = environment(&model, Transport::WorkflowStream, &broker).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    let id = started.info().workflow_id.clone();
    env.await_run(&started).await?.output()?;
    let mut items = WorkflowStreamItems::new(env.client(), &*id).topics(["run_events"]);
    let (mut text, mut attempt) = (String::new(), 0);
    while let Some(item) = items.next().await {
        let event: RunEvent = item?.json()?;
        match event.kind {
            EventKind::AttemptDelta { attempt: begun, .. } => (attempt, text) = (begun, String::new()),
            EventKind::TextDelta { delta, .. } => text.push_str(&delta),
            _ => {}
        }
    }
    assert_eq!((attempt, &*text), (2, STORY), "also the last part, which was written just before the end");
    env.finish().await?;
    Ok(())
}
