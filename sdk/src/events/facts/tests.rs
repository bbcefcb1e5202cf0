use serde_json::json;
use temporal_agents_core::wire::{
    EventKind, HandoffSpec, Item, ModelResponse, RecordedFailure, Usage,
    event::{NoteKind, NotedOutput, RunNote},
};

use super::{Attempts, Facts, ScheduledModelCall, call_id_of, lineage};

fn answered(output: Vec<Item>) -> ModelResponse {
    ModelResponse::new(output, Usage::default())
}

fn call(id: &str, name: &str) -> Item {
    Item::function_call(id, name, "{}")
}

fn output(id: &str, text: &str) -> Item {
    Item::function_call_output(id, json!(text))
}

/// A model call of this agent and turn, with this input.
fn scheduled<'c>(agent: &'c str, turn: u32, items: &'c [Item]) -> ScheduledModelCall<'c> {
    ScheduledModelCall { agent: Some(agent), turn, model: "m", handoffs: None, items, guards_output: Some(false) }
}

fn ids(facts: &mut Facts) -> Vec<String> {
    facts.take().into_iter().map(|event| event.id).collect()
}

#[test]
fn a_prefix_of_activity_ids_names_the_run_and_the_calls_in_which_it_runs() {
    assert_eq!(lineage("k3x9q2ab"), ("k3x9q2ab".to_owned(), vec![]));
    let (root, path) = lineage("k3x9q2ab-1-tool-0-2-tool-1");
    assert_eq!((&*root, path), ("k3x9q2ab", vec!["1-tool-0".to_owned(), "2-tool-1".to_owned()]));
    assert_eq!(lineage("k3x9q2ab-input-guardrail-1").1, ["input-guardrail-1"]);
    assert_eq!(call_id_of("call_1/a~1b#2"), "a/b");
    assert_eq!(call_id_of("call~2pick~2123#2"), "call#pick#123");
}

#[test]
fn outputs_that_no_activity_has_told_are_told_in_call_order_with_the_next_model_call() {
    let mut facts = Facts::default();
    facts.model_scheduled("k-1-model", &scheduled("desk", 1, &[Item::user("hi")]));
    let response = answered(vec![call("c1", "one"), call("c2", "two"), call("c3", "three")]);
    facts.model_answered("k-1-model", Attempts::default(), Some(&response));
    facts.tool_answered("k-1-tool-1", ("c2", "two"), Attempts::default(), Some(&json!("2")), None);
    facts.take();
    let input = [output("c3", "3"), output("c1", "1"), output("c2", "2"), output("old", "0")];
    facts.model_scheduled("k-2-model", &scheduled("desk", 2, &input));
    assert_eq!(ids(&mut facts), ["k/1-tool-0/output", "k/1-tool-2/output", "k/2", "k/2-model"]);
    // An output that a guardrail has changed is told again.
    facts.model_answered("k-2-model", Attempts::default(), Some(&answered(vec![call("c4", "four")])));
    facts.tool_answered("k-2-tool-0", ("c4", "four"), Attempts::default(), Some(&json!("4")), None);
    facts.take();
    facts.model_scheduled("k-3-model", &scheduled("desk", 3, &[output("c4", "hidden")]));
    assert_eq!(ids(&mut facts)[0], "k/2-tool-0/output-2");
}

#[test]
fn a_handoff_is_told_when_the_next_agent_calls_its_model_and_also_to_itself() {
    let handoff = |to: &str| HandoffSpec {
        tool_name: format!("transfer_to_{to}"),
        tool_description: String::new(),
        input_json_schema: json!({}).into(),
        strict: true,
        agent_name: to.to_owned(),
    };
    let mut facts = Facts::default();
    let handoffs = [handoff("a"), handoff("b")];
    for (turn, agent, to) in [(1, "a", "a"), (2, "a", "b"), (3, "b", "")] {
        let call_of = ScheduledModelCall { handoffs: Some(&handoffs), ..scheduled(agent, turn, &[]) };
        facts.model_scheduled(&format!("k-{turn}-model"), &call_of);
        let response = answered(vec![call(&format!("c{turn}"), &format!("transfer_to_{to}"))]);
        facts.model_answered(&format!("k-{turn}-model"), Attempts::default(), Some(&response));
    }
    let handoffs: Vec<_> = facts.take().into_iter().filter(|event| event.kind.name() == "handoff").collect();
    assert_eq!(handoffs.iter().map(|event| &*event.id).collect::<Vec<_>>(), ["k/1/handoff", "k/2/handoff"]);
    assert_eq!(handoffs[1].kind, EventKind::Handoff { from: "a".to_owned(), to: "b".to_owned() });
}

#[test]
fn a_run_that_begins_at_a_later_turn_is_resumed_and_nothing_follows_its_end() {
    let mut facts = Facts::default();
    facts.model_scheduled("k-4-model", &scheduled("desk", 4, &[]));
    let note = NoteKind::Finished { output: NotedOutput::Value { value: json!(3) }, usage: Usage::default() };
    facts.noted(RunNote { run: "k".to_owned(), ..RunNote::new("desk", 4, note) }, None);
    facts.model_answered("k-4-model", Attempts::default(), Some(&answered(vec![Item::assistant("late")])));
    facts.model_failed("k-4-model", Attempts::default(), RecordedFailure::new("Timeout", "late"));
    facts.closed(&EventKind::RunTimedOut {}, true);
    let ids = ids(&mut facts);
    assert_eq!(ids, ["k/4-resumed-1", "k/4", "k/4-model", "k/ended", "workflow~/ended"]);
}

#[test]
fn ids_that_are_not_of_a_run_tell_nothing() {
    let mut facts = Facts::default();
    for id in ["", "my-activity", "k-session-0", "k-4-summary", "k-input-guardrail-0"] {
        facts.model_scheduled(id, &scheduled("desk", 1, &[]));
        facts.tool_scheduled(id, "desk", 1);
    }
    assert_eq!(ids(&mut facts), Vec::<String>::new());
}

#[test]
fn calls_of_a_cut_answer_are_no_calls() {
    let mut facts = Facts::default();
    let items = [Item::user("hi")];
    facts.model_scheduled("k3x9q2ab-1-model", &scheduled("a", 1, &items));
    let response = ModelResponse { incomplete: Some("max_output_tokens".to_owned()), ..answered(vec![call("c", "f")]) };
    facts.model_answered("k3x9q2ab-1-model", Attempts::default(), Some(&response));
    let calls = facts.take().into_iter().filter(|event| matches!(event.kind, EventKind::ToolCall { .. })).count();
    assert_eq!(calls, 0);
}
