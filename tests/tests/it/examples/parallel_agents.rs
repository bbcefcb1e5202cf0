//! Three drafts and a judge.

use rstest::rstest;
use temporal_agents_examples::parallel_agents::{Answer, GuestRelations, TONES, judge, model, writer};
use temporal_agents_testing::history::History;
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::HistoryEvent};

use super::{Cache, Played, play};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Answer>> {
    let [warm, brief, formal] = TONES.map(writer);
    let agents = (warm, brief, formal, judge);
    // Boxed: the future is large.
    Box::pin(play::<GuestRelations, _>(cache, agents, model::scripted(), GuestRelations::run, "Drills!".to_owned()))
        .await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn the_judge_gets_all_drafts_in_the_order_of_their_writers(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let warm = "I am so sorry about your night. Nobody should count drill strokes instead of sheep: tonight is on us, \
                in a room to the garden.";
    let reason = "It admits the fault and offers a quiet room, which is what the guest is missing.".to_owned();
    assert_eq!(played.output, Answer { text: warm.to_owned(), tone: "warm".to_owned(), reason });
    let question = played.calls[3].input[0].text();
    let expected = format!(
        "Complaint: Drills!\n\nDraft 1: {warm}\n\nDraft 2: Sorry for the noise. You get 20 percent off.\n\n\
         Draft 3: We regret the inconvenience, which was caused by urgent construction work."
    );
    assert_eq!(question, Some(expected));
    assert_eq!(played.activities(), ["agents.call_model"; 4]);
    assert_eq!(scheduled_before_any_completed(&played.histories[0]), 3);
    Ok(())
}

fn scheduled_before_any_completed(history: &History) -> usize {
    let types = history.events.iter().map(HistoryEvent::event_type);
    let before = types.take_while(|kind| *kind != EventType::ActivityTaskCompleted);
    before.filter(|kind| *kind == EventType::ActivityTaskScheduled).count()
}
