//! Programs that are shared objects, loaded by somebody who has made their rank already.
//!
//! The loader gives each copy of the program its rank by [`gasnet_embed_v1`], then calls its `main`; [`crate::init`] takes the
//! rank instead of booting one.
#![expect(unsafe_code, reason = "a symbol for a loader")]

use gasnet::plugin::EmbedTable;
use gasnet::{Config, Error, Rank, Threading};
use std::sync::Mutex;
use std::sync::PoisonError;

/// What was given and is not taken yet: the one global here, since it comes before anything else there is.
static GIVEN: Mutex<Option<&'static EmbedTable>> = Mutex::new(None);

/// Gives this copy of the runtime the rank it will be. Before the program calls anything of it.
///
/// # Safety
/// 1. `table` is made by [`EmbedTable::new`] and stays, with all it borrows, as long as this copy of the runtime is used (owed by the
///    loader).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_embed_v1(table: *const EmbedTable) {
    // SAFETY: (1).
    *GIVEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(unsafe { &*table });
}

/// Starts the rank that a loader gave, if one did.
pub(crate) fn start(threading: Threading) -> Option<Result<&'static Rank, Error>> {
    let table = GIVEN.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let start = || {
        let config = Config::from_env()?;
        // SAFETY: owed by the loader; taken once.
        let (boot, conduit) = unsafe { table.accept() }?;
        let conduit = Mutex::new(Some(conduit));
        // SAFETY: the loader made the files for this rank, which starts once.
        unsafe {
            Rank::start(boot, config, threading, &|_| {
                Ok(conduit.lock().unwrap_or_else(PoisonError::into_inner).take())
            })
        }
    };
    Some(start())
}
