//! The traces of the runs of a workflow.

use temporal_agents_core::wire::TraceSettings;

use crate::{
    client::transcript::Transcript,
    trace::ids::{Caller, Execution, TraceId},
};

/// The rule by which a run of a workflow has its trace.
///
/// The trace of the caller that started the workflow contains all of it. Without one, a run has the
/// trace that its settings name, or else that of the workflow.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// The caller, if there is one beside the workflow itself.
    caller: Option<Caller>,
    /// The trace of a run that names none.
    of_workflow: TraceId,
}

impl Places {
    /// Returns the rule for a workflow whose start has this context.
    pub(super) fn new(sent: Option<Caller>, execution: &Execution<'_>) -> Self {
        // A later execution names the workflow itself as its caller.
        let caller = sent.filter(|caller| caller.span != execution.workflow());
        Self { caller, of_workflow: sent.map_or_else(|| execution.trace(), |sent| sent.trace) }
    }

    /// Returns the caller.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.caller
    }

    /// Returns the trace of a run with these settings; `None` if the run has no spans.
    pub(super) fn trace_of(&self, settings: Option<&TraceSettings>) -> Option<TraceId> {
        if settings.is_some_and(|settings| settings.disabled) {
            return None;
        }
        let named = || Some(TraceId(settings?.trace()?));
        let named = if self.caller.is_some() { None } else { named() };
        Some(named.unwrap_or(self.of_workflow))
    }

    /// Returns the traces of a workflow in the order of its runs, each with the settings of its
    /// root: those of its runs, of which earlier ones count.
    pub(super) fn traces(&self, chain: &[Transcript]) -> Vec<(TraceId, TraceSettings)> {
        let mut traces: Vec<(TraceId, TraceSettings)> = Vec::new();
        let mut has_runs = false;
        let of_runs = chain.iter().flat_map(|execution| {
            let of_runs = execution.runs.iter().map(|run| run.trace.as_ref());
            of_runs.chain(execution.tripped.iter().map(|tripped| tripped.trace.as_ref()))
        });
        for settings in of_runs {
            has_runs = true;
            let Some(trace) = self.trace_of(settings) else { continue };
            let settings = settings.cloned().unwrap_or_default();
            match traces.iter_mut().find(|(other, _)| *other == trace) {
                Some((_, root)) => {
                    // Content of any of its runs may be in the failure of the workflow.
                    let narrowed = settings.include_sensitive_data.filter(|includes| !includes);
                    *root = std::mem::take(root).over(&settings);
                    root.include_sensitive_data = narrowed.or(root.include_sensitive_data);
                }
                None => traces.push((trace, settings)),
            }
        }
        if !has_runs {
            traces.push((self.of_workflow, TraceSettings::default()));
        }
        traces
    }
}
