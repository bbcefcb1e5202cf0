//! An agent with typed tools, an MCP server with an odd schema, a handoff, an output type and
//! streaming, against a server of each API.
//!
//! The same agent runs against real models (`live.rs`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    inline::InlineRunner,
    provider::{Genai, ModelProvider, OpenAi, OpenAiApi},
    tool,
    tool::McpServer,
    wire::{EventKind, ModelSettings},
};

use super::{
    rules::Api,
    servers::{ApiServer, Part, Script},
};
use crate::mcp::answering::{Answer, AnsweringServer};

/// The APIs with a server, each with the model that live tests ask by default, its price in dollars
/// for a million tokens of input and of output, and the variables of key, address and model.
pub(crate) const TARGETS: [(Api, &str, [f64; 2], &str); 5] = [
    (Api::Anthropic, "claude-haiku-4-5", [1.0, 5.0], "ANTHROPIC"),
    (Api::Responses, "gpt-5-mini", [0.25, 2.0], "OPENAI"),
    (Api::Chat, "gpt-5-mini", [0.25, 2.0], "OPENAI"),
    (Api::Gemini, "gemini-2.5-flash", [0.3, 2.5], "GEMINI"),
    (Api::Xai, "grok-4-1-fast-reasoning", [0.2, 0.5], "XAI"),
];

/// Most requests of the run.
const MAX_TURNS: u32 = 8;
/// Most bytes of one request, and so most tokens of it.
const MAX_REQUEST_BYTES: usize = 20_000;
/// Most tokens of one answer.
const MAX_ANSWER_TOKENS: u64 = 2_000;

/// The fare of a seat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Fare {
    /// Cannot be changed.
    Basic,
    /// Can be changed for a fee.
    Flexible { fee_cents: u32 },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Passenger {
    name: String,
    age: Option<u8>,
}

/// Books seats.
///
/// # Arguments
/// * `seats` - number of seats
/// * `row` - preferred row
/// * `hold` - how long the seats are held
#[tool(inline)]
fn book(seats: u32, row: Option<u16>, fare: Fare, hold: Duration, passengers: Vec<Passenger>) -> String {
    format!("{seats} seats in row {row:?}, {fare:?}, held for {} s, for {} people", hold.as_secs(), passengers.len())
}

/// What the run answers.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Receipt {
    /// Number of seats that are booked.
    #[schemars(range(min = 1))]
    seats: u32,
    /// Anything to know.
    note: Option<String>,
}

fn desk() -> Agent<Receipt> {
    let settings: ModelSettings =
        serde_json::from_value(json!({"max_tokens": MAX_ANSWER_TOKENS, "temperature": 0.0})).expect("settings");
    let clerk = Agent::new("clerk")
        .instructions("Answer with the receipt of the booking.")
        .settings(settings.clone())
        .output::<Receipt>();
    Agent::new("desk")
        .instructions(
            "First call `book` for two seats for Ada (36) and Bob, flexible fare with a fee of 10 dollars, held for an \
             hour, and `files_search` with the path \"trips\". Then transfer to the clerk.",
        )
        .settings(settings)
        .tool(book)
        .mcp_server(McpServer::named("files"))
        .handoff(clerk)
        .output::<Receipt>()
}

/// An MCP server whose tool has a union at the root of its schema, and members that Claude refuses.
async fn files() -> anyhow::Result<AnsweringServer> {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "query": {"type": "string", "nullable": true},
            "$limit": {"type": "integer", "minimum": 0, "exclusiveMinimum": true},
            "range": {"type": "array", "items": [{"type": "integer"}, {"type": "integer"}]},
            "tags": {"type": "array"},
        },
        "required": null,
        "anyOf": [{"required": ["path"]}, {"required": ["query"]}],
    });
    let tools = json!({"tools": [{"name": "files.search", "description": "Searches files.", "inputSchema": schema}]});
    AnsweringServer::start(move |asked| {
        let tools = tools.clone();
        async move {
            match &*asked.method {
                "initialize" => Answer::Result(json!({
                    "protocolVersion": asked.params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "files", "version": "1"},
                })),
                "tools/list" => Answer::Result(tools),
                "tools/call" => Answer::Text("trips/oslo.txt".to_owned()),
                _ => Answer::Result(json!({})),
            }
        }
    })
    .await
}

/// Where a run finds its model.
pub(crate) struct Target {
    pub(crate) api: Api,
    pub(crate) model: String,
    pub(crate) key: String,
    /// The address of the server, if it is not that of the provider.
    pub(crate) url: Option<String>,
    /// Dollars for a million tokens of input and of output.
    pub(crate) prices: [f64; 2],
}

