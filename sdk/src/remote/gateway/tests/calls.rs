//! The order of checks, what is published, and results.

use std::time::Duration;

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::json;

use super::{NOW, Served, append, entries, files, path, requests, until};
use crate::remote::{
    gateway::{Gateway, GatewayError},
    message::{FieldIssue, ToolCallMessage, ToolCallMeta, TraceContext, result_stream},
    transport::{Append, Appended, Entry, EntryId, GroupMember, MemoryTransport, StreamError, Streams},
};

#[tokio::test(start_paused = true)]
async fn checks_are_in_the_order_of_toolset_tool_payload_and_health() {
    let served = Served::start(&MemoryTransport::new());
    let gateway = &served.gateway;
    let error = gateway.call("files", "read", json!({})).await.expect_err("nothing is registered");
    assert_eq!((error.code(), &*error.to_string()), ("not_found", "toolset \"files\" is not registered"));
    served.register(files()).await;
    until(|| gateway.catalogue().get("files").is_some()).await;

    let error = gateway.call("files", "write", json!({})).await.expect_err("there is no such tool");
    assert_eq!(error.to_string(), "toolset \"files\" has no tool \"write\"; it has: read");
    assert_eq!(error.code(), "not_found");
    let error = gateway.call("files", "read", json!({})).await.expect_err("the path is missing");
    assert_eq!(error.code(), "validation_error");
    assert_eq!(error.to_string(), "the payload does not fit tool \"read\" of toolset \"files\": path (missing_field)");
    let missing =
        FieldIssue { field: "path".to_owned(), constraint: "missing_field".to_owned(), ..FieldIssue::default() };
    let GatewayError::InvalidPayload { issues, .. } = error else { panic!("{error}") };
    assert_eq!(issues, [missing]);
    let error = gateway.call("files", "read", path()).await.expect_err("it never sent a pong");
    assert_eq!(error.code(), "service_unavailable");
    assert_eq!(error.to_string(), "toolset \"files\" is unhealthy: threshold 40s, last pong never");
    let is_call = |message: &ToolCallMessage| matches!(message, ToolCallMessage::Call(_));
    assert!(!requests(&served.streams, "files").await.iter().any(is_call), "no refused call is published");

    served.pong("files").await;
    until(|| gateway.health("files").is_ok()).await;
    gateway.call("files", "read", path()).await.expect("it is healthy");
    let error = gateway.call("files", "read", json!({"path": 1})).await.expect_err("the path is a number");
    assert_eq!(error.code(), "validation_error");
}

