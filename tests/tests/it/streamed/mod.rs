//! Streamed model calls, against a server whose bytes the test decides.
//!
//! | file | contents |
//! |---|---|
//! | `pairs.rs` | the two forms of one answer (`tests/apis/*/answers/`) become the same response |
//! | `asked_again.rs` | servers that ignore a stream, refuse it, or need another form |
//! | `ends.rs` | streams that end, break, stop or fail, and limits |
//! | `genai.rs` | the provider over the crate genai |
//! | `server.rs` | the server |

mod asked_again;
mod ends;
mod genai;
pub(crate) mod pairs;
pub(crate) mod server;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use temporal_agents::{
    provider::{Model, ModelDelta, ModelDeltas, ModelError, ModelProvider, OpenAi, OpenAiApi, OpenAiBuilder},
    wire::{Definitions, Item, ModelCall, ModelResponse},
};

use self::server::Server;

const KEY: &str = "the-secret-key";

fn builder(server: &Server, api: OpenAiApi) -> OpenAiBuilder {
    OpenAi::builder().api_key(KEY).base_url(format!("{}/v1", server.url)).api(api)
}

async fn model_of(builder: OpenAiBuilder) -> anyhow::Result<Arc<dyn Model>> {
    named(&builder.build()?, "gpt-5").await
}

async fn named(provider: &OpenAi, name: &str) -> anyhow::Result<Arc<dyn Model>> {
    provider.model(name).await?.ok_or_else(|| anyhow::anyhow!("every name is served"))
}

async fn model(server: &Server, api: OpenAiApi) -> anyhow::Result<Arc<dyn Model>> {
    model_of(builder(server, api)).await
}

fn hello() -> ModelCall {
    hello_with(json!({}))
}

fn hello_with(settings: Value) -> ModelCall {
    let definitions = Definitions {
        settings: serde_json::from_value(settings).expect("settings of this shape"),
        ..Definitions::default()
    };
    ModelCall::new("agent", "gpt-5", definitions, vec![Item::user("hi")])
}

/// The outcome of a streamed call, and its deltas.
pub(crate) async fn streamed(
    model: &Arc<dyn Model>,
    call: ModelCall,
) -> (Result<ModelResponse, ModelError>, Vec<ModelDelta>) {
    let sent: Arc<Mutex<Vec<ModelDelta>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let deltas = ModelDeltas::new(move |delta| sink.lock().unwrap_or_else(PoisonError::into_inner).push(delta));
    let outcome = model.stream(call, deltas).await;
    let sent = std::mem::take(&mut *sent.lock().unwrap_or_else(PoisonError::into_inner));
    (outcome, sent)
}

/// The failure of a streamed call.
async fn failure(model: &Arc<dyn Model>) -> ModelError {
    streamed(model, hello()).await.0.expect_err("a failure")
}
