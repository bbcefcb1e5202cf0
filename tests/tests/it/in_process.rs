//! Runs and chats as tasks of a process, through the API over HTTP: the same events as of workflows,
//! decisions and tokens at
//! any replica, processes that die.

mod chats;
mod deltas;
mod frontend_results;
mod interrupted_starts;
mod lists;
mod lost;
mod same_events;
mod starts;
mod support;
