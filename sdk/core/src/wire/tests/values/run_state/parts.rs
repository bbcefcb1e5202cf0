//! All that a state may hold beside its phase.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::wire::{
    Decision, GuardrailResults, InputGuardrailResult, Item, NewItem, NewItemKind, OutputGuardrailResult, RunState,
    ToolGuardrailBehavior, ToolGuardrailResult, ToolsetSnapshot,
    digest::Digest,
    kept_decision::KeptDecisions,
    mcp_call::McpSession,
    run_state::{
        Admission, Expiry, HandoffEnds, Phase, RefusedCalls, Rewritten, ServerConversation, SessionProgress, TurnMark,
    },
    tests::values::{item, kept_decision::kept_decisions, model_call::usage, object, tool_call, toolset::selected},
};

use super::{round::round, state};

/// A tool whose arguments were refused twice.
pub(super) fn refused() -> RunState {
    let calls = RefusedCalls { arguments: Digest::of_value(&json!({"city": 5})), times: 2 };
    let refused = BTreeMap::from([("triage".to_owned(), BTreeMap::from([("get_weather".to_owned(), calls)]))]);
    RunState { refused, ..state(Phase::TurnDue) }
}

/// Every member, and an item of every kind.
pub(super) fn everything() -> RunState {
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
    let rewritten = Rewritten { items: vec![new_item(NewItemKind::MessageOutput)], stands_for: 2, in_input: vec![0] };
    let tools_used = BTreeSet::from(["transfer_to_refunds".to_owned(), "get_weather".to_owned()]);
    RunState {
        agent: "refunds".to_owned(),
        items: kinds.into_iter().map(new_item).collect(),
        rewritten: Some(rewritten),
        turn: 3,
        max_turns: Some(10),
        usage: usage(),
        context: object(json!({"zeta": 1, "alpha": {"b": 2}})),
        tools_used: BTreeMap::from([("triage".to_owned(), tools_used)]),
        last_response_id: Some("resp_2".to_owned()),
        start_due: true,
        guardrails: guardrails(),
        server: Some(ServerConversation {
            conversation_id: Some("conv_1".to_owned()),
            previous_response_id: Some("resp_2".to_owned()),
            chained: true,
            has_input: true,
            began_here: false,
            seen_items: 4,
        }),
        session: Some(SessionProgress { input: Vec::new(), saved: 4 }),
        turn_began: TurnMark { items: 4, tool_input: 1, tool_output: 1 },
        holds_back_turn: true,
        completed: vec!["call_1".to_owned()],
        shown: BTreeSet::new(),
        patches: BTreeMap::from([("corrected-rule".to_owned(), false)]),
        ..state(Phase::TurnDue)
    }
}

/// Input guardrails still to be asked, the input not written, no conversation at the provider yet.
pub(super) fn first_turn() -> RunState {
    let server = ServerConversation {
        conversation_id: None,
        previous_response_id: None,
        chained: true,
        has_input: false,
        began_here: false,
        seen_items: 0,
    };
    RunState {
        start_due: true,
        admission: Admission::BlockingDue,
        server: Some(server),
        session: Some(SessionProgress { input: vec![Item::user("hi")], saved: 0 }),
        ..state(Phase::TurnDue)
    }
}

/// Decisions of every kind, with input guardrails beside the turn that have not answered.
pub(super) fn decided() -> RunState {
    let mut state = RunState {
        admission: Admission::ParallelDue,
        turn: 1,
        ..state(Phase::Interrupted { round: Box::new(round()) })
    };
    state.decide_always("call_4", Decision::reject_with("never")).expect("it waits");
    state.decide("call_4", Decision::approve()).expect("it waits");
    state.decide_always("mcpr_2", Decision::approve()).expect("it waits");
    state.decide("call_3/call_31", Decision::reject()).expect("it waits");
    state
}

/// With a decision that says who made it.
pub(super) fn decided_by() -> RunState {
    let mut state = RunState { turn: 1, ..state(Phase::Interrupted { round: Box::new(round()) }) };
    state.decide("call_4", Decision::reject_with("too much").by("ann@shop.test")).expect("it waits");
    state
}

/// With a decision that changes the arguments of a call.
pub(super) fn edited() -> RunState {
    let mut state = RunState { turn: 1, ..state(Phase::Interrupted { round: Box::new(round()) }) };
    state.decide("call_4", Decision::approve_with(object(json!({"amount": 1})))).expect("it waits");
    state
}

