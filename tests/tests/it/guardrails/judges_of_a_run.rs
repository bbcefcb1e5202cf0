//! Judges that a run has for all its agents, and what is wrong with them: found before any model call.

use rstest::rstest;
use serde_json::Value;
use temporal_agents::{
    Agent, Handoff, RunConfig,
    agent::{GuardrailOutput, InputGuardrail, OutputGuardrail},
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};

fn teller() -> Agent {
    Agent::new("teller").model("gpt-5")
}

fn passes(_: &Value) -> GuardrailOutput {
    GuardrailOutput::pass()
}

fn input_judge(judge: Agent) -> RunConfig {
    let mut config = RunConfig::default();
    config.input_guardrails = vec![InputGuardrail::by_agent("judged", judge, passes)];
    config
}

fn output_judge(judge: Agent) -> RunConfig {
    let mut config = RunConfig::default();
    config.output_guardrails = vec![OutputGuardrail::by_agent("judged", judge, passes)];
    config
}

fn judge() -> Agent {
    Agent::new("judge").model("gpt-5")
}

const HINT: &str = "has no model; add .model(..) to it, or to the Runner";

#[rstest]
#[case::of_the_input(input_judge(Agent::new("judge")), format!("agent \"judge\" {HINT}"))]
#[case::of_the_output(output_judge(Agent::new("judge")), format!("agent \"judge\" {HINT}"))]
#[case::judge_of_the_judge(
    input_judge(judge().input_guardrail(InputGuardrail::by_agent("judged", Agent::new("second"), passes))),
    format!("agent \"second\" {HINT}")
)]
#[case::tool_of_the_judge(output_judge(judge().tool(Agent::new("helper").as_tool())), format!("agent \"helper\" {HINT}"))]
#[case::handoff_of_the_judge(input_judge(judge().handoff(Agent::new("second"))), format!("agent \"second\" {HINT}"))]
#[case::handoff_to_nobody(
    input_judge(judge().handoff(Handoff::to("nobody"))),
    "agent \"judge\" hands off to \"nobody\", which is not an agent of the graph (it has: judge)".to_owned()
)]
#[tokio::test]
async fn a_judge_of_the_run_that_is_wrong_fails_the_run_before_any_model_call(
    #[case] config: RunConfig,
    #[case] issue: String,
) -> anyhow::Result<()> {
    let set = AgentSet::new((teller,)).config(config);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model(&FakeModel::script([]))
        .agents((teller,))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("teller", "Hello.")).await?;
    let message = format!("one thing is wrong with the agents:\n- {issue}");
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message)]);
    assert_eq!((run.activities().len(), run.failed_workflow_tasks()), (0, 0));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_model_of_the_run_is_that_of_its_judges() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| text("fine"));
    let mut config = input_judge(Agent::new("judge"));
    config.model = Some("gpt-5-mini".to_owned());
    let set = AgentSet::new((teller,)).config(config);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model(&model)
        .agents((teller,))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("teller", "Hello.")).await?;
    assert_eq!(run.output()?, "fine");
    assert!(model.calls().iter().all(|call| call.model == "gpt-5-mini"));
    env.finish().await?;
    Ok(())
}
