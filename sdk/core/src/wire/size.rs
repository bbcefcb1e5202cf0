//! The size limit of a payload: the server refuses a payload over 2 MiB, and the workflow task that
//! sends it is retried forever.
//!
//! # Design
//! **An oversized payload fails before it is sent.** The server accepts 2 MiB; the limit here is
//! 2,000,000 bytes of data from the author and the model, which leaves space for the message around
//! it. A session write is split between items; a tool call and a single item fail the run.

use std::{fmt, io};

use serde::Serialize;

/// Maximum bytes of JSON in one payload, which leaves space for the message around it below the
/// server's limit.
pub const MOST_BYTES: usize = 2_000_000;

/// Returns the length of a value's JSON, without keeping it.
pub fn encoded_len(value: &(impl Serialize + ?Sized)) -> Result<usize, serde_json::Error> {
    let mut count = Count(0, <[u8]>::len);
    serde_json::to_writer(&mut count, value)?;
    Ok(count.0)
}

/// Returns the length of a value's JSON inside a JSON string, where its quotes and backslashes are
/// escaped again.
pub fn encoded_len_in_json_string(value: &(impl Serialize + ?Sized)) -> Result<usize, serde_json::Error> {
    // Control characters in JSON are already escaped, so only quotes and backslashes count twice.
    let escaped = |bytes: &[u8]| bytes.len() + bytes.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    let mut count = Count(0, escaped);
    serde_json::to_writer(&mut count, value)?;
    Ok(count.0)
}

/// A writer that counts the bytes written to it, by a measure.
struct Count<F>(usize, F);

impl<F: Fn(&[u8]) -> usize> io::Write for Count<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += (self.1)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A number of bytes in readable form: `812 bytes`, `204.80 kB`, `3.15 MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = |unit: usize| (self.0 / unit, self.0 % unit * 100 / unit);
        match self.0 {
            0..1_000 => write!(f, "{} bytes", self.0),
            1_000..1_000_000 => {
                let (whole, part) = hundredths(1_000);
                write!(f, "{whole}.{part:02} kB")
            }
            _ => {
                let (whole, part) = hundredths(1_000_000);
                write!(f, "{whole}.{part:02} MB")
            }
        }
    }
}
