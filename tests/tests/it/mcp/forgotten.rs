//! Servers over HTTP that forget a session while a run holds it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    tool::{McpServer, McpSessionOptions, McpSessionRecovery},
};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call},
};

use super::{
    answering::{Answer, AnsweringServer, Asked, tools},
    sessions::{Shop, environment_by},
    support::{activities, outputs, smith},
};

/// The sessions of a server that forgets each after its first count.
#[derive(Default)]
struct Forgetful {
    opened: usize,
    /// The one that it knows, and its user.
    known: Option<(String, String)>,
}

impl Forgetful {
    fn answer(&mut self, asked: &Asked) -> Answer {
        if asked.method == "initialize" {
            self.opened += 1;
            let session = format!("session-{}", self.opened);
            self.known = Some((session.clone(), "nobody".to_owned()));
            return Answer::Session(session);
        }
        let Some((_, user)) = self.known.as_mut().filter(|(known, _)| Some(known) == asked.session.as_ref()) else {
            return Answer::Http(404, "no such session".to_owned());
        };
        match (&*asked.method, asked.params["name"].as_str()) {
            ("tools/list", _) => Answer::Result(json!({"tools": tools(["count", "login"])})),
            (_, Some("login")) => {
                asked.params["arguments"]["user"].as_str().unwrap_or_default().clone_into(user);
                Answer::Text("hello".to_owned())
            }
            (_, Some("count")) => {
                let told = format!("counted for {user}");
                self.known = None;
                Answer::Text(told)
            }
            _ => Answer::Refusal("not here".to_owned()),
        }
    }
}

async fn forgetful() -> anyhow::Result<AnsweringServer> {
    let server = Arc::new(Mutex::new(Forgetful::default()));
    AnsweringServer::start(move |asked| {
        let answer = server.lock().expect("no test panics with it").answer(&asked);
        async move { answer }
    })
    .await
}

fn counting_twice() -> FakeModel {
    FakeModel::script([tool_call("count", json!({})), tool_call("count", json!({})), text("done")])
}

fn logged_in() -> McpSessionOptions {
    McpSessionOptions::new().set_up("login", json!({"user": "Ada"}))
}

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_lost_and_not_replaced_unnoticed() -> anyhow::Result<()> {
    let (server, model) = (forgetful().await?, counting_twice());
    let runner = InlineRunner::new(Resources::new().model_provider(model).mcp_server("workshop", server.transport()));
    let agent = smith(McpServer::named("workshop").stateful(logged_in()));
    let failure = runner.run(&agent, "Count.").await.expect_err("the session is gone");
    let told = failure.error.to_string();
    assert!(told.contains("session with MCP server \"workshop\" was lost"), "{told}");
    Ok(())
}

#[tokio::test]
async fn a_call_that_a_forgotten_session_refused_is_made_in_a_new_one_after_its_set_up() -> anyhow::Result<()> {
    let (server, model) = (forgetful().await?, counting_twice());
    let agent = smith(McpServer::named("workshop").stateful(logged_in().reestablish(McpSessionRecovery::ReplaySetup)));
    let env = environment_by(&agent, server.transport().into())?.model(&model).start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    assert_eq!(outputs(&model), ["counted for Ada", "counted for Ada"].map(Value::from));
    let lost = ActivityOutcome::Failed("McpError.SessionLost".to_owned());
    let calls: Vec<_> = activities(&run).into_iter().filter(|(kind, _, _)| kind.ends_with(".call_tool")).collect();
    assert_eq!(
        calls.iter().map(|(_, _, outcome)| outcome).collect::<Vec<_>>(),
        [&ActivityOutcome::Completed, &lost, &ActivityOutcome::Completed]
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_connection_that_runs_share_is_renewed_when_the_server_has_forgotten_it() -> anyhow::Result<()> {
    let (server, model) = (forgetful().await?, counting_twice());
    let runner =
        InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", server.transport()));
    runner.run(&smith(McpServer::named("workshop")), "Count.").await?;
    assert_eq!(outputs(&model), ["counted for nobody", "counted for nobody"].map(Value::from));
    Ok(())
}
