//! The end of a server's log, for error messages.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// Size of the part of the log that an error contains, in bytes from its end.
const LOG_TAIL: u64 = 4096;

/// Returns the end of a log, or the reason for which it cannot be read.
pub(crate) fn tail(path: &Path) -> String {
    read_tail(path).unwrap_or_else(|error| format!("(cannot read the log: {error})"))
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(LOG_TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    Ok(String::from_utf8_lossy(&tail).trim().to_owned())
}
