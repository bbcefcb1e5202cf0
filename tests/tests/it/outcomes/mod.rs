//! What a run does with an answer, by the reason to stop and by what the answer holds: the table in
//! the guide (`guide/providers.md`), cell by cell, on each API.
//!
//! | file | contents |
//! |---|---|
//! | `bodies.rs` | the answers, whole and streamed |
//! | `durable.rs` | the same in a workflow, and on replay |

mod bodies;
mod durable;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use temporal_agents::{
    Agent, Resources, ToolError,
    inline::InlineRunner,
    provider::{ModelDeltas, ModelProvider},
    run::{IncompleteAnswers, RunConfig, RunError, RunFailure},
    tool::ToolDef,
    wire::{Definitions, Item, ModelCall},
};

use self::bodies::{Api, Content, Stop};
use crate::streamed::server::{Answer, Server};

#[derive(Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Pieces {
    pieces: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    amount: Option<u32>,
}

fn paying() -> (Arc<AtomicUsize>, ToolDef) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = ToolDef::inline("pay", "Pays an amount, or everything.", move |_ctx, Payment { amount }: Payment| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok::<_, ToolError>(format!("paid {amount:?}").into())
    });
    (count, tool.lenient::<Payment>())
}

/// Runs an agent whose first answer is this one; returns what became of it, in the words of the
/// guide.
async fn outcome(api: Api, stop: Stop, content: Content) -> anyhow::Result<String> {
    let first = bodies::whole(api, stop, content);
    let again = if content == Content::Json { Content::Json } else { Content::Text };
    let server = Server::start([Answer::json("200 OK", &first), Answer::json("200 OK", &bodies::last(api, again))])?;
    let runner = InlineRunner::new(Resources::new().model_provider(api.provider(&server)?));
    let runner = runner.first_pause(Duration::from_millis(1));
    let (paid, pay) = paying();
    let agent = Agent::new("clerk").model(api.model()).tool(pay);
    let run = if content == Content::Json {
        let run = runner.run(&agent.output::<Pieces>(), "hi").await;
        run.map(|run| (json!(run.final_output).to_string(), run.turns, run.incomplete))
    } else {
        let run = runner.run(&agent, "hi").await;
        run.map(|run| (run.final_output, run.turns, run.incomplete))
    };
    let requests = server.requests().len();
    Ok(match run {
        Ok((_, _, incomplete)) if requests == 1 => {
            if incomplete.is_some() { "output, marked" } else { "output" }.to_owned()
        }
        Ok(_) if paid.load(Ordering::SeqCst) > 0 => "made".to_owned(),
        Ok((_, 2, _)) => "asked again".to_owned(),
        Ok((_, 1, _)) if requests == 2 => "retried".to_owned(),
        Ok(other) => format!("{other:?} after {requests} requests"),
        Err(RunFailure { error: RunError::IncompleteAnswer { .. }, .. }) => "no answer".to_owned(),
        Err(RunFailure { error: RunError::ModelRefusal { .. }, .. }) => "refused".to_owned(),
        Err(failure) => format!("{failure} after {requests} requests"),
    })
}

/// The rows of the table in the guide: the outcome of each content, by the reason to stop.
fn rows() -> BTreeMap<String, Vec<String>> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/src/guide/providers.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let table = guide.split("| The model stopped because |").nth(1).expect("the table of outcomes");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(|line| {
        let mut cells = cells(line);
        (cells.remove(0), cells)
    })
    .collect()
}

#[tokio::test]
async fn outcomes_are_as_the_guide_lists_them() -> anyhow::Result<()> {
    let rows = rows();
    assert_eq!(rows.len(), Stop::ALL.len());
    let mut differ = Vec::new();
    let mut checked = 0;
    for stop in Stop::ALL {
        let row = &rows[stop.row()];
        for (content, column) in Content::COLUMNS {
            for api in Api::ALL.into_iter().filter(|api| api.word(stop).is_some()) {
                let found = outcome(api, stop, content).await?;
                checked += 1;
                if found != row[column] {
                    differ.push(format!("{stop:?}, {content:?}, {api:?}: {found}, and not {}", row[column]));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(checked > 150, "{checked} outcomes");
    Ok(())
}

#[tokio::test]
async fn streamed_answers_become_the_same_responses() -> anyhow::Result<()> {
    let mut checked = 0;
    for api in Api::ALL.into_iter().filter(|api| api.streams()) {
        for stop in Stop::ALL.into_iter().filter(|stop| api.word(*stop).is_some()) {
            for (content, _) in Content::COLUMNS {
                let whole = Answer::json("200 OK", &bodies::whole(api, stop, content));
                let stream = Answer::stream(bodies::stream(api, stop, content));
                let server = Server::start([whole, stream])?;
                let provider = api.provider(&server)?;
                let model = provider.model(api.model()).await?.expect("the name is served");
                let shown = |response: Result<_, temporal_agents::provider::ModelError>| {
                    response
                        .map(|it: temporal_agents::wire::ModelResponse| (it.output, it.incomplete))
                        .map_err(|error| (error.kind, error.message))
                };
                let whole = shown(model.call(hello(api)).await);
                let streamed = shown(model.stream(hello(api), ModelDeltas::new(drop)).await);
                assert_eq!(streamed, whole, "{api:?}, {stop:?}, {content:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked} pairs");
    Ok(())
}

#[tokio::test]
async fn stream_without_its_end_fails_on_every_api() -> anyhow::Result<()> {
    for api in Api::ALL.into_iter().filter(|api| api.streams()) {
        for (content, _) in Content::COLUMNS {
            let server = Server::start([Answer::stream(bodies::start(api, content))])?;
            let model = api.provider(&server)?.model(api.model()).await?.expect("the name is served");
            let outcome = model.stream(hello(api), ModelDeltas::new(drop)).await;
            let message = outcome.map_err(|error| error.message);
            let expected = "invalid response (200): the stream ended before the answer was complete".to_owned();
            assert_eq!(message, Err(expected), "{api:?}, {content:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn cut_calls_are_told_or_asked_for_again() -> anyhow::Result<()> {
    for reaction in [IncompleteAnswers::AskAgain, IncompleteAnswers::TellModel] {
        for api in Api::ALL {
            let answers = [bodies::whole(api, Stop::Limit, Content::Calls), bodies::last(api, Content::Text)];
            let server = Server::start(answers.map(|answer| Answer::json("200 OK", &answer)))?;
            let resources = Resources::new().model_provider(api.provider(&server)?);
            let config = RunConfig::builder().incomplete_answers(reaction).build();
            let (paid, pay) = paying();
            let agent = Agent::new("clerk").model(api.model()).tool(pay);
            let run = InlineRunner::with_config(resources, config).run(&agent, "hi").await?;
            assert_eq!((run.turns, paid.load(Ordering::SeqCst), run.incomplete), (2, 0, None), "{api:?}");
            let told = server.requests()[1].to_string().matches("This call was not made").count();
            assert_eq!(told, if reaction == IncompleteAnswers::TellModel { 2 } else { 0 }, "{api:?}");
        }
    }
    Ok(())
}

fn hello(api: Api) -> ModelCall {
    ModelCall::new("clerk", api.model(), Definitions::default(), vec![Item::user("hi")])
}
