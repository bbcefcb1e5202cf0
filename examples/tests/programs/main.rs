//! The programs of the examples, as processes. In this package, because cargo tells only its tests
//! the paths of the programs. In one binary, because the tests wait more than they compute: here
//! they run at the same time.

mod addresses;
mod each_program;
mod quickstart;
mod quickstart_provider;
mod research;
mod streaming;
