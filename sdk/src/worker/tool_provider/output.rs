//! Parts of a tool's output on their way to the result stream of its call: best effort, in order,
//! before the result.

use std::{sync::Arc, time::Duration};

use temporal_agents_core::wire::EventKind;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use crate::{
    events::EventSink,
    remote::{
        message::{OUTPUT_DELTA_EVENT, ToolOutputDeltaMessage},
        transport::{Append, Streams},
    },
};

/// Most parts that wait to be published; further ones are dropped.
const MOST_WAITING: usize = 256;

/// Longest time that a result waits for the parts before it.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The parts of one call's output.
pub(super) struct OutputDeltas {
    id: String,
    sender: mpsc::Sender<ToolOutputDeltaMessage>,
    publishing: JoinHandle<()>,
}

impl OutputDeltas {
    /// Starts to publish the parts of this call, each with the conditions of `base`.
    pub(super) fn start(streams: &Arc<dyn Streams>, id: &str, results: &str, base: Append) -> Self {
        let (sender, mut receiver) = mpsc::channel::<ToolOutputDeltaMessage>(MOST_WAITING);
        let (streams, results) = (Arc::clone(streams), results.to_owned());
        let publishing = tokio::spawn(async move {
            while let Some(delta) = receiver.recv().await {
                let Ok(payload) = serde_json::to_vec(&delta) else { continue };
                let append = base.clone().entry(&*results, OUTPUT_DELTA_EVENT, payload);
                if let Err(error) = streams.append(append).await {
                    tracing::debug!(stream = results, %error, "a part of an output is dropped");
                }
            }
        });
        Self { id: id.to_owned(), sender, publishing }
    }

    /// Returns the subscriber of the call's events.
    pub(super) fn sink(&self) -> EventSink {
        let (id, sender) = (self.id.clone(), self.sender.clone());
        Arc::new(move |event| {
            let (stream, delta) = match &event.kind {
                EventKind::ToolOutputDelta { stream, delta, .. } => (&**stream, delta.clone()),
                EventKind::EmittedDelta { name, value, .. } => (&**name, value.to_string()),
                _ => return,
            };
            let _ = sender.try_send(ToolOutputDeltaMessage::new(&*id, stream, delta));
        })
    }

    /// Waits until all parts are published, for a short time.
    pub(super) async fn finish(self) {
        let Self { id: _, sender, mut publishing } = self;
        drop(sender);
        if timeout(LONGEST_WAIT, &mut publishing).await.is_err() {
            publishing.abort();
        }
    }
}
