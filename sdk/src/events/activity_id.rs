//! Maps the id of an activity to its place in the conversation: `<run>-<path>-<turn>-model` and
//! similar forms.

/// The place of an activity in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place<'i> {
    /// Id of the run, with the path of the nested runs.
    pub(crate) run: &'i str,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Model {
        turn: u32,
    },
    Tool {
        turn: u32,
        index: u32,
    },
    /// Lists the tools of an MCP server.
    McpList {
        turn: u32,
    },
    /// An activity of the run that belongs to no turn: a guardrail, a session, or the opening of a
    /// session with an MCP server.
    Aside,
}

impl<'i> Place<'i> {
    /// Returns the place of the activity with this id, or `None` when the id does not have the form
    /// of a run's activity ids.
    pub(crate) fn of(id: &'i str) -> Option<Self> {
        // The suffix of activities that were scheduled again until a worker could run them.
        let id = match id.rsplit_once("-retry-") {
            Some((first, times)) if times.parse::<u32>().is_ok() => first,
            _ => id,
        };
        // The suffixes of calls that were sent again with missing parts.
        let id = id.strip_suffix("-full").or_else(|| id.strip_suffix("-definitions")).unwrap_or(id);
        // The suffix of calls that were repeated in another session with an MCP server.
        let id = match id.rsplit_once("-again-") {
            Some((first, time)) if time.parse::<u32>().is_ok() => first,
            _ => id,
        };
        // The suffix of calls that were repeated with a person's answers.
        let id = match id.rsplit_once("-asked-") {
            Some((first, asked)) if asked.parse::<u32>().is_ok() => first,
            _ => id,
        };
        if let Some(rest) = id.strip_suffix("-model") {
            let (run, turn) = last_number(rest)?;
            return Some(Self { run, role: Role::Model { turn } });
        }
        // A summary is a run of its own, next to the run that it shortens.
        if let Some((_, turn)) = summary(id) {
            return Some(Self { run: id, role: Role::Model { turn } });
        }
        if let Some(place) = tool(id) {
            return Some(place);
        }
        if let Some(place) = mcp_list(id) {
            return Some(place);
        }
        ["-mcp-session-", "-session-", "-input-guardrail-", "-output-guardrail-"].into_iter().find_map(|name| {
            let (run, number) = id.rsplit_once(name)?;
            is_number_list(number).then_some(Self { run, role: Role::Aside })
        })
    }

    /// Returns the id of the run that contains the run with this id, derived from the form of the
    /// id.
    pub(crate) fn parent(run: &str) -> Option<&str> {
        let of_tool = tool(run).map(|place| place.run);
        let of_guardrail = || {
            ["-input-guardrail-", "-output-guardrail-"].into_iter().find_map(|name| {
                let (parent, number) = run.rsplit_once(name)?;
                is_number_list(number).then_some(parent)
            })
        };
        let of_summary = || summary(run).map(|(parent, _)| parent);
        let of_gate = || Self::judged(run).map(|(parent, ..)| parent);
        of_tool.or_else(of_guardrail).or_else(of_summary).or_else(of_gate)
    }

    /// Returns the run whose call this run judges, and the turn and the index of the call; `None`
    /// for a run that is not one of a judge.
    pub(crate) fn judged(run: &str) -> Option<(&str, u32, u32)> {
        let (rest, index) = last_number(run)?;
        let (parent, turn) = last_number(rest.strip_suffix("-gate")?)?;
        Some((parent, turn, index))
    }
}

/// Returns `true` if the effect with this id in its own run is one that no fact reports.
pub(crate) fn is_aside(effect: &str) -> bool {
    Place::of(&format!("run-{effect}")).is_some_and(|place| place.role == Role::Aside)
}

/// Returns the run that is shortened, and the turn after which.
fn summary(id: &str) -> Option<(&str, u32)> {
    last_number(id.strip_suffix("-summary")?)
}

fn tool(id: &str) -> Option<Place<'_>> {
    let (rest, index) = last_number(id)?;
    let (run, turn) = last_number(rest.strip_suffix("-tool")?)?;
    Some(Place { run, role: Role::Tool { turn, index } })
}

/// Reads `<run>-<turn>-mcp-<n>`, and `<run>-<turn>-resume-mcp-<n>` of a turn that continues.
fn mcp_list(id: &str) -> Option<Place<'_>> {
    let (rest, _) = last_number(id)?;
    let rest = rest.strip_suffix("-mcp")?;
    let (run, turn) = last_number(rest.strip_suffix("-resume").unwrap_or(rest))?;
    Some(Place { run, role: Role::McpList { turn } })
}

/// Returns `true` for `7` and `3-0-1`.
fn is_number_list(text: &str) -> bool {
    text.split('-').all(|part| part.parse::<u32>().is_ok())
}

/// Splits `x-7` into `x` and 7.
fn last_number(id: &str) -> Option<(&str, u32)> {
    let (rest, number) = id.rsplit_once('-')?;
    Some((rest, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
