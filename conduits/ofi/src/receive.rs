//! Receives that are posted, and what came into them.
//!
//! Where the provider can, one posted buffer takes messages one behind the other until little room is left (*multi*); else each
//! message fills a buffer of its own. A buffer is posted again when the provider is done with it and all its messages are handled. Large
//! messages may still be on their way into a buffer that the provider has *released*: it is over only when as many bytes have come as it
//! takes for a release.
//!
//! There are always some buffers posted: if all are full of frames that nobody wanted yet, more are made. Credits bound how many. Where
//! no more memory can be registered those frames move to other memory.
#![expect(unsafe_code, reason = "posts buffers to the provider")]

use crate::fabric::{Answer, Context, Event, Port, What};
use crate::memory::Chunk;
use crate::wire::MAX_MESSAGE;

/// Bytes of a buffer for many messages.
const MULTI: usize = 1 << 20;
/// Buffers for many messages, and for one each, that are kept posted.
const POSTED: [usize; 2] = [2, 32];

struct Buffer {
    context: Context,
    chunk: Chunk,
    /// Bytes of messages that came.
    taken: usize,
    released: bool,
    /// Messages that are being handled, or wait for it.
    lent: u32,
}

/// A message that came.
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
    /// To be posted.
    idle: Vec<u32>,
    /// With the provider.
    posted: usize,
    most: usize,
}

/// Whether everything that went into a buffer has come, is handled, and the provider wants no more of it.
fn is_over(multi: bool, released: bool, taken: usize, lent: u32) -> bool {
    released && lent == 0 && (!multi || taken > MULTI - MAX_MESSAGE)
}

impl Receiver {
    /// Buffers for at most `room` bytes of messages in at most `messages`.
    pub(crate) fn new(port: &mut Port, room: usize, messages: usize) -> Result<Receiver, String> {
        let multi = port.traits.multi;
        let most = if multi { 4 + room / (MULTI - MAX_MESSAGE) } else { POSTED[1] + messages };
        let mut receiver = Receiver { multi, buffers: Vec::new(), idle: Vec::new(), posted: 0, most };
        receiver.keep_up(port)?;
        if receiver.posted == 0 {
            return Err("no receive can be posted (ulimit -l may be too low)".to_string());
        }
        Ok(receiver)
    }

    /// Whether nothing can come in.
    pub(crate) fn is_bare(&self) -> bool {
        self.posted == 0
    }

    fn size(&self) -> usize {
        if self.multi { MULTI } else { MAX_MESSAGE }
    }

    /// Posts what is idle, and makes more if too little is posted.
    pub(crate) fn keep_up(&mut self, port: &mut Port) -> Result<(), String> {
        loop {
            while let Some(&index) = self.idle.last() {
                let size = self.size();
                let buffer = &mut *self.buffers[index as usize];
                (buffer.taken, buffer.released) = (0, false);
                let (at, desc) = (buffer.chunk.at(), buffer.chunk.desc());
                // SAFETY: idle: nobody else's until it is released.
                match unsafe { port.receive(at, size, desc, &mut buffer.context) } {
                    Answer::Started => {}
                    Answer::Again => return Ok(()),
                    Answer::Failed(why) => return Err(format!("posting a receive: {why}")),
                }
                self.idle.pop();
                self.posted += 1;
            }
            if self.posted >= POSTED[usize::from(!self.multi)] || self.buffers.len() >= self.most {
                return Ok(());
            }
            let index = self.buffers.len() as u32;
            let chunk = match Chunk::new(port, self.size()) {
                Ok(chunk) => chunk,
                // No more memory can be registered: fewer have to do.
                Err(_) => return Ok(()),
            };
            let context = Context::new(What::Receive, index);
            self.buffers.push(Box::new(Buffer { context, chunk, taken: 0, released: false, lent: 0 }));
            self.idle.push(index);
        }
    }

    /// A receive has something to say: a message, or that its buffer is released, or both.
    pub(crate) fn arrived(&mut self, event: &Event) -> Option<Arrived> {
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

    /// A receive was cancelled or failed: the provider has no use for the buffer.
    pub(crate) fn lost(&mut self, index: u32) {
        let buffer = &mut *self.buffers[index as usize];
        if !buffer.released {
            buffer.released = true;
            buffer.taken = MULTI;
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
        let full = MULTI - MAX_MESSAGE + 1;
        assert!(is_over(true, true, full, 0));
        assert!(!is_over(true, false, full, 0), "the provider still has it");
        assert!(!is_over(true, true, full, 1), "a message is being handled");
        assert!(!is_over(true, true, full - 1, 0), "a message is on its way into it");
        assert!(is_over(false, true, 64, 0));
    }
}
