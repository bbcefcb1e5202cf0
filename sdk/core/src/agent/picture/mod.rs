//! Pictures of a graph of agents: what an author has built, at a glance.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the parts of a picture, read from a graph |
//! | `mermaid.rs` | as a flowchart of Mermaid, for Markdown |
//! | `svg.rs`, `layout.rs` | as an SVG image, and where its boxes are |
//!
//! # Design
//! **Names are data.** Agents can come from a store, and tools from a server, so every text is
//! escaped, cut, and never a part of the syntax.

mod layout;
mod mermaid;
mod svg;

pub use svg::escaped;

use std::collections::BTreeMap;

use super::{graph::Graph, handoff::Handoff};
use crate::{agent::AgentDef, tool::ToolBinding, wire::ToolSpec};

/// Most lines of a box; the last one counts the others.
const MOST_LINES: usize = 16;

/// Longest text of a line, in characters.
const LONGEST_LINE: usize = 34;

/// An agent as a box.
struct AgentBox {
    name: String,
    model: Option<String>,
    /// The lines below: tools, servers, guardrails.
    lines: Vec<Line>,
    /// Number of handoffs, and of calls of agents, on the shortest way from the start.
    depth: usize,
}

struct Line {
    kind: LineKind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Tool,
    Server,
    Guardrail,
    /// The number of lines that are left out.
    Others,
}

impl LineKind {
    /// Sign before the text.
    fn sign(self) -> &'static str {
        match self {
            Self::Tool => "\u{2699}",
            Self::Server => "\u{2601}",
            Self::Guardrail => "\u{25c6}",
            Self::Others => "\u{2026}",
        }
    }
}

/// An arrow from one box to another, by their indexes.
struct Arrow {
    from: usize,
    to: usize,
    kind: ArrowKind,
    /// Name of the handoff, or of the tool, if it is not the usual one.
    label: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrowKind {
    /// The other agent goes on.
    Handoff,
    /// The other agent answers a call.
    Call,
    /// The other agent is a guardrail.
    Judge,
}

/// The parts of a picture: boxes in the order of their depth, the start first.
struct Picture {
    boxes: Vec<AgentBox>,
    arrows: Vec<Arrow>,
}

impl Graph {
    /// Returns the graph as a flowchart of [Mermaid](https://mermaid.js.org), which many readers of
    /// Markdown draw: agents with their tools, servers and guardrails; handoffs as arrows, agents
    /// used as tools and as guardrails as dotted ones.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use temporal_agents::{Agent, agent::Graph};
    ///
    /// let planner: Agent = Agent::new("planner").model("gpt-5");
    /// let triage: Agent = Agent::new("triage").model("gpt-5-mini").handoff(planner);
    /// let picture = Graph::of_agent(&triage).to_mermaid();
    /// assert!(picture.starts_with("flowchart LR\n"));
    /// ```
    pub fn to_mermaid(&self) -> String {
        mermaid::draw(&Picture::of(self))
    }

    /// Returns the graph as an SVG image, with the parts of [`to_mermaid`](Self::to_mermaid).
    pub fn to_svg(&self) -> String {
        svg::draw(&Picture::of(self))
    }
}

impl Picture {
    fn of(graph: &Graph) -> Self {
        let mut found = Found::default();
        found.add(graph);
        let Found { agents, arrows } = found;
        let depths = depths(agents.len(), &arrows);
        let mut order: Vec<usize> = (0..agents.len()).collect();
        order.sort_by_key(|at| (depths[*at], *at));
        let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let mut agents: Vec<Option<AgentBox>> = agents.into_iter().map(|(agent_box, _)| Some(agent_box)).collect();
        let boxes = order.iter().filter_map(|at| Some(AgentBox { depth: depths[*at], ..agents[*at].take()? }));
        let boxes = boxes.collect();
        let arrows = arrows.into_iter().map(|arrow| Arrow { from: place[&arrow.from], to: place[&arrow.to], ..arrow });
        Self { boxes, arrows: arrows.collect() }
    }
}

/// The agents of a graph and of the graphs inside it; the same agent is one box.
#[derive(Default)]
struct Found {
    agents: Vec<(AgentBox, String)>,
    arrows: Vec<Arrow>,
}

impl Found {
    /// Adds the agents of a graph, and returns the index of its start.
    fn add(&mut self, graph: &Graph) -> usize {
        let start = graph.agent(graph.start());
        let others = graph.agents().filter(|agent| agent.name != graph.start());
        let agents: Vec<_> = start.into_iter().chain(others).collect();
        let mut is_new = Vec::new();
        for agent in &agents {
            is_new.push(self.place(agent));
        }
        for (agent, (from, is_new)) in agents.iter().zip(&is_new) {
            if *is_new {
                self.add_arrows(graph, agent, *from);
            }
        }
        is_new.first().map_or(0, |(at, _)| *at)
    }

