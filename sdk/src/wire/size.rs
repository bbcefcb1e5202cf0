//! How large a payload may be: the server refuses one over 2 MiB, and the workflow task that sends it is retried for ever.

use std::{fmt, io};

use serde::Serialize;

/// Most bytes of JSON in one payload; the message around it has room below the server's limit.
pub(crate) const MOST_BYTES: usize = 2_000_000;

/// How long the JSON of a value is, without keeping it.
pub(crate) fn encoded_len(value: &(impl Serialize + ?Sized)) -> Result<usize, serde_json::Error> {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value)?;
    Ok(count.0)
}

/// How long the JSON of a value is inside of a JSON string: its quotes and backslashes are escaped once more.
pub(crate) fn encoded_len_in_text(value: &(impl Serialize + ?Sized)) -> Result<usize, serde_json::Error> {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // JSON has no control characters but in escapes of its own.
            self.0 += bytes.len() + bytes.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value)?;
    Ok(count.0)
}

/// A number of bytes as people say it: `812 bytes`, `204.80 kB`, `3.15 MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

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
