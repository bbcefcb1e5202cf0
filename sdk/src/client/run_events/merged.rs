//! The events of a workflow and of its children, in one order.
//!
//! Within a workflow the order is that of its history. The events of a child come between the
//! parent's event that the child has started and the one that it has ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use temporal_agents_core::wire::RunEvent;
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;

use super::{
    RunEventsError,
    chain::{Chain, Step},
    cursor::{ChainKey, Cursor, Position},
    execution::InitiatedChild,
    pages::{Pages, describe},
};

/// Maximum number of histories that are polled at the same time; the others wait for their turn.
const MAX_POLLS: usize = 100;

/// A page of a history, with the reader of the next ones.
type Fetched = (ChainKey, Pages, Result<Option<Vec<HistoryEvent>>, RunEventsError>);

/// The next of a workflow's events, if there is one.
pub(super) enum MergedRead {
    Event(Box<RunEvent>),
    /// The server has had no event for some 20 s.
    Nothing,
    Ended,
}

/// The events of a workflow and of its children.
pub(super) struct Merged {
    client: Client,
    workflow_id: String,
    /// The place after which the first event comes, of chains that have not begun.
    from: Cursor,
    chains: BTreeMap<ChainKey, Chain>,
    polls: FuturesUnordered<BoxFuture<'static, Fetched>>,
    /// The chains that need a page and are not polled yet, in their order.
    waiting: VecDeque<ChainKey>,
    needs: BTreeSet<ChainKey>,
    events: VecDeque<RunEvent>,
    has_ended: bool,
}

