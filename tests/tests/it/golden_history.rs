//! Histories recorded by a release replay for ever: `tests/golden/histories/<version>/*.json`, in Temporal's own JSON.
//!
//! `UPDATE_GOLDEN=1` records the missing files from real runs. `UPDATE_GOLDEN=all` records each file anew.

mod coverage;
mod effects;
mod mutations;

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Context;
use temporal_agents::{Runner, workflow::ApprovalWorkflow};
use temporal_agents_examples::{
    agents_as_tools::Museum,
    approval::Refunds,
    deterministic_chain::Kitchen,
    guardrails::BankChat,
    handoffs::Hotline,
    parallel_agents::GuestRelations,
    quickstart::trip::{Plan, Request, Trip, travel_desk},
    sessions::Chat,
    structured_output::Mail,
    versions::Shop,
};
use temporal_agents_testing::{
    ReplayCheck,
    history::{self, History},
    replay, replay_without_cache,
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use self::effects::Restocked;
use crate::{
    agent_handlers::batches::{self, Errand},
    agentic_session::approvals,
    batched_tools::{self, GoldenDesk},
    continuing::{
        self, Reading, compaction,
        handlers::{self, Parlour},
    },
    examples::{self, Cache},
    expired_conversation::{self, Asking},
    gate::{self, Judged},
    linear_history::{
        deploys::{self, Deployed},
        large::{self, LongStory},
    },
    mcp::asked::{self, Reader},
    native_tools::{self, NativeCalls},
    rolling_deploys::{
        given_up::{self, Waiting},
        histories::{self as rolling_deploys, Shop as Kiosk},
    },
    streams::{crowds, support::Channel},
    tool_bindings::{
        in_workflow::{self, Courier},
        nexus::{self, Forwarder},
        side_data::{self, Lister},
    },
    tool_failures::later_keywords::{self, Post},
};

/// One test for each line: the histories of this name replay with this workflow. Missing ones are those of what is played.
macro_rules! histories_replay {
    ($($name:ident: $workflow:ty = $played:path;)*) => {$(
        #[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            let check = ReplayCheck::new().workflow::<$workflow>()?;
            replays(stringify!($name), check, async || Ok($played(Cache::On).await?.histories)).await
        }
    )*};
}

mod histories_of_v0_1_replay {
    use super::*;

    histories_replay! {
        trip: Trip = examples::quickstart::played;
        structured_output: Mail = examples::structured_output::played;
        handoffs: Hotline = examples::handoffs::played;
        deterministic_chain: Kitchen = examples::deterministic_chain::played;
        parallel_agents: GuestRelations = examples::parallel_agents::played;
        agents_as_tools: Museum = examples::agents_as_tools::played;
        sessions: Chat = examples::sessions::played;
        guardrails: BankChat = examples::guardrails::played;
        approval: Refunds = examples::approval::played;
        definitions_again: Deployed = deploys::recorded;
        conversation_again: Deployed = deploys::recorded_in_full;
        portions: LongStory = large::recorded;
        continued: Reading = continuing::recorded;
        continued_unfit_waits: Reading = continuing::recorded;
        continued_waits: Reading = continuing::recorded;
        question_unrecorded: Errand = batches::played;
        question_recorded: Errand = batches::played;
        run_noted: Errand = batches::played;
        continued_noted: Reading = continuing::recorded;
        keyword_unchecked: Post = later_keywords::played_before;
        keyword_checked: Post = later_keywords::played;
        deploy_not_awaited: Kiosk = rolling_deploys::not_awaited;
        deploy_awaited: Kiosk = rolling_deploys::awaited;
        deploy_given_up: Waiting = given_up::given_up;
        versions: Shop = examples::versions::played;
        batched_tools: GoldenDesk = batched_tools::played;
        native_calls: NativeCalls = native_tools::recorded;
        judged_calls: Judged = gate::recorded;
        workflow_tool: Courier = in_workflow::recorded;
        nexus_operations: Forwarder = nexus::recorded;
        foreign_side_data: Lister = side_data::recorded;
        stream: Channel = crowds::recorded;
        summarized: Reading = compaction::recorded;
        forgotten_conversation: Asking = expired_conversation::recorded;
        resumed_with_server: Restocked = effects::resumed_with_server;
        handler_at_work: Parlour = handlers::recorded;
        mcp_requests: Reader = asked::recorded;
        approval_workflow: ApprovalWorkflow = approvals::recorded;
    }
}

