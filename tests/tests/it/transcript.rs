//! What was said in a workflow, read back from its history: live, saved, and behind a codec.

pub(crate) mod archive;
mod kinds;
mod large;
mod recorded;

use serde_json::Value;
use temporal_agents::{
    __internal::transcript::openai_request_body,
    client::transcript::{Transcript, TranscriptError},
    provider::OpenAiApi,
    wire::ModelCall,
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, FinishedRun, history};
use temporalio_common::data_converters::DataConverter;

use self::archive::{Reading, desk, script};
use crate::cipher::{Cipher, ciphered};

/// The ids of a run and its workflow, which are new each time, by their names.
fn normal(text: &str, transcript: &Transcript) -> String {
    let run = &transcript.runs[0].id;
    text.replace(run, "k3x9q2ab").replace(&transcript.run_id, "RUN-ID").replace(&transcript.workflow_id, "WORKFLOW-ID")
}

async fn played(
    model: &FakeModel,
    converter: DataConverter,
) -> anyhow::Result<(AgentEnvironment, FinishedRun<String>)> {
    let builder = AgentEnvironment::builder().workflow::<Reading>()?.model(model).agents((desk,));
    let env = builder.data_converter(converter).start().await?;
    let run = env.run(Reading::run, "Have you an atlas?".to_owned()).await?;
    Ok((env, run))
}

fn json(transcript: &Transcript) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(transcript)?)
}

/// Compares with a file beside this one; with `UPDATE_TRANSCRIPTS=1` it is written.
fn compare(name: &str, found: &str) -> anyhow::Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcript").join(name);
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&path, found)?;
    }
    assert_eq!(found, std::fs::read_to_string(&path)?, "{name}");
    Ok(())
}

#[tokio::test]
async fn a_transcript_tells_who_said_and_did_what_at_which_turn() -> anyhow::Result<()> {
    let model = script();
    let (env, run) = played(&model, DataConverter::default()).await?;

    let live = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    compare("reading.md", &normal(&live.to_markdown(), &live))?;
    let text = serde_json::to_string_pretty(&live)?;
    compare("reading.json", &(normal(&text, &live) + "\n"))?;
    assert_eq!(live.to_string(), live.to_markdown());

    let file = tempfile::NamedTempFile::new()?;
    history::save(file.path(), &run.history)?;
    let saved = Transcript::of_history(history::load(file.path())?, &DataConverter::default()).await?;
    assert_eq!(json(&saved)?, json(&live)?);
    env.finish().await?;
    Ok(())
}

/// What a model got, as text, so that the order of members counts.
fn in_full(call: &ModelCall) -> String {
    format!("{:#}", temporal_agents::__internal::transcript::request_json(call))
}

#[tokio::test]
async fn a_request_is_what_the_provider_got() -> anyhow::Result<()> {
    let model = script();
    let (env, run) = played(&model, DataConverter::default()).await?;
    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;

    let got = model.calls();
    assert_eq!(transcript.calls().len(), got.len());
    for (number, call) in (1..).zip(&got) {
        let request = transcript.request_of(number)?;
        assert_eq!(request, *call, "call {number}");
        assert_eq!(in_full(&request), in_full(call), "call {number}");
    }
    let refused = transcript.request_of(6).expect_err("there are five");
    assert_eq!(refused.to_string(), "there is no model call 6: the history has 5, counted from 1");

    let body = openai_request_body(OpenAiApi::Responses, transcript.request_of(3)?)?;
    assert_eq!(body["model"], "gpt-5-mini");
    assert_eq!(body["instructions"], "You translate to French.");
    assert_eq!(body["input"], serde_json::json!([{"role": "user", "content": "atlas"}]));
    assert_eq!(body["tools"][0]["name"], "glossary");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_codec_hides_a_conversation_from_all_but_its_own_clients() -> anyhow::Result<()> {
    let model = script();
    let (env, run) = played(&model, ciphered(Cipher(7))).await?;
    let bytes = prost::Message::encode_to_vec(&run.history);
    for secret in ["atlas", "You keep old books", "the shelf is empty"] {
        assert!(!bytes.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret} is in history");
    }

    let live = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    compare("reading.md", &normal(&live.to_markdown(), &live))?;
    let saved = Transcript::of_history(run.history.clone(), &ciphered(Cipher(7))).await?;
    assert_eq!(json(&saved)?, json(&live)?);
    assert_eq!(live.request_of(5)?, model.calls()[4]);

    let stranger = env.server().client().await?;
    let refused = Transcript::of_workflow(&stranger, &run.workflow_id, None).await.expect_err("it is hidden");
    let TranscriptError::Encoded { what, encodings, .. } = &refused else { panic!("{refused}") };
    assert_eq!(encodings, "binary/toy-cipher");
    assert!(what.starts_with("the request of activity "), "{what}");
    assert!(refused.to_string().contains("with the codec of the workers"), "{refused}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_is_not_there_is_an_error_that_says_what_to_look_at() -> anyhow::Result<()> {
    let model = script();
    let (env, run) = played(&model, DataConverter::default()).await?;
    let missing = Transcript::of_workflow(env.client(), "no-such-workflow", None).await.expect_err("it is not there");
    let namespace = env.server().namespace();
    assert_eq!(
        missing.to_string(),
        format!(
            "there is no workflow \"no-such-workflow\" in namespace {namespace:?}; check the id and the namespace. A \
             run that has ended is deleted after the namespace's retention period"
        )
    );
    let no_run = Transcript::of_workflow(env.client(), &run.workflow_id, Some("7")).await.expect_err("no such run");
    assert!(matches!(no_run, TranscriptError::NotFound { .. }), "{no_run}");
    let empty = Transcript::of_history(history::History::default(), &DataConverter::default()).await;
    assert!(matches!(empty, Err(TranscriptError::NoStart)));
    env.finish().await?;
    Ok(())
}
