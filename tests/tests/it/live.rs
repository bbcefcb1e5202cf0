//! Turns with real models, whole and streamed. They run with `LIVE_TESTS=1` and the key of the
//! provider, and cost a few hundred tokens each:
//!
//! ```sh
//! LIVE_TESTS=1 OPENAI_API_KEY=.. cargo test -p temporal-agents-tests --test it live -- --nocapture
//! ```
//!
//! The agent of `dialects/agents.rs` runs too, against each API that has a key: with
//! `LIVE_OPENAI_URL` (`LIVE_ANTHROPIC_URL`, ..) at another address, with `LIVE_OPENAI_MODEL` with
//! another model. It prints what it may cost before it begins.

use std::sync::Arc;

use serde_json::{Value, json};
use temporal_agents::{
    provider::{Genai, Model, ModelDelta, ModelProvider, OpenAiApi, OpenAiBuilder},
    wire::{Definitions, FunctionCall, Item, ItemView, ModelCall, ModelResponse, ToolSpec},
};
use temporal_agents_testing::skip;

use crate::dialects::agents::{TARGETS, Target};

/// Returns `true` if this key is to be used.
fn has_key(key: &str) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::env::var("LIVE_TESTS").is_ok_and(|value| value == "1") && is_set(key)
}

/// Returns `true` if this test is to run; otherwise prints that it is skipped.
fn is_live(key: &str) -> bool {
    if !has_key(key) {
        skip(&format!("it needs LIVE_TESTS=1 and {key}"));
        return false;
    }
    true
}

/// The name of the model: that of a variable, for the models that a key has access to.
fn name(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}

#[tokio::test]
async fn a_turn_with_a_tool_over_the_responses_api() -> anyhow::Result<()> {
    if !is_live("OPENAI_API_KEY") {
        return Ok(());
    }
    turn(OpenAiBuilder::from_env()?.build()?, &name("LIVE_OPENAI_MODEL", "gpt-5-mini")).await
}

#[tokio::test]
async fn a_turn_with_a_tool_over_chat_completions() -> anyhow::Result<()> {
    if !is_live("OPENAI_API_KEY") {
        return Ok(());
    }
    let provider = OpenAiBuilder::from_env()?.api(OpenAiApi::ChatCompletions).build()?;
    turn(provider, &name("LIVE_OPENAI_MODEL", "gpt-5-mini")).await
}

#[tokio::test]
async fn a_turn_with_a_tool_through_genai_with_anthropic() -> anyhow::Result<()> {
    if !is_live("ANTHROPIC_API_KEY") {
        return Ok(());
    }
    turn(Genai::from_env()?, &name("LIVE_ANTHROPIC_MODEL", "claude-haiku-4-5")).await
}

#[tokio::test]
async fn a_turn_with_a_tool_through_genai_with_openai() -> anyhow::Result<()> {
    if !is_live("OPENAI_API_KEY") {
        return Ok(());
    }
    turn(Genai::from_env()?, &format!("openai::{}", name("LIVE_OPENAI_MODEL", "gpt-5-mini"))).await
}