/// Checks that the recorded histories replay, with the workflow cache and without it, and that no change of them does.
async fn replays(
    name: &str,
    check: ReplayCheck,
    play: impl AsyncFnOnce() -> anyhow::Result<Vec<History>>,
) -> anyhow::Result<()> {
    for (number, history) in (1..).zip(recorded("v0.1", name, play).await?) {
        let what = || format!("history {number} of {name}");
        check.replay(&history).await.with_context(what)?;
        check.replay_without_cache(&history).await.with_context(what)?;
        mutations::check(name, &check, &history).await?;
    }
    Ok(())
}

/// Returns the recorded histories of this name, and records them first if that is wanted.
///
/// # Errors
/// There are none, and recording is not wanted.
pub(crate) async fn recorded(
    version: &str,
    name: &str,
    play: impl AsyncFnOnce() -> anyhow::Result<Vec<History>>,
) -> anyhow::Result<Vec<History>> {
    let known = paths(version, name);
    let is_wanted = match std::env::var("UPDATE_GOLDEN") {
        Ok(which) => which == "all" || known.is_empty(),
        Err(_) => false,
    };
    if is_wanted {
        let histories = play().await?;
        known.iter().try_for_each(fs::remove_file)?;
        record(version, name, &histories)?;
    }
    let paths = paths(version, name);
    anyhow::ensure!(!paths.is_empty(), "{name} is not recorded; set UPDATE_GOLDEN=1 to record it");
    paths.iter().map(|path| Ok(history::load(path)?)).collect()
}

fn directory(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/histories").join(version)
}

/// The files of an example: `<name>.json`, or `<name>-1.json` and so on where it has several histories.
fn paths(version: &str, name: &str) -> Vec<PathBuf> {
    let file = |stem: String| directory(version).join(stem + ".json");
    let numbered = (1..).map(|number| file(format!("{name}-{number}"))).take_while(|path| path.exists());
    Some(file(name.to_owned())).filter(|path| path.exists()).into_iter().chain(numbered).collect()
}

fn record(version: &str, name: &str, histories: &[History]) -> anyhow::Result<()> {
    for (number, history) in (1..).zip(histories) {
        let stem = if histories.len() == 1 { name.to_owned() } else { format!("{name}-{number}") };
        history::save(directory(version).join(stem + ".json"), history)?;
    }
    Ok(())
}

/// The workflow of the recorded histories, changed: it waits a second before it asks the desk.
#[workflow]
#[derive(Default)]
struct ChangedTrip;

#[workflow_methods]
impl ChangedTrip {
    #[run(name = "trip")]
    async fn run(ctx: &mut WorkflowContext<Self>, request: Request) -> WorkflowResult<Plan> {
        ctx.timer(Duration::from_secs(1)).await;
        Ok(Runner::new(ctx).run(&travel_desk(), request.prompt).await?.final_output)
    }
}

#[tokio::test]
async fn a_workflow_that_does_something_else_first_does_not_replay() -> anyhow::Result<()> {
    let history = history::load(directory("v0.1").join("trip.json"))?;
    let failure = replay::<ChangedTrip>(&history).await.expect_err("another command comes first");
    let message = failure.to_string();
    assert!(message.contains("TMPRL1100") || message.to_lowercase().contains("nondeterminis"), "{message}");
    Ok(())
}

/// Whether each workflow task is replayed is seen in the workflow alone.
mod counted {
    use super::*;

    static BEGUN: AtomicUsize = AtomicUsize::new(0);

    /// The workflow of the recorded histories, counted. For one test: the count is of the whole process.
    #[workflow]
    #[derive(Default)]
    struct CountedTrip;

    #[workflow_methods]
    impl CountedTrip {
        #[run(name = "trip")]
        async fn run(ctx: &mut WorkflowContext<Self>, request: Request) -> WorkflowResult<Plan> {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            Ok(Runner::new(ctx).run(&travel_desk(), request.prompt).await?.final_output)
        }
    }

    #[tokio::test]
    async fn without_a_cache_a_history_is_replayed_once_for_each_of_its_workflow_tasks() -> anyhow::Result<()> {
        let history = history::load(directory("v0.1").join("trip.json"))?;
        let tasks = history.events.iter().filter(|event| event.event_type() == EventType::WorkflowTaskStarted).count();
        replay_without_cache::<CountedTrip>(&history).await?;
        assert!(tasks > 3, "{tasks} workflow tasks");
        assert_eq!(BEGUN.load(Ordering::Relaxed), tasks);
        Ok(())
    }
}
