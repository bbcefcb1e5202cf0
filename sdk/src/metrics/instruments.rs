//! The instruments.

use temporalio_common::telemetry::metrics::{Counter, Gauge, Histogram, HistogramF64};

use super::meter::Meter;

/// Name of the histogram of inference, also for its buckets.
const INFERENCE: &str = "gen_ai.client.inference.duration";
const FIRST_CHUNK: &str = "gen_ai.client.inference.time_to_first_chunk";
const INPUT: &str = "gen_ai.client.inference.operation.input_tokens";
const OUTPUT: &str = "gen_ai.client.inference.operation.output_tokens";
const COST: &str = "temporal_agents.inference.cost";
const TOOL: &str = "gen_ai.execute_tool.duration";
const AGENT: &str = "gen_ai.invoke_agent.duration";
const INFERENCE_CALLS: &str = "gen_ai.invoke_agent.inference_calls";
const TOOL_CALLS: &str = "gen_ai.invoke_agent.tool_calls";
const WORKFLOW: &str = "gen_ai.invoke_workflow.duration";
const WAIT: &str = "temporal_agents.questions.wait";
const TURN: &str = "temporal_agents.turn.history";
const EARLIER_INFERENCE: &str = "gen_ai.client.operation.duration";
const EARLIER_FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
const EARLIER_TOKENS: &str = "gen_ai.client.token.usage";

pub(super) struct Instruments {
    pub(super) meter: Meter,
    pub(super) inference: HistogramF64,
    pub(super) first_chunk: HistogramF64,
    pub(super) input: Histogram,
    pub(super) output: Histogram,
    pub(super) usage: Usage,
    pub(super) cost: HistogramF64,
    pub(super) earlier: Option<Earlier>,
    pub(super) tool: HistogramF64,
    pub(super) agent: HistogramF64,
    pub(super) inference_calls: Histogram,
    pub(super) tool_calls: Histogram,
    pub(super) workflow: HistogramF64,
    pub(super) runs: Counter,
    pub(super) asked: Counter,
    pub(super) wait: HistogramF64,
    pub(super) open: Gauge,
    pub(super) oldest: Gauge,
    pub(super) verdicts: Counter,
    pub(super) turn: Histogram,
    pub(super) conversations: Counter,
    pub(super) rebuilt: Counter,
    pub(super) lost_deltas: Counter,
}

/// Counters of tokens; the last three are parts of the others.
pub(super) struct Usage {
    pub(super) input: Counter,
    pub(super) output: Counter,
    pub(super) cache_read: Counter,
    pub(super) cache_write: Counter,
    pub(super) reasoning: Counter,
}

/// The instruments of version 1.41 of the conventions.
pub(super) struct Earlier {
    pub(super) inference: HistogramF64,
    pub(super) first_chunk: HistogramF64,
    pub(super) tokens: Histogram,
}

impl Instruments {
    pub(super) fn new(meter: Meter, has_earlier: bool) -> Self {
        let seconds = |name, description| meter.histogram_f64(name, "s", description);
        let tokens = |kind: &str, description| {
            meter.counter(&format!("gen_ai.client.inference.usage.{kind}"), "{token}", description)
        };
        let usage = Usage {
            input: tokens("input_tokens", "Tokens read, with those of the prompt cache."),
            output: tokens("output_tokens", "Tokens written, with those of reasoning."),
            cache_read: tokens("cache_read.input_tokens", "Tokens read from the prompt cache."),
            cache_write: tokens("cache_write.input_tokens", "Tokens written to the prompt cache."),
            reasoning: tokens("reasoning.output_tokens", "Tokens of reasoning."),
        };
        let earlier = has_earlier.then(|| Earlier {
            inference: seconds(EARLIER_INFERENCE, "Duration of an attempt at a model call."),
            first_chunk: seconds(EARLIER_FIRST_CHUNK, "Time to the first part of a streamed answer."),
            tokens: meter.histogram(EARLIER_TOKENS, "{token}", "Tokens of an attempt at a model call."),
        });
        Self {
            inference: seconds(INFERENCE, "Duration of an attempt at a model call."),
            first_chunk: seconds(FIRST_CHUNK, "Time to the first part of a streamed answer."),
            input: meter.histogram(INPUT, "{token}", "Tokens read by an attempt."),
            output: meter.histogram(OUTPUT, "{token}", "Tokens written by an attempt."),
            usage,
            cost: meter.histogram_f64(COST, "{currency}", "Cost of a model call."),
            earlier,
            tool: seconds(TOOL, "Duration of an attempt at a tool call in an activity."),
            agent: seconds(AGENT, "Time in which an agent works, to its handoff or end."),
            inference_calls: meter.histogram(INFERENCE_CALLS, "{call}", "Model calls of an agent."),
            tool_calls: meter.histogram(TOOL_CALLS, "{call}", "Tool calls of an agent."),
            workflow: seconds(WORKFLOW, "Duration of a run, with its waits."),
            runs: meter.counter("temporal_agents.runs", "{run}", "Runs that have ended."),
            asked: meter.counter("temporal_agents.questions.asked", "{question}", "Calls that wait for a person."),
            wait: seconds(WAIT, "Time to a decision."),
            open: meter.gauge("temporal_agents.questions.open", "{question}", "Open questions of cached workflows."),
            oldest: meter.gauge("temporal_agents.questions.oldest", "s", "Unix time of the oldest open question."),
            verdicts: meter.counter("temporal_agents.gate.verdicts", "{call}", "Calls denied or left to a person."),
            turn: meter.histogram(TURN, "By", "Content of a turn in history."),
            conversations: meter.counter("temporal_agents.conversations", "{request}", "Requests with references."),
            rebuilt: meter.counter("temporal_agents.conversations.rebuilt", "By", "Content read from history."),
            lost_deltas: meter.counter("temporal_agents.deltas.lost", "{attempt}", "Attempts with lost deltas."),
            meter,
        }
    }
}

/// Returns the boundaries that the conventions recommend, by the name of the histogram.
pub(super) fn buckets() -> impl Iterator<Item = (&'static str, Vec<f64>)> {
    let doubled = |first: f64, count: usize, factor: f64| {
        std::iter::successors(Some(first), move |last| Some(last * factor)).take(count).collect::<Vec<_>>()
    };
    let (inference, tokens) = (doubled(0.01, 14, 2.0), doubled(1.0, 14, 4.0));
    let costs = doubled(0.0001, 10, 4.0);
    let (calls, days) = (doubled(1.0, 8, 2.0), doubled(0.1, 12, 4.0));
    let of = |names: &'static [&'static str], boundaries: Vec<f64>| {
        names.iter().map(move |name| (*name, boundaries.clone()))
    };
    of(&[INFERENCE, FIRST_CHUNK, TOOL, EARLIER_INFERENCE, EARLIER_FIRST_CHUNK], inference)
        .chain(of(&[INPUT, OUTPUT, EARLIER_TOKENS, TURN], tokens))
        .chain(of(&[COST], costs))
        .chain(of(&[INFERENCE_CALLS, TOOL_CALLS], calls))
        .chain(of(&[AGENT, WORKFLOW, WAIT], days))
}
