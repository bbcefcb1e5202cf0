//! The messages behind the golden files: one with every member, one with as few as may be.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use temporal_agents::wire::{
    CallPart, Conversation, Definitions, DefinitionsPart, HandoffSpec, InputSegment, InputTokensDetails, Item,
    ModelCall, ModelFailureDetails, ModelFailureKind, ModelReply, ModelRequest, ModelResponse, ModelRetryBackoff,
    ModelRetrySettings, ModelSettings, NewItem, NewItemKind, OutputSpec, OutputTokensDetails, Prompt, RunState,
    ToolChoice, ToolOutput, ToolReply, ToolRequest, ToolSpec, Usage, WIRE_VERSION,
    failure::{AGENTS_WORKFLOW_ERROR, TOOL_ERROR, WIRE_VERSION_MISMATCH},
    run_state::{HandoffEnds, Phase, PlannedCall, PlannedHandoff, TurnSetup},
};

pub(super) fn item(json: Value) -> Item {
    Item::try_from(json).expect("an object")
}

fn object(json: Value) -> Map<String, Value> {
    let Value::Object(map) = json else { panic!("an object literal") };
    map
}

/// Items of every kind the loop knows, and of one it does not.
fn items() -> Vec<Item> {
    vec![
        Item::user("Is it raining in Oslo?"),
        item(json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="})),
        item(json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
            "arguments": "{\"city\": \"Oslo\"}", "status": "completed"
        })),
        Item::function_call_output("call_1", "12 degrees, dry".into()),
        item(json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}})),
        item(json!({"type": "hologram", "zeta": [1, 2.5, null], "alpha": {"b": true, "a": "é"}})),
        item(json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{
                "type": "output_text", "text": "No.", "annotations": [],
                "logprobs": [{"token": "No", "logprob": -12.783_279_292_603_929}]
            }]
        })),
    ]
}

fn settings() -> ModelSettings {
    let backoff = ModelRetryBackoff::builder().initial_delay(0.25).max_delay(2.0).multiplier(2.0).build();
    ModelSettings::builder()
        .temperature(0.7)
        .top_p(1.0)
        .frequency_penalty(-0.5)
        .presence_penalty(0.5)
        .tool_choice(ToolChoice::Mcp { server_label: "docs".to_owned(), name: "find".to_owned() })
        .parallel_tool_calls(false)
        .truncation("auto")
        .max_tokens(4096)
        .reasoning(json!({"effort": "low", "summary": "auto"}))
        .verbosity("low")
        .metadata(object(json!({"team": "support"})))
        .store(false)
        .prompt_cache_retention("24h")
        .include_usage(true)
        .response_include(vec!["reasoning.encrypted_content".to_owned()])
        .top_logprobs(5)
        .extra_query(object(json!({"api-version": "preview"})))
        .extra_body(object(json!({"service_tier": "flex"})))
        .extra_headers(object(json!({"x-trace": "1"})))
        .extra_args(object(json!({"seed": 7})))
        .retry(ModelRetrySettings::builder().max_retries(3).backoff(backoff).build())
        .context_management(json!([{"type": "compaction", "compact_threshold": 100_000}]))
        .prompt_cache_options(json!({"key": "support"}))
        .preserve_raw_usage(true)
        .timeout(30.0)
        .build()
}

pub(super) fn definitions() -> Definitions {
    Definitions {
        instructions: Some("You know the weather.".to_owned()),
        prompt: Some(Prompt {
            id: "pmpt_1".to_owned(),
            version: Some("2".to_owned()),
            variables: Some(object(json!({"tone": "dry"}))),
        }),
        tools: vec![
            ToolSpec::Function {
                name: "get_weather".to_owned(),
                description: "Current weather for one city.".to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": {"units": {"type": "string"}, "city": {"type": "string"}},
                    "required": ["units", "city"],
                    "additionalProperties": false
                }),
                strict: true,
            },
            ToolSpec::Hosted {
                name: "web_search".to_owned(),
                config: object(json!({"type": "web_search", "search_context_size": "low"})),
            },
        ],
        handoffs: vec![HandoffSpec {
            tool_name: "transfer_to_refunds".to_owned(),
            tool_description: "Handoff to the refunds agent to handle the request. ".to_owned(),
            input_json_schema: json!({"additionalProperties": false, "type": "object", "properties": {}, "required": []}),
            strict: true,
            agent_name: "refunds".to_owned(),
        }],
        output: Some(OutputSpec {
            name: "final_output".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"rains": {"type": "boolean"}},
                "required": ["rains"],
                "additionalProperties": false
            }),
            strict: true,
        }),
        settings: settings(),
    }
}

