//! From the id of an activity to its place in the conversation: `<run>-<path>-<turn>-model` and its like.

/// What an activity is to its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<'i> {
    /// The run, with the path of the runs inside it.
    pub(super) run: &'i str,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Model {
        turn: u32,
    },
    Tool {
        turn: u32,
        index: u32,
    },
    /// Of the run, not of a turn: a guardrail, a session.
    Aside,
}

impl<'i> Place<'i> {
    /// The place of the activity with this id; `None` when the id is not one that a run gives.
    pub(super) fn of(id: &'i str) -> Option<Self> {
        // Activities that were scheduled again, until a worker had them.
        let id = match id.rsplit_once("-retry-") {
            Some((first, times)) if times.parse::<u32>().is_ok() => first,
            _ => id,
        };
        // Calls that were sent once more.
        let id = id.strip_suffix("-full").or_else(|| id.strip_suffix("-definitions")).unwrap_or(id);
        // Calls that were made again in another session with an MCP server.
        let id = match id.rsplit_once("-again-") {
            Some((first, time)) if time.parse::<u32>().is_ok() => first,
            _ => id,
        };
        // Calls that were made anew with the answers of people.
        let id = match id.rsplit_once("-asked-") {
            Some((first, asked)) if asked.parse::<u32>().is_ok() => first,
            _ => id,
        };
        if let Some(rest) = id.strip_suffix("-model") {
            let (run, turn) = last_number(rest)?;
            return Some(Self { run, role: Role::Model { turn } });
        }
        // A summary stands beside the run that it shortens, as a run of its own.
        if let Some((_, turn)) = summary(id) {
            return Some(Self { run: id, role: Role::Model { turn } });
        }
        if let Some(place) = tool(id) {
            return Some(place);
        }
        ["-session-", "-input-guardrail-", "-output-guardrail-"].into_iter().find_map(|name| {
            let (run, number) = id.rsplit_once(name)?;
            let is_number = number.split('-').all(|part| part.parse::<u32>().is_ok());
            is_number.then_some(Self { run, role: Role::Aside })
        })
    }

    /// The run that a run with this id is inside of, by the form of the id.
    pub(super) fn parent(run: &str) -> Option<&str> {
        let of_tool = tool(run).map(|place| place.run);
        let of_guardrail = || {
            ["-input-guardrail-", "-output-guardrail-"].into_iter().find_map(|name| {
                let (parent, number) = run.rsplit_once(name)?;
                number.parse::<u32>().is_ok().then_some(parent)
            })
        };
        let of_summary = || summary(run).map(|(parent, _)| parent);
        of_tool.or_else(of_guardrail).or_else(of_summary)
    }
}

/// The run that is shortened, and after which turn.
fn summary(id: &str) -> Option<(&str, u32)> {
    last_number(id.strip_suffix("-summary")?)
}

fn tool(id: &str) -> Option<Place<'_>> {
    let (rest, index) = last_number(id)?;
    let (run, turn) = last_number(rest.strip_suffix("-tool")?)?;
    Some(Place { run, role: Role::Tool { turn, index } })
}

/// `x-7` as `x` and 7.
fn last_number(id: &str) -> Option<(&str, u32)> {
    let (rest, number) = id.rsplit_once('-')?;
    Some((rest, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
