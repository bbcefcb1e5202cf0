//! The readers of wire 1.1, frozen: a copy of the shapes that its release read, which nobody changes. They read the
//! messages in histories of today; what history has more of is none of theirs.

use std::collections::BTreeSet;

use rstest::rstest;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use temporal_agents_testing::history::History;
use temporalio_common::protos::temporal::api::{common::v1::Payloads, history::v1::history_event::Attributes};

use crate::{
    agent_handlers::batches,
    continuing,
    examples::{self, Cache},
};

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct ModelRequest {
    agent: String,
    turn: u32,
    model: String,
    definitions: DefinitionsPart,
    input: Conversation,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    conversation_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "that it is read is what counts")]
enum DefinitionsPart {
    Inline { digest: String, definitions: Definitions },
    Call { activity_id: String, digest: String },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct Definitions {
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    tools: Vec<ToolSpec>,
    #[serde(default)]
    handoffs: Vec<HandoffSpec>,
    #[serde(default)]
    settings: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "that it is read is what counts")]
enum ToolSpec {
    Function { name: String, description: String, parameters: Value, strict: bool },
    Hosted { name: String, config: Map<String, Value> },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct HandoffSpec {
    tool_name: String,
    tool_description: String,
    input_json_schema: Value,
    strict: bool,
    agent_name: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct Conversation {
    segments: Vec<InputSegment>,
    count: u32,
    digest: String,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "that it is read is what counts")]
enum InputSegment {
    Items {
        items: Vec<Map<String, Value>>,
    },
    Call {
        activity_id: String,
        #[serde(default)]
        start: u32,
        end: u32,
        #[serde(default)]
        results: u32,
    },
    Recorded {
        activity_id: String,
        start: u32,
        end: u32,
    },
    State {
        activity_id: String,
        chunks: u32,
        start: u32,
        end: u32,
    },
    ToolResult {
        activity_id: String,
    },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct ModelReply {
    response: ModelResponse,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct ModelResponse {
    output: Vec<Map<String, Value>>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    response_id: Option<String>,
    #[serde(default)]
    incomplete: Option<String>,
}

#[derive(Default, Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct Usage {
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    total_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct ToolRequest {
    tool: String,
    agent: String,
    turn: u32,
    call_id: String,
    arguments: Map<String, Value>,
    #[serde(default)]
    context: Map<String, Value>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    key: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is read is what counts")]
struct ToolReply {
    output: ToolOutput,
    #[serde(default)]
    context_patch: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "that it is read is what counts")]
enum ToolOutput {
    Text(String),
    Content(Vec<Value>),
}

/// Reads a message as 1.1 does: its version first, of this major or the one before.
fn read<T: DeserializeOwned>(payloads: Option<&Payloads>) -> anyhow::Result<()> {
    let payload = payloads.and_then(|payloads| payloads.payloads.first());
    let json: Value = serde_json::from_slice(&payload.ok_or_else(|| anyhow::anyhow!("no payload"))?.data)?;
    let major = json["version"].as_str().and_then(|version| version.split_once('.')).map(|(major, _)| major.to_owned());
    anyhow::ensure!(matches!(major.as_deref(), Some("0" | "1")), "version {:?} is too new", json["version"]);
    serde_json::from_value::<T>(json)?;
    Ok(())
}

/// Reads all messages of model calls and tool calls; returns their kinds.
fn read_all(history: &History) -> anyhow::Result<BTreeSet<&'static str>> {
    let (mut kinds, mut scheduled) = (BTreeSet::new(), std::collections::BTreeMap::new());
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => {
                let kind = activity.activity_type.as_ref().map(|kind| kind.name.clone()).unwrap_or_default();
                if kind == "agents.call_model" {
                    read::<ModelRequest>(activity.input.as_ref())?;
                    scheduled.insert(event.event_id, "model");
                } else if kind.starts_with("agents.tool.") {
                    read::<ToolRequest>(activity.input.as_ref())?;
                    scheduled.insert(event.event_id, "tool");
                }
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                match scheduled.get(&completed.scheduled_event_id) {
                    Some(&"model") => read::<ModelReply>(completed.result.as_ref())?,
                    Some(_) => read::<ToolReply>(completed.result.as_ref())?,
                    None => continue,
                }
                kinds.extend(scheduled.get(&completed.scheduled_event_id));
            }
            _ => {}
        }
    }
    Ok(kinds)
}

#[rstest]
#[tokio::test]
async fn the_readers_of_1_1_read_histories_of_today(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let mut kinds = BTreeSet::new();
    for histories in [
        examples::quickstart::played(cache).await?.histories,
        examples::handoffs::played(cache).await?.histories,
        examples::agents_as_tools::played(cache).await?.histories,
        continuing::recorded(cache).await?.histories,
        batches::played(cache).await?.histories,
    ] {
        for history in &histories {
            kinds.append(&mut read_all(history)?);
        }
    }
    assert_eq!(kinds, BTreeSet::from(["model", "tool"]));
    Ok(())
}
