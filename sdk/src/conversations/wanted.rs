//! The contents that a request refers to, and the check of the parts found.

use std::sync::Arc;

use temporal_agents_core::wire::{
    Conversation, Definitions, Item, ModelCall, ModelRequest, WIRE_VERSION, WireVersionMismatch,
    definitions::DefinitionsPart, digest::Digest, model_call::UnfoldError,
};

use super::{
    Unavailable,
    cache::{Cache, RunKey},
    history::MissingDefinitions,
    pending::Pending,
};

/// The items of a call and its definitions.
pub(super) type Found = (Vec<Item>, Arc<Definitions>);

/// The contents that a request refers to, with the count and digest that they must have.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) items: Pending,
    pub(super) definitions: Result<Arc<Definitions>, MissingDefinitions>,
    count: u32,
    digest: Digest,
}

impl Wanted {
    /// Returns the contents that this request refers to, and the call without them.
    pub(super) fn of(request: ModelRequest) -> Result<(Self, ModelCall), UnfoldError> {
        let ModelRequest {
            version,
            agent,
            turn,
            model,
            definitions,
            input,
            previous_response_id,
            conversation_id,
            guards_output,
            tracing,
        } = request;
        let unknown = |kind: String| {
            let (message, reads, unknown) = ("model request", WIRE_VERSION, Some(kind));
            UnfoldError::Version(WireVersionMismatch { message, found: version, reads, unknown })
        };
        let Conversation { segments, count, digest } = input;
        if let Some(algorithm) = digest.foreign_algorithm() {
            return Err(unknown(format!("digest algorithm {algorithm}")));
        }
        let definitions = match definitions {
            DefinitionsPart::Inline { digest: _, definitions } => Ok(Arc::from(definitions)),
            DefinitionsPart::Call { activity_id, digest } => Err(MissingDefinitions { activity_id, digest }),
            DefinitionsPart::Unknown(kind) => return Err(unknown(kind)),
        };
        let mut call = ModelCall::new(agent, model, Definitions::default(), Vec::new());
        call.turn = turn;
        call.previous_response_id = previous_response_id;
        call.conversation_id = conversation_id;
        call.guards_output = guards_output;
        call.tracing = tracing;
        Ok((Self { items: Pending::of(segments, version)?, definitions, count, digest }, call))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.items.missing().is_none() && self.definitions.is_ok()
    }

    pub(super) fn look_up(&mut self, cache: &mut Cache, key: &RunKey) {
        self.items.look_up(|reference| cache.items(key, reference));
        if let Err(MissingDefinitions { activity_id, digest }) = &self.definitions
            && let Some(definitions) = cache.definitions(key, activity_id, digest)
        {
            self.definitions = Ok(definitions);
        }
    }

    /// Returns the contents if they match the count and the digest of the request.
    pub(super) fn checked(self) -> Result<Found, Unavailable> {
        let Self { items, definitions, count, digest } = self;
        let items = items.into_items();
        let found = Digest::of_conversation(&items);
        if u32::try_from(items.len()) != Ok(count) || found != digest {
            let (expected, found) = (format!("{count} items, {digest}"), format!("{} items, {found}", items.len()));
            return Err(Unavailable::Mismatch { expected, found });
        }
        let definitions = definitions.map_err(|MissingDefinitions { activity_id, digest }| {
            Unavailable::Definitions { activity_id, digest: digest.to_string() }
        })?;
        Ok((items, definitions))
    }
}