#[tokio::test]
async fn a_turn_with_a_tool_through_genai_with_google() -> anyhow::Result<()> {
    if !is_live("GEMINI_API_KEY") {
        return Ok(());
    }
    // Its answers are not streamed, so there are no deltas.
    let model = model(&Genai::from_env()?, &name("LIVE_GEMINI_MODEL", "gemini-2.5-flash")).await?;
    for streamed in [false, true] {
        conversation(&model, streamed).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_agent_with_everything_runs_against_real_models() -> anyhow::Result<()> {
    let has_target = |(_, _, _, vendor): &(_, _, _, &str)| has_key(&format!("{vendor}_API_KEY"));
    let targets: Vec<_> = TARGETS.into_iter().filter(has_target).collect();
    if targets.is_empty() {
        skip("it needs LIVE_TESTS=1 and the key of a provider");
    }
    for (api, model, prices, vendor) in targets {
        let variable = format!("{vendor}_API_KEY");
        let target = Target {
            api,
            model: name(&format!("LIVE_{vendor}_MODEL"), model),
            key: std::env::var(variable)?,
            url: std::env::var(format!("LIVE_{vendor}_URL")).ok(),
            prices,
        };
        let (receipt, parts) = target.run().await?;
        println!("{receipt:?}, {parts} streamed parts");
    }
    Ok(())
}

async fn model(provider: &impl ModelProvider, name: &str) -> anyhow::Result<Arc<dyn Model>> {
    provider.model(name).await?.ok_or_else(|| anyhow::anyhow!("{name} is not served"))
}

/// A call of a tool and the answer to its result, both ways.
async fn turn(provider: impl ModelProvider, name: &str) -> anyhow::Result<()> {
    let model = model(&provider, name).await?;
    assert_eq!(conversation(&model, false).await?, []);
    let deltas = conversation(&model, true).await?;
    let has = |is: fn(&ModelDelta) -> bool| deltas.iter().any(is);
    assert!(has(|delta| matches!(delta, ModelDelta::ToolArguments { .. })), "{deltas:?}");
    assert!(has(|delta| matches!(delta, ModelDelta::Text { .. })), "{deltas:?}");
    Ok(())
}

/// Asks for the weather, and answers the call of the tool; returns the deltas.
async fn conversation(model: &Arc<dyn Model>, streamed: bool) -> anyhow::Result<Vec<ModelDelta>> {
    let definitions = Definitions {
        instructions: Some("Use the tool, then answer in one short sentence.".to_owned()),
        tools: vec![ToolSpec::Function {
            name: "get_weather".to_owned(),
            description: "The weather in a city.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": false,
            })
            .into(),
            strict: true,
        }],
        ..Definitions::default()
    };
    let mut input = vec![Item::user("What is the weather in Oslo?")];
    let mut sent = Vec::new();
    let asked = ask(model, &definitions, &input, streamed, &mut sent).await?;
    let call = asked.output.iter().find_map(|item| match item.view() {
        ItemView::FunctionCall(FunctionCall { call_id, arguments, .. }) => {
            Some((call_id.to_owned(), arguments.into_owned()))
        }
        _ => None,
    });
    let (call_id, arguments) = call.ok_or_else(|| anyhow::anyhow!("no call: {:?}", asked.output))?;
    let arguments: Value = serde_json::from_str(&arguments)?;
    anyhow::ensure!(arguments["city"].is_string(), "{arguments}");
    input.extend(asked.output);
    input.push(Item::function_call_output(&call_id, json!("12 degrees and rain")));
    let answered = ask(model, &definitions, &input, streamed, &mut sent).await?;
    let text: String = answered.output.iter().filter_map(Item::text).collect();
    anyhow::ensure!(text.contains("12"), "{text}");
    Ok(sent)
}

/// Makes a call; checks that its deltas, joined, are in the items of its response.
async fn ask(
    model: &Arc<dyn Model>,
    definitions: &Definitions,
    input: &[Item],
    streamed: bool,
    sent: &mut Vec<ModelDelta>,
) -> anyhow::Result<ModelResponse> {
    let call = ModelCall::new("clerk", "live", definitions.clone(), input.to_vec());
    let (response, deltas) = if streamed {
        let (outcome, deltas) = crate::streamed::streamed(model, call).await;
        (outcome?, deltas)
    } else {
        (model.call(call).await?, Vec::new())
    };
    anyhow::ensure!(response.usage.input_tokens > 0 && response.usage.output_tokens > 0, "{:?}", response.usage);
    crate::streamed::pairs::assert_deltas_become_items("live", &deltas, &response.output);
    println!("{} deltas, usage {:?}", deltas.len(), response.usage);
    sent.extend(deltas);
    Ok(response)
}
