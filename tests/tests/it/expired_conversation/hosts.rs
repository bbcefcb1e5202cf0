//! The same run on three hosts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use temporal_agents::{RunConfig, Runner, agentic_session::AgenticSession, inline::InlineRunner};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun, SessionEnvironment, session_environment::AttemptError,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use super::watcher;

/// How the provider keeps the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Kept {
    Chained,
    AfterAResponse,
    InAConversation,
    BegunHere,
}

impl Kept {
    pub(super) fn config(&self) -> RunConfig {
        let mut config = RunConfig::default();
        match self {
            Self::Chained => config.auto_previous_response_id = true,
            Self::AfterAResponse => config.previous_response_id = Some("resp_0".to_owned()),
            Self::InAConversation => config.conversation_id = Some("conv_1".to_owned()),
            Self::BegunHere => {
                config.conversation_id = Some("conv_1".to_owned());
                config.conversation_begins_here = true;
            }
        }
        config
    }
}

pub(super) async fn inline(model: &FakeModel, kept: &Kept) -> anyhow::Result<String> {
    let runner = InlineRunner::with_config(model.clone(), kept.config());
    let ended = runner.run(&watcher(), "What is there?").await?;
    model.verify();
    Ok(ended.final_output)
}

struct Asks(FakeModel);

#[activities]
impl Asks {
    #[activity]
    async fn ask(self: Arc<Self>, ctx: ActivityContext, kept: Kept) -> Result<String, ActivityError> {
        let runner = InlineRunner::with_config(self.0.clone(), kept.config());
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&runner).run(&watcher(), "What is there?").await?.final_output)
        })
        .await
    }
}

pub(super) async fn in_a_session(model: &FakeModel, kept: &Kept) -> anyhow::Result<String> {
    let served = model.clone();
    let env = SessionEnvironment::new().register_activities(move || Asks(served.clone()));
    match env.attempt().run(Asks::ask, kept.clone()).await.result {
        Ok(output) => Ok(output),
        Err(AttemptError::Failed(failure)) => {
            anyhow::bail!("{}: {failure}", failure.type_name().unwrap_or_default())
        }
        Err(error) => Err(error.into()),
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Asking;

#[workflow_methods]
impl Asking {
    #[run(name = "asking-with-kept-conversation")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, kept: Kept) -> WorkflowResult<String> {
        Ok(Runner::with_config(ctx, kept.config()).run(&watcher(), "What is there?").await?.final_output)
    }
}

pub(super) async fn in_a_workflow(model: &FakeModel, kept: &Kept) -> anyhow::Result<FinishedRun<String>> {
    let env = AgentEnvironment::builder().workflow::<Asking>()?.model(model).agents((watcher,)).start().await?;
    let run = env.run(Asking::run, kept.clone()).await?;
    env.finish().await?;
    Ok(run)
}
