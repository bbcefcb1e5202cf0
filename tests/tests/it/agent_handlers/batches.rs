//! Decisions on a run whose pause is the last of several workflow tasks in which nothing was scheduled.
//!
//! Such tasks may reach a worker without the workflow in its cache together with the update after them; on replay they come one
//! by one. What the decision comes to must be the same.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, agent_handlers, client::AgentHandle, run::RunOutcome, tool, tool::State, wire::DecisionAnswer,
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
    history::{self, History},
};
use temporalio_client::WorkflowHandle;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{HistoryEvent, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{sync::Semaphore, time::timeout};

use crate::PATIENCE;

use super::support::{last_outputs, state_when, state_when_waiting};
use crate::examples::{Cache, Played, histories};

const DOORS: usize = 4;

/// Doors that calls wait behind until the test opens them.
#[derive(Clone)]
struct Doors(Arc<[Semaphore; DOORS]>);

impl Doors {
    fn closed() -> Self {
        Self(Arc::new(std::array::from_fn(|_| Semaphore::new(0))))
    }

    async fn pass(&self, door: usize) {
        self.0[door].acquire().await.expect("never closed").forget();
    }
}

/// Looks behind a door.
#[tool(start_to_close = "120s")]
async fn look(State(doors): State<Doors>, door: usize) -> String {
    doors.pass(door).await;
    format!("saw {door}")
}

/// Takes something from behind a door.
#[tool(start_to_close = "120s")]
async fn take(State(doors): State<Doors>, door: usize) -> String {
    doors.pass(door).await;
    format!("took {door}")
}

/// Photographs a door.
#[tool(client)]
fn photograph(door: usize) -> String;

fn errand() -> Agent {
    Agent::new("errand").model("gpt-5").tool(look).tool(take.needs_approval()).tool(photograph)
}

/// Who waits for decisions, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waits {
    /// The run.
    Inside,
    /// The workflow, around its pauses.
    Around,
    /// The workflow, which does something first when nothing is decided yet.
    AfterANotice,
}

#[workflow]
#[derive(Default)]
pub(crate) struct Errand {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Errand {
    #[run(name = "errand")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, waits: Waits) -> WorkflowResult<String> {
        let runner = Runner::with_inbox(ctx);
        if waits == Waits::Inside {
            return Ok(runner.run(&errand(), "Go.").await?.final_output);
        }
        let mut outcome = runner.run(&errand(), "Go.").until_paused().await?;
        loop {
            let paused = match outcome {
                RunOutcome::Finished(result) => return Ok(result.final_output),
                RunOutcome::Paused(paused) => paused.state,
            };
            if waits == Waits::AfterANotice && !ctx.state(|errand| errand.inbox.has_decisions_on(&paused)) {
                ctx.timer(Duration::from_secs(1)).await;
            }
            ctx.wait_condition(|errand| errand.inbox.has_decisions_on(&paused)).await?;
            outcome = runner.run(&errand(), paused).until_paused().await?;
        }
    }
}

/// An errand under way.
struct Sent {
    env: AgentEnvironment,
    model: FakeModel,
    doors: Doors,
    handle: WorkflowHandle<temporalio_client::Client, Errand>,
    agent: AgentHandle,
    cache: Cache,
}

