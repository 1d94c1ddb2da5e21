//! Posted receives, and the messages that arrived in them.
//!
//! If the provider can, one posted buffer receives messages one behind the other until little room is left
//! (*multi*); otherwise each message fills a buffer of its own. A buffer is posted again when the provider
//! has finished with it and all its messages are handled. Large messages may still be on their way into a
//! buffer that the provider has *released*: the buffer is complete only when enough bytes have arrived to
//! explain the release.
//!
//! Some buffers are always posted: if all are full of frames that nobody has polled for, more are made.
//! Credits bound their number. If no more memory can be registered, those frames move to other memory.
#![expect(unsafe_code, reason = "posts buffers to the provider")]

use crate::fabric::{Answer, Context, OperationKind, Port, QueueEntry};
use crate::memory::Chunk;
use crate::wire::MAX_MESSAGE_BYTES;

/// Bytes of a buffer for many messages.
const MULTI_BUFFER_BYTES: usize = 1 << 20;
/// Number of buffers to keep posted: buffers for many messages, and for one each.
const POSTED_BUFFERS: [usize; 2] = [2, 32];

struct Buffer {
    context: Context,
    chunk: Chunk,
    /// Bytes of the messages that arrived in it.
    taken: usize,
    released: bool,
    /// Messages in it that are not handled yet.
    lent: u32,
}

/// A message that arrived.
pub(crate) struct Arrived {
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
    pub(crate) buffer: u32,
}

/// All buffers of an endpoint.
pub(crate) struct Receiver {
    multi: bool,
    #[expect(clippy::vec_box, reason = "the provider keeps their addresses")]
    buffers: Vec<Box<Buffer>>,
    /// Buffers to be posted.
    idle: Vec<u32>,
    /// Number of posted buffers.
    posted: usize,
    most: usize,
}

/// Whether everything that went into a buffer has arrived and is handled, and the provider has finished with
/// it.
fn is_over(multi: bool, released: bool, taken: usize, lent: u32) -> bool {
    released && lent == 0 && (!multi || taken > MULTI_BUFFER_BYTES - MAX_MESSAGE_BYTES)
}

impl Receiver {
    /// Buffers for at most `room` bytes of messages in at most `messages`.
    pub(crate) fn new(port: &mut Port, room: usize, messages: usize) -> Result<Receiver, String> {
        let multi = port.traits.multi;
        let most = if multi {
            4 + room / (MULTI_BUFFER_BYTES - MAX_MESSAGE_BYTES)
        } else {
            POSTED_BUFFERS[1] + messages
        };
        let mut receiver = Receiver { multi, buffers: Vec::new(), idle: Vec::new(), posted: 0, most };
        receiver.keep_up(port)?;
        if receiver.posted == 0 {
            return Err("no receive can be posted (ulimit -l may be too low)".to_string());
        }
        Ok(receiver)
    }

    /// Whether no buffer is posted.
    pub(crate) fn is_bare(&self) -> bool {
        self.posted == 0
    }

    fn size(&self) -> usize {
        if self.multi { MULTI_BUFFER_BYTES } else { MAX_MESSAGE_BYTES }
    }

    /// Posts idle buffers, and makes more if too few are posted.
    pub(crate) fn keep_up(&mut self, port: &mut Port) -> Result<(), String> {
        loop {
            while let Some(&index) = self.idle.last() {
                let size = self.size();
                let buffer = &mut *self.buffers[index as usize];
                (buffer.taken, buffer.released) = (0, false);
                let (at, desc) = (buffer.chunk.at(), buffer.chunk.desc());
                // SAFETY: an idle buffer: nobody else uses it until it is released.
                match unsafe { port.receive(at, size, desc, &mut buffer.context) } {
                    Answer::Started => {}
                    Answer::Again => return Ok(()),
                    Answer::Failed(why) => return Err(format!("posting a receive: {why}")),
                }
                self.idle.pop();
                self.posted += 1;
            }
            if self.posted >= POSTED_BUFFERS[usize::from(!self.multi)] || self.buffers.len() >= self.most {
                return Ok(());
            }
            let index = self.buffers.len() as u32;
            let chunk = match Chunk::new(port, self.size()) {
                Ok(chunk) => chunk,
                // No more memory can be registered: the present buffers have to be enough.
                Err(_) => return Ok(()),
            };
            let context = Context::new(OperationKind::Receive, index);
            self.buffers.push(Box::new(Buffer { context, chunk, taken: 0, released: false, lent: 0 }));
            self.idle.push(index);
        }
    }

    /// A receive completed: with a message, or with the release of its buffer, or both.
    pub(crate) fn arrived(&mut self, event: &QueueEntry) -> Option<Arrived> {
        let buffer = &mut *self.buffers[event.index as usize];
        if !self.multi || event.released {
            buffer.released = true;
            self.posted -= 1;
        }
        if event.len == 0 {
            self.look(event.index);
            return None;
        }
        let at = if self.multi { event.at } else { buffer.chunk.at() };
        buffer.taken += event.len;
        buffer.lent += 1;
        Some(Arrived { at, len: event.len, buffer: event.index })
    }

    /// A message has been handled.
    pub(crate) fn handled(&mut self, index: u32) {
        self.buffers[index as usize].lent -= 1;
        self.look(index);
    }

    /// A receive was cancelled or failed: the provider no longer uses the buffer.
    pub(crate) fn lost(&mut self, index: u32) {
        let buffer = &mut *self.buffers[index as usize];
        if !buffer.released {
            buffer.released = true;
            buffer.taken = MULTI_BUFFER_BYTES;
            self.posted -= 1;
            self.look(index);
        }
    }

    fn look(&mut self, index: u32) {
        let b = &*self.buffers[index as usize];
        if is_over(self.multi, b.released, b.taken, b.lent) {
            self.idle.push(index);
        }
    }

    /// Gives all memory back. The endpoint is closed.
    pub(crate) fn end(self, port: &mut Port) {
        for buffer in self.buffers {
            buffer.chunk.end(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_waits_for_stragglers() {
        let full = MULTI_BUFFER_BYTES - MAX_MESSAGE_BYTES + 1;
        assert!(is_over(true, true, full, 0));
        assert!(!is_over(true, false, full, 0), "the provider still has it");
        assert!(!is_over(true, true, full, 1), "a message is being handled");
        assert!(!is_over(true, true, full - 1, 0), "a message is on its way into it");
        assert!(is_over(false, true, 64, 0));
    }
}
