use std::process::Command;

use temporal_agents::wire::Definitions;

use super::*;
use crate::fake_model::{FakeModel, text};

/// Environment variable of the process that crashes.
const CRASHES: &str = "TEMPORAL_AGENTS_TEST_CRASHES";

async fn ask(provider: &CrashAfterTurns) -> Result<ModelResponse, ModelError> {
    let model = provider.model("gpt-5").await?.expect("the scripted model serves every name");
    model.call(ModelCall::new("clerk", "gpt-5", Definitions::default(), Vec::new())).await
}

#[tokio::test]
async fn the_call_after_so_many_fails_as_one_that_is_retried() {
    let model = FakeModel::script([text("one"), text("two"), text("three")]);
    let crashing = CrashAfterTurns::new(2, model.clone());
    for _ in 0..2 {
        ask(&crashing).await.unwrap();
    }
    let error = ask(&crashing.clone()).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.should_retry()), ("simulated crash after 2 turns", true));
    assert_eq!(model.calls().len(), 2, "the model was not asked");
    ask(&crashing).await.unwrap();
    assert_eq!(crashing.calls(), 4);
    model.verify();
}

#[tokio::test]
async fn a_crash_lasts_for_as_many_calls_as_it_is_told_to() {
    let crashing = CrashAfterTurns::new(1, FakeModel::script([text("one"), text("two")])).lasting(2);
    let mut served = Vec::new();
    for _ in 0..4 {
        served.push(ask(&crashing).await.is_ok());
    }
    assert_eq!(served, [true, false, false, true]);

    let crashing = CrashAfterTurns::new(1, FakeModel::script([text("one")])).lasting(usize::MAX);
    assert!(ask(&crashing).await.is_ok());
    assert!(ask(&crashing).await.is_err() && ask(&crashing).await.is_err(), "for good");
}

#[test]
fn a_process_that_aborts_ends_at_that_call() {
    let test = "fake_model::crash::tests::a_process_crashes_only_where_a_test_has_started_it";
    let mut program = Command::new(std::env::current_exe().unwrap());
    let ended = program.args([test, "--exact", "--nocapture"]).env(CRASHES, "yes").output().unwrap();
    assert!(!ended.status.success(), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("simulated crash after 1 turns") && !said.contains("it went on"), "{said}");
}

#[tokio::test]
async fn a_process_crashes_only_where_a_test_has_started_it() {
    if std::env::var_os(CRASHES).is_none() {
        return crate::skip_entry_point();
    }
    let crashing = CrashAfterTurns::new(1, FakeModel::script([text("one"), text("two")])).aborting();
    ask(&crashing).await.unwrap();
    let _ = ask(&crashing).await;
    eprintln!("it went on");
}
