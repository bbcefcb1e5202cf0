//! Looks at toolsets with providers that announce themselves, with others, and with none.

use std::time::Duration;

use super::{CACHED_FOR, MAX_LOOK_TIME, PROVIDER_GROUP, ProvidersAtWork, announcement};
use crate::remote::{
    message::toolset_stream,
    transport::{Append, GroupMember, MemoryTransport, StreamError, Streams},
};

async fn create_group(streams: &MemoryTransport) -> Result<(), StreamError> {
    streams.create_group(&toolset_stream("demo"), PROVIDER_GROUP, Duration::ZERO).await
}

async fn has_provider(streams: &MemoryTransport) -> Result<bool, StreamError> {
    ProvidersAtWork::default().has_provider(streams, "demo").await
}

#[tokio::test(start_paused = true)]
async fn a_toolset_without_a_group_has_no_provider() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    assert!(!has_provider(&streams).await?);
    streams.append(Append::new().entry(toolset_stream("demo"), "call", "{}")).await?;
    assert!(!has_provider(&streams).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_group_without_announcements_may_have_a_provider() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    create_group(&streams).await?;
    assert!(has_provider(&streams).await?);
    tokio::time::advance(Duration::from_hours(5)).await;
    assert!(has_provider(&streams).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn announcements_count_for_40_seconds() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    create_group(&streams).await?;
    streams.append(announcement("demo")).await?;
    tokio::time::advance(Duration::from_secs(39)).await;
    assert!(has_provider(&streams).await?);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(!has_provider(&streams).await?);
    // A provider in another language asks for entries.
    let member = GroupMember { stream: &toolset_stream("demo"), group: PROVIDER_GROUP, consumer: "python" };
    streams.read_group(member, 1, Duration::ZERO).await?;
    assert!(has_provider(&streams).await?);
    tokio::time::advance(Duration::from_secs(41)).await;
    assert!(!has_provider(&streams).await?);
    tokio::time::advance(Duration::from_hours(24)).await;
    assert!(has_provider(&streams).await?, "nothing is known of it");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_used_again_for_a_few_seconds() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let at_work = ProvidersAtWork::default();
    create_group(&streams).await?;
    assert!(at_work.has_provider(&streams, "demo").await?);
    streams.clear();
    assert!(at_work.has_provider(&streams, "demo").await?);
    tokio::time::advance(CACHED_FOR).await;
    assert!(!at_work.has_provider(&streams, "demo").await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_comes_back_at_once_is_found() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let comes_back = async {
        tokio::time::sleep(MAX_LOOK_TIME / 2).await;
        create_group(&streams).await
    };
    let (found, created) = tokio::join!(has_provider(&streams), comes_back);
    created?;
    assert!(found?);
    Ok(())
}
