//! The trait for deltas that a transport takes outside of Temporal.

use std::{fmt, sync::Arc};

use futures::stream::BoxStream;
use temporal_agents_core::wire::RunEvent;
use temporalio_common::data_converters::DataConverter;

use super::RunEvents;

/// Reads the deltas that a [`DeltaTransport`](crate::worker::DeltaTransport) takes to a place
/// outside of Temporal, for [`RunEvents::deltas`](crate::client::RunEvents::deltas).
///
/// A stream is opened for each call of a workflow while the call is open, once for all subscribers
/// of a `RunEvents` and its clones.
pub trait DeltaReader: Send + Sync {
    /// Returns the deltas of a call, from the oldest that the place holds, and waits for later ones
    /// without an end: the reader drops the stream when the call has ended.
    ///
    /// The deltas have the ids of [`DeltaBatch::events`](crate::worker::DeltaBatch::events), and
    /// those of one attempt are in the order of their numbers. A delta may be returned twice. After
    /// a number that is missing, the reader ignores the later ones of the attempt. An error is not
    /// an item: the stream waits, and tries again.
    fn read(&self, call: DeltaCall) -> BoxStream<'static, Vec<RunEvent>>;
}

/// An open call of a workflow, whose deltas are read.
#[derive(Clone)]
pub struct DeltaCall {
    pub(crate) namespace: String,
    pub(crate) workflow_id: String,
    pub(crate) run_id: String,
    pub(crate) id: String,
    pub(crate) converter: DataConverter,
}

impl RunEvents {
    /// Sets the place outside of Temporal where [`watch_live`](Self::watch_live) also reads deltas:
    /// that of the workers' transport, for example
    /// [`BrokerDeltas`](crate::worker::BrokerDeltas). Default none. While the place is unavailable,
    /// readers receive facts only.
    #[must_use]
    pub fn deltas(self, reader: impl DeltaReader + 'static) -> Self {
        // A poller that runs reads elsewhere.
        Self { deltas: Some(Arc::new(reader)), pollers: Arc::default(), ..self }
    }
}

impl DeltaCall {
    /// Returns the namespace of the workflow.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the id of the workflow: any string.
    pub fn workflow_id(&self) -> &str {
        &self.workflow_id
    }

    /// Returns Temporal's run id of the workflow's execution. After a reset, the execution makes
    /// calls with the ids of those before, so a place must distinguish the two.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Returns the id of the call, with which the ids of its deltas begin: `k3x9q2ab/2-model`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the data converter of the client, with its codec.
    pub fn data_converter(&self) -> &DataConverter {
        &self.converter
    }
}

impl fmt::Debug for DeltaCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, workflow_id, run_id, id, converter: _ } = self;
        f.debug_struct("DeltaCall")
            .field("namespace", namespace)
            .field("workflow_id", workflow_id)
            .field("run_id", run_id)
            .field("id", id)
            .finish_non_exhaustive()
    }
}
