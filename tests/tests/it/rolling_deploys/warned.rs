//! What a worker logs of attempts at model calls that fail.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use temporal_agents::{
    Agent, ModelActivityOptions, Runner, inline::InlineRunner, provider::OpenAi, workflow::ModelRetryPolicy,
};
use temporal_agents_testing::AgentEnvironment;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use crate::logs;

pub(crate) type Fields = BTreeMap<String, String>;

/// The warnings of this library in this process.
static WARNINGS: Mutex<Vec<Fields>> = Mutex::new(Vec::new());

/// Keeps warnings with their fields. Workers have threads of their own, so the whole process is heard, and tests are told apart by their agents.
pub(crate) struct Warnings;

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() == Level::WARN && metadata.target().starts_with("temporal_agents") {
            let mut fields = Told(Fields::new());
            event.record(&mut fields);
            WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(fields.0);
        }
    }
}

struct Told(Fields);

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// The warnings so far that name this agent.
pub(crate) fn warnings_of(agent: &str) -> Vec<Fields> {
    let all = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter(|fields| fields.get("agent").is_some_and(|of| of == agent)).cloned().collect()
}

/// Where nobody listens: the port is free, but nothing is there.
fn unreachable() -> anyhow::Result<OpenAi> {
    Ok(OpenAi::builder().api_key("swordfish").base_url("http://127.0.0.1:1/v1/").build()?)
}

fn expected(agent: &str, attempt: u32, next_pause: Option<&str>) -> Fields {
    let fields = [
        ("agent", agent.to_owned()),
        ("turn", "1".to_owned()),
        ("model", "gpt-5".to_owned()),
        ("attempt", attempt.to_string()),
        ("address", "http://127.0.0.1:1/v1".to_owned()),
        ("kind", "Connection".to_owned()),
        ("error", "connection failed: Connection refused (os error 111) (at http://127.0.0.1:1/v1)".to_owned()),
        ("message", "an attempt at a model call failed".to_owned()),
    ];
    let pause = next_pause.map(|pause| ("next_pause", pause.to_owned()));
    fields.into_iter().chain(pause).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The attempts that the agent's model calls may have.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Attempts(u32);

#[workflow]
#[derive(Default)]
struct Unheard;

#[workflow_methods]
impl Unheard {
    #[run(name = "unheard")]
    async fn run(ctx: &mut WorkflowContext<Self>, Attempts(attempts): Attempts) -> WorkflowResult<String> {
        let retry = ModelRetryPolicy::builder().initial_interval(Duration::from_millis(20)).maximum_attempts(attempts);
        let options = ModelActivityOptions::builder().retry(retry.build()).build();
        Ok(Runner::new(ctx).model_activity(options).run(&agent("durable"), "Hello?").await?.final_output)
    }
}

fn agent(name: &str) -> Agent {
    Agent::new(name).model("gpt-5")
}

#[tokio::test]
async fn each_failed_attempt_of_a_model_activity_is_a_warning_with_the_address() -> anyhow::Result<()> {
    logs::keep();
    let env = AgentEnvironment::builder().workflow::<Unheard>()?.model_provider(unreachable()?).start().await?;
    let run = env.run(Unheard::run, Attempts(3)).await?;
    let heard = warnings_of("durable");
    assert_eq!(
        heard,
        [expected("durable", 1, Some("20ms")), expected("durable", 2, Some("40ms")), expected("durable", 3, None),]
    );
    let (kind, message) = run.failure_chain().pop().expect("the run fails");
    assert_eq!((&*kind, &message), ("ModelInvocationError.Connection", &heard[0]["error"]));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn each_failed_attempt_of_an_inline_run_is_a_warning_with_the_address() -> anyhow::Result<()> {
    logs::keep();
    let runner = InlineRunner::new(unreachable()?).first_pause(Duration::from_millis(1));
    let error = runner.run(&agent("inline"), "Hello?").await.expect_err("nobody answers");
    assert!(error.to_string().contains("(at http://127.0.0.1:1/v1)"), "{error}");
    let heard = warnings_of("inline");
    assert_eq!(heard.first(), Some(&expected("inline", 1, Some("1ms"))));
    let attempts = u32::try_from(heard.len())?;
    assert_eq!(heard.last(), Some(&expected("inline", attempts, None)));
    Ok(())
}
