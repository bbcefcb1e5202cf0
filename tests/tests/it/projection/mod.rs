//! The projection of runs into a database: the rows say what the histories say.

mod reading;
mod rows;
mod support;
mod two;
