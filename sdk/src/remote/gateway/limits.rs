//! The limits of registrations. A registration comes from outside: without limits it could fill the
//! memory of every gateway.
//!
//! A catalogue has at most [`MAX_TOOLSETS`] toolsets of [`MAX_BYTES`] each, 256 MiB of JSON.

/// Most toolsets of a catalogue; further ones are refused.
pub(super) const MAX_TOOLSETS: usize = 1_000;

/// Most bytes of a toolset as JSON, and of any other message of the stream of registrations.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Most tools of a toolset.
pub(super) const MAX_TOOLS: usize = 256;

/// Most characters of the name of a toolset or a tool.
pub(super) const MAX_NAME: usize = 128;

/// Most bytes of a description.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Most tags of a toolset or a tool.
pub(super) const MAX_TAGS: usize = 32;

/// Most characters of a tag.
pub(super) const MAX_TAG: usize = 64;

/// Most words of a search; further ones are ignored.
pub(super) const MAX_WORDS: usize = 16;
