//! A provider that keeps the conversation, and forgets it: a run that has all items goes on, any other says what is missing.

mod hosts;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, ModelProvider,
    agent::Instructions,
    inline::InlineRunner,
    provider::{ModelError, OpenAi},
    tool,
    wire::{Definitions, Item, ModelCall, ModelFailureKind},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, failure, text, tool_call},
    replay, replay_without_cache,
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

pub(crate) use self::hosts::Asking;
use self::hosts::{Kept, in_a_session, in_a_workflow, inline};
use crate::examples::{Cache, Played, play};

/// Looks out of the window.
#[tool(inline)]
fn look() -> String {
    "a field".to_owned()
}

fn watcher() -> Agent {
    Agent::new("watcher").model("gpt-5").instructions(Instructions::from("You look.")).tool(look)
}

const GONE: &str = "Previous response with id 'resp_0' not found.";

fn gone() -> Reply {
    failure(ModelFailureKind::ConversationNotFound, GONE)
}

/// A turn, a turn whose conversation is gone, and one after it.
fn forgetful() -> FakeModel {
    let looks = || tool_call("look", json!({}));
    FakeModel::script([looks(), gone(), looks(), text("a field, twice")])
}

/// The calls of [`forgetful`]: the response or conversation they go on from, and the types of their items.
fn seen(model: &FakeModel) -> Vec<(Option<String>, Vec<String>)> {
    let kinds = |call: &ModelCall| call.input.iter().map(|item| item.kind().to_owned()).collect();
    let from = |call: &ModelCall| call.previous_response_id.clone().or_else(|| call.conversation_id.clone());
    model.calls().iter().map(|call| (from(call), kinds(call))).collect()
}

