//! Random conversations: turns of several providers, with what models really write, then shortened
//! and mixed as filters, session limits, compaction and handoffs do.

use serde_json::{Value, json};
use temporal_agents::wire::{Definitions, Item, ModelCall};

use super::{
    apis::{APIS, Door},
    dice::{Dice, cases, seed},
};

#[tokio::test]
async fn random_conversations_are_accepted_by_each_api() -> anyhow::Result<()> {
    for (api, models) in APIS {
        let door = Door::open(api).await?;
        for case in 0..cases(1_000) {
            let mut dice = Dice::new(seed(case));
            let model = *dice.pick(models);
            let mut conversation = Conversation::default();
            for turn in 0..dice.below(1..6) {
                conversation.add_turn(&mut dice, turn);
            }
            let items = changed(&mut dice, conversation.items);
            let call = ModelCall::new("agent", model, definitions(&mut dice), read(&items));
            let (mut refusals, body) = door.refusals(model, call, &conversation.answers).await?;
            // A search without reasoning is what models make that do not reason, so it is sent to a
            // model that is not known to reason. If the server refuses it, it is sent without.
            refusals.retain(|refusal| {
                !(refusal.rule == "responses/item-without-reasoning" && refusal.detail.starts_with("\"ws_"))
            });
            assert!(
                refusals.is_empty(),
                "{api:?}, case {case}, {model}: {refusals:#?}\n{:#}\n{body:#}",
                Value::from(items)
            );
        }
    }
    Ok(())
}

fn read(items: &[Value]) -> Vec<Item> {
    serde_json::from_value(items.into()).expect("items are objects")
}

/// The definitions of the agent whose turn it is: settings that not each model accepts.
fn definitions(dice: &mut Dice) -> Definitions {
    let mut settings = json!({});
    let choices = [
        ("store", json!(false)),
        ("temperature", json!(0.2)),
        ("top_p", json!(0.9)),
        ("max_tokens", json!(4_000)),
        ("reasoning", json!({"effort": "low"})),
        ("parallel_tool_calls", json!(true)),
    ];
    for (name, value) in choices {
        if dice.chance(25) {
            settings[name] = value;
        }
    }
    let mut definitions = json!({"settings": settings});
    if dice.chance(80) {
        definitions["instructions"] = dice.pick(&[json!("Be brief."), json!(" \n")]).clone();
    }
    if dice.chance(70) {
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            "additionalProperties": false});
        definitions["tools"] = json!([{"kind": "function", "name": "look", "description": "Looks.",
            "parameters": parameters, "strict": true}]);
        if dice.chance(20) {
            definitions["settings"]["tool_choice"] = json!("required");
        }
    } else if dice.chance(20) {
        definitions["settings"]["tool_choice"] = json!("auto");
    }
    serde_json::from_value(definitions).expect("definitions")
}

/// A conversation, with the answers of the Responses API in it.
#[derive(Default)]
struct Conversation {
    items: Vec<Value>,
    answers: Vec<Value>,
    calls: usize,
}

/// The writers of answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// The Responses API, with a model that reasons.
    Responses,
    /// The Responses API, with a model that does not.
    PlainResponses,
    /// Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's API.
    Google,
    /// Other frameworks, and the tests of authors.
    Other,
}

impl Conversation {
    fn add_turn(&mut self, dice: &mut Dice, turn: usize) {
        const WRITERS: [Writer; 6] =
            [Writer::Responses, Writer::PlainResponses, Writer::Chat, Writer::Anthropic, Writer::Google, Writer::Other];
        if dice.chance(10) {
            self.items.push(json!({"type": "message", "role": "system", "content": "A note."}));
        }
        self.items.push(user(dice));
        let writer = *dice.pick(&WRITERS);
        for step in 0..dice.below(1..4) {
            let count = if step == 0 || dice.chance(50) { dice.below(0..4) } else { 0 };
            self.add_answer(dice, writer, &format!("{turn}_{step}"), count);
            if count == 0 {
                break;
            }
        }
    }

    /// Adds one answer of a model with calls, and their outputs.
    fn add_answer(&mut self, dice: &mut Dice, writer: Writer, place: &str, count: usize) {
        let mut answer = Vec::new();
        answer.extend(reasoning(dice, writer, place));
        if dice.chance(60) || count == 0 {
            answer.push(message(dice, writer, place));
        }
        if writer == Writer::Responses && dice.chance(15) {
            answer.push(json!({"type": "web_search_call", "id": format!("ws_{place}"), "status": "completed",
                "action": {"type": "search", "query": "x"}}));
            answer.push(message(dice, writer, &format!("{place}b")));
        }
        let mut outputs = Vec::new();
        for nth in 0..count {
            if writer == Writer::Anthropic && dice.chance(20) {
                answer.extend(reasoning(dice, writer, &format!("{place}_{nth}")));
            }
            let (call, output) = self.call(dice, writer, &format!("{place}_{nth}"));
            answer.push(call);
            outputs.push(output);
        }
        if matches!(writer, Writer::Responses | Writer::PlainResponses) {
            self.answers.push(json!({"output": answer}));
        }
        if writer == Writer::Other && count > 0 && dice.chance(40) {
            // Some write the text of a turn after its calls, and results in the order of their ends.
            answer.push(message(dice, writer, &format!("{place}c")));
            outputs.reverse();
        }
        self.items.extend(answer);
        self.items.extend(outputs);
    }

