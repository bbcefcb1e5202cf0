//! The paths below `/runs`.

mod act;
mod read;
mod row;
mod start;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    read::{Found, events, find, list, open_runs, question, read},
    row::Row,
    start::start,
};