pub(super) fn model_call() -> ModelCall {
    let mut call = ModelCall::new("weather desk", "gpt-5", definitions(), items());
    call.turn = 2;
    call.previous_response_id = Some("resp_1".to_owned());
    call.conversation_id = Some("conv_1".to_owned());
    call
}

pub(super) fn model_request_full() -> ModelRequest {
    ModelRequest::in_full(model_call())
}

pub(super) fn model_request_minimal() -> ModelRequest {
    ModelRequest::in_full(ModelCall::new("triage", "gpt-5", Definitions::default(), vec![]))
}

/// Release 0.1 neither writes nor follows references; their shape is fixed all the same.
pub(super) fn model_request_by_reference() -> ModelRequest {
    let mut request = model_request_full();
    let Conversation { count, digest, .. } = request.input;
    let call = |part, start, end| InputSegment::Call { activity_id: "r1.t1.model".to_owned(), part, start, end };
    let segments = vec![
        call(CallPart::Given, 0, 1),
        call(CallPart::Answered, 0, 2),
        InputSegment::ToolResult { activity_id: "r1.t1.0".to_owned() },
        InputSegment::Items { items: items().split_off(4) },
    ];
    request.input = Conversation { segments, count, digest };
    let digest = definitions().digest();
    request.definitions = DefinitionsPart::Call { activity_id: "r1.t1.model".to_owned(), digest };
    request
}

fn usage() -> Usage {
    Usage {
        requests: 1,
        input_tokens: 120,
        input_tokens_details: InputTokensDetails { cached_tokens: 100, cache_write_tokens: 20 },
        output_tokens: 30,
        output_tokens_details: OutputTokensDetails { reasoning_tokens: 12 },
        total_tokens: 150,
    }
}

pub(super) fn model_reply_full() -> ModelReply {
    ModelReply::from(ModelResponse {
        output: items().split_off(1),
        usage: usage(),
        response_id: Some("resp_2".to_owned()),
        request_id: Some("req_1".to_owned()),
        incomplete: Some("max_output_tokens".to_owned()),
        raw_usage: Some(json!({"input_tokens": 120, "output_tokens": 30, "energy": 1.5})),
    })
}

pub(super) fn model_reply_minimal() -> ModelReply {
    ModelReply::from(ModelResponse::default())
}

pub(super) fn tool_request_full() -> ToolRequest {
    ToolRequest { context: object(json!({"customer": {"id": 7}})), ..tool_request_minimal() }
}

pub(super) fn tool_request_minimal() -> ToolRequest {
    ToolRequest {
        version: WIRE_VERSION,
        tool: "get_weather".to_owned(),
        agent: "weather desk".to_owned(),
        turn: 1,
        call_id: "call_1".to_owned(),
        arguments: object(json!({"units": null, "city": "Oslo"})),
        context: Map::new(),
    }
}

pub(super) fn tool_reply_text() -> ToolReply {
    ToolReply { version: WIRE_VERSION, output: ToolOutput::Text("12 degrees, dry".to_owned()), context_patch: None }
}

pub(super) fn tool_reply_content() -> ToolReply {
    ToolReply {
        version: WIRE_VERSION,
        output: ToolOutput::Content(vec![
            json!({"type": "input_text", "text": "The map:"}),
            json!({"type": "input_image", "image_url": "https://example.com/map.png", "detail": "low"}),
        ]),
        context_patch: Some(json!({"city": "Oslo", "stale": null})),
    }
}

pub(super) fn model_failure_details_full() -> ModelFailureDetails {
    ModelFailureDetails {
        status: Some(429),
        code: Some("rate_limit_exceeded".to_owned()),
        request_id: Some("req_1".to_owned()),
        retry_after_ms: Some(1500),
        ..model_failure_details_minimal()
    }
}

pub(super) fn model_failure_details_minimal() -> ModelFailureDetails {
    ModelFailureDetails {
        version: WIRE_VERSION,
        kind: ModelFailureKind::RateLimit.name().to_owned(),
        agent: "triage".to_owned(),
        model: "gpt-5".to_owned(),
        status: None,
        code: None,
        request_id: None,
        retry_after_ms: None,
    }
}

