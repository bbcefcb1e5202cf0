//! A real workflow's history: identical when fetched from the server, the CLI and the SDK, and
//! replayable.

use std::time::Duration;

use temporalio_client::{
    Client, WorkflowFetchHistoryOptions, WorkflowGetResultOptions, WorkflowHistory, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_common::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, Runtime, SyncWorkflowContext, Worker, WorkerOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
    runtime::RuntimeOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};
use tokio::process::Command;

use crate::{DevServer, history};

const TASK_QUEUE: &str = "orders";

struct Shop;

#[activities]
#[expect(clippy::unused_async, reason = "the macro takes async functions for async activities")]
impl Shop {
    /// Fails at the first attempt, so that the history contains a retry.
    #[activity]
    async fn charge(ctx: ActivityContext, order: String) -> Result<String, ActivityError> {
        if ctx.info().attempt == 1 {
            return Err(std::io::Error::other("card reader is busy").into());
        }
        Ok(format!("receipt for {order}"))
    }

    /// Fails at every attempt, so that the history contains a failure with its causes.
    #[activity]
    async fn gift_wrap(_ctx: ActivityContext, order: String) -> Result<String, ActivityError> {
        Err(std::io::Error::other(format!("no paper for {order}")).into())
    }
}

#[workflow]
#[derive(Default)]
struct Order {
    approved_by: Option<String>,
}

#[workflow_methods]
impl Order {
    #[run]
    async fn run(ctx: &mut WorkflowContext<Self>, order: String) -> WorkflowResult<String> {
        let retry = RetryPolicy::builder().initial_interval(Duration::from_millis(10)).maximum_attempts(2).build();
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_secs(10)).retry_policy(retry).build();
        let receipt = ctx.execute_activity(Shop::charge, order.clone(), options.clone()).await?;
        let wrapped = ctx.execute_activity(Shop::gift_wrap, order, options).await.is_ok();
        ctx.timer(Duration::from_millis(10)).await;
        ctx.wait_condition(|order| order.approved_by.is_some()).await?;
        Ok(format!("{receipt}, wrapped: {wrapped}"))
    }

    #[signal]
    fn approve(&mut self, _ctx: &mut SyncWorkflowContext<Self>, by: String) {
        self.approved_by = Some(by);
    }
}

async fn run_order(client: &Client, id: &str) -> String {
    let options =
        WorkerOptions::new(TASK_QUEUE).register_activities(Shop).register_workflow::<Order>().unwrap().build();
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).unwrap();
    let mut worker = Worker::new(&runtime, client.clone(), options).unwrap();
    let stop = worker.shutdown_handle();
    let body = async {
        let options = WorkflowStartOptions::new(TASK_QUEUE, id).build();
        let order = client.start_workflow(Order::run, "a kettle".to_owned(), options).await.unwrap();
        order.signal(Order::approve, "Ada".to_owned(), WorkflowSignalOptions::default()).await.unwrap();
        let result = order.get_result(WorkflowGetResultOptions::default()).await.unwrap();
        stop();
        result
    };
    let (ran, result) = tokio::join!(worker.run(), body);
    ran.unwrap();
    result
}

async fn exported_by_cli(server: &DevServer, id: &str) -> String {
    let output = Command::new(server.cli())
        .args(["workflow", "show", "--output", "json", "--address", server.address(), "--workflow-id", id])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn replay(history: history::History) -> Result<(), String> {
    let options = WorkflowReplayerOptions::new().register_workflow::<Order>().unwrap().build();
    let replayer = WorkflowReplayer::new(options).unwrap();
    replayer.replay_workflow(WorkflowHistory::from(history)).await.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_is_the_same_from_server_cli_and_sdk_and_replays() {
    let server = DevServer::start().await.unwrap();
    let client = server.client().await.unwrap();
    assert_eq!(run_order(&client, "order-1").await, "receipt for a kettle, wrapped: false");

    let fetched = history::fetch(&client, "order-1", None).await.unwrap();
    assert!(fetched.events.len() > 20, "{}", fetched.events.len());

    let of_cli = exported_by_cli(&server, "order-1").await;
    assert_eq!(history::from_json(&of_cli).unwrap(), fetched);

    let handle = client.get_workflow_handle::<temporalio_common::UntypedWorkflow>("order-1");
    let of_sdk = handle.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await.unwrap();
    assert_eq!(history::from_json(of_sdk).unwrap(), fetched);

    // The output equals that of the CLI character by character, except for the form of whole
    // floats.
    let ours = history::to_json(&fetched);
    assert_eq!(ours.replace(": 2.0,", ": 2,"), of_cli.trim());
    assert_eq!(history::from_json(ours).unwrap(), fetched);

    replay(history::from_json(&of_cli).unwrap()).await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fetching_the_history_of_an_unknown_workflow_is_an_error() {
    let server = DevServer::start().await.unwrap();
    let client = server.client().await.unwrap();
    let error = history::fetch(&client, "nobody", None).await.unwrap_err();
    assert!(matches!(error, temporalio_client::errors::WorkflowInteractionError::NotFound(_)), "{error:?}");
    server.shutdown().await;
}