    /// Returns the index of the box of an agent, and whether it is new.
    fn place(&mut self, agent: &AgentDef) -> (usize, bool) {
        // An agent that is built anew for each use is the same agent.
        let same = format!("{agent:?}");
        if let Some(at) = self.agents.iter().position(|(_, other)| *other == same) {
            return (at, false);
        }
        self.agents.push((box_of(agent), same));
        (self.agents.len() - 1, true)
    }

    fn add_arrows(&mut self, graph: &Graph, agent: &AgentDef, from: usize) {
        for (handoff, target) in graph.handoffs_of(agent) {
            let (to, _) = self.place(target);
            let usual = Handoff::to(&*target.name).name();
            let label = Some(handoff.name()).filter(|name| *name != usual).map(|name| cut(&name));
            self.arrows.push(Arrow { from, to, kind: ArrowKind::Handoff, label });
        }
        for tool in &agent.tools {
            if let ToolBinding::Agent(called) = tool.binding() {
                let to = self.add(&Graph::new(called.agent()));
                let label = Some(cut(tool.name())).filter(|name| *name != called.agent().name);
                self.arrows.push(Arrow { from, to, kind: ArrowKind::Call, label });
            }
        }
        let judges: Vec<AgentDef> = agent.judges().cloned().collect();
        for judge in judges {
            let to = self.add(&Graph::new(&judge));
            self.arrows.push(Arrow { from, to, kind: ArrowKind::Judge, label: None });
        }
    }
}

fn box_of(agent: &AgentDef) -> AgentBox {
    let tools = agent.tools.iter().filter(|tool| !matches!(tool.binding(), ToolBinding::Agent(_)));
    let tools = tools.map(|tool| Line { kind: LineKind::Tool, text: cut(tool.name()) });
    let hosted = agent.hosted_tools.iter().map(|tool| {
        let (ToolSpec::Function { name, .. } | ToolSpec::Hosted { name, .. }) = tool;
        Line { kind: LineKind::Tool, text: cut(name) }
    });
    let servers = agent.mcp_servers.iter();
    let servers = servers.map(|server| Line { kind: LineKind::Server, text: cut(server.name()) });
    let guardrails = agent.input_guardrails.iter().map(|guardrail| ("in", guardrail.name()));
    let guardrails = guardrails.chain(agent.output_guardrails.iter().map(|guardrail| ("out", guardrail.name())));
    let guardrails =
        guardrails.map(|(side, name)| Line { kind: LineKind::Guardrail, text: cut(&format!("{side}: {name}")) });
    AgentBox {
        name: cut(&agent.name),
        model: agent.model.as_deref().map(cut),
        lines: lines(tools.chain(hosted).chain(servers).chain(guardrails).collect()),
        depth: 0,
    }
}

/// Returns the lines that a box has room for.
fn lines(mut lines: Vec<Line>) -> Vec<Line> {
    if lines.len() > MOST_LINES {
        let others = lines.len() - (MOST_LINES - 1);
        lines.truncate(MOST_LINES - 1);
        lines.push(Line { kind: LineKind::Others, text: format!("and {others} more") });
    }
    lines
}

/// Returns the number of arrows on the shortest way from the first box to each.
fn depths(boxes: usize, arrows: &[Arrow]) -> Vec<usize> {
    let mut depths = vec![usize::MAX; boxes];
    if let Some(first) = depths.first_mut() {
        *first = 0;
    }
    let mut reached = vec![0];
    while let Some(from) = reached.pop() {
        let Some(depth) = depths.get(from).copied() else { continue };
        for arrow in arrows.iter().filter(|arrow| arrow.from == from) {
            if depths[arrow.to] > depth + 1 {
                depths[arrow.to] = depth + 1;
                reached.push(arrow.to);
            }
        }
    }
    depths.into_iter().map(|depth| if depth == usize::MAX { 0 } else { depth }).collect()
}

/// Returns the text on one line, cut to the longest one.
fn cut(text: &str) -> String {
    cut_to(text, LONGEST_LINE)
}

/// Returns the text on one line, cut to this number of characters.
fn cut_to(text: &str, longest: usize) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(longest + 1).collect();
    if shown.chars().count() > longest {
        let kept: String = shown.chars().take(longest - 1).collect();
        return format!("{kept}\u{2026}");
    }
    shown
}

#[cfg(test)]
mod tests;