/// The failure types seen in history; of those of a model call, whether Temporal retries them.
pub(super) fn failure_types() -> Value {
    use ModelFailureKind as Kind;
    let kinds = [
        Kind::RateLimit,
        Kind::Authentication,
        Kind::PermissionDenied,
        Kind::BadRequest,
        Kind::NotFound,
        Kind::Timeout,
        Kind::Conflict,
        Kind::RequestTooLarge,
        Kind::ServerError,
        Kind::Connection,
        Kind::InvalidResponse,
        Kind::ResponseFailed,
        Kind::UnknownModel,
        Kind::Unsupported,
        Kind::Internal,
    ];
    let model_calls: Map<String, Value> =
        kinds.into_iter().map(|kind| (kind.failure_type(), kind.retryable().into())).collect();
    json!({"model_calls": model_calls, "others": [WIRE_VERSION_MISMATCH, TOOL_ERROR, AGENTS_WORKFLOW_ERROR]})
}

/// A state in every phase; the finished one has an item of every kind and everything else there may be.
pub(super) fn run_states() -> Vec<(&'static str, RunState)> {
    let calls = vec![PlannedCall {
        tool: "get_weather".to_owned(),
        call_id: "call_1".to_owned(),
        arguments: "{\"city\": \"Oslo\"}".to_owned(),
    }];
    let handoffs = vec![PlannedHandoff {
        tool_name: "transfer_to_refunds".to_owned(),
        target: "refunds".to_owned(),
        call_id: "call_2".to_owned(),
        arguments: "{}".to_owned(),
    }];
    let setup = Box::new(TurnSetup { model: "gpt-5".to_owned(), definitions: definitions(), reset_tool_choice: true });
    let empty = |phase| RunState {
        version: WIRE_VERSION,
        agent: "triage".to_owned(),
        input: vec![Item::user("hi")],
        items: Vec::new(),
        turn: 0,
        max_turns: None,
        usage: Usage::default(),
        context: Map::new(),
        tools_used: BTreeMap::new(),
        last_response_id: None,
        patches: BTreeMap::new(),
        phase,
    };
    vec![
        ("turn_due", empty(Phase::TurnDue)),
        ("model_due", empty(Phase::ModelDue { setup })),
        ("tools_due", empty(Phase::ToolsDue { calls, handoffs: handoffs.clone() })),
        ("handoff_due", empty(Phase::HandoffDue { handoffs })),
        ("output_due", empty(Phase::OutputDue { text: "{\"rains\":false}".to_owned(), incomplete: None })),
        ("finished", finished(empty(Phase::Finished { output: json!({"rains": false}) }))),
    ]
}

fn finished(state: RunState) -> RunState {
    let kinds = [
        NewItemKind::MessageOutput,
        NewItemKind::ToolCall,
        NewItemKind::ToolCallOutput,
        NewItemKind::HandoffCall,
        NewItemKind::HandoffOutput,
        NewItemKind::Reasoning,
        NewItemKind::McpListTools,
        NewItemKind::McpApprovalRequest,
        NewItemKind::McpApprovalResponse,
        NewItemKind::Compaction,
        NewItemKind::ToolApproval,
        NewItemKind::Unknown,
    ];
    let new_item = |kind| NewItem {
        kind,
        agent: "triage".to_owned(),
        raw: item(json!({"type": "hologram", "zeta": 1, "alpha": 2})),
        handoff: (kind == NewItemKind::HandoffOutput)
            .then(|| HandoffEnds { source: "triage".to_owned(), target: "refunds".to_owned() }),
    };
    RunState {
        agent: "refunds".to_owned(),
        items: kinds.into_iter().map(new_item).collect(),
        turn: 3,
        max_turns: Some(10),
        usage: usage(),
        context: object(json!({"zeta": 1, "alpha": {"b": 2}})),
        tools_used: BTreeMap::from([(
            "triage".to_owned(),
            BTreeSet::from(["transfer_to_refunds".to_owned(), "get_weather".to_owned()]),
        )]),
        last_response_id: Some("resp_2".to_owned()),
        patches: BTreeMap::from([("corrected-rule".to_owned(), false)]),
        ..state
    }
}
