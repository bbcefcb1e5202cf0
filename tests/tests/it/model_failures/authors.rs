//! Mistakes of the agents' author: found before any model call where they can be, never a workflow task that fails and
//! is retried for ever.

use serde::{Deserialize, Serialize};
use temporal_agents::{
    Agent, Handoff, Instructions, Runner, ToolDef,
    tool::{RunContext, ToolContext},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::handoff};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::run::{attempts, chain};
use crate::support::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mistake {
    NoModel,
    TwoToolsOfOneName,
    UnknownHandoffTarget,
    MixedOutputTypes,
    PanickingInstructions,
    PanickingHandoff,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A tool that does nothing.
fn idle(name: &str) -> ToolDef {
    ToolDef::inline(name, "Does nothing.", |_: &mut ToolContext, Nothing {}| Ok("nothing".into()))
}

/// An agent named `asker` with this mistake.
fn mistaken(mistake: Mistake) -> Agent {
    let asker = Agent::new("asker").model("gpt-5");
    match mistake {
        Mistake::NoModel => Agent::new("asker"),
        Mistake::TwoToolsOfOneName => asker.tool(idle("rest")).tool(idle("rest")),
        Mistake::UnknownHandoffTarget => asker.handoff(Handoff::to("refunds")),
        Mistake::MixedOutputTypes => asker.handoff(Agent::new("reporter").model("gpt-5").output::<Report>()),
        Mistake::PanickingInstructions => {
            asker.instructions(Instructions::computed(|_, _| panic!("no instructions today")))
        }
        Mistake::PanickingHandoff => {
            let refunds = Agent::new("refunds").model("gpt-5");
            asker.handoff(Handoff::to_agent(refunds).on_handoff(|_: &mut RunContext, Nothing {}| panic!("not here")))
        }
    }
}

#[workflow]
#[derive(Default)]
struct Mistaken;

#[workflow_methods]
impl Mistaken {
    #[run(name = "mistaken")]
    async fn run(ctx: &mut WorkflowContext<Self>, mistake: Mistake) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&mistaken(mistake), "hello").await?.final_output)
    }
}

#[tokio::test]
async fn agents_that_are_wrong_fail_the_run_before_any_model_call() -> anyhow::Result<()> {
    let mistakes = [
        (
            Mistake::NoModel,
            "one thing is wrong with the agents:\n\
             - agent \"asker\" has no model; add .model(..) to it, or to the Runner",
        ),
        (
            Mistake::TwoToolsOfOneName,
            "one thing is wrong with the agents:\n\
             - agent \"asker\" has two tools named \"rest\"; rename a tool with #[tool(name = ..)], a handoff with .tool_name(..)",
        ),
        (
            Mistake::UnknownHandoffTarget,
            "one thing is wrong with the agents:\n\
             - agent \"asker\" hands off to \"refunds\", which is not an agent of the graph (it has: asker)",
        ),
        (
            Mistake::MixedOutputTypes,
            "one thing is wrong with the agents:\n\
             - agent \"reporter\" answers with Report, but the run of \"asker\" with text; \
             give both one output type, or run it with .untyped()",
        ),
        (Mistake::PanickingInstructions, "the instructions of agent \"asker\" panicked: no instructions today"),
    ];
    let env = environment(FakeModel::script([])).await?;
    for (mistake, message) in mistakes {
        let run = env.run(Mistaken::run, mistake).await?;
        assert_eq!(run.failure_chain(), chain(&[("AgentsWorkflowError", message)]));
        assert_eq!((mistake, attempts(&run)), (mistake, vec![]));
        assert_eq!((mistake, run.failed_workflow_tasks()), (mistake, 0));
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_function_that_panics_fails_the_run_and_is_named() -> anyhow::Result<()> {
    let message = "on_handoff of \"transfer_to_refunds\" of agent \"asker\" panicked: not here";
    let env = environment(FakeModel::script([handoff("refunds")])).await?;
    let run = env.run(Mistaken::run, Mistake::PanickingHandoff).await?;
    assert_eq!(run.failure_chain(), chain(&[("AgentsWorkflowError", message)]));
    assert_eq!(run.failed_workflow_tasks(), 0);
    env.finish().await?;
    Ok(())
}

async fn environment(model: FakeModel) -> anyhow::Result<AgentEnvironment> {
    Ok(AgentEnvironment::builder().workflow::<Mistaken>()?.model(&model).start().await?)
}
