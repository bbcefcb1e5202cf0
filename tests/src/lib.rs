//! What the tests of this workspace share: [`bench`], the workloads of the benchmarks.

pub mod bench;
