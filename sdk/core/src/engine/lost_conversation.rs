//! Recovers from a conversation that the provider has lost: makes the next call in full, if the run
//! has all items.

use super::{Engine, request};
use crate::{
    tool::BoxError,
    wire::{
        ModelCall,
        run_state::{Phase, ServerConversation},
    },
};

/// A conversation that the provider has lost, with items that only the provider had.
#[derive(Debug, thiserror::Error)]
#[error("{reason}; {missing}")]
#[non_exhaustive]
pub struct ConversationLost {
    /// The provider's own error message.
    pub reason: String,
    /// Description of the missing items, and the remedy.
    pub missing: String,
    /// The host's error.
    pub source: BoxError,
}

impl Engine {
    /// Drops the conversation at the provider, and returns the due model call in full. If the calls
    /// were chained before, the following calls are chained to its response; a conversation with an
    /// id is not continued.
    ///
    /// # Errors
    /// A description of the missing items if the conversation began before this run: only the
    /// provider had them.
    ///
    /// # Panics
    /// If no model call is due: a bug of the driver.
    pub fn call_in_full(&mut self) -> Result<ModelCall, String> {
        if let Some(missing) = self.state.server.as_ref().and_then(missing) {
            return Err(missing);
        }
        self.state.server = match self.state.server.take() {
            Some(ServerConversation { chained: true, conversation_id: None, .. }) => Some(ServerConversation {
                conversation_id: None,
                previous_response_id: None,
                chained: true,
                has_input: false,
                began_here: true,
                seen_items: 0,
            }),
            _ => None,
        };
        let Phase::ModelDue { setup } = &self.state.phase else { unreachable!("no model call is due") };
        Ok(request::model_call(&self.state, setup, &self.rules))
    }
}

/// Returns a description of the items of the conversation that the run does not have.
fn missing(server: &ServerConversation) -> Option<String> {
    if server.began_here {
        return None;
    }
    Some(match &server.conversation_id {
        Some(id) => format!(
            "the run does not have the earlier items of conversation {id:?} (RunConfig::conversation_id), so it \
             cannot make the call in full; start a run with all items as its input, in an existing conversation, and \
             with RunConfig::conversation_begins_here if that conversation is empty"
        ),
        None => "the run continued from a response of an earlier run (RunConfig::previous_response_id) and does not \
                 have the items before that response, so it cannot make the call in full; start a run with all items \
                 as its input, without that id"
            .to_owned(),
    })
}