impl Merged {
    /// Creates a reader of a workflow that begins after `from`, or at the beginning.
    pub(super) fn new(client: &Client, workflow_id: &str, from: Option<Cursor>) -> Self {
        Self {
            client: client.clone(),
            workflow_id: workflow_id.to_owned(),
            from: from.unwrap_or_default(),
            chains: BTreeMap::new(),
            polls: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            needs: BTreeSet::new(),
            events: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Returns the next event; `None` after the last.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses a request.
    pub(super) async fn next(&mut self) -> Result<Option<RunEvent>, RunEventsError> {
        loop {
            match self.read().await? {
                MergedRead::Event(event) => return Ok(Some(*event)),
                MergedRead::Nothing => {}
                MergedRead::Ended => return Ok(None),
            }
        }
    }

    /// Returns the next event, the end, or that the server has had no event for some 20 s.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses a request.
    pub(super) async fn read(&mut self) -> Result<MergedRead, RunEventsError> {
        if self.chains.is_empty() && !self.has_ended {
            let chain = self.first().await?;
            self.chains.insert(ChainKey::new(), chain);
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(MergedRead::Event(Box::new(event)));
            }
            if self.has_ended {
                return Ok(MergedRead::Ended);
            }
            if !self.advance().await? && self.wait().await? {
                return Ok(MergedRead::Nothing);
            }
        }
    }

    /// Returns the chain of the workflow itself, once it was requested.
    pub(super) fn root(&self) -> Option<&Chain> {
        self.chains.get(&ChainKey::new())
    }

    /// Returns the chain of the workflow itself: from the cursor, or from its first execution.
    async fn first(&mut self) -> Result<Chain, RunEventsError> {
        let (client, workflow_id) = (&self.client, &*self.workflow_id);
        if let Some(position) = self.from.0.remove(&ChainKey::new()) {
            let execution = position.execution.clone();
            return Ok(Chain::new(client, (workflow_id, &execution), None, Some(position)));
        }
        let latest = describe(client, workflow_id, None).await?;
        // The server may have deleted the first executions already.
        let first = match describe(client, workflow_id, Some(&latest.first)).await {
            Ok(first) => first.execution,
            Err(RunEventsError::NotFound { .. }) => latest.execution,
            Err(error) => return Err(error),
        };
        Ok(Chain::new(client, (workflow_id, &first), None, None))
    }

    /// Reads one event of each chain that has one. Returns `false` if none has.
    async fn advance(&mut self) -> Result<bool, RunEventsError> {
        let keys: Vec<ChainKey> = self.chains.keys().cloned().collect();
        let mut has_advanced = false;
        for key in keys {
            let Some(chain) = self.chains.get_mut(&key) else { continue };
            match chain.step().await? {
                Step::Needs => self.need(key),
                Step::Facts(facts) => {
                    has_advanced = true;
                    self.push(&key, facts);
                }
                Step::Left(facts) => {
                    has_advanced = true;
                    self.push(&key, facts);
                    self.leave_children(&key);
                }
                Step::WaitsForChildren => {
                    let is_open = |(other, child): (&ChainKey, &Chain)| {
                        is_inside(other, &key) && child.ends_with_parent && !child.has_ended
                    };
                    if !self.chains.iter().any(is_open) {
                        has_advanced = true;
                        self.leave_children(&key);
                        if let Some(chain) = self.chains.get_mut(&key) {
                            let facts = chain.conclude();
                            self.push(&key, facts);
                        }
                    }
                }
                Step::Child { initiated, child, run_id, is_told } => {
                    has_advanced = true;
                    self.child(&key, initiated, child, &run_id, is_told);
                }
                Step::Waits(initiated) => {
                    let of_child: ChainKey = key.iter().cloned().chain([chain.origin(initiated)]).collect();
                    if self.chains.get(&of_child).is_none_or(|child| child.has_ended) {
                        has_advanced = true;
                        self.chains.retain(|other, _| !other.starts_with(&of_child));
                        if let Some(chain) = self.chains.get_mut(&key) {
                            chain.child_was_told();
                        }
                    }
                }
                Step::Ended if key.is_empty() => {
                    self.has_ended = true;
                    return Ok(true);
                }
                Step::Ended => {}
            }
        }
        Ok(has_advanced)
    }

    /// Follows a child that has started, unless its events were told before.
    fn child(&mut self, parent: &ChainKey, initiated: i64, child: InitiatedChild, run_id: &str, is_told: bool) {
        let Some(origin) = self.chains.get(parent).map(|chain| chain.origin(initiated)) else { return };
        let key: ChainKey = parent.iter().cloned().chain([origin]).collect();
        let position = self.from.0.remove(&key);
        let InitiatedChild { namespace, workflow_id, path, ends_with_parent } = child;
        // The client belongs to one namespace.
        if (is_told && position.is_none()) || !(namespace.is_empty() || namespace == self.client.namespace()) {
            return;
        }
        let execution = position.as_ref().map_or(run_id, |position| &position.execution).to_owned();
        let outer = self.chains.get(parent).map(|chain| chain.path().to_vec()).unwrap_or_default();
        let path = outer.into_iter().chain(path).collect();
        let shown = Some((workflow_id.clone(), path));
        let mut chain = Chain::new(&self.client, (&workflow_id, &execution), shown, position);
        chain.ends_with_parent = ends_with_parent;
        self.chains.insert(key, chain);
    }

    /// Adds facts of a chain, with the cursor of each.
    fn push(&mut self, key: &ChainKey, facts: Vec<(Position, RunEvent)>) {
        self.discard_unreached();
        for (position, mut event) in facts {
            event.cursor = Some(self.cursor_at(key, &position).to_string());
            self.events.push_back(event);
        }
    }

    /// Discards the children of an execution that has ended. What they do from then on belongs to
    /// no run of this workflow.
    fn leave_children(&mut self, key: &ChainKey) {
        self.chains.retain(|other, _| !is_inside(other, key));
        self.needs.retain(|other| !is_inside(other, key));
        self.waiting.retain(|other| !is_inside(other, key));
    }

    /// Discards positions of the cursor that the reader has passed without a child for them.
    fn discard_unreached(&mut self) {
        let chains = &self.chains;
        let known: BTreeSet<ChainKey> = self.from.0.keys().cloned().collect();
        self.from.0.retain(|key, _| {
            let parent = &key[..key.len().saturating_sub(1)];
            chains.get(parent).map_or_else(|| known.contains(parent), Chain::is_before_cursor)
        });
    }

    fn cursor_at(&self, key: &ChainKey, position: &Position) -> Cursor {
        let mut positions: BTreeMap<_, _> =
            self.chains.iter().map(|(key, chain)| (key.clone(), chain.position.clone())).collect();
        positions.insert(key.clone(), position.clone());
        // Children of the cursor that the reader has not reached yet.
        for (key, position) in &self.from.0 {
            positions.entry(key.clone()).or_insert_with(|| position.clone());
        }
        Cursor(positions)
    }

    /// Requests the next page of a chain, when it is its turn.
    fn need(&mut self, key: ChainKey) {
        if self.needs.insert(key.clone()) {
            // The workflow itself does not wait behind its children.
            if key.is_empty() {
                self.waiting.push_front(key);
            } else {
                self.waiting.push_back(key);
            }
        }
    }

    /// Waits for the next page of any chain. Returns `true` if it is one of a workflow without open
    /// children, and has no event.
    async fn wait(&mut self) -> Result<bool, RunEventsError> {
        while self.polls.len() < MAX_POLLS
            && let Some(key) = self.waiting.pop_front()
        {
            match self.chains.get_mut(&key).and_then(|chain| chain.pages.take()) {
                None => drop(self.needs.remove(&key)),
                Some(mut pages) => self.polls.push(
                    async move {
                        let page = pages.next().await;
                        (key, pages, page)
                    }
                    .boxed(),
                ),
            }
        }
        let Some((key, pages, page)) = self.polls.next().await else { return Ok(false) };
        self.needs.remove(&key);
        let is_alone = self.chains.len() == 1;
        let Some(chain) = self.chains.get_mut(&key) else { return Ok(false) };
        chain.pages = Some(pages);
        let has_nothing = is_alone && matches!(&page, Ok(Some(events)) if events.is_empty());
        match page {
            Ok(events) => chain.fetched(events),
            // The history of a child may be gone before that of its parent.
            Err(RunEventsError::NotFound { .. }) if !key.is_empty() => chain.fetched(None),
            Err(error) => return Err(error),
        }
        Ok(has_nothing)
    }
}

/// Returns `true` if a chain is of a child of this one, at any depth.
fn is_inside(key: &ChainKey, outer: &ChainKey) -> bool {
    key.len() > outer.len() && key.starts_with(outer)
}