#[tokio::test(start_paused = true)]
async fn a_call_and_the_first_entry_of_its_results_are_published() -> Result<(), GatewayError> {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    let meta = ToolCallMeta { run_id: "r1".to_owned(), tool_call_id: "c1".to_owned(), ..ToolCallMeta::default() };
    let trace = TraceContext { traceparent: "00-1-2-01".to_owned(), ..TraceContext::default() };
    let call = || served.gateway.call("files", "files.read", path()).meta(meta.clone());
    assert_eq!(call().trace_context(trace.clone()).await?, "c1");
    assert_eq!(call().await?, "c1", "it is published once");
    let expected = ToolCallMessage::call("c1", "files.read", path(), Some(meta.clone()));
    let ToolCallMessage::Call(expected) = expected else { panic!("it is a call") };
    let calls = requests(&served.streams, "files").await;
    let calls: Vec<_> = calls.into_iter().filter(|message| matches!(message, ToolCallMessage::Call(_))).collect();
    assert_eq!(calls, [ToolCallMessage::Call(Box::new(expected.with_trace_context(trace)))]);
    let results = entries(&served.streams, &result_stream("c1")).await;
    let results: Vec<_> = results.iter().map(|entry| (&*entry.event, &*entry.payload)).collect();
    assert_eq!(results, [("init", b"{}".as_slice())]);
    let (one, other) = (served.gateway.call("files", "read", path()), served.gateway.call("files", "read", path()));
    assert_ne!(one.await?, other.await?, "a call without an id gets one");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_id_that_names_no_stream_is_refused() {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    let meta = ToolCallMeta { tool_call_id: "c 1".to_owned(), ..ToolCallMeta::default() };
    let error = served.gateway.call("files", "read", path()).meta(meta).await.expect_err("it has a space");
    assert_eq!(error.code(), "service_unavailable");
    let error = served.gateway.result("c 1", NOW).await.expect_err("it has a space");
    assert!(matches!(error, GatewayError::Unreachable { source: StreamError::Name { .. } }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_passed_on_unread() -> Result<(), GatewayError> {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    let gateway = &served.gateway;
    let id = gateway.call("files", "read", path()).await?;
    let error = gateway.result(&id, Duration::from_secs(7)).await.expect_err("there is none");
    assert_eq!((error.code(), &*error.to_string()), ("timeout", &*format!("call \"{id}\" has no result after 7s")));
    let results = result_stream(&id);
    let answer = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        append(&served.streams, &results, "output_delta", "{").await;
        append(&served.streams, &results, "result", b"\xff not JSON".as_slice()).await;
        append(&served.streams, &results, "result", "a second one").await;
    };
    let (result, ()) = tokio::join!(gateway.result(&id, Duration::from_secs(7)), answer);
    assert_eq!(result?, b"\xff not JSON");
    assert_eq!(gateway.result(&id, NOW).await?, b"\xff not JSON", "and again");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_result_stream_that_is_lost_is_an_outcome_that_is_unknown() -> Result<(), GatewayError> {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    let id = served.gateway.call("files", "read", path()).await?;
    served.streams.clear();
    let error = served.gateway.result(&id, Duration::from_mins(1)).await.expect_err("it is lost");
    assert_eq!(error.code(), "outcome_unknown");
    let reason = "may have taken effect, and its result is lost: its result stream does not exist";
    assert_eq!(error.to_string(), format!("call \"{id}\" {reason}"));
    Ok(())
}

/// Streams whose answers to calls are lost, after the entries were appended or before.
struct LostAnswers {
    streams: MemoryTransport,
    appends: bool,
}

impl Streams for LostAnswers {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        Box::pin(async move {
            if self.appends {
                self.streams.append(append).await?;
            }
            Err(StreamError::Ambiguous { stream: "s".to_owned(), reason: "reset".to_owned() })
        })
    }

    fn read<'a>(
        &'a self,
        stream: &'a str,
        after: Option<EntryId>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.read(stream, after, most, wait)
    }

    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        self.streams.exists(stream)
    }

    fn create_group<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.create_group(stream, group, since)
    }

    fn read_group<'a>(
        &'a self,
        member: GroupMember<'a>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.read_group(member, most, wait)
    }

    fn claim_idle<'a>(
        &'a self,
        member: GroupMember<'a>,
        idle: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.claim_idle(member, idle, most)
    }

    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.renew(member, ids)
    }

    fn acknowledge<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.acknowledge(stream, group, ids)
    }

    fn idle_time<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Option<Duration>, StreamError>> {
        self.streams.idle_time(stream, group)
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        self.streams.now()
    }
}

#[rstest]
#[case::before_the_call_was_appended(false)]
#[case::after_the_call_was_appended(true)]
#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_is_lost_is_looked_for(#[case] appends: bool) {
    let gateway = Gateway::new(LostAnswers { streams: MemoryTransport::new(), appends });
    let now = gateway.clock.now();
    gateway.state().register(files(), now).expect("it is valid");
    gateway.state().health.ponged("files", now);
    let outcome = gateway.call("files", "read", path()).await;
    match outcome {
        Ok(_) => assert!(appends),
        Err(error) => assert_eq!((error.code(), appends), ("outcome_unknown", false)),
    }
}