fn items(kinds: &[&str]) -> Vec<String> {
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

const LOOKED: [&str; 3] = ["message", "function_call", "function_call_output"];
const LOOKED_TWICE: [&str; 5] =
    ["message", "function_call", "function_call_output", "function_call", "function_call_output"];

/// What the provider is asked by a run whose calls are chained: once in full, then chained again.
fn chained_again() -> Vec<(Option<String>, Vec<String>)> {
    let after = |response: &str| Some(response.to_owned());
    vec![
        (None, items(&["message"])),
        (after("resp_0"), items(&["function_call_output"])),
        (None, items(&LOOKED)),
        (after("resp_2"), items(&["function_call_output"])),
    ]
}

#[tokio::test]
async fn a_chained_inline_run_makes_the_call_again_in_full() -> anyhow::Result<()> {
    let model = forgetful();
    assert_eq!(inline(&model, &Kept::Chained).await?, "a field, twice");
    assert_eq!(seen(&model), chained_again());
    Ok(())
}

#[tokio::test]
async fn a_chained_run_in_a_session_makes_the_call_again_in_full() -> anyhow::Result<()> {
    let model = forgetful();
    assert_eq!(in_a_session(&model, &Kept::Chained).await?, "a field, twice");
    assert_eq!(seen(&model), chained_again());
    Ok(())
}

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<String>> {
    play::<Asking, _>(cache, (watcher,), forgetful(), Asking::run, Kept::Chained).await
}

#[tokio::test]
async fn a_chained_run_in_a_workflow_makes_the_call_again_in_full() -> anyhow::Result<()> {
    let model = forgetful();
    let run = in_a_workflow(&model, &Kept::Chained).await?;
    assert_eq!(seen(&model), chained_again());
    let ids: Vec<_> = run.activities().into_iter().map(|record| record.activity_id).collect();
    let of_run = ids[0].strip_suffix("-1-model").expect("the id of a model call");
    let expected = ["1-model", "2-model", "2-model-again-1", "3-model"];
    assert_eq!(ids, expected.map(|id| format!("{of_run}-{id}")));
    replay::<Asking>(&run.history).await?;
    replay_without_cache::<Asking>(&run.history).await?;
    assert_eq!(run.output()?, "a field, twice");
    Ok(())
}

#[tokio::test]
async fn a_run_that_began_its_conversation_goes_on_without_it() -> anyhow::Result<()> {
    let model = forgetful();
    assert_eq!(inline(&model, &Kept::BegunHere).await?, "a field, twice");
    let conversation = || Some("conv_1".to_owned());
    let expected = [
        (conversation(), items(&["message"])),
        (conversation(), items(&["function_call_output"])),
        (None, items(&LOOKED)),
        (None, items(&LOOKED_TWICE)),
    ];
    assert_eq!(seen(&model), expected);
    Ok(())
}

const AFTER_A_RESPONSE: &str = "; the run continued from a response of an earlier run \
                                (RunConfig::previous_response_id) and does not have the items before that response, \
                                so it cannot make the call in full; start a run with all items as its input, without \
                                that id";
const IN_A_CONVERSATION: &str = "; the run does not have the earlier items of conversation \"conv_1\" \
                                 (RunConfig::conversation_id), so it cannot make the call in full; start a run with \
                                 all items as its input, in an existing conversation, and with \
                                 RunConfig::conversation_begins_here if that conversation is empty";

#[rstest]
#[case::after_a_response(Kept::AfterAResponse, AFTER_A_RESPONSE)]
#[case::in_a_conversation(Kept::InAConversation, IN_A_CONVERSATION)]
#[tokio::test]
async fn a_run_without_all_items_says_what_is_missing(#[case] kept: Kept, #[case] missing: &str) -> anyhow::Result<()> {
    let expected = format!("{GONE}{missing}");
    let model = FakeModel::script([gone()]);
    let failed = inline(&model, &kept).await.expect_err("items are missing").to_string();
    assert_eq!(failed, format!(r#"the model call of agent "watcher" at turn 1 (model "gpt-5") failed: {expected}"#));
    let model = FakeModel::script([gone()]);
    let failed = in_a_session(&model, &kept).await.expect_err("items are missing").to_string();
    assert_eq!(failed, format!("ModelInvocationError.ConversationNotFound: {expected}"));
    let model = FakeModel::script([gone()]);
    let run = in_a_workflow(&model, &kept).await?;
    let chain = run.failure_chain();
    assert!(chain[0].1.ends_with(&expected), "{chain:?}");
    let kinds: Vec<_> = chain.iter().map(|(kind, _)| &**kind).collect();
    assert_eq!(kinds, ["AgentsWorkflowError", "Activity", "ModelInvocationError.ConversationNotFound"]);
    Ok(())
}

#[tokio::test]
async fn a_full_call_that_fails_as_well_fails_the_run() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("look", json!({})), gone(), gone()]);
    let failed = inline(&model, &Kept::Chained).await.expect_err("twice is enough").to_string();
    assert_eq!(failed, format!(r#"the model call of agent "watcher" at turn 2 (model "gpt-5") failed: {GONE}"#));
    Ok(())
}

/// What OpenAI and servers like it answer.
#[rstest]
#[case::with_a_code(400, json!({"message": GONE, "code": "previous_response_not_found", "param": "previous_response_id"}), true)]
#[case::in_words(404, json!({"message": GONE, "code": null}), true)]
#[case::of_a_conversation(404, json!({"message": "gone", "code": "conversation_not_found"}), true)]
#[case::the_model_is_not_there(404, json!({"message": "The model `gpt-5` does not exist", "code": "model_not_found"}), false)]
#[case::an_item_is_not_there(404, json!({"message": "Item with id 'rs_1' not found.", "code": null}), false)]
#[tokio::test]
async fn openai_says_that_a_conversation_is_gone(
    #[case] status: u16,
    #[case] error: serde_json::Value,
    #[case] is_conversation_missing: bool,
) -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(status).set_body_json(json!({"error": error}));
    Mock::given(matchers::any()).respond_with(answer).mount(&server).await;
    let provider = OpenAi::builder().api_key("none").base_url(server.uri()).build()?;
    let model = provider.model("gpt-5").await?.expect("every name is served");
    let mut call = ModelCall::new("agent", "gpt-5", Definitions::default(), vec![Item::user("hi")]);
    call.previous_response_id = Some("resp_0".to_owned());
    let ModelError { kind, retryable, .. } = model.call(call).await.expect_err("it is not there");
    let expected =
        if is_conversation_missing { ModelFailureKind::ConversationNotFound } else { ModelFailureKind::NotFound };
    assert_eq!((kind, retryable), (expected, None));
    Ok(())
}

#[tokio::test]
async fn a_run_with_openai_outlives_an_expired_response() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let answer = |body: serde_json::Value| ResponseTemplate::new(200).set_body_json(body);
    let error = json!({"error": {"message": GONE, "code": "previous_response_not_found"}});
    let expired = matchers::body_partial_json(json!({"previous_response_id": "resp_0"}));
    let expired = Mock::given(expired).respond_with(ResponseTemplate::new(400).set_body_json(error)).expect(1);
    expired.mount(&server).await;
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"});
    let first = json!({"id": "resp_0", "status": "completed", "output": [call]});
    Mock::given(matchers::any()).respond_with(answer(first)).up_to_n_times(1).mount(&server).await;
    let content = json!([{"type": "output_text", "text": "a field", "annotations": []}]);
    let message =
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content});
    let last = json!({"id": "resp_1", "status": "completed", "output": [message]});
    Mock::given(matchers::any()).respond_with(answer(last)).mount(&server).await;
    let provider = OpenAi::builder().api_key("none").base_url(server.uri()).build()?;
    let runner = InlineRunner::with_config(provider, Kept::Chained.config());
    assert_eq!(runner.run(&watcher(), "What is there?").await?.final_output, "a field");
    Ok(())
}
