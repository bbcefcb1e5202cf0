//! Several runs of one workflow: one after another, side by side, one inside another, and as local activities.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, run::RunInput, tool, wire::Item, workflow::ModelActivityOptions};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call, tool_calls};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult, workflows::join};

use super::{as_text, requests, segments};
use crate::examples::{Cache, histories};

/// A long answer.
#[tool]
async fn lecture(about: String) -> String {
    format!("all about {about}; ").repeat(60)
}

fn scholar() -> Agent {
    Agent::new("scholar").model("gpt-5").instructions("You know. ".repeat(40)).tool(lecture)
}

fn dean() -> Agent {
    Agent::new("dean").model("gpt-5").tool(scholar().as_tool().name("ask").description("Asks a scholar."))
}

/// How the runs of the workflow lie.
#[workflow]
#[derive(Default)]
pub(crate) struct Faculty;

#[workflow_methods]
impl Faculty {
    #[run(name = "faculty")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, how: String) -> WorkflowResult<String> {
        let runner = Runner::new(ctx).unlimited_turns();
        match &*how {
            "chat" => {
                let mut said: Vec<Item> = Vec::new();
                for number in 0..6 {
                    said.push(Item::user(format!("Question {number}: {}", "and why? ".repeat(40))));
                    said = runner.run(&scholar(), RunInput::from(said)).await?.to_input_list();
                }
                Ok("six answers".to_owned())
            }
            "side by side" => {
                let (one, other) = (scholar(), scholar());
                let (left, right) =
                    join!(runner.run(&one, "left").into_future(), runner.run(&other, "right").into_future());
                Ok(format!("{} {}", left?.final_output, right?.final_output))
            }
            "inside" => Ok(runner.run(&dean(), "Ask.").await?.final_output),
            "local" => {
                let local = ModelActivityOptions::builder().local(true).build();
                Ok(runner.model_activity(local).run(&scholar(), "Tell me.").await?.final_output)
            }
            other => panic!("no runs {other}"),
        }
    }
}

#[tokio::test]
async fn a_chat_sends_each_message_once_over_all_its_runs() -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _turn| -> Reply {
        let answered = call.input.last().is_some_and(|item| item.kind() == "function_call_output");
        if answered { text("So it is.") } else { tool_call("lecture", json!({"about": "it"})) }
    });
    let env = Cache::On.environment::<Faculty>()?.model(&model).agents((scholar, dean)).start().await?;
    let run = env.run(Faculty::run, "chat".to_owned()).await?;
    let requests = requests(&run.history);
    assert_eq!(segments(&requests[0]), ["items 1"]);
    // The first calls of the later runs: what the run before was given and answered, and the new message.
    for (exchange, request) in requests.iter().step_by(2).enumerate().skip(1) {
        let before = 4 * exchange;
        assert_eq!(segments(request), [format!("call 0..{before}"), "items 1".to_owned()]);
        assert_eq!(request["definitions"]["kind"], "call");
    }
    assert_eq!(run.output()?, "six answers");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn runs_side_by_side_keep_apart(#[values(Cache::On, Cache::Off)] cache: Cache) -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _turn| -> Reply {
        let side = call.input[0].text().unwrap_or_default();
        match call.input.len() {
            1 | 3 => tool_call("lecture", json!({"about": side})),
            _ => text(format!("{side} is known.")),
        }
    });
    let env = cache.environment::<Faculty>()?.model(&model).agents((scholar, dean)).start().await?;
    let run = env.run(Faculty::run, "side by side".to_owned()).await?;
    assert_eq!(run.output()?, "left is known. right is known.");
    for call in model.calls() {
        let side = call.input[0].text().unwrap_or_default();
        let other = if side == "left" { "right" } else { "left" };
        assert!(as_text(&[call]).iter().flat_map(|(items, _)| items).all(|item| !item.contains(other)));
    }
    histories::<Faculty>(&env, "faculty-0").await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn runs_inside_a_run_have_conversations_of_their_own(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _turn| -> Reply {
        let asked = |about: &str| ("ask", json!({"input": about}));
        match (&*call.agent, call.input.len()) {
            ("dean", 1) => tool_calls([asked("stars"), asked("seas")]),
            ("dean", _) => text("Now you know."),
            (_, 1) => tool_call("lecture", json!({"about": call.input[0].text()})),
            _ => text("I have told you. ".repeat(30)),
        }
    });
    let env = cache.environment::<Faculty>()?.model(&model).agents((scholar, dean)).start().await?;
    let run = env.run(Faculty::run, "inside".to_owned()).await?;
    let of_scholars: Vec<_> = requests(&run.history)
        .into_iter()
        .filter(|request| request["agent"] == "scholar" && request["turn"] == 2)
        .map(|request| segments(&request))
        .collect();
    let second = vec!["call 0..2 and 1 results".to_owned()];
    assert_eq!(of_scholars, [second.clone(), second]);
    assert_eq!(run.output()?, "Now you know.");
    histories::<Faculty>(&env, "faculty-0").await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn calls_as_local_activities_are_never_referred_to() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("lecture", json!({"about": "it"})), text("So it is.")]);
    let env = Cache::On.environment::<Faculty>()?.model(&model).agents((scholar, dean)).start().await?;
    let run = env.run(Faculty::run, "local".to_owned()).await?;
    assert_eq!(requests(&run.history).len(), 0, "no model call is an activity of the server");
    assert_eq!(model.calls()[1].input.len(), 3);
    assert_eq!(run.output()?, "So it is.");
    env.finish().await?;
    Ok(())
}
