use std::sync::{Mutex, mpsc};

use futures::future::BoxFuture;
use temporal_agents_core::wire::{Definitions, Usage};

use super::*;
use crate::provider::ModelDelta;

/// A model that keeps the handle of its deltas, and answers unless the call is for `"never"`.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Option<ModelDeltas>>>);

fn part(delta: &str) -> ModelDelta {
    ModelDelta::Text { index: 0, delta: delta.to_owned() }
}

impl Model for Keeper {
    fn call(&self, _call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(std::future::pending())
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        deltas.send(part("in time"));
        *self.0.lock().expect("not poisoned") = Some(deltas);
        Box::pin(async move {
            if call.model == "never" {
                std::future::pending::<()>().await;
            }
            Ok(ModelResponse::new(Vec::new(), Usage::default()))
        })
    }
}

impl ModelProvider for Keeper {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(std::future::ready(Ok(Some(Arc::new(self.clone()) as Arc<dyn Model>))))
    }
}

#[tokio::test]
async fn deltas_after_the_end_of_a_call_are_ignored() {
    for model in ["answers", "never"] {
        let keeper = Keeper::default();
        let mut providers = Providers::default();
        providers.add(keeper.clone());
        let (sender, received) = mpsc::channel();
        let deltas = ModelDeltas::new(move |delta| drop(sender.send(delta))).with_native();
        let call = ModelCall::new("agent", model, Definitions::default(), Vec::new());
        let time = Duration::from_millis(50);
        let limit = AttemptLimit { time, stated: time, setting: "the test" };
        let outcome = providers.call_with_limit(limit, call, Some(deltas)).await;
        assert_eq!(outcome.is_ok(), model == "answers");
        let kept = keeper.0.lock().expect("not poisoned").take().expect("the model keeps it");
        assert!(kept.wants_native());
        kept.send(part("late"));
        assert_eq!(received.try_iter().collect::<Vec<_>>(), [part("in time")]);
        // The receiver has been dropped, although the handle exists.
        assert_eq!(received.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}
