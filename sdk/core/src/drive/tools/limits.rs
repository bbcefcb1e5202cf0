//! The limits on concurrent calls of a response, from the configuration of the run and of the
//! tools.

use super::Call;
use crate::drive::join::Limits;

/// Returns the limits of these calls. A tool with a limit of its own has a lane of its own; each
/// class of tools has a lane for one call.
pub(super) fn limits_of(all: Option<usize>, calls: &[Call<'_>]) -> Limits {
    let mut names: Vec<Lane<'_>> = Vec::new();
    let mut limits = Limits { all: all.unwrap_or(usize::MAX), ..Limits::default() };
    for call in calls {
        let mut lanes = Vec::new();
        // A settled call has no body to run.
        if let (Some(tool), None) = (call.tool, &call.settled) {
            let rule = tool.side_by_side();
            let of_tool = rule.most.map(|most| (Lane::Tool(tool.name()), most));
            let of_class = rule.class.as_deref().map(|class| (Lane::Class(class), 1));
            for (lane, most) in of_tool.into_iter().chain(of_class) {
                let place = names.iter().position(|name| *name == lane).unwrap_or_else(|| {
                    names.push(lane);
                    limits.per_lane.push(most);
                    names.len() - 1
                });
                lanes.push(place);
            }
        }
        limits.lanes.push(lanes);
    }
    limits
}

#[derive(PartialEq, Eq)]
enum Lane<'c> {
    Tool(&'c str),
    Class(&'c str),
}
