//! A deploy changes what replay believes that earlier calls were given: what is meant now is sent once more, and only that.

use std::{collections::BTreeMap, sync::Mutex};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, run::RunInput, tool, wire::Item};
use temporal_agents_testing::{
    AgentEnvironment, FinishedRun,
    fake_model::{FakeModel, text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{Recorded, model_calls, requests, segments};
use crate::examples::Cache;

/// Which build each test's worker runs; a build is a letter.
static BUILDS: Mutex<BTreeMap<String, char>> = Mutex::new(BTreeMap::new());

fn deploy(test: &str, build: char) {
    BUILDS.lock().expect("no test panics with it").insert(test.to_owned(), build);
}

fn build(test: &str) -> char {
    BUILDS.lock().expect("no test panics with it").get(test).copied().unwrap_or('a')
}

/// A page of a book.
#[tool]
async fn leaf(number: u32) -> String {
    format!("page {number} ").repeat(60)
}

fn agent(instructions: String) -> Agent {
    Agent::new("reader").model("gpt-5").instructions(instructions).tool(leaf)
}

fn any_build() -> Agent {
    agent(String::new())
}

/// The build changes the instructions; that of a test with "question" in its name changes the question, too; one with "large" in
/// its name begins with 2.4 MB.
#[workflow]
#[derive(Default)]
pub(crate) struct Deployed;

#[workflow_methods]
impl Deployed {
    #[run(name = "deployed")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, test: String) -> WorkflowResult<String> {
        let build = build(&test);
        let question =
            if test.contains("question") { format!("Read it to me, {build}.") } else { "Read it to me.".to_owned() };
        let reader = agent(format!("You are of build {build}. {}", "You read slowly. ".repeat(30)));
        let mut said = vec![Item::user(question)];
        if test.contains("large") {
            said.extend(["a", "b", "c"].map(|letter| Item::user(letter.repeat(800_000))));
        }
        Ok(Runner::new(ctx).run(&reader, RunInput::from(said)).await?.final_output)
    }
}

/// Plays `builds.len()` turns, the build of each letter being deployed before the turn. Without a workflow cache each workflow
/// task replays with the build that is deployed then.
async fn played(test: &'static str, builds: &'static str) -> anyhow::Result<(FinishedRun<String>, Vec<String>)> {
    let model = FakeModel::function(move |_call, turn| match builds.chars().nth(turn + 1) {
        Some(next) => {
            deploy(test, next);
            tool_call("leaf", json!({"number": turn}))
        }
        None => text("The end."),
    });
    deploy(test, builds.chars().next().expect("a build"));
    let builder = AgentEnvironment::builder().workflow::<Deployed>()?.model(&model).agents((any_build,));
    let env = builder.without_workflow_cache().start().await?;
    let run = env.run(Deployed::run, test.to_owned()).await?;
    env.finish().await?;
    let told = model.calls().into_iter().map(|call| {
        let instructions = call.definitions.instructions.unwrap_or_default();
        let question = call.input[0].text().unwrap_or_default();
        format!("{} {question}", instructions.split('.').next().unwrap_or_default())
    });
    Ok((run, told.collect()))
}

/// A history in which the definitions travel again.
pub(crate) async fn recorded(_cache: Cache) -> anyhow::Result<Recorded> {
    let (run, _) = played("recorded", "aaab").await?;
    Ok(Recorded { histories: vec![run.history] })
}

/// A history in which the whole conversation travels again.
pub(crate) async fn recorded_in_full(_cache: Cache) -> anyhow::Result<Recorded> {
    let (run, _) = played("recorded question", "aab").await?;
    Ok(Recorded { histories: vec![run.history] })
}

const COMPLETED: &str = "Completed";
const UNAVAILABLE: &str = "Failed(\"ConversationUnavailable\")";

fn calls(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(id, outcome)| ((*id).to_owned(), (*outcome).to_owned())).collect()
}

#[tokio::test]
async fn changed_instructions_travel_without_the_conversation() -> anyhow::Result<()> {
    let (run, told) = played("instructions", "aaab").await?;
    let of = |build| format!("You are of build {build} Read it to me.");
    assert_eq!(told, [of('a'), of('a'), of('a'), of('b')]);
    assert_eq!(
        model_calls(run.activities()),
        calls(&[
            ("1-model", COMPLETED),
            ("2-model", COMPLETED),
            ("3-model", COMPLETED),
            ("4-model", UNAVAILABLE),
            ("4-model-definitions", COMPLETED),
        ])
    );
    let requests = requests(&run.history);
    let last = &requests[4];
    assert_eq!(segments(last), ["call 0..6 and 1 results"]);
    assert_eq!(last["definitions"]["kind"], "inline");
    assert_eq!(run.output()?, "The end.");
    Ok(())
}

#[tokio::test]
async fn a_rollback_is_told_from_the_build_before_it() -> anyhow::Result<()> {
    let (run, told) = played("rollback", "aabaa").await?;
    let builds: String = told.iter().filter_map(|told| told.chars().nth("You are of build ".len())).collect();
    assert_eq!(builds, "aabaa");
    assert_eq!(run.output()?, "The end.");
    Ok(())
}

#[rstest]
#[case::instructions("alternating instructions")]
#[case::question("alternating question")]
#[tokio::test]
async fn builds_that_alternate_never_mislead_a_model(#[case] test: &'static str) -> anyhow::Result<()> {
    let (run, told) = played(test, "abababab").await?;
    let builds: String = told.iter().filter_map(|told| told.chars().nth("You are of build ".len())).collect();
    assert_eq!(builds, "abababab");
    if test.contains("question") {
        let asked: String = told.iter().filter_map(|told| told.chars().rev().nth(1)).collect();
        assert_eq!(asked, "abababab");
    }
    assert_eq!(run.output()?, "The end.");
    Ok(())
}

#[tokio::test]
async fn a_changed_question_makes_the_whole_conversation_travel() -> anyhow::Result<()> {
    let (run, told) = played("question", "aab").await?;
    assert_eq!(told[2], "You are of build b Read it to me, b.");
    assert_eq!(
        model_calls(run.activities()),
        calls(
            &[("1-model", COMPLETED), ("2-model", COMPLETED), ("3-model", UNAVAILABLE), ("3-model-full", COMPLETED),]
        )
    );
    assert_eq!(segments(&requests(&run.history)[3]), ["items 5"]);
    Ok(())
}

#[tokio::test]
async fn a_large_conversation_that_travels_again_is_recorded_in_portions() -> anyhow::Result<()> {
    let (run, told) = played("large question", "ab").await?;
    assert_eq!(told[1], "You are of build b Read it to me, b.");
    let ids: Vec<String> = run.activities().into_iter().map(|activity| activity.activity_id[9..].to_owned()).collect();
    let portions = |call: &str| (0..3).map(|number| format!("{call}-items-{number}")).collect::<Vec<_>>();
    let expected = [
        portions("1-model"),
        vec!["1-model".to_owned(), "1-tool-0".to_owned(), "2-model".to_owned()],
        portions("2-model-full"),
        vec!["2-model-full".to_owned()],
    ];
    assert_eq!(ids, expected.concat());
    assert_eq!(run.output()?, "The end.");
    Ok(())
}
