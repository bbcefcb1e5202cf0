//! A workflow whose stream follows signals, and subscribers that collect what they read.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    agent_handlers,
    client::{WorkflowStreamError, WorkflowStreamItems, WorkflowStreamPublisher},
    workflow::{AgentInbox, WorkflowStream},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use temporalio_client::{Client, UntypedSignal, WorkflowHandle, WorkflowSignalOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue, protos::temporal::api::common::v1::Payload};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::{PATIENCE, examples::Cache};

pub(crate) const PUBLISH: &str = "__temporal_workflow_stream_publish";
pub(crate) const POLL: &str = "__temporal_workflow_stream_poll";

/// The input of the next execution.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Left {
    inbox: AgentInbox,
    orders: VecDeque<Order>,
    execution: u32,
    /// Number of polls that the execution counts from the beginning.
    #[serde(default)]
    pub(crate) polls: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Publishes this number of items.
    Publish(u32),
    Truncate(u64),
    /// Lets no poll wait from now on, and continues.
    Close,
    ContinueAsNew,
    /// Publishes one last item, and ends with everything read.
    End,
    /// Publishes one last item, and ends at once.
    EndWithoutClosing,
}

#[workflow]
pub(crate) struct Channel {
    inbox: AgentInbox,
    orders: VecDeque<Order>,
    execution: u32,
}

#[agent_handlers]
#[workflow_methods]
impl Channel {
    #[init]
    fn new(_ctx: &WorkflowContextView, mut left: Left) -> Self {
        left.inbox.count_stream_polls(left.polls);
        Self { inbox: left.inbox, orders: left.orders, execution: left.execution }
    }

    #[run(name = "channel")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u64> {
        let stream = WorkflowStream::new(ctx);
        let execution = ctx.state(|channel| channel.execution);
        loop {
            ctx.wait_condition(|channel| !channel.orders.is_empty()).await?;
            match ctx.state_mut(|channel| channel.orders.pop_front()) {
                Some(Order::Publish(count)) => {
                    for n in 0..count {
                        stream.publish("workflow", &json!({"execution": execution, "n": n}))?;
                    }
                }
                Some(Order::Truncate(up_to)) => stream.truncate(up_to),
                Some(Order::Close) => stream.close().await,
                Some(Order::ContinueAsNew) => {
                    stream.close().await;
                    let left = ctx.state(|channel| Left {
                        inbox: channel.inbox.clone(),
                        orders: channel.orders.clone(),
                        execution: execution + 1,
                        polls: 0,
                    });
                    match ctx.continue_as_new(left, ContinueAsNewOptions::default())? {}
                }
                Some(Order::End) => {
                    stream.publish("workflow", "end")?;
                    stream.close().await;
                    return Ok(stream.offset());
                }
                Some(Order::EndWithoutClosing) => {
                    stream.publish("workflow", "end")?;
                    return Ok(stream.offset());
                }
                None => {}
            }
        }
    }

    #[signal]
    pub(crate) fn order(&mut self, _ctx: &mut SyncWorkflowContext<Self>, order: Order) {
        self.orders.push_back(order);
    }
}

/// Starts a worker with the channel; its model is never called.
pub(crate) async fn environment(cache: Cache) -> anyhow::Result<AgentEnvironment> {
    let model = FakeModel::script([]);
    Ok(cache.environment::<Channel>()?.model(&model).start().await?)
}

/// A channel that runs.
pub(crate) struct Open {
    pub(crate) env: AgentEnvironment,
    pub(crate) id: String,
    pub(crate) handle: WorkflowHandle<Client, Channel>,
}

impl Open {
    pub(crate) async fn begin(cache: Cache) -> anyhow::Result<Self> {
        Self::begin_after(cache, 0).await
    }

    /// Begins an execution that counts so many polls already.
    pub(crate) async fn begin_after(cache: Cache, polls: u32) -> anyhow::Result<Self> {
        let env = environment(cache).await?;
        let started = env.start_workflow(Channel::run, Left { polls, ..Left::default() }).await?;
        let id = started.info().workflow_id.clone();
        let handle = env.client().get_workflow_handle(&*id);
        Ok(Self { env, id, handle })
    }

    pub(crate) async fn order(&self, order: Order) -> anyhow::Result<()> {
        Ok(self.handle.signal(Channel::order, order, WorkflowSignalOptions::default()).await?)
    }

    pub(crate) fn items(&self) -> WorkflowStreamItems {
        WorkflowStreamItems::new(self.env.client(), &*self.id)
    }

    pub(crate) fn publisher(&self) -> WorkflowStreamPublisher {
        WorkflowStreamPublisher::new(self.env.client(), &*self.id)
    }
}

/// An item as the tests compare it: offset, topic, value.
pub(crate) type Seen = (u64, String, Value);

/// Reads in a task of its own, to the end.
pub(crate) struct Subscriber(UnboundedReceiver<Result<Seen, WorkflowStreamError>>);

impl Subscriber {
    pub(crate) fn of(mut items: WorkflowStreamItems) -> Self {
        let (seen, received) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(item) = items.next().await {
                let item = item.map(|item| (item.offset, item.topic.clone(), item.json().unwrap_or_default()));
                let _ = seen.send(item);
            }
        });
        Self(received)
    }

    /// Returns the next items.
    pub(crate) async fn next(&mut self, count: usize) -> anyhow::Result<Vec<Seen>> {
        let mut all = Vec::new();
        while all.len() < count {
            let next = timeout(PATIENCE, self.0.recv()).await;
            let next = next.map_err(|_| anyhow::anyhow!("after {all:?}, nothing within {PATIENCE:?}"))?;
            all.push(next.ok_or_else(|| anyhow::anyhow!("the stream ended after {all:?}"))??);
        }
        Ok(all)
    }

    /// Returns the items that are left.
    pub(crate) async fn rest(mut self) -> anyhow::Result<Vec<Seen>> {
        let mut all = Vec::new();
        loop {
            match timeout(PATIENCE, self.0.recv()).await {
                Ok(Some(next)) => all.push(next?),
                Ok(None) => return Ok(all),
                Err(_) => anyhow::bail!("the stream has not ended {PATIENCE:?} after {all:?}"),
            }
        }
    }
}

pub(crate) fn offsets(seen: &[Seen]) -> Vec<u64> {
    seen.iter().map(|(offset, ..)| *offset).collect()
}

/// Sends these payloads as the argument of the signal.
pub(crate) async fn signal(client: &Client, workflow_id: &str, payloads: Vec<Payload>) -> anyhow::Result<()> {
    let handle = client.get_workflow_handle::<UntypedWorkflow>(workflow_id);
    let options = WorkflowSignalOptions::default();
    Ok(handle.signal(UntypedSignal::new(PUBLISH), RawValue::new(payloads), options).await?)
}

pub(crate) fn json_payload(value: &Value) -> Payload {
    Payload {
        metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
        data: value.to_string().into_bytes(),
        ..Payload::default()
    }
}
