//! The gate of a run inside a session: what it denies, what it asks a person about, and what it lets pass.

use std::sync::{Arc, Mutex};

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agentic_session::{AgenticSession, Approver, Asked},
    gate::{Gate, GateMode, Rule, RuleDecision},
    inline::InlineRunner,
    tool,
    tool::{BoxError, ToolError},
    wire::{ApprovalRuling, Decision},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::desk::{Desk, Office, Order};

/// Runs a command.
///
/// # Arguments
/// * `command` - the command
#[tool]
async fn run_command(command: String) -> Result<String, ToolError> {
    Ok(format!("ran {command}"))
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(run_command)
}

/// A person who decides on each call alike, and remembers what they were asked about.
#[derive(Clone)]
struct Person {
    decision: Decision,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Approver for Person {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
        self.asked.lock().expect("not poisoned").push(asked.interruption.arguments());
        async { Ok(self.decision.clone().into()) }.boxed()
    }
}

fn rule(id: &str, decision: RuleDecision, program: &str) -> Rule {
    let mut rule = Rule::new(id, decision);
    program.clone_into(&mut rule.program);
    rule
}

fn gate() -> Gate {
    Gate::new(GateMode::ApproveUnknown)
        .rules([rule("read", RuleDecision::Allow, "ls"), rule("no-terraform", RuleDecision::Deny, "terraform")])
}

#[rstest]
#[case::denied("terraform apply", Decision::approve(), 0, r#"[blocked by command policy] rule "no-terraform""#)]
#[case::asked_and_approved("make", Decision::approve(), 1, "ran make")]
#[case::asked_and_rejected("make", Decision::reject_with("Not today."), 1, "Not today.")]
#[case::allowed("ls", Decision::reject(), 0, "ran ls")]
#[tokio::test]
async fn a_session_obeys_the_gate_of_its_run(
    #[case] command: &str,
    #[case] decision: Decision,
    #[case] questions: usize,
    #[case] output: &str,
) -> anyhow::Result<()> {
    let arguments = json!({"command": command});
    let model = FakeModel::script([tool_call("run_command", arguments.clone()), text("done")]);
    let person = Person { decision, asked: Arc::default() };
    let inline = InlineRunner::new(model.clone()).gate(gate());
    let approver = person.clone();
    let desk = Desk::new(move |ctx, _| {
        let inline = inline.clone();
        let approver = approver.clone();
        async move {
            let body = async |session: AgenticSession| {
                Ok(session.runner(&inline).run(&clerk(), "Work.").await?.final_output.into())
            };
            AgenticSession::options().approver(approver).run(&ctx, body).await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.output()?, json!("done"));
    let asked = person.asked.lock().expect("not poisoned").clone();
    assert_eq!(asked, vec![arguments.to_string(); questions]);
    let outputs: Vec<Value> = model.calls()[1].input.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(outputs, [json!(output)]);
    env.finish().await?;
    Ok(())
}
