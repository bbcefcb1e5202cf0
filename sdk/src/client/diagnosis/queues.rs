//! The pollers of task queues, as the server knows them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    enums::v1::TaskQueueType, taskqueue::v1::TaskQueue, workflowservice::v1::DescribeTaskQueueRequest,
};

use super::{facts::millis, now};

/// Time for which the answer of the server is kept.
const KEPT: Duration = Duration::from_secs(5);
/// Time after its latest poll at which a poller counts as gone, in milliseconds. A poll takes up to
/// a minute, and the server remembers pollers for five.
const GONE: i64 = 70_000;
/// Number of answers that are kept.
const MAX_KEPT: usize = 1_000;

/// What is polled from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Polled {
    Workflows,
    Activities,
}

/// The answers of the last seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues(Arc<Mutex<Answers>>);

/// Whether a queue is polled, and since when that is known.
type Answers = BTreeMap<(String, Polled), (Instant, bool)>;

impl Queues {
    /// Returns `true` if workers poll this queue; `None` if the server does not say.
    pub(super) async fn are_polled(&self, client: &Client, queue: &str, what: Polled) -> Option<bool> {
        let key = (queue.to_owned(), what);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some((at, is_polled)) = known
            && at.elapsed() < KEPT
        {
            return Some(is_polled);
        }
        let queue_type = match what {
            Polled::Workflows => TaskQueueType::Workflow,
            Polled::Activities => TaskQueueType::Activity,
        };
        let request = DescribeTaskQueueRequest {
            namespace: client.namespace(),
            task_queue: Some(TaskQueue { name: queue.to_owned(), ..TaskQueue::default() }),
            task_queue_type: queue_type.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let answer = WorkflowService::describe_task_queue(&mut client.clone(), tonic::Request::new(request)).await;
        let pollers = match answer {
            Ok(answer) => answer.into_inner().pollers,
            Err(error) => {
                tracing::debug!(queue, %error, "a task queue could not be described");
                return None;
            }
        };
        let now = now();
        let is_polled = pollers.iter().any(|poller| now - millis(poller.last_access_time.as_ref()) < GONE);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KEPT {
            known.retain(|_, (at, _)| at.elapsed() < KEPT);
        }
        known.insert(key, (Instant::now(), is_polled));
        Some(is_polled)
    }
}
