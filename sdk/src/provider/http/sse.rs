//! Server-sent events: bytes, cut anywhere, to events.
//!
//! The parser follows the
//! [specification](https://html.spec.whatwg.org/multipage/server-sent-events.html): lines that end
//! in LF, CR LF or CR; `data` lines that are joined; comments, `id`, `retry` and unknown fields
//! that are skipped; a byte order mark at the start. One thing it does not follow: an event at the
//! end of the body counts without the empty line after it, which some servers leave out.
//!
//! # Design
//! **A parser of our own,** of a hundred lines. The crates for it do not hold against a hostile
//! server: eventsource-stream 0.2 keeps everything after an invalid byte in memory, has no limit for
//! a line, reads a long line again from its start with each chunk, and panics at a byte order mark;
//! sse-stream 0.2 (under rmcp) has no limit either, and fails at a field that it does not know. Here
//! an event is limited, and each byte is looked at once.

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The field `event`; empty if there is none.
    pub(crate) name: String,
    /// The `data` lines, joined by LF. Invalid UTF-8 is replaced, as in a whole body.
    pub(crate) data: String,
}

/// An event is larger than its limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// The events of a body that arrives in chunks.
#[derive(Debug)]
pub(crate) struct Events {
    /// The maximum size of an event, and of a line, in bytes.
    limit: usize,
    /// The start of the line that is not yet complete.
    line: Vec<u8>,
    /// The event that is not yet complete; none before its first `data` line.
    data: Option<Vec<u8>>,
    name: Vec<u8>,
    /// `true` before the first line, where a byte order mark may be.
    is_start: bool,
    /// `true` after a CR, whose LF may be in the next chunk.
    after_cr: bool,
}

impl Events {
    /// Creates a parser for events of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: None, name: Vec::new(), is_start: true, after_cr: false }
    }

    /// Reads a chunk; returns the events that end in it.
    ///
    /// # Errors
    /// [`EventTooLarge`], after which nothing more can be read.
    pub(crate) fn read(&mut self, mut chunk: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut events = Vec::new();
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.add(chunk)?;
                break;
            };
            self.add(&chunk[..end])?;
            self.after_cr = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// Returns the event at the end of the body, if no empty line follows it.
    pub(crate) fn end(mut self) -> Option<Event> {
        let event = self.end_line();
        event.or_else(|| self.dispatch())
    }

    /// Adds to the line.
    fn add(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.name.len() + self.data.as_ref().map_or(0, Vec::len);
        if held + part.len() > self.limit {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Ends the line; returns the event that it ends, if it is empty.
    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.is_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.name = value.to_vec(),
            _ => {}
        }
        None
    }

    /// Ends the event. One without data is none.
    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        };
        Some(Event { name: text(name), data: text(data) })
    }
}

#[cfg(test)]
mod tests;
