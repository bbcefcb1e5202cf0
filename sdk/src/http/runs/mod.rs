//! The paths below `/runs`.

mod act;
mod asked;
mod read;
mod row;
mod start;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod stored;
#[cfg(not(any(feature = "postgres", feature = "sqlite")))]
#[path = "not_stored.rs"]
mod stored;
mod timeline;
mod usage;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    asked::AskedInHistory,
    read::{Found, LastEventId, OpenRun, events, find, list, open_runs, open_workflows, read},
    row::Row,
    start::start,
    stored::RunStore,
    timeline::timeline,
    usage::usage,
};
