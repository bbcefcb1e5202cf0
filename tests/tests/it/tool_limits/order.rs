//! Which calls of a response run side by side, and in which order those run that do not.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{Agent, Resources, Runner, State, Tool, ToolContext, inline::InlineRunner, tool};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::sleep;

use super::told;
use crate::examples::{Cache, histories};

/// What runs, and what has run.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Noted>>);

/// The names that run, and for each that began all that ran then.
type Noted = (Vec<String>, Vec<Vec<String>>);

impl Log {
    /// Notes what runs beside this, and that it runs.
    async fn run(&self, name: String) -> String {
        {
            let mut log = self.0.lock().expect("nobody panics");
            log.0.push(name.clone());
            let running = log.0.clone();
            log.1.push(running);
        }
        // Long enough for others to come in that may.
        sleep(Duration::from_millis(50)).await;
        self.0.lock().expect("nobody panics").0.retain(|other| *other != name);
        name
    }

    /// What ran together with each body as it began, and which began in which order.
    fn together(&self) -> Vec<Vec<String>> {
        self.0.lock().expect("nobody panics").1.clone()
    }
}

/// Writes an order.
#[tool]
async fn write(State(log): State<Log>, order: u32) -> String {
    log.run(format!("write {order}")).await
}

/// Deletes an order.
#[tool]
async fn delete(State(log): State<Log>, order: u32) -> String {
    log.run(format!("delete {order}")).await
}

/// Prints a letter.
#[tool]
async fn print(State(log): State<Log>, order: u32, _call: &ToolContext) -> String {
    log.run(format!("print {order}")).await
}

fn clerk() -> Agent {
    Agent::new("clerk")
        .model("gpt-5")
        .tool(write.exclusive("orders"))
        .tool(delete.exclusive("orders"))
        .tool(print.serial())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Clerk;

#[workflow_methods]
impl Clerk {
    #[run(name = "ordering clerk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&clerk(), request).await?.final_output)
    }
}

const CALLS: [(&str, u32); 6] = [("write", 1), ("print", 1), ("delete", 1), ("print", 2), ("write", 2), ("print", 3)];

fn script() -> FakeModel {
    FakeModel::script([tool_calls(CALLS.map(|(tool, order)| (tool, json!({"order": order})))), text("done")])
}

fn check(model: &FakeModel, log: &Log) {
    let outputs: Vec<Value> = CALLS.iter().map(|(tool, order)| json!(format!("{tool} {order}"))).collect();
    assert_eq!(told(model), outputs, "in call order");
    let together = log.together();
    let begun = |kinds: &[&str]| -> Vec<String> {
        let names = together.iter().filter_map(|running| running.last().cloned());
        names.filter(|name| kinds.iter().any(|kind| name.starts_with(kind))).collect()
    };
    assert_eq!(begun(&["write", "delete"]), ["write 1", "delete 1", "write 2"]);
    assert_eq!(begun(&["print"]), ["print 1", "print 2", "print 3"]);
    for running in &together {
        let of = |kinds: &[&str]| running.iter().filter(|name| kinds.iter().any(|kind| name.starts_with(kind))).count();
        assert!(of(&["write", "delete"]) <= 1 && of(&["print"]) <= 1, "{together:?}");
    }
}

#[rstest]
#[tokio::test]
async fn calls_of_a_class_and_of_a_serial_tool_run_one_after_another_in_call_order(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (model, log) = (script(), Log::default());
    let env = cache.environment::<Clerk>()?.model(&model).state(log.clone()).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "Tidy up.".to_owned()).await?;
    check(&model, &log);
    assert_eq!(run.failed_workflow_tasks(), 0);
    histories::<Clerk>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_same_without_temporal() -> anyhow::Result<()> {
    let (model, log) = (script(), Log::default());
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).state(log.clone()));
    assert_eq!(runner.run(&clerk(), "Tidy up.").await?.final_output, "done");
    check(&model, &log);
    Ok(())
}
