//! The paths below `/runs`.

mod act;
mod asked;
mod read;
mod row;
mod start;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    asked::AskedInHistory,
    read::{Found, LastEventId, events, find, list, open_runs, read},
    row::Row,
    start::start,
};
