//! What the ready-made workflows are started with, are told, and answer.

use serde_json::json;

use crate::wire::{
    AgentReport, AgentRequest, Carried, ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript, NewItem,
    NewItemKind, PassedGate, RequestInput, SpecRef, Usage, WIRE_VERSION, ready_made::CarriedChat, toolset::GateMode,
};

use super::{carried, items, loaded, object, trace_settings};

pub(in crate::wire::tests) fn agent_requests() -> Vec<(&'static str, AgentRequest)> {
    let mut everything = AgentRequest::new("triage", "");
    everything.input = RequestInput::Items(items().into_iter().take(1).collect());
    everything.context = object(json!({"customer": 7}));
    let mut continued = AgentRequest::new("triage", "");
    continued.input = RequestInput::default();
    continued.carried = Some(Box::new(kept()));
    let mut versioned = continued.clone();
    versioned.agent_version = Some("details".to_owned());
    let mut reporting = AgentRequest::new("triage", "hi");
    reporting.report = true;
    let mut limited = reporting.clone();
    (limited.report_items, limited.max_turns) = (true, Some(3));
    let mut batching = AgentRequest::new("triage", "hi");
    batching.batch_tools = true;
    let mut untrusted = AgentRequest::new("triage", "hi");
    untrusted.untrusted = true;
    let mut gated = AgentRequest::new("triage", "hi");
    gated.gates = vec![passed_gate(), PassedGate::default()];
    let mut with_toolsets = AgentRequest::new("triage", "hi");
    (with_toolsets.toolsets, with_toolsets.user) = (vec!["laptop".to_owned()], Some("ada".to_owned()));
    let mut carried_spec = continued.clone();
    (carried_spec.spec, carried_spec.loaded) = (Some(SpecRef::new("triage", 3)), loaded());
    let mut traced = AgentRequest::new("triage", "hi");
    traced.trace = Some(Box::new(trace_settings()));
    vec![
        ("traced", traced),
        ("batching", batching),
        ("untrusted", untrusted),
        ("gates", gated),
        ("toolsets", with_toolsets),
        ("text", AgentRequest::new("triage", "hi")),
        ("everything", everything),
        ("carried", continued),
        ("carried_version", versioned),
        ("report", reporting),
        ("limited_with_items", limited),
        ("spec", AgentRequest::of_spec(SpecRef::new("desk", 3), "hi")),
        ("carried_spec", carried_spec),
        ("thread", AgentRequest::new("triage", "hi").in_thread("customer 7")),
    ]
}

fn passed_gate() -> PassedGate {
    PassedGate {
        mode: GateMode::Judge,
        rules: vec![json!({"id": "no-rm", "decision": "deny", "program": "rm"})],
        privileged: vec!["dev_*".to_owned()],
        judge: Some("judge".to_owned()),
        ignores_dangers: true,
    }
}

pub(in crate::wire::tests) fn agent_report() -> AgentReport {
    AgentReport::new(json!("hello"), Usage::of_tokens(100, 20))
}

pub(in crate::wire::tests) fn agent_report_with_items() -> AgentReport {
    let raw = items().into_iter().next().expect("there are items");
    let item =
        NewItem { kind: NewItemKind::MessageOutput, agent: "triage".to_owned(), raw, handoff: None, side_data: None };
    AgentReport { new_items: vec![item], last_agent: "triage".to_owned(), ..agent_report() }
}

pub(in crate::wire::tests) fn chat_requests() -> Vec<(&'static str, ChatRequest)> {
    let mut everything = ChatRequest::new("triage");
    everything.conversation = items().into_iter().take(1).collect();
    let mut continued = ChatRequest::new("triage");
    continued.carried = Some(Box::new(CarriedChat {
        run: kept(),
        current: Some(ChatMessage::new("m2", "and then?")),
        waiting: vec![ChatMessage::new("m3", "really?")],
        answered: vec![answered()],
        messages: 3,
        is_ending: true,
        agent_version: None,
        last_agent: None,
    }));
    let mut versioned = continued.clone();
    versioned.last_agent_continues = Some(true);
    let carried = versioned.carried.as_mut().expect("it is carried");
    (carried.agent_version, carried.last_agent) = (Some("details".to_owned()), Some("billing".to_owned()));
    let mut with_the_last_agent = ChatRequest::new("triage");
    with_the_last_agent.last_agent_continues = Some(true);
    let mut with_toolsets = ChatRequest::new("triage");
    (with_toolsets.toolsets, with_toolsets.user) = (vec!["laptop".to_owned()], Some("ada".to_owned()));
    with_toolsets.untrusted = true;
    let mut carried_spec = continued.clone();
    (carried_spec.spec, carried_spec.loaded) = (Some(SpecRef::newest("triage")), loaded());
    vec![
        ("minimal", ChatRequest::new("triage")),
        ("conversation", everything),
        ("carried", continued),
        ("carried_version", versioned),
        ("last_agent", with_the_last_agent),
        ("toolsets", with_toolsets),
        ("spec", ChatRequest::of_spec(SpecRef::new("desk", 3))),
        ("carried_spec", carried_spec),
    ]
}

pub(in crate::wire::tests) fn chat_messages() -> Vec<(&'static str, ChatMessage)> {
    let nameless = ChatMessage { id: None, ..ChatMessage::new("", "hi") };
    vec![("minimal", nameless), ("with_an_id", ChatMessage::new("m1", "hi"))]
}

pub(in crate::wire::tests) fn chat_replies() -> Vec<(&'static str, ChatReply)> {
    let reply = |outcome| ChatReply { outcome, ..answered() };
    vec![
        ("answered", answered()),
        ("failed", reply(ChatOutcome::Failed { reason: "the model is gone".to_owned() })),
        ("goes_on", reply(ChatOutcome::GoesOn)),
        ("refused", reply(ChatOutcome::Refused { reason: "too long".to_owned() })),
        ("ends", ChatReply { message: String::new(), ..reply(ChatOutcome::Ends) }),
    ]
}

pub(in crate::wire::tests) fn chat_transcripts() -> Vec<(&'static str, ChatTranscript)> {
    let empty = ChatTranscript {
        version: WIRE_VERSION,
        agent: None,
        items: Vec::new(),
        left_out: 0,
        current: None,
        waiting: Vec::new(),
    };
    let full = ChatTranscript {
        agent: Some("triage".to_owned()),
        items: items().into_iter().take(2).collect(),
        left_out: 40,
        current: Some(ChatMessage::new("m2", "and then?")),
        waiting: vec![ChatMessage::new("m3", "really?")],
        ..empty.clone()
    };
    vec![("empty", empty), ("full", full)]
}

fn kept() -> Carried {
    carried().swap_remove(1).1
}

fn answered() -> ChatReply {
    let outcome = ChatOutcome::Answered { output: json!("hello") };
    ChatReply { version: WIRE_VERSION, message: "m1".to_owned(), outcome }
}
