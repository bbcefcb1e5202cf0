//! The research, whose worker process is killed in the middle of the session; its program is tested in `examples/tests`.

mod worker;

use std::{collections::BTreeSet, time::Duration};

use temporal_agents_examples::research::{
    Finding, Question, Report, Research,
    archive::{YEARS, first_blossom},
    crash::{self, TURN},
    model::{CONCLUSION, TURNS},
    progress::Progress,
    worker::{Desk, TASK_QUEUE},
};
use temporal_agents_testing::{
    DevServer,
    environment::{ActivityOutcome, activities},
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use tokio::time::timeout;

use crate::PATIENCE;

use super::histories_of;

#[tokio::test]
async fn a_session_whose_worker_is_killed_repeats_no_turn_before_its_checkpoint() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let desk = Desk {
        address: server.address().to_owned(),
        namespace: server.namespace().to_owned(),
        folder: folder.path().to_owned(),
        pace: Duration::from_millis(50),
    };
    let question = Question { text: "How has the first blossom moved?".to_owned(), heartbeat_seconds: 3 };
    let options = WorkflowStartOptions::new(TASK_QUEUE, "research-7").build();
    let research = client.start_workflow(Research::run, question, options).await?;

    let mut progress = Progress::new(desk.journal());
    let kill = crash::kill_in_the_middle(worker::start(&desk)?, &desk.checkpoints(), &mut progress).await?;
    assert!((TURN..TURNS).contains(&kill.turn), "{kill:?}");
    let successor = worker::start(&desk)?;
    let report = timeout(PATIENCE, research.get_result(WorkflowGetResultOptions::default())).await??;
    drop(successor);

    let findings = YEARS.map(|year| Finding { year, day: first_blossom(year) }).collect();
    assert_eq!(report, Report { conclusion: CONCLUSION.to_owned(), findings });
    let entries = progress.look()?;
    let turns = crash::count(&entries, kill)?;
    // The turn under way is repeated unless its answer was in a checkpoint already.
    assert!(turns.kept.is_superset(&(1..kill.turn).collect()), "{turns:?}");
    let all: BTreeSet<u32> = turns.kept.iter().chain(&turns.repeated).chain(&turns.later).copied().collect();
    assert_eq!(all, (1..=TURNS).collect());
    let begun = entries.iter().filter(|entry| !entry.is_summary && entry.answer.is_none()).count();
    assert_eq!(begun, TURNS as usize + turns.repeated.len(), "no turn is requested twice by one worker");
    assert!(entries.iter().any(|entry| entry.is_summary && entry.answer.is_some()), "the conversation is shortened");

    let histories = histories_of::<Research>(&client, "research-7").await?;
    let attempts: Vec<_> = histories.iter().flat_map(activities).map(|a| (a.attempts, a.outcome)).collect();
    assert_eq!(attempts, [(2, ActivityOutcome::Completed)]);
    server.shutdown().await;
    Ok(())
}