impl Target {
    fn provider(&self) -> anyhow::Result<Box<dyn ModelProvider>> {
        let openai = |api: OpenAiApi| -> anyhow::Result<Box<dyn ModelProvider>> {
            let builder = OpenAi::builder().api_key(&*self.key).api(api);
            Ok(Box::new(match &self.url {
                Some(url) => builder.base_url(format!("{url}/v1")).build()?,
                None => builder.build()?,
            }))
        };
        let genai = |adapter: &str, version: &str| -> anyhow::Result<Box<dyn ModelProvider>> {
            let builder = Genai::builder().api_key(adapter, &*self.key).serving(|_| true);
            Ok(Box::new(match &self.url {
                Some(url) => builder.base_url(adapter, format!("{url}/{version}")).build()?,
                None => builder.build()?,
            }))
        };
        match self.api {
            Api::Anthropic => genai("anthropic", "v1"),
            Api::Gemini => genai("gemini", "v1beta"),
            Api::Xai => genai("xai", "v1"),
            Api::Responses | Api::AzureResponses => openai(OpenAiApi::Responses),
            Api::Chat | Api::AzureChat | Api::Compatible => openai(OpenAiApi::ChatCompletions),
        }
    }

    /// Returns an upper bound of what the run costs.
    fn bound(&self) -> String {
        let requests = u64::from(MAX_TURNS);
        let (input, output) = (requests * MAX_REQUEST_BYTES as u64, requests * MAX_ANSWER_TOKENS);
        #[expect(clippy::cast_precision_loss, reason = "the bound is printed with two digits")]
        let dollars = (input as f64 * self.prices[0] + output as f64 * self.prices[1]) / 1e6;
        format!(
            "{:?} with {}: at most {requests} requests, {input} tokens of input and {output} of output, ${dollars:.2}",
            self.api, self.model
        )
    }

    /// Prints the bound, and runs the agent; returns the receipt and the number of streamed parts.
    pub(crate) async fn run(&self) -> anyhow::Result<(Receipt, usize)> {
        println!("{}", self.bound());
        let files = files().await?;
        let resources =
            Resources::new().model_provider(SharedProvider(self.provider()?)).mcp_server("files", files.transport());
        let parts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&parts);
        let runner = InlineRunner::new(resources).model(&*self.model).max_turns(MAX_TURNS).on_event(move |event| {
            if matches!(event.kind, EventKind::TextDelta { .. } | EventKind::ToolArgumentsDelta { .. }) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let result = runner.run(&desk(), "Book my trip.").await?;
        anyhow::ensure!(result.last_agent == "clerk", "the run ended with {}", result.last_agent);
        Ok((result.final_output, parts.load(Ordering::Relaxed)))
    }
}

/// A boxed provider.
struct SharedProvider(Box<dyn ModelProvider>);

impl ModelProvider for SharedProvider {
    fn model<'a>(
        &'a self,
        name: &'a str,
    ) -> temporal_agents::provider::BoxFuture<
        'a,
        Result<Option<Arc<dyn temporal_agents::provider::Model>>, temporal_agents::provider::ModelError>,
    > {
        self.0.model(name)
    }
}

fn script() -> Script {
    Arc::new(|outputs| match outputs {
        0 => vec![
            Part::Text("I book.".to_owned()),
            Part::Call(
                "book",
                json!({"seats": 2, "row": null, "fare": {"Flexible": {"fee_cents": 1000}},
                    "hold": {"secs": 3600, "nanos": 0}, "passengers": [{"name": "Ada", "age": 36}, {"name": "Bob", "age": null}]}),
            ),
            Part::Call("search", json!({"path": "trips"})),
        ],
        2 => vec![Part::Call("transfer_to_clerk", json!({}))],
        _ => vec![Part::Text(json!({"seats": 2, "note": null}).to_string())],
    })
}

#[tokio::test]
async fn an_agent_with_everything_runs_on_each_api() -> anyhow::Result<()> {
    for (api, model, prices, _) in TARGETS {
        let server = ApiServer::start(api, script()).await?;
        let target =
            Target { api, model: model.to_owned(), key: "a-key".to_owned(), url: Some(server.url.clone()), prices };
        let outcome = target.run().await;
        assert!(server.refusals().is_empty(), "{api:?}: {:#?}", server.refusals());
        let (receipt, parts) = outcome?;
        assert_eq!(receipt, Receipt { seats: 2, note: None }, "{api:?}");
        let (requests, largest) = server.requests();
        assert_eq!(requests, 3, "{api:?}");
        assert!(largest < MAX_REQUEST_BYTES, "{api:?}: {largest} bytes");
        // Google's answers are not streamed.
        assert_eq!(parts > 0, api != Api::Gemini, "{api:?}: {parts} parts");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_refuses_in_recorded_words() -> anyhow::Result<()> {
    let script: Script = Arc::new(|_| vec![Part::Text("hi".to_owned())]);
    let server = ApiServer::start(Api::Anthropic, script).await?;
    let body = json!({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": " "}]});
    let response = server.answer_to("/v1/messages", &body);
    let message = "messages: text content blocks must contain non-whitespace text";
    assert_eq!((response.0, &response.1["error"]["message"]), (400, &Value::from(message)));
    Ok(())
}
