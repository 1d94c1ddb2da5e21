//! Where bodies of records are written, what goes with them, and how a result becomes an answer.

use crate::args::{Args, Data};
use core::cell::{Cell, RefCell};
use gasnet_rpc::{MOST_PAYLOADS, Payload, Source};
use std::sync::Arc;

thread_local! {
    /// Where bodies are written; taken while it is used.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// While a body is written: what is to be put in place beside it.
    static SOURCES: RefCell<Option<Vec<Arc<dyn Source>>>> = const { RefCell::new(None) };
    /// While a body is read: what came with it.
    static PAYLOADS: RefCell<Vec<Option<Payload>>> = const { RefCell::new(Vec::new()) };
}

/// Writes a body, and gives it on together with what was attached.
pub(crate) fn write<T>(
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
    send: impl FnOnce(&mut Vec<u8>, Vec<Arc<dyn Source>>) -> T,
) -> Result<T, String> {
    struct Restore(Option<Vec<Arc<dyn Source>>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SOURCES.set(self.0.take());
        }
    }
    let mut scratch = SCRATCH.take();
    scratch.clear();
    let restore = Restore(SOURCES.replace(Some(Vec::new())));
    let written = write(&mut scratch);
    let sources = SOURCES.take().unwrap_or_default();
    drop(restore);
    let value = written.map(|()| send(&mut scratch, sources));
    SCRATCH.set(scratch);
    value
}

/// Attaches a payload to the body that the thread writes; its number. `None` if it writes none, or one that
/// has too many already.
pub(crate) fn attach<S: Source + 'static>(source: impl FnOnce() -> Arc<S>) -> Option<u32> {
    SOURCES.with_borrow_mut(|sources| {
        let sources = sources.as_mut().filter(|sources| sources.len() < MOST_PAYLOADS)?;
        sources.push(source());
        Some(sources.len() as u32 - 1)
    })
}

/// Whether the thread writes a body.
pub(crate) fn is_written() -> bool {
    SOURCES.with_borrow(Option::is_some)
}

/// Reads a body with which these payloads have come.
pub(crate) fn read<T>(payloads: Vec<Payload>, read: impl FnOnce() -> T) -> T {
    let before = PAYLOADS.replace(payloads.into_iter().map(Some).collect());
    let value = read();
    PAYLOADS.set(before);
    value
}

/// Takes the payload of a number from the body that the thread reads.
pub(crate) fn detach(number: u32) -> Option<Payload> {
    PAYLOADS.with_borrow_mut(|payloads| payloads.get_mut(number as usize)?.take())
}

/// Answers with a result.
pub(crate) fn answer<R: Data>(reply: gasnet_rpc::Reply, result: &R) {
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
