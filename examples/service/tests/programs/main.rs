//! The programs of the service, as processes. In this package, because cargo tells only its tests
//! the paths of the programs. In one binary, because the tests wait more than they compute: here
//! they run at the same time.

mod devices;
mod kills;
mod remote_tools;
mod serve;
