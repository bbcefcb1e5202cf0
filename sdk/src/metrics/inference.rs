//! An attempt at a model call.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use temporal_agents_core::wire::ModelResponse;

use super::{
    Metrics,
    instruments::{Earlier, Instruments},
};
use crate::provider::{ModelDeltas, ModelError, provider_of};

/// The type of the failure of an attempt that was cancelled.
const CANCELLED: &str = "Cancelled";

/// An attempt at a model call. Dropped before its end, it was cancelled.
pub(crate) struct Inference {
    metrics: Metrics,
    agent: String,
    model: String,
    began: Instant,
    first_chunk: Arc<OnceLock<Duration>>,
    has_ended: bool,
}

impl Metrics {
    /// Begins an attempt.
    pub(crate) fn inference(&self, agent: &str, model: &str) -> Inference {
        Inference {
            metrics: self.clone(),
            agent: agent.to_owned(),
            model: model.to_owned(),
            began: Instant::now(),
            first_chunk: Arc::default(),
            has_ended: false,
        }
    }
}

impl Inference {
    /// Returns a receiver that passes deltas on to this one, and remembers the time of the first.
    pub(crate) fn streams(&self, deltas: ModelDeltas) -> ModelDeltas {
        let (first, began, wants_native) = (Arc::clone(&self.first_chunk), self.began, deltas.wants_native());
        let watched = ModelDeltas::new(move |delta| {
            first.get_or_init(|| began.elapsed());
            deltas.send(delta);
        });
        if wants_native { watched.with_native() } else { watched }
    }

    /// Records the end of the attempt.
    pub(crate) fn end(mut self, outcome: &Result<ModelResponse, ModelError>) {
        match outcome {
            Ok(response) => self.record(Some(response), None),
            Err(error) => self.record(None, Some(error.kind.name())),
        }
    }

    fn record(&mut self, response: Option<&ModelResponse>, failure: Option<&str>) {
        self.has_ended = true;
        let Instruments { meter, inference, first_chunk, input, output, usage: counters, cost, earlier, .. } =
            &self.metrics.0.instruments;
        let (provider, model) = provider_of(&self.model);
        let call =
            [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", provider), ("gen_ai.request.model", model)];
        let of_call = meter.attributes(&call);
        let of_attempt = match failure {
            Some(failure) => meter.attributes(&[call[0], call[1], call[2], ("error.type", failure)]),
            None => of_call.clone(),
        };
        // A provider reports its tokens without their modality.
        let of_tokens = meter.attributes(&[call[0], call[1], call[2], ("gen_ai.token.modality", "unknown")]);
        let seconds = self.began.elapsed().as_secs_f64();
        inference.record(seconds, &of_attempt);
        let usage = response.map(|response| response.usage.clone()).unwrap_or_default();
        counters.input.add(usage.input_tokens, &of_tokens);
        counters.output.add(usage.output_tokens, &of_tokens);
        counters.cache_read.add(usage.input_tokens_details.cached_tokens, &of_tokens);
        counters.cache_write.add(usage.input_tokens_details.cache_write_tokens, &of_tokens);
        counters.reasoning.add(usage.output_tokens_details.reasoning_tokens, &of_tokens);
        let first = self.first_chunk.get().map(Duration::as_secs_f64);
        if let Some(first) = first {
            first_chunk.record(first, &of_call);
        }
        for (currency, _) in usage.cost.iter() {
            let pair = [("gen_ai.agent.name", &*self.agent), ("temporal_agents.currency", currency)];
            let attributes = meter.attributes(&[call[0], call[1], call[2], pair[0], pair[1]]);
            cost.record(usage.cost.amount(currency).unwrap_or_default(), &attributes);
        }
        if response.is_some() {
            input.record(usage.input_tokens, &of_call);
            output.record(usage.output_tokens, &of_call);
        }
        if let Some(Earlier { inference, first_chunk, tokens }) = earlier {
            inference.record(seconds, &of_attempt);
            if let Some(first) = first {
                first_chunk.record(first, &of_call);
            }
            if response.is_some() {
                for (kind, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                    tokens.record(count, &meter.attributes(&[call[0], call[1], call[2], ("gen_ai.token.type", kind)]));
                }
            }
        }
    }
}

impl Drop for Inference {
    fn drop(&mut self) {
        if !self.has_ended {
            self.record(None, Some(CANCELLED));
        }
    }
}
