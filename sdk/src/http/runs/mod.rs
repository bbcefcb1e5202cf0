//! The paths below `/runs`.

mod act;
mod read;
mod row;
mod start;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    read::{events, list, open_runs, question, read},
    start::start,
};
