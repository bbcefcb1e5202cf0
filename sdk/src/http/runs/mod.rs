//! The paths below `/runs`.

mod act;
mod asked;
mod list;
mod read;
mod recorded;
mod row;
mod start;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod stored;
#[cfg(not(any(feature = "postgres", feature = "sqlite")))]
#[path = "not_stored.rs"]
mod stored;
mod timeline;
mod usage;
mod visibility;

pub(super) use self::{
    act::{cancel, decide, send_message, supply_output},
    asked::AskedInHistory,
    list::{Filter, Page, Place, decoded, encoded, list, open_workflows, page, page_limit},
    read::{Found, LastEventId, events, find, read},
    recorded::{OpenQuestions, Recorded, listed_questions},
    row::Row,
    start::start,
    stored::RunStore,
    timeline::timeline,
    usage::usage,
};
