//! The limits of the server on one execution: open activities, local activities and Nexus
//! operations, open updates, and the size of messages.

pub(super) mod definitions;
pub(super) mod gate;
pub(super) mod local_gate;
#[cfg(feature = "nexus")]
pub(super) mod nexus;
pub(super) mod open_updates;
pub(super) mod request;
pub(super) mod size;
