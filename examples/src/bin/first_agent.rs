//! The agent of the README in one file: a scripted model, a dev server, a worker, a client.

use serde_json::json;
use temporal_agents::{Agent, AgentsPlugin, Runner, client::RunHandle, tool};
use temporal_agents_testing::{
    DevServer, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::WorkflowStartOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkflowContext, WorkflowResult, runtime::RuntimeOptions};

/// Current weather for one city.
#[tool(start_to_close = "20s")]
async fn get_weather(city: String) -> String {
    format!("{city}: 12 degrees, clear")
}

fn travel_desk() -> Agent {
    Agent::new("travel desk").model("gpt-5-mini").instructions("You help travellers.").tool(get_weather)
}

#[workflow]
#[derive(Default)]
struct Support;

#[workflow_methods]
impl Support {
    #[run(name = "support")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&travel_desk(), question).await?.final_output)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Prints the worker's warnings, e.g. about failed attempts and stuck runs.
    tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::WARN).init();

    // The scripted answers of the model, in order. With an API key, use `OpenAi::from_env()?` instead.
    let model = FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees, and clear.")]);
    // Starts a dev server. To use a running server, call `temporal_agents::client::connect_from_env().await?`.
    let server = DevServer::start().await?;
    let client = server.client().await?;

    let mut options = WorkerOptions::new("support").register_workflow::<Support>()?.build();
    AgentsPlugin::new(model).agent(travel_desk).install(&mut options)?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client.clone(), options)?;
    let stop = worker.shutdown_handle();

    let ask = async {
        let options = WorkflowStartOptions::new("support", "trip-1").build();
        let run = RunHandle::start(&client, Support::run, "How warm is it in Oslo?".to_owned(), options).await?;
        let answer = run.result().await;
        stop();
        Ok::<_, Box<dyn std::error::Error>>(answer?)
    };
    let (ended, answer) = tokio::join!(worker.run(), ask);
    ended?;
    println!("{}", answer?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use temporal_agents_testing::AgentEnvironment;

    use super::*;

    #[tokio::test]
    async fn the_desk_looks_up_the_weather() -> Result<(), Box<dyn std::error::Error>> {
        let model = FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees.")]);
        let env =
            AgentEnvironment::builder().workflow::<Support>()?.agents((travel_desk,)).model(&model).start().await?;
        let run = env.run(Support::run, "How warm is it in Oslo?".to_owned()).await?;
        assert_eq!(run.output()?, "12 degrees.");
        // Replays all histories, and checks that the script was used up.
        env.finish().await?;
        Ok(())
    }
}
