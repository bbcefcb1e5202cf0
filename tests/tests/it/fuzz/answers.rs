//! Answers of providers and of an MCP server, changed: a response, or an error of a kind.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    inline::InlineRunner,
    mcp::McpTransport,
    provider::{Genai, ModelProvider, OpenAi, OpenAiApi},
    tool::{McpServer, ToolActivityOptions},
    wire::{Definitions, Item, ModelCall},
};
use temporal_agents_testing::{FakeModel, fake_model::text};
use tokio::{runtime::Runtime, time::timeout};

use super::{cases::check, documents::documents};
use crate::hostile::server;

const CASES: u32 = 150;
const LISTS: u32 = 40;
/// A call that takes longer hangs: the answer is there.
const PATIENCE: Duration = Duration::from_mins(1);
/// Most bytes of an error's message, which goes to history.
const MOST_WORDS: usize = 10_000;
const KEY: &str = "a-long-secret-key";

/// What a server answers next.
type Body = Arc<Mutex<Vec<u8>>>;

/// A server that answers every request with the body.
fn serve(body: &Body) -> anyhow::Result<String> {
    let body = Arc::clone(body);
    server::start(move |connection| {
        while connection.request()?.is_some() {
            let body = body.lock().expect("nobody panics").clone();
            connection.respond("200 OK", &body)?;
        }
        Ok(())
    })
}

/// Asks a provider, whose answers begin as these.
fn ask(provider: &impl ModelProvider, name: &str, body: &Body, originals: Vec<Value>) -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let model = runtime.block_on(provider.model(name))?.expect("the name is served");
    let originals = originals.into_iter().map(|json| ("answer".to_owned(), json)).collect();
    check(CASES, &documents(originals), |document| {
        document.text.clone_into(&mut body.lock().expect("nobody panics"));
        let call = ModelCall::new("agent", name, Definitions::default(), vec![Item::user("hi")]);
        let answered = runtime.block_on(async { timeout(PATIENCE, model.call(call)).await });
        match answered.map_err(|_| anyhow::anyhow!("the call hangs"))? {
            Ok(response) => {
                let written = serde_json::to_string(&response.output)?;
                let again: Vec<Item> = serde_json::from_str(&written)?;
                anyhow::ensure!(serde_json::to_string(&again)? == written, "items are written as something else");
            }
            Err(error) => anyhow::ensure!(error.message.len() <= MOST_WORDS, "{} bytes", error.message.len()),
        }
        Ok(())
    })
}

#[test]
fn a_changed_response_is_read_or_refused() -> anyhow::Result<()> {
    let body = Body::default();
    let provider = OpenAi::builder().api_key(KEY).base_url(format!("{}/v1", serve(&body)?)).build()?;
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15});
    let output = json!([
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
        {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}", "status": "completed"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "hi", "annotations": []}, {"type": "refusal", "refusal": "no"}]},
    ]);
    let done = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null,
        "incomplete_details": null, "output": output, "usage": usage});
    let cut = json!({"id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []});
    let failed =
        json!({"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}});
    ask(&provider, "gpt-5", &body, vec![done, cut, failed])
}

#[test]
fn a_changed_chat_completion_is_read_or_refused() -> anyhow::Result<()> {
    let body = Body::default();
    let builder = OpenAi::builder().api_key(KEY).base_url(format!("{}/v1", serve(&body)?));
    let provider = builder.api(OpenAiApi::ChatCompletions).build()?;
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}});
    let message = json!({"role": "assistant", "content": "hi", "refusal": null, "reasoning_content": "hm", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}]});
    let done = json!({"id": "chatcmpl-1", "object": "chat.completion", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": null}]});
    let cut = json!({"id": "chatcmpl-1", "choices": [{"message": {"content": [{"type": "text", "text": "h"}]}, "finish_reason": "length"}]});
    ask(&provider, "gpt-5", &body, vec![done, cut])
}

#[test]
fn a_changed_message_of_anthropic_is_read_or_refused() -> anyhow::Result<()> {
    let body = Body::default();
    let url = format!("{}/v1", serve(&body)?);
    let provider = Genai::builder().api_key("anthropic", KEY).base_url("anthropic", url).build()?;
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 85, "output_tokens": 20});
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
    ]);
    let done = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": content,
        "stop_reason": "tool_use", "stop_sequence": null, "usage": usage});
    ask(&provider, "claude-sonnet-4-6", &body, vec![done])
}

#[test]
fn a_changed_list_of_an_mcp_server_ends_in_a_run_or_an_error() -> anyhow::Result<()> {
    let list = json!({"tools": [
        {"name": "add", "title": "Add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
        {"name": "look.up", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "_meta": {"a": 1}},
    ]});
    let body = Body::default();
    let kept = Arc::clone(&body);
    let url = server::start(move |connection| {
        while let Some(request) = connection.request()? {
            let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let Some(id) = message.get("id") else {
                connection
                    .respond(if request.method == "POST" { "202 Accepted" } else { "405 Method Not Allowed" }, b"")?;
                continue;
            };
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                })
                .to_string()
                .into_bytes(),
                _ => kept.lock().expect("nobody panics").clone(),
            };
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":");
            connection.respond("200 OK", &[head.as_bytes(), &*result, b"}"].concat())?;
        }
        Ok(())
    })?;
    let runtime = Runtime::new()?;
    // A reply that is none is waited for.
    let soon = ToolActivityOptions::builder().attempts(1).start_to_close(Duration::from_secs(1)).build();
    let agent = Agent::new("clerk").model("gpt-5").mcp_server(McpServer::named("odd").list_options(soon));
    check(LISTS, &documents(vec![("list".to_owned(), list)]), |document| {
        document.text.clone_into(&mut body.lock().expect("nobody panics"));
        let resources = Resources::new()
            .model_provider(FakeModel::function(|_, _| text("done")))
            .mcp_server("odd", McpTransport::streamable_http(format!("{url}/mcp")));
        let runner = InlineRunner::new(resources);
        let ended = runtime.block_on(async { timeout(PATIENCE, runner.run(&agent, "hi")).await });
        if let Err(failure) = ended.map_err(|_| anyhow::anyhow!("the run hangs"))? {
            let told = failure.to_string();
            anyhow::ensure!(told.len() <= MOST_WORDS, "{} bytes", told.len());
        }
        Ok(())
    })
}