/// With a question that expires.
pub(super) fn expires() -> RunState {
    let expiry = Expiry { at: 1_700_000_000_000, decision: Decision::reject_with("Nobody has approved it.") };
    let expiries = BTreeMap::from([("call_4".to_owned(), expiry)]);
    RunState { turn: 1, expiries, ..state(Phase::Interrupted { round: Box::new(round()) }) }
}

/// With decisions that are kept for its user, and one that it will keep.
pub(super) fn kept() -> RunState {
    let mut round = round();
    round.calls.iter_mut().for_each(|call| call.asks_each = call.call.call_id == "call_4");
    let mut state = RunState { turn: 1, ..state(Phase::Interrupted { round: Box::new(round) }) };
    state.decide_always("call_4", Decision::approve().by("ada")).expect("it waits");
    state.kept = Some(KeptDecisions { user: "ada".to_owned(), decisions: kept_decisions() });
    state
}

/// With a session that it holds with a stateful MCP server.
pub(super) fn in_session() -> RunState {
    let session = McpSession {
        server: "shop".to_owned(),
        argument: Some(json!({"tenant": "acme"})),
        task_queue: "agents-sessions-1".to_owned(),
        id: "s1".to_owned(),
    };
    RunState { mcp_sessions: vec![session], ..state(Phase::TurnDue) }
}

/// With the lists of MCP servers.
pub(super) fn listed() -> RunState {
    let tools = json!([
        {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object", "properties": {}}},
        {"name": "delete_file", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}},
    ]);
    let lists = [("files", tools), ("shop {\"tenant\":\"acme\"}", json!([]))];
    let list = |(key, tools): (&str, _)| (key.to_owned(), serde_json::from_value(tools).expect("a list"));
    let toolset = ToolsetSnapshot { mcp: lists.into_iter().map(list).collect(), ..ToolsetSnapshot::default() };
    RunState { toolset, ..state(Phase::TurnDue) }
}

/// With toolsets that were selected for it.
pub(super) fn with_selected() -> RunState {
    let toolset = ToolsetSnapshot { selected: selected(), user: Some("ada".to_owned()), ..ToolsetSnapshot::default() };
    RunState { toolset, ..state(Phase::TurnDue) }
}

/// With data of a tool that no model receives.
pub(super) fn side_data() -> RunState {
    let output = NewItem {
        raw: Item::function_call_output("call_1", "12 degrees, dry".into()),
        side_data: Some(tool_call::side_data().into()),
        ..new_item(NewItemKind::ToolCallOutput)
    };
    RunState { items: vec![output], ..state(Phase::TurnDue) }
}

fn new_item(kind: NewItemKind) -> NewItem {
    NewItem {
        kind,
        agent: "triage".to_owned(),
        raw: item(json!({"type": "hologram", "zeta": 1, "alpha": 2})),
        handoff: (kind == NewItemKind::HandoffOutput)
            .then(|| HandoffEnds { source: "triage".to_owned(), target: "refunds".to_owned() }),
        side_data: None,
    }
}

fn guardrails() -> GuardrailResults {
    let of_tool = |guardrail: &str, behavior, output_info| ToolGuardrailResult {
        guardrail: guardrail.to_owned(),
        behavior,
        output_info,
    };
    let rejects = ToolGuardrailBehavior::RejectContent { message: "not that city".to_owned() };
    GuardrailResults {
        input: vec![InputGuardrailResult {
            guardrail: "no_homework".to_owned(),
            tripwire_triggered: false,
            output_info: json!({"score": 0.1}),
        }],
        output: vec![OutputGuardrailResult {
            guardrail: "no_prices".to_owned(),
            agent: "refunds".to_owned(),
            agent_output: json!("5 euros"),
            tripwire_triggered: true,
            output_info: Value::Null,
        }],
        tool_input: vec![
            of_tool("known_cities", ToolGuardrailBehavior::Allow, Value::Null),
            of_tool("known_cities", rejects, json!("Atlantis")),
        ],
        tool_output: vec![of_tool("no_secrets", ToolGuardrailBehavior::RaiseException, Value::Null)],
    }
}

/// A conversation at the provider that began with the run.
pub(super) fn begun_here() -> RunState {
    let server = ServerConversation {
        conversation_id: None,
        previous_response_id: Some("resp_1".to_owned()),
        chained: true,
        has_input: true,
        began_here: true,
        seen_items: 1,
    };
    RunState { turn: 1, server: Some(server), ..state(Phase::TurnDue) }
}
