use std::sync::{Arc, Mutex};

use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tonic::{Code, Status};

use super::*;

/// Sequence and number of items of each batch that was sent.
type Sent = Arc<Mutex<Vec<(u64, usize)>>>;

/// A publisher whose signals fail with these codes before they succeed.
fn publisher(options: BatchOptions, failures: &[Code]) -> (UnboundedSender<Command>, Sent) {
    let sent = Sent::default();
    let (seen, failures) = (Arc::clone(&sent), Mutex::new(failures.to_vec()));
    let signal = move |input: PublishInput| {
        assert_eq!(input.publisher_id, "p");
        seen.lock().unwrap().push((input.sequence, input.items.len()));
        let failure = failures.lock().unwrap().pop();
        let result = failure.map_or(Ok(()), |code| Err(WorkflowInteractionError::Rpc(Status::new(code, "no"))));
        std::future::ready(result).boxed()
    };
    let (commands, received) = unbounded_channel();
    tokio::spawn(Batches::new("p".to_owned(), options, Box::new(signal), Arc::default()).run(received));
    (commands, sent)
}

fn publish(commands: &UnboundedSender<Command>, bytes: usize, is_urgent: bool) {
    let entry = PublishEntry { topic: String::new(), data: "x".repeat(bytes) };
    commands.send(Command::Publish { entry, is_urgent }).unwrap();
}

async fn flush(commands: &UnboundedSender<Command>) -> Result<(), String> {
    let (answer, flushed) = oneshot::channel();
    commands.send(Command::Flush(answer)).unwrap();
    flushed.await.unwrap().map_err(|error| error.to_string())
}

fn patient() -> BatchOptions {
    BatchOptions { interval: Duration::from_mins(1), ..BatchOptions::default() }
}

#[tokio::test]
async fn a_flush_sends_everything_in_batches_of_a_megabyte() {
    let (commands, sent) = publisher(patient(), &[]);
    for bytes in [10, 400_000, 500_000, 200_000, 1_500_000, 10] {
        publish(&commands, bytes, false);
    }
    assert_eq!(flush(&commands).await, Ok(()));
    assert_eq!(*sent.lock().unwrap(), [(1, 3), (2, 1), (3, 1), (4, 1)]);
}

#[tokio::test]
async fn a_batch_is_sent_when_it_is_full_or_urgent() {
    let (commands, sent) = publisher(BatchOptions { max_items: 2, ..patient() }, &[]);
    for is_urgent in [false, false, true, false] {
        publish(&commands, 1, is_urgent);
    }
    assert_eq!(flush(&commands).await, Ok(()));
    assert_eq!(*sent.lock().unwrap(), [(1, 2), (2, 1), (3, 1)]);
}

#[tokio::test]
async fn a_batch_is_sent_again_under_its_number() {
    let (commands, sent) = publisher(patient(), &[Code::Internal, Code::Unavailable]);
    publish(&commands, 1, false);
    assert_eq!(flush(&commands).await, Ok(()));
    publish(&commands, 1, false);
    assert_eq!(flush(&commands).await, Ok(()));
    assert_eq!(*sent.lock().unwrap(), [(1, 1), (1, 1), (1, 1), (2, 1)]);
}

#[tokio::test]
async fn a_batch_that_is_dropped_uses_up_its_number() {
    let options = BatchOptions { max_retry_duration: Duration::ZERO, ..patient() };
    let (commands, sent) = publisher(options, &[Code::InvalidArgument, Code::Unavailable]);
    publish(&commands, 1, true);
    publish(&commands, 1, true);
    publish(&commands, 1, true);
    let error = flush(&commands).await.unwrap_err();
    assert!(error.starts_with("2 items were not published: "), "{error}");
    assert_eq!(flush(&commands).await, Ok(()), "it is reported once");
    assert_eq!(*sent.lock().unwrap(), [(1, 1), (2, 1), (3, 1)]);
}

#[tokio::test]
async fn items_are_sent_after_the_interval_and_when_the_publisher_is_dropped() {
    let options = BatchOptions { interval: Duration::from_millis(1), ..BatchOptions::default() };
    let (commands, sent) = publisher(options, &[]);
    publish(&commands, 1, false);
    while sent.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    publish(&commands, 1, false);
    drop(commands);
    while sent.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*sent.lock().unwrap(), [(1, 1), (2, 1)]);
}
