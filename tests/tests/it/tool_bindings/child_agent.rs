//! Agents as tools in child workflows.

use rstest::rstest;
use serde_json::json;
use temporal_agents::wire::ModelFailureKind;
use temporal_agents::{
    Agent, AgentsPlugin, Runner, Tool,
    agent::ChildAgent,
    tool,
    tool::ParentClosePolicy,
    wire::Usage,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{failure, text, tool_call},
};
use temporalio_client::WorkflowTerminateOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::support::{FAILED, outputs};
use crate::{
    examples::{Cache, histories},
    held_model::HeldModel,
    run_events::reading::{continue_everywhere, read},
};

const QUEUE: &str = "research";

/// Looks something up.
#[tool(inline)]
fn look_up(word: String) -> String {
    format!("{word} is a word")
}

fn researcher() -> Agent {
    Agent::new("researcher").model("gpt-5").instructions("You research.").tool(look_up)
}

fn editor() -> Agent {
    let child = ChildAgent::new().task_queue(QUEUE).parent_close_policy(ParentClosePolicy::RequestCancel);
    let research = researcher().as_tool().description("Researches.").in_child_workflow(child.clone());
    let notes = researcher().as_tool().name("notes").max_turns(2).extract_output(|result| {
        assert!(!result.new_items.is_empty(), "there is nothing to extract from");
        let kinds: Vec<&str> = result.new_items.iter().map(|item| item.raw.kind()).collect();
        format!("{} by {}: {}", result.final_output, result.last_agent, kinds.join(", "))
    });
    Agent::new("editor")
        .model("gpt-5")
        .tool(research.definition().with_context(["topic"]))
        .tool(notes.in_child_workflow(child))
}

/// Gives its output, and what the run has used.
#[workflow]
#[derive(Default)]
pub(crate) struct Editor;

#[workflow_methods]
impl Editor {
    #[run(name = "editor")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<(String, Usage)> {
        let runner = Runner::new(ctx).context("topic", "bees").context("budget", 7);
        let result = runner.run(&editor(), request).await?;
        Ok((result.final_output, result.usage))
    }
}

fn doomed(child: ChildAgent) -> Agent {
    let research = researcher().as_tool().description("Researches.").in_child_workflow(child);
    Agent::new("editor").model("gpt-5").tool(research)
}

/// Runs an agent whose child ends with it.
#[workflow]
#[derive(Default)]
pub(crate) struct Doomed;

#[workflow_methods]
impl Doomed {
    #[run(name = "doomed")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let child = ChildAgent::new().task_queue(QUEUE).parent_close_policy(ParentClosePolicy::Terminate);
        Ok(Runner::new(ctx).run(&doomed(child), request).await?.final_output)
    }
}

/// A worker with the researcher on a task queue of its own.
fn research_desk(env: &AgentEnvironment, model: &FakeModel) -> anyhow::Result<WorkerThread> {
    let factory = AgentWorkflow::factory(AgentSet::new((researcher,)));
    let mut options = WorkerOptions::new(QUEUE).register_workflow_with_factory::<AgentWorkflow, _>(factory)?.build();
    AgentsPlugin::new(model.clone()).agents((researcher,)).install(&mut options)?;
    Ok(WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?)
}

