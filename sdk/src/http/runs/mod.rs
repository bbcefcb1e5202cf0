//! The paths below `/runs`.

mod act;
mod read;
mod row;
mod start;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod stored;
#[cfg(not(any(feature = "postgres", feature = "sqlite")))]
#[path = "not_stored.rs"]
mod stored;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    read::{Found, events, find, list, open_runs, question, read},
    row::Row,
    start::start,
    stored::RunStore,
};
