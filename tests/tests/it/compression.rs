//! Payloads compressed on their way to the server, and hidden behind a cipher after that.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner,
    client::transcript::Transcript,
    tool,
    worker::{
        ConversationCache,
        codec::{CodecChain, ZstdCodec},
    },
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call},
    history::History,
};
use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::{common::v1::Payload, history::v1::history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::cipher::{Cipher, ciphered};

/// A chapter of a book.
#[tool]
async fn chapter(number: u32) -> String {
    format!("Chapter {number}. It was a bright cold day in April, and the clocks were striking {number}. ").repeat(200)
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").instructions("You read aloud, and leave nothing out. ".repeat(50)).tool(chapter)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reading;

#[workflow_methods]
impl Reading {
    #[run(name = "compressed_reading")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&reader(), question).await?.final_output)
    }
}

fn script() -> FakeModel {
    let chapters = (1..=4).map(|number| tool_call("chapter", json!({"number": number})));
    FakeModel::script(chapters.chain([text("The end.")]))
}

fn compressing() -> DataConverter {
    ciphered(ZstdCodec::default())
}

/// First smaller, then hidden: nothing compresses what is hidden.
fn compressing_and_hiding() -> DataConverter {
    ciphered(CodecChain::new().then(ZstdCodec::default()).then(Cipher(42)))
}

/// The payloads of tool results and model requests.
fn payloads(history: &History) -> Vec<Payload> {
    let of_event = |attributes: &Attributes| match attributes {
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => scheduled.input.clone(),
        Attributes::ActivityTaskCompletedEventAttributes(completed) => completed.result.clone(),
        _ => None,
    };
    let attributes = history.events.iter().filter_map(|event| event.attributes.as_ref());
    attributes.filter_map(of_event).flat_map(|payloads| payloads.payloads).collect()
}

fn encodings(history: &History) -> std::collections::BTreeSet<String> {
    let encoding = |payload: Payload| String::from_utf8_lossy(&payload.metadata["encoding"]).into_owned();
    payloads(history).into_iter().map(encoding).collect()
}

fn bytes(history: &History) -> usize {
    payloads(history).iter().map(|payload| payload.data.len()).sum()
}

#[rstest]
#[case::from_memory(ConversationCache::default(), true)]
#[case::from_history(ConversationCache::with_bytes(0), true)]
#[case::from_history_without_the_workflow_cache(ConversationCache::with_bytes(0), false)]
#[tokio::test]
async fn a_conversation_behind_codecs_is_put_together_and_replays(
    #[case] cache: ConversationCache,
    #[case] keeps_workflows: bool,
) -> anyhow::Result<()> {
    let mut said = Vec::new();
    let mut sizes = Vec::new();
    for converter in [DataConverter::default(), compressing(), compressing_and_hiding()] {
        let model = script();
        let mut builder = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).agents((reader,));
        if !keeps_workflows {
            builder = builder.without_workflow_cache();
        }
        let builder = builder.data_converter(converter).conversation_cache(cache.clone());
        let env = Box::pin(builder.start()).await?;
        // The environment replays it.
        let run = env.run(Reading::run, "Read it to me.".to_owned()).await?;
        assert!(
            run.activities().iter().all(|activity| activity.outcome == ActivityOutcome::Completed),
            "none is sent again"
        );
        let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
        assert_eq!(transcript.request_of(5)?, model.calls()[4]);
        sizes.push((encodings(&run.history).into_iter().collect::<Vec<_>>(), bytes(&run.history)));
        assert_eq!(run.output()?, "The end.");
        said.push(model.calls());
        env.finish().await?;
    }
    assert!(said.iter().all(|calls| *calls == said[0]), "models get the same behind any codec");
    let [(plain, plain_bytes), (zstd, zstd_bytes), (hidden, hidden_bytes)] = &*sizes else { panic!("three") };
    assert_eq!(plain, &["json/plain"]);
    assert_eq!(zstd, &["binary/zstd", "json/plain"]);
    assert_eq!(hidden, &["binary/toy-cipher"]);
    assert!(plain_bytes / zstd_bytes >= 5, "{plain_bytes} bytes became {zstd_bytes}");
    assert!(plain_bytes / hidden_bytes >= 4, "{plain_bytes} bytes became {hidden_bytes}");
    Ok(())
}

#[tokio::test]
async fn compression_may_be_turned_on_and_off_while_workflows_run() -> anyhow::Result<()> {
    let model = script();
    let builder = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).agents((reader,));
    let env = Box::pin(builder.data_converter(compressing()).start()).await?;
    let run = env.run(Reading::run, "Read it to me.".to_owned()).await?;
    let reads_only = ciphered(ZstdCodec::builder().min_bytes(usize::MAX).build());
    let read = Transcript::of_history(run.history.clone(), &reads_only).await?;
    let written = Transcript::of_history(run.history.clone(), &compressing()).await?;
    assert_eq!(read.to_markdown(), written.to_markdown());
    env.finish().await?;

    let model = script();
    let builder = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).agents((reader,));
    let env = Box::pin(builder.start()).await?;
    let plain = env.run(Reading::run, "Read it to me.".to_owned()).await?;
    let of_plain = Transcript::of_history(plain.history.clone(), &compressing()).await?;
    assert_eq!(of_plain.calls().len(), 5);
    env.finish().await?;
    Ok(())
}