#[rstest]
#[tokio::test]
async fn an_agent_in_a_child_workflow_answers_and_its_usage_counts(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let ask = || tool_call("researcher", json!({"input": "What of bees?"}));
    let model = FakeModel::script([ask(), text("done")]);
    let elsewhere = FakeModel::script([text("They hum.")]);
    let env = cache.environment::<Editor>()?.model(&model).agents((editor,)).start().await?;
    let mut desk = research_desk(&env, &elsewhere)?;
    let run = env.run(Editor::run, "Edit.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(outputs(&model), [json!("They hum.")]);
    let (output, usage) = run.output()?;
    assert_eq!((&*output, usage.requests, usage.input_tokens), ("done", 3, 300), "two calls here, one there");
    desk.stop()?;
    elsewhere.verify();
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_events_of_a_child_workflow_carry_its_path_and_one_cursor_covers_all() -> anyhow::Result<()> {
    let ask = || tool_call("researcher", json!({"input": "What of bees?"}));
    let model = FakeModel::script([ask(), text("done")]);
    let elsewhere = FakeModel::script([tool_call("look_up", json!({"word": "bee"})), text("They hum.")]);
    let env = Cache::On.environment::<Editor>()?.model(&model).agents((editor,)).start().await?;
    let mut desk = research_desk(&env, &elsewhere)?;
    let run = env.run(Editor::run, "Edit.".to_owned()).await?;
    let events = read(env.client(), &run.workflow_id).await?;
    let (own, of_child): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.workflow.is_none());
    assert!(of_child.iter().all(|event| event.path == ["1-tool-0"] && event.run != own[0].run), "{of_child:?}");
    assert_eq!(of_child.first().map(|event| event.kind.name()), Some("run_started"));
    assert_eq!(of_child.last().map(|event| event.kind.name()), Some("run_finished"));
    let last_of_child = events.iter().rposition(|event| event.workflow.is_some());
    let output = events.iter().position(|event| event.kind.name() == "tool_output" && event.workflow.is_none());
    assert!(last_of_child < output, "the child is told before its output");
    continue_everywhere(env.client(), &run.workflow_id, &events).await?;
    desk.stop()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_facts_of_a_child_that_ends_with_its_parent_come_before_the_end_of_the_parent() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("researcher", json!({"input": "What of bees?"}))]);
    let child = ChildAgent::new().task_queue(QUEUE).parent_close_policy(ParentClosePolicy::Terminate);
    let waiting = HeldModel::new(&FakeModel::script([text("They hum.")]));
    let env = Cache::On.environment::<Doomed>()?.model(&model).agents((doomed(child),)).start().await?;
    let factory = AgentWorkflow::factory(AgentSet::new((researcher,)));
    let mut options = WorkerOptions::new(QUEUE).register_workflow_with_factory::<AgentWorkflow, _>(factory)?.build();
    AgentsPlugin::new(waiting.clone()).agents((researcher,)).install(&mut options)?;
    let mut desk = WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?;
    let handle = env.start_workflow(Doomed::run, "Edit.".to_owned()).await?;
    waiting.asked().await?;
    handle.terminate(WorkflowTerminateOptions::builder().reason("enough").build()).await?;
    let workflow_id = &handle.info().workflow_id;
    let events = read(env.client(), workflow_id).await?;
    let kinds: Vec<(bool, &str)> = events.iter().map(|event| (event.workflow.is_some(), event.kind.name())).collect();
    assert!(kinds.ends_with(&[(true, "run_terminated"), (false, "run_terminated")]), "{kinds:?}");
    assert!(kinds.contains(&(true, "model_call_scheduled")), "{kinds:?}");
    continue_everywhere(env.client(), workflow_id, &events).await?;
    waiting.answer();
    desk.stop()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_that_fails_in_its_child_workflow_is_an_outcome() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("researcher", json!({"input": "What of bees?"})), text("done")]);
    let elsewhere = FakeModel::script([failure(ModelFailureKind::Authentication, "no key")]);
    let env = Cache::On.environment::<Editor>()?.model(&model).agents((editor,)).start().await?;
    let mut desk = research_desk(&env, &elsewhere)?;
    let run = env.run(Editor::run, "Edit.".to_owned()).await?;
    assert_eq!(outputs(&model), [json!(FAILED)]);
    assert_eq!(run.output()?.0, "done");
    desk.stop()?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn turn_limit_and_output_extractor_reach_the_child_workflow_and_a_failed_run_counts(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let notes = || tool_call("notes", json!({"input": "What of bees?"}));
    let looks_up = || tool_call("look_up", json!({"word": "bee"}));
    let model = FakeModel::script([notes(), notes(), text("done")]);
    let elsewhere = FakeModel::script([looks_up(), text("They hum."), looks_up(), looks_up()]);
    let env = cache.environment::<Editor>()?.model(&model).agents((editor,)).start().await?;
    let mut desk = research_desk(&env, &elsewhere)?;
    let run = env.run(Editor::run, "Edit.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let extracted = "\"They hum.\" by researcher: function_call, function_call_output, message";
    assert_eq!(outputs(&model), [json!(extracted), json!(FAILED)], "the second run is out of turns");
    histories::<Editor>(&env, &run.workflow_id).await?;
    let (output, usage) = run.output()?;
    assert_eq!((&*output, usage.requests), ("done", 7), "three calls here, two and two there");
    desk.stop()?;
    elsewhere.verify();
    env.finish().await?;
    Ok(())
}
