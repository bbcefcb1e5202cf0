//! Tools of servers of the Model Context Protocol: those of the official Python package, over stdio and streamable HTTP.

pub(crate) mod answering;
pub(crate) mod asked;
mod asking_people;
mod carried;
mod endless;
mod failing;
mod forgotten;
mod lists;
pub(crate) mod python;
mod running;
mod secrets;
mod sessions;
mod side_by_side;
pub(crate) mod support;
mod terms;
mod without_text;
mod wrapped;
