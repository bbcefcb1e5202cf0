//! Passes the protobuf descriptors of the Temporal API, as `temporalio-protos` compiled them, to
//! the crate.
//!
//! The crate embeds that file (`descriptors.rs`), so its JSON conversion uses exactly the API
//! version against which it is built.

use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")
        .map_err(|error| format!("temporalio-protos no longer exports the path of its descriptors: {error}"))?;
    println!("cargo::rustc-env=TEMPORAL_DESCRIPTORS={path}");
    Ok(())
}
