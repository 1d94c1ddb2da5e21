//! Programs that are shared objects, loaded by a process that has already made their rank.
//!
//! The loader gives each copy of the program its rank by [`gasnet_embed_v1`], then calls its `main`;
//! [`crate::init`] takes the rank instead of booting one.
#![expect(unsafe_code, reason = "a symbol for a loader")]

use gasnet::{Config, Error, Rank, Threading};
use gasnet_sys::mutex::lock;
use gasnet_wire::plugin::EmbedTable;
use std::sync::Mutex;
use std::sync::PoisonError;

/// The rank that was given and not taken yet. It is the only global here, because it precedes every other
/// object.
static GIVEN: Mutex<Option<&'static EmbedTable>> = Mutex::new(None);

/// Gives this copy of the runtime its rank. To be called before the program calls the runtime.
///
/// # Safety
/// 1. `table` is made by [`EmbedTable::new`] and stays valid, with everything it borrows, as long as this
///    copy of the runtime is used (owed by the loader).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_embed_v1(table: *const EmbedTable) {
    // SAFETY: (1).
    *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(unsafe { &*table });
}

/// The table that a loader has given; taken once.
pub(crate) fn given() -> Option<&'static EmbedTable> {
    lock(&GIVEN).take()
}

/// Starts the rank that a loader gave.
pub(crate) fn start(
    table: &'static EmbedTable,
    config: Config,
    threading: Threading,
) -> Result<&'static Rank, Error> {
    // SAFETY: owed by the loader; taken once.
    let (boot, conduit) = unsafe { table.accept() }?;
    let conduit = Mutex::new(Some(conduit));
    // SAFETY: the loader made the files for this rank, which starts once.
    unsafe { Rank::start(boot, config, threading, &|_| Ok(lock(&conduit).take())) }
}