    fn call(&mut self, dice: &mut Dice, writer: Writer, place: &str) -> (Value, Value) {
        self.calls += 1;
        let id = match (writer, dice.below(0..10)) {
            (Writer::Anthropic, _) => format!("toolu_{place}"),
            (Writer::Other, 0) => "look:0".to_owned(),
            (Writer::Other, 1) => format!("functions.look:{}", self.calls),
            (Writer::Other, 2) => format!("call_{}", "x".repeat(80)),
            (Writer::Other, 3) => format!("日本_{}", self.calls),
            _ => format!("call_{place}"),
        };
        let arguments =
            *dice.pick(&["{\"city\": \"Oslo\"}", "{}", "", "null", "[1]", "{\"cmd\": \"timeout 7", "\"x\""]);
        let name = *dice.pick(&["look", "transfer_to_billing", "files.read", "an odd name"]);
        if writer == Writer::Responses && dice.chance(8) {
            let call = json!({"type": "custom_tool_call", "id": format!("ctc_{place}"), "call_id": id, "name": "run", "input": "x"});
            return (call, json!({"type": "custom_tool_call_output", "call_id": id, "output": "done"}));
        }
        let mut call = json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        match writer {
            Writer::Responses | Writer::PlainResponses => {
                call["id"] = format!("fc_{place}").into();
                call["status"] = "completed".into();
            }
            Writer::Chat if dice.chance(20) => {
                call["provider_data"] = json!({"extra_content": {"google": {"thought_signature": "sig"}}});
            }
            Writer::Other if dice.chance(30) => call["id"] = json!("__fake_id__"),
            _ => {}
        }
        let mut output = json!({"type": "function_call_output", "call_id": id, "output": output(dice)});
        if dice.chance(10) {
            output["is_error"] = true.into();
        }
        (call, output)
    }
}

fn user(dice: &mut Dice) -> Value {
    match dice.below(0..10) {
        0 => json!({"role": "user", "content": " "}),
        1 => {
            json!({"role": "user", "content": [{"type": "input_text", "text": ""}, {"type": "input_text", "text": "hi"}]})
        }
        2 => json!({"role": "user", "content": [{"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}),
        _ => json!({"role": "user", "content": "hello"}),
    }
}

fn message(dice: &mut Dice, writer: Writer, place: &str) -> Value {
    let text = *dice.pick(&["I look.", "\n\n", "", "Done.  ", "It is 12 degrees."]);
    let mut message = json!({"type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]});
    match writer {
        Writer::Responses | Writer::PlainResponses => message["id"] = format!("msg_{place}").into(),
        Writer::Chat if dice.chance(50) => {
            let thought = *dice.pick(&["", "hm"]);
            message["provider_data"] = json!({"reasoning_content": thought});
        }
        Writer::Other => {
            message["id"] = dice.pick(&[json!("__fake_id__"), json!("chatcmpl-1"), json!("")]).clone();
            if dice.chance(10) {
                message["content"] = json!([{"type": "refusal", "refusal": "I cannot."}]);
            }
        }
        _ => {}
    }
    message
}

fn reasoning(dice: &mut Dice, writer: Writer, place: &str) -> Option<Value> {
    let genai = |adapter: &str, thoughts: Value| {
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
            "provider_data": {"genai": {"adapter": adapter, "thoughts": thoughts}}})
    };
    Some(match writer {
        Writer::Responses => {
            let mut reasoning = json!({"type": "reasoning", "id": format!("rs_{place}"), "summary": []});
            if dice.chance(50) {
                reasoning["encrypted_content"] = "gAAAA".into();
            }
            reasoning
        }
        Writer::Anthropic if dice.chance(60) => genai("anthropic", json!([{"signature": "EqoB"}, {"summary": 0}])),
        Writer::Google if dice.chance(70) => genai("gemini", json!([{"signature": "sig"}])),
        Writer::Chat if dice.chance(30) => {
            json!({"type": "reasoning", "summary": [], "provider_data": {"reasoning_content": "hm"}})
        }
        _ => return None,
    })
}

fn output(dice: &mut Dice) -> Value {
    match dice.below(0..9) {
        0 => json!(""),
        1 => json!([{"type": "input_text", "text": " "}]),
        2 => {
            json!([{"type": "input_text", "text": "the screen"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}])
        }
        3 => json!([{"type": "input_image", "image_url": "https://example.com/a.png"}]),
        4 => json!([{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}]),
        5 => json!([{"type": "input_audio", "data": "AAAA"}]),
        6 => json!([]),
        _ => json!("12 degrees"),
    }
}

/// The items as filters, session limits and other writers leave them.
fn changed(dice: &mut Dice, mut items: Vec<Value>) -> Vec<Value> {
    match dice.below(0..8) {
        // A session's limit.
        0 | 1 => drop(items.drain(..dice.below(0..items.len()))),
        // A filter by kind.
        2 => {
            let kind = *dice.pick(&["reasoning", "function_call", "function_call_output", "message"]);
            items.retain(|item| item["type"] != kind);
        }
        // A filter by anything.
        3 | 4 => items.retain(|_| !dice.chance(15)),
        // A writer that repeats an item.
        5 => {
            let place = dice.below(0..items.len());
            items.insert(dice.below(0..items.len() + 1), items[place].clone());
        }
        // A user who writes while a tool runs.
        6 => {
            let place = dice.below(0..items.len() + 1);
            items.insert(place, json!({"role": "user", "content": "and?"}));
        }
        _ => {}
    }
    if items.is_empty() {
        items.push(json!({"role": "user", "content": "hello"}));
    }
    items
}
