//! Where bodies of records are written, what goes with them, and how a result becomes an answer.

use crate::args::{Args, Data, Scalar};
use core::cell::{Cell, RefCell};
use gasnet_rpc::{MOST_PAYLOADS, Payload, Short, Source};
use std::sync::Arc;

thread_local! {
    /// Where bodies are written; taken while it is used.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Whether a body is written.
    static WRITTEN: Cell<bool> = const { Cell::new(false) };
    /// While a body is written: what is to be put in place beside it, and how much of it there is. Most
    /// bodies have nothing: the number tells so without a look at the list.
    static SOURCES: RefCell<Vec<Arc<dyn Source>>> = const { RefCell::new(Vec::new()) };
    static SOURCE_COUNT: Cell<usize> = const { Cell::new(0) };
    /// While a body is read: what came with it, and how much that was.
    static PAYLOADS: RefCell<Vec<Option<Payload>>> = const { RefCell::new(Vec::new()) };
    static PAYLOAD_COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Takes what was attached.
fn take_sources() -> Vec<Arc<dyn Source>> {
    if SOURCE_COUNT.take() == 0 { Vec::new() } else { SOURCES.take() }
}

/// Writes a body, and gives it on together with what was attached.
pub(crate) fn write<T>(
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
    send: impl FnOnce(&mut Vec<u8>, Vec<Arc<dyn Source>>) -> T,
) -> Result<T, String> {
    /// The payloads of the outer body, if a type writes a body while another body is being written.
    struct Restore(Option<Vec<Arc<dyn Source>>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WRITTEN.set(self.0.is_some());
            // Nothing is left of this body, unless a panic has ended it.
            if self.0.is_some() || SOURCE_COUNT.get() > 0 {
                let outer = self.0.take().unwrap_or_default();
                SOURCE_COUNT.set(outer.len());
                SOURCES.set(outer);
            }
        }
    }
    let mut scratch = SCRATCH.with(Cell::take);
    scratch.clear();
    let restore = Restore(WRITTEN.replace(true).then(take_sources));
    let written = write(&mut scratch);
    let sources = take_sources();
    drop(restore);
    let value = written.map(|()| send(&mut scratch, sources));
    SCRATCH.with(|cell| cell.set(scratch));
    value
}

/// Attaches a payload to the body that the thread writes; its number. `None` if it writes none, or one that
/// has too many already.
pub(crate) fn attach<S: Source + 'static>(source: impl FnOnce() -> Arc<S>) -> Option<u32> {
    let number = SOURCE_COUNT.get();
    if !is_written() || number == MOST_PAYLOADS {
        return None;
    }
    let source = source();
    SOURCES.with_borrow_mut(|sources| sources.push(source));
    SOURCE_COUNT.set(number + 1);
    Some(number as u32)
}

/// Writes values that are no part of a body, whatever the thread is in the middle of: they go to several
/// ranks, so references and replies cannot be in them.
pub(crate) fn apart<T>(write: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            WRITTEN.set(self.0);
        }
    }
    let _restore = Restore(WRITTEN.replace(false));
    write()
}

/// Whether the thread writes a body.
pub(crate) fn is_written() -> bool {
    WRITTEN.get()
}

/// Reads a body with which these payloads have come.
pub(crate) fn read<T>(payloads: Vec<Payload>, read: impl FnOnce() -> T) -> T {
    let (count, outer) = (payloads.len(), PAYLOAD_COUNT.get());
    if count + outer == 0 {
        return read();
    }
    PAYLOAD_COUNT.set(count);
    let before = PAYLOADS.replace(payloads.into_iter().map(Some).collect());
    let value = read();
    PAYLOADS.set(before);
    PAYLOAD_COUNT.set(outer);
    value
}

/// Takes the payload of a number from the body that the thread reads.
pub(crate) fn detach(number: u32) -> Option<Payload> {
    PAYLOADS.with_borrow_mut(|payloads| payloads.get_mut(number as usize)?.take())
}

/// Answers with a result.
pub(crate) fn answer<R: Data>(reply: gasnet_rpc::Reply, result: &R) {
    if let Some((word, len)) = result.scalar().map(Scalar::word) {
        return reply.answer_short(&Short::of_words([word, 0, 0], len));
    }
    let mut reply = Some(reply);
    let written = write(
        |body| result.write(body),
        |body, payloads| {
            if let Some(reply) = reply.take() {
                reply.answer(body, payloads);
            }
        },
    );
    if let (Err(why), Some(reply)) = (written, reply) {
        reply.unreadable(&why);
    }
}
