//! The parts that the scripted models share.

use std::time::Duration;

use temporal_agents::wire::{Item, ItemView, ModelCall};
use temporal_agents_testing::fake_model::{Reply, text};

use super::{browser, clerk, desk};

/// Characters in each part of a streamed answer, and the pause between two parts: an answer of the
/// scripts takes more than a second.
const CHUNK_SIZE: usize = 6;
const CHUNK_PAUSE: Duration = Duration::from_millis(90);

/// Returns the answer of the agent's model.
pub(super) fn reply(call: &ModelCall) -> Reply {
    match &*call.agent {
        "clerk" => clerk::reply(call),
        "browser" => browser::reply(call),
        "parcels" => desk::reply_of_parcels(call),
        _ => desk::reply(call),
    }
}

/// Returns a message that streams for a while.
pub(super) fn say(words: impl Into<String>) -> Reply {
    text(words).chunk_size(CHUNK_SIZE).chunk_pause(CHUNK_PAUSE)
}

/// Returns the latest message of the user in lower case, and the outputs of the calls after it.
pub(super) fn latest(call: &ModelCall) -> (String, Vec<String>) {
    let place = call.input.iter().rposition(|item| matches!(item.view(), ItemView::Message { role: "user", .. }));
    let (message, after) = match place {
        Some(place) => (call.input[place].text().unwrap_or_default(), &call.input[place + 1..]),
        None => (String::new(), &call.input[..]),
    };
    (message.to_lowercase(), after.iter().filter_map(output).collect())
}

/// Returns the output of a call as text.
fn output(item: &Item) -> Option<String> {
    match item.view() {
        ItemView::FunctionCallOutput { output, .. } => {
            Some(output.as_str().map_or_else(|| output.to_string(), str::to_owned))
        }
        _ => None,
    }
}
