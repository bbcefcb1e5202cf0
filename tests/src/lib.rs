//! Items that the tests of this workspace share: [`mod@bench`], the workloads of the benchmarks.

pub mod bench;
