//! Runs that pause for decisions: their state is one JSON text, and goes on wherever that text goes.

mod desk;
mod elsewhere;
mod here;
mod misfit;
mod requests;
