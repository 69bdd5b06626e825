//! A parser of server-sent events (HTML standard) for the chunks of a response body.

use crate::events::EventName;
use crate::kernel::ids::EventId;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StreamEvent {
    pub(super) id: Option<EventId>,
    pub(super) name: Option<EventName>,
    /// The sequence number among the events about the record, which the service sends as a comment.
    pub(super) sequence: Option<i64>,
    /// Empty if the event only states the position of the stream.
    pub(super) data: String,
}

/// Joins chunks to lines, and lines to events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// Bytes after the last line end.
    rest: Vec<u8>,
    /// The event whose end has not been received.
    begun: StreamEvent,
}

impl EventReader {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
    }

    /// The next complete event.
    pub(super) fn next_event(&mut self) -> Option<StreamEvent> {
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            match line.trim_end_matches(['\n', '\r']) {
                "" => match std::mem::take(&mut self.begun) {
                    StreamEvent { id: None, data, .. } if data.is_empty() => {}
                    event => return Some(event),
                },
                line => self.begun.read(line),
            }
        }
        None
    }
}

impl StreamEvent {
    /// Unknown fields and other comments are ignored.
    fn read(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.sequence = value.strip_prefix("sequence ").and_then(|sequence| sequence.parse().ok()).or(self.sequence),
            "id" => self.id = value.parse().ok(),
            "event" => self.name = value.parse().ok(),
            "data" if self.data.is_empty() => value.clone_into(&mut self.data),
            "data" => {
                self.data.push('\n');
                self.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\nid: event_01h455vb4pex5vsknk084sn02q\n\n:\n\nevent: order.created\r\nid:event_01h455vb4pex5vsknk084sn02q\r\n\
                          : sequence 7\n:\ndata: {\"a\":\"\u{fc}\"}\r\nretry: 5\r\n\r\ndata: one\ndata:\ndata: two\n\ndata: not whole";

    fn events(chunk: usize) -> Vec<StreamEvent> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for chunk in STREAM.as_bytes().chunks(chunk) {
            reader.push(chunk);
            events.extend(std::iter::from_fn(|| reader.next_event()));
        }
        events
    }

    #[test]
    fn events_come_out_whole_however_they_were_cut() {
        let id = "event_01h455vb4pex5vsknk084sn02q".parse().ok();
        let event = |id, name: &str, sequence, data: &str| StreamEvent { id, name: name.parse().ok(), sequence, data: data.to_owned() };
        let expected =
            [event(id, "", None, ""), event(id, "order.created", Some(7), "{\"a\":\"\u{fc}\"}"), event(None, "", None, "one\n\ntwo")];
        for chunk in 1..STREAM.len() {
            assert_eq!(events(chunk), expected, "in chunks of {chunk}");
        }
    }
}
