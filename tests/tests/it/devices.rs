//! Devices of people that runs select: found when a run begins, called through the process that holds their connection.

mod calls;
mod chats;
mod guarded;
mod owners;
mod refused;
mod snapshot;
mod support;
