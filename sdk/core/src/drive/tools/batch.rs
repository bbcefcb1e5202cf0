//! Calls of one response that the host makes together, as an option of the run
//! (`RunConfig::batch_tools`). A call in a batch has the outcome that it would have on its own.
//!
//! A call stays on its own if its tool
//!
//! - is not an activity of this library (inline, workflow, client, MCP, remote or Nexus tools,
//!   agents, child workflows): its body runs elsewhere;
//! - is a local activity: it has no activity task;
//! - has `idempotent = false`: a worker that is lost in the middle of a batch makes its open calls
//!   again;
//! - is `serial`, `exclusive`, or has a limit on calls at the same time: the loop admits its calls;
//! - has other options than every other call (task queue, timeouts, attempts): an activity has one
//!   of each;
//! - has more than 1 MB of input: a request has a limit.
//!
//! A call that waits for a decision has no effect yet; once approved it is a call like any other.
//! If the run limits the calls at the same time (`max_tool_concurrency`), a batch has at most as
//! many.
//!
//! # Design
//! **A batch is formed when every call has begun.** Each call first passes all of its own checks,
//! and takes the run context as it is then. The calls that may be made together wait here until the
//! loop has polled all calls once; then they are grouped in call order. Commands of other calls are
//! therefore issued first, which is a rule: it has a patch, queried only if at least two calls of a
//! response may be in a batch.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    task::{Context, Poll},
};

use futures::{FutureExt, future::LocalBoxFuture};

use super::Call;
use crate::{
    drive::{
        env::Env,
        host::{Host, ToolAnswer, ToolEffect, ToolEffectError},
    },
    tool::{ToolActivityOptions, ToolBinding, ToolDef},
    wire::size::encoded_len,
};

/// The patch of runs that make tool calls together.
const BATCHED_TOOLS: &str = "temporal-agents/batched-tools";
/// Maximum number of calls in a batch. The host counts each as a tool call in flight.
const MAX_CALLS: usize = 20;
/// Maximum size of the input of the calls in a batch, in bytes of JSON.
const MAX_BYTES: usize = 1_000_000;

type Outcome = Result<ToolAnswer, ToolEffectError>;

/// The place in which a call finds its outcome.
type Slot = Rc<RefCell<Option<Outcome>>>;

/// The batches of one response.
pub(super) struct Batches<'b, H: Host> {
    host: &'b H,
    scope: &'b H::Scope,
    is_on: bool,
    /// The calls that have begun since the last group was formed, in call order.
    begun: RefCell<Vec<(ToolEffect<'b>, Slot)>>,
    running: RefCell<Vec<LocalBoxFuture<'b, ()>>>,
}

impl<'b, H: Host> Batches<'b, H> {
    /// Creates the batches of these calls, if the run and the host have batches.
    pub(super) fn new(env: &'b Env<'_, H>, scope: &'b H::Scope, calls: &[Call<'_>]) -> Self {
        let is_wanted = env.config.batch_tools
            && env.config.max_tool_concurrency != Some(1)
            && env.host.batches_tools()
            && has_company(calls);
        let is_on = is_wanted && env.host.patched(BATCHED_TOOLS);
        Self { host: env.host, scope, is_on, begun: RefCell::default(), running: RefCell::default() }
    }

    /// Makes the call, on its own or with others.
    pub(super) async fn call(&self, effect: ToolEffect<'b>) -> Outcome {
        if !self.is_on || options_of(effect.tool).is_none() || bytes_of(&effect) > MAX_BYTES {
            return self.host.call_tool(effect, self.scope).await;
        }
        let slot = Slot::default();
        self.begun.borrow_mut().push((effect, Rc::clone(&slot)));
        poll_fn(|_| slot.borrow_mut().take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Awaits the bodies of the calls, and makes the calls that wait here whenever each body has
    /// been polled.
    pub(super) async fn beside<T>(&self, bodies: impl Future<Output = T>) -> T {
        let mut bodies = pin!(bodies);
        poll_fn(|cx| {
            loop {
                let polled = bodies.as_mut().poll(cx);
                if polled.is_ready() || !self.advance(cx) {
                    return polled;
                }
            }
        })
        .await
    }

    /// Begins the calls that wait, and polls all that are in progress. Returns `true` if a call has
    /// its outcome now.
    fn advance(&self, cx: &mut Context<'_>) -> bool {
        let begun = self.begun.take();
        let mut running = self.running.borrow_mut();
        running.extend(grouped(begun).into_iter().map(|group| self.make(group)));
        let before = running.len();
        running.retain_mut(|group| group.as_mut().poll(cx).is_pending());
        running.len() < before
    }

    fn make(&self, group: Vec<(ToolEffect<'b>, Slot)>) -> LocalBoxFuture<'b, ()> {
        let (host, scope) = (self.host, self.scope);
        async move {
            let (mut effects, slots): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            let outcomes = match effects.pop() {
                Some(only) if effects.is_empty() => vec![host.call_tool(only, scope).await],
                last => {
                    effects.extend(last);
                    host.call_tools(effects, scope).await
                }
            };
            for (slot, outcome) in slots.iter().zip(outcomes) {
                slot.replace(Some(outcome));
            }
        }
        .boxed_local()
    }
}

/// Groups calls with the same options, in call order, up to the limits of a batch.
fn grouped(calls: Vec<(ToolEffect<'_>, Slot)>) -> Vec<Vec<(ToolEffect<'_>, Slot)>> {
    let mut groups: Vec<(usize, Vec<(ToolEffect<'_>, Slot)>)> = Vec::new();
    for (effect, slot) in calls {
        let bytes = bytes_of(&effect);
        let has_room = |(size, group): &&mut (usize, Vec<(ToolEffect<'_>, Slot)>)| {
            let is_like = group.first().is_some_and(|(first, _)| are_alike(first.tool, effect.tool));
            is_like && group.len() < MAX_CALLS && *size + bytes <= MAX_BYTES
        };
        match groups.iter_mut().find(has_room) {
            Some((size, group)) => {
                *size += bytes;
                group.push((effect, slot));
            }
            None => groups.push((bytes, vec![(effect, slot)])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Returns `true` if two of these calls may be made together.
fn has_company(calls: &[Call<'_>]) -> bool {
    let tools = calls.iter().filter(|call| call.settled.is_none() && call.supplied.is_none());
    let tools: Vec<&ToolDef> = tools.filter_map(|call| call.tool).filter(|tool| options_of(tool).is_some()).collect();
    tools.iter().enumerate().any(|(place, tool)| tools[..place].iter().any(|other| are_alike(other, tool)))
}

/// Returns the options of a tool whose calls may be made together with others.
fn options_of(tool: &ToolDef) -> Option<&ToolActivityOptions> {
    match tool.binding() {
        ToolBinding::Activity { options, .. } => {
            let is_alone = options.local
                || !options.idempotent
                || !tool.side_by_side().is_unlimited()
                // A batch finds a tool by the name that the model knows.
                || tool.native_kind().is_some();
            (!is_alone).then_some(options)
        }
        _ => None,
    }
}

/// Returns `true` if one activity can make the calls of both tools. The summary is for people only:
/// a batch has its own.
fn are_alike(one: &ToolDef, other: &ToolDef) -> bool {
    let of = |tool| options_of(tool).map(|options| ToolActivityOptions { summary: None, ..options.clone() });
    matches!((of(one), of(other)), (Some(one), Some(other)) if one == other)
}

fn bytes_of(effect: &ToolEffect<'_>) -> usize {
    encoded_len(&(&effect.arguments, &effect.context, effect.tool.settings())).unwrap_or(usize::MAX)
}
