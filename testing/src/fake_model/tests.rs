use std::time::Duration;

use serde_json::json;
use temporal_agents::{provider::ModelDelta, wire::Definitions};

use super::*;

fn call(turn: u32) -> ModelCall {
    let mut call = ModelCall::new("triage", "gpt-5", Definitions::default(), Vec::new());
    call.turn = turn;
    call
}

#[tokio::test]
async fn a_script_answers_in_order_and_gives_ids() {
    let model = FakeModel::script([tool_call("add", json!({"a": 1})), text("done")]);
    let first = model.call(call(1)).await.unwrap();
    assert_eq!(
        serde_json::to_value(&first.output).unwrap(),
        json!([{"type": "function_call", "name": "add", "arguments": "{\"a\":1}", "id": "fc_0_0", "call_id": "call_0_0"}])
    );
    model.call(call(2)).await.unwrap();
    model.verify();
}

#[tokio::test]
async fn a_missing_reply_fails_the_call_and_the_test() {
    let model = FakeModel::script([]);
    let error = model.call(call(3)).await.unwrap_err();
    let message = "call 1 (agent \"triage\", turn 3): exceeds the script, which has 0 replies";
    assert_eq!(error.to_string(), message);
    assert!(!error.should_retry());
    assert_eq!(model.complaints(), [message]);
}

#[test]
fn an_unused_reply_fails_the_test() {
    let model = FakeModel::script([text("never")]);
    let complaints = model.complaints();
    assert!(complaints[0].starts_with("reply 1 of the script was not used"), "{complaints:?}");
}

#[tokio::test]
async fn an_expectation_fails_the_call_that_breaks_it() {
    let model = FakeModel::script([text("hi").expecting(|call| match call.definitions.tools.len() {
        2 => Ok(()),
        n => Err(format!("expected 2 tools, found {n}")),
    })]);
    let error = model.call(call(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "call 1 (agent \"triage\", turn 1): expected 2 tools, found 0");
}

/// A streamed call, and its deltas.
async fn stream(model: &FakeModel, turn: u32) -> (Result<ModelResponse, ModelError>, Vec<ModelDelta>) {
    let sent: Arc<Mutex<Vec<ModelDelta>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let outcome = model.stream(call(turn), ModelDeltas::new(move |delta| sink.lock().unwrap().push(delta))).await;
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    (outcome, sent)
}

fn part(index: u32, delta: &str) -> ModelDelta {
    ModelDelta::Text { index, delta: delta.to_owned() }
}

#[tokio::test]
async fn a_reply_is_streamed_in_parts_and_is_the_same_response() {
    let reply = || {
        let call = tool_call("add", json!({"a": 1}));
        reasoning("hm").and(text("Größe 👍")).and(call).and(refusal("no")).and(item(json!({"type": "hologram"})))
    };
    let (whole, streamed) = (FakeModel::script([reply()]), FakeModel::script([reply().chunk_size(5)]));
    let (response, deltas) = stream(&streamed, 1).await;
    assert_eq!(response.unwrap(), whole.call(call(1)).await.unwrap());
    let arguments = |delta: &str| ModelDelta::ToolArguments {
        index: 2,
        call_id: Some("call_0_2".to_owned()),
        name: Some("add".to_owned()),
        delta: delta.to_owned(),
    };
    let expected = [
        ModelDelta::Reasoning { index: 0, delta: "hm".to_owned() },
        part(1, "Größe"),
        part(1, " 👍"),
        arguments("{\"a\":"),
        arguments("1}"),
        ModelDelta::Refusal { index: 3, delta: "no".to_owned() },
    ];
    assert_eq!(deltas, expected);
    streamed.verify();
}

#[tokio::test]
async fn a_stream_fails_once_and_is_repeated_with_the_same_reply() {
    let replies = || [text("abc").chunk_size(1).breaking_after(2), text("d").garbage_after(7), text("e")];
    let expected = [
        (Err(ModelFailureKind::Connection), vec![part(0, "a"), part(0, "b")]),
        (Ok("abc".to_owned()), vec![part(0, "a"), part(0, "b"), part(0, "c")]),
        (Err(ModelFailureKind::InvalidResponse), vec![part(0, "d")]),
        (Ok("d".to_owned()), vec![part(0, "d")]),
        (Ok("e".to_owned()), vec![part(0, "e")]),
    ];
    let script = FakeModel::script(replies());
    let function = FakeModel::function(move |call, _| replies()[call.turn as usize - 1].clone());
    for model in [script, function] {
        let mut seen = Vec::new();
        for turn in [1, 1, 2, 2, 3] {
            let (outcome, deltas) = stream(&model, turn).await;
            let outcome = outcome.map(|response| response.output[0].text().unwrap());
            assert!(outcome.as_ref().err().is_none_or(ModelError::should_retry));
            seen.push((outcome.map_err(|error| error.kind), deltas));
        }
        assert_eq!(seen, expected);
        model.verify();
    }
}

#[tokio::test]
async fn streams_that_fail_at_the_same_time_are_repeated_with_their_own_replies() {
    let reply = |text: &str| super::text(text).chunk_size(1).chunk_pause(Duration::from_millis(5));
    let model = FakeModel::script([reply("ab").breaking_after(1), reply("cd").breaking_after(1), reply("e")]);
    let (first, second) = tokio::join!(stream(&model, 1), stream(&model, 2));
    assert!(first.0.is_err() && second.0.is_err());
    let complaint = "reply 1 of the script was not used";
    assert!(model.complaints()[0].starts_with(complaint), "{:?}", model.complaints());
    // In another order than that of the failures.
    for (turn, expected) in [(2, "cd"), (3, "e"), (1, "ab")] {
        let text = stream(&model, turn).await.0.unwrap().output[0].text();
        assert_eq!(text.as_deref(), Some(expected));
    }
    model.verify();
}

#[tokio::test]
async fn a_call_beside_a_stream_that_fails_does_not_take_its_reply() {
    let model = FakeModel::script([
        text("ab").delayed(Duration::from_millis(20)).breaking_after(1),
        text("c").delayed(Duration::from_millis(60)),
    ]);
    let ((first, again), beside) =
        tokio::join!(async { (stream(&model, 1).await.0, stream(&model, 1).await.0) }, async {
            stream(&model, 2).await.0
        },);
    assert!(first.is_err());
    assert_eq!(again.unwrap().output[0].text().as_deref(), Some("ab"));
    assert_eq!(beside.unwrap().output[0].text().as_deref(), Some("c"));
    model.verify();
}

#[tokio::test]
async fn a_call_without_streaming_does_not_break() {
    let model = FakeModel::script([text("abc").breaking_after(0)]);
    assert_eq!(model.call(call(1)).await.unwrap().output[0].text().as_deref(), Some("abc"));
    model.verify();
}

#[tokio::test]
async fn the_parts_have_a_pace() {
    let model = FakeModel::script([text("abc").chunk_size(1).chunk_pause(Duration::from_millis(20))]);
    let begun = std::time::Instant::now();
    let (_, deltas) = stream(&model, 1).await;
    assert_eq!(deltas.len(), 3);
    assert!(begun.elapsed() >= Duration::from_millis(40));
}