impl Sent {
    async fn on(calls: &[(&'static str, Value)], waits: Waits, cache: Cache) -> anyhow::Result<Self> {
        let model = FakeModel::script([tool_calls(calls.to_vec()), text("done")]);
        let doors = Doors::closed();
        let builder = cache.environment::<Errand>()?.model(&model).state(doors.clone()).agents((errand,));
        let env = builder.start().await?;
        let started = env.start_workflow(Errand::run, waits).await?;
        let agent = env.agent_handle(&started);
        let handle = env.client().get_workflow_handle(&*started.info().workflow_id);
        Ok(Self { env, model, doors, handle, agent, cache })
    }

    async fn history(&self) -> anyhow::Result<History> {
        Ok(history::fetch(self.env.client(), &self.handle.info().workflow_id, None).await?)
    }

    /// Opens a door, and waits until the workflow has heard of it.
    async fn open(&self, door: usize) -> anyhow::Result<()> {
        let heard = count(&self.history().await?, EventType::ActivityTaskCompleted) + 1;
        self.doors.0[door].add_permits(1);
        self.rest(|history| count(history, EventType::ActivityTaskCompleted) >= heard).await
    }

    /// Waits until the history is like this, and no workflow task is under way.
    async fn rest(&self, is_so: impl Fn(&History) -> bool) -> anyhow::Result<()> {
        let looking = async {
            loop {
                let history = self.history().await?;
                let last = history.events.last().map(HistoryEvent::event_type);
                let is_quiet = !matches!(
                    last,
                    Some(
                        EventType::WorkflowTaskScheduled
                            | EventType::WorkflowTaskStarted
                            | EventType::ActivityTaskCompleted
                    )
                );
                if is_quiet && is_so(&history) {
                    return anyhow::Ok(());
                }
            }
        };
        timeout(PATIENCE, looking).await.map_err(|_| anyhow::anyhow!("no rest within {PATIENCE:?}"))?
    }

    /// With the cache on, only a worker that takes over has the workflow not in it.
    async fn another_worker(&mut self) -> anyhow::Result<()> {
        if self.cache == Cache::On {
            self.env.stop_worker().await?;
            self.env.start_worker()?;
        }
        Ok(())
    }

    async fn done(self) -> anyhow::Result<Played<String>> {
        let run = timeout(PATIENCE, self.env.await_run(&self.handle)).await;
        let run = run.map_err(|_| anyhow::anyhow!("stuck"))??;
        assert_eq!(run.failed_workflow_tasks(), 0);
        let histories = histories::<Errand>(&self.env, &run.workflow_id).await?;
        let output = run.output()?;
        self.env.finish().await?;
        Ok(Played { output, histories, calls: self.model.calls() })
    }
}

fn count(history: &History, kind: EventType) -> usize {
    history.events.iter().filter(|event| event.event_type() == kind).count()
}

fn door(door: usize) -> Value {
    json!({"door": door})
}

/// An errand that pauses, and is approved.
async fn paused(waits: Waits, cache: Cache) -> anyhow::Result<Sent> {
    let calls = [("look", door(0)), ("look", door(1)), ("take", door(2))];
    let errand = Sent::on(&calls, waits, cache).await?;
    for door in [0, 1] {
        errand.open(door).await?;
    }
    state_when_waiting(&errand.agent).await?;
    Ok(errand)
}

async fn approved(errand: Sent) -> anyhow::Result<Played<String>> {
    assert_eq!(errand.agent.approve("call_0_2").await?, DecisionAnswer::Accepted);
    errand.doors.0[2].add_permits(1);
    errand.done().await
}

/// An errand whose workflow waits around its pauses.
pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<String>> {
    approved(paused(Waits::Around, cache).await?).await
}

#[rstest]
#[tokio::test]
async fn an_approval_is_the_same_whichever_tasks_come_together(
    #[values(Waits::Inside, Waits::Around, Waits::AfterANotice)] waits: Waits,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let mut errand = paused(waits, cache).await?;
    errand.another_worker().await?;
    let played = approved(errand).await?;
    let outputs: Vec<_> = played.calls[1].input.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(outputs, [json!("saw 0"), json!("saw 1"), json!("took 2")]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_large_output_is_taken_whichever_tasks_come_together(
    #[values(Waits::Inside, Waits::Around)] waits: Waits,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = [("look", door(0)), ("look", door(1)), ("photograph", door(2))];
    let mut errand = Sent::on(&calls, waits, cache).await?;
    for door in [0, 1] {
        errand.open(door).await?;
    }
    state_when_waiting(&errand.agent).await?;
    errand.another_worker().await?;
    let photo = "x".repeat(300_000);
    assert_eq!(errand.agent.supply_output("call_0_2", &*photo).await?, DecisionAnswer::Accepted);
    let model = errand.model.clone();
    errand.done().await?;
    assert_eq!(last_outputs(&model), [json!("saw 0"), json!("saw 1"), json!(photo)]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_question_that_still_waits_is_decided_the_same_whichever_tasks_come_together(
    #[values(Waits::Inside, Waits::Around)] waits: Waits,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = [("look", door(0)), ("take", door(1)), ("take", door(2)), ("take", door(3))];
    let mut errand = Sent::on(&calls, waits, cache).await?;
    errand.rest(|history| count(history, EventType::ActivityTaskScheduled) == 2).await?;
    for early in ["call_0_1", "call_0_2"] {
        assert_eq!(errand.agent.approve(early).await?, DecisionAnswer::Kept { waits_for: Vec::new() });
    }
    for door in [0, 1, 2] {
        errand.open(door).await?;
    }
    state_when(&errand.agent, "waiting for one", |state| state.interruptions.len() == 1).await?;
    errand.another_worker().await?;
    assert_eq!(errand.agent.approve("call_0_3").await?, DecisionAnswer::Accepted);
    errand.doors.0[3].add_permits(1);
    let model = errand.model.clone();
    errand.done().await?;
    assert_eq!(last_outputs(&model), ["saw 0", "took 1", "took 2", "took 3"].map(|text| json!(text)));
    Ok(())
}

/// The memos that a history sets, by key, in their order.
fn memos(history: &History) -> Vec<BTreeMap<String, Value>> {
    let memo = |attributes: &Attributes| match attributes {
        Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => modified.upserted_memo.clone(),
        _ => None,
    };
    let json = |data: &[u8]| serde_json::from_slice(data).expect("a memo is JSON");
    let found = history.events.iter().filter_map(|event| memo(event.attributes.as_ref()?));
    found.map(|memo| memo.fields.into_iter().map(|(key, payload)| (key, json(&payload.data))).collect()).collect()
}

#[rstest]
#[tokio::test]
async fn each_pause_is_recorded_once_with_its_questions(
    #[values(Waits::Inside, Waits::Around)] waits: Waits,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let played = approved(paused(waits, cache).await?).await?;
    let [history] = &*played.histories else { anyhow::bail!("one execution") };
    // The decision leaves no question open.
    let left = json!({"version": "1.2", "agent": "errand", "turn": 1, "questions": [], "is_update": true});
    let question = json!({"id": "call_0_2", "agent": "errand", "tool": "take", "arguments": "{\"door\":2}"});
    let asked = json!({"version": "1.2", "agent": "errand", "turn": 1, "questions": [question]});
    let (memos, updates): (Vec<_>, Vec<_>) =
        memos(history).into_iter().partition(|memo| memo.contains_key("agents.run_note"));
    let kinds: Vec<&Value> = memos.iter().map(|memo| &memo["agents.run_note"]["note"]["kind"]).collect();
    // The run of an author that resumes it from its state records the decisions in that state.
    let expected = match waits {
        Waits::Inside => vec!["paused", "finished"],
        Waits::Around | Waits::AfterANotice => vec!["paused", "resumed", "finished"],
    };
    assert_eq!(kinds, expected);
    assert_eq!(updates.iter().map(|memo| &memo["agents.questions"]).collect::<Vec<_>>(), [&left]);
    let (of_pause, of_end) = (&memos[0], &memos[memos.len() - 1]);
    assert_eq!(of_pause["agents.questions"], asked);
    assert_eq!(of_pause["agents.run_note"]["note"], json!({"kind": "paused"}));
    assert_eq!(of_end.keys().collect::<Vec<_>>(), ["agents.run_note"]);
    assert_eq!(of_end["agents.run_note"]["note"]["kind"], "finished");
    Ok(())
}
