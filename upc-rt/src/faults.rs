//! Faults: what a thread says when a signal ends it, and wrong pointers-to-shared by their name.
//!
//! Emitted C follows a pointer-to-shared to a near thread by a plain load or store. Offset 0 is the null
//! pointer, so the page there is taken out of reach in every near segment, and whoever follows a null pointer
//! faults. Accesses to far threads are checked where they are sent ([`Core`](crate::core::Core)).
#![expect(unsafe_code, reason = "changes what may be done with a page")]

use crate::layout::STATICS_OFFSET;
use crate::state::Upc;
use gasnet_sys::signals::{FAULTS, Fault, on_fault, signal_name};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The values of settings about faults; read beforehand, because a handler must not read the environment.
static BACKTRACE: AtomicBool = AtomicBool::new(false);
static FREEZE: AtomicBool = AtomicBool::new(false);

/// From here on a fault says where it happened. Called once, before code of the user runs.
pub fn arm(upc: &Upc) {
    BACKTRACE.store(crate::debugger::wanted("GASNET_BACKTRACE"), Relaxed);
    FREEZE.store(crate::debugger::wanted("GASNET_FREEZE_ON_ERROR"), Relaxed);
    let near = upc.core.near_segments();
    for thread in near.first..near.first + near.mapped {
        let page = near.base.wrapping_add((u64::from(thread) * near.stride) as usize);
        // SAFETY: the first page of a mapped segment, in which nothing is ever laid out. Where the system
        // refuses, a null pointer can be followed as before.
        unsafe { libc::mprotect(page.cast(), STATICS_OFFSET as usize, libc::PROT_NONE) };
    }
    FAULTS.into_iter().for_each(|signal| on_fault(signal, say));
}

/// The mistake in a pointer-to-shared, if `address` is the address that it stands for.
fn fault_of(upc: &Upc, address: usize) -> Option<String> {
    let near = upc.core.near_segments();
    let distance = (address as u64).wrapping_sub(near.base as u64);
    let (thread, offset) = (distance / near.stride, distance % near.stride);
    let thread = u32::try_from(thread).ok().filter(|thread| *thread < upc.size)?;
    if !upc.core.near(thread) {
        // Nothing is there; only a cast makes the address.
        return Some(format!(
            "a private pointer to memory of thread {thread} is followed, which is out of reach: a pointer-to-shared with affinity to that \
             thread was cast"
        ));
    }
    if offset < STATICS_OFFSET {
        return Some("a null pointer-to-shared is followed".into());
    }
    (offset >= upc.layout.total).then(|| {
        format!(
            "a pointer-to-shared outside shared memory is followed: offset {offset:#x} of thread {thread}"
        )
    })
}

fn say(fault: &Fault) {
    let Some(upc) = crate::state::get().filter(|upc| upc.pid == std::process::id()) else { return };
    let known = fault.address.and_then(|address| fault_of(upc, address));
    let (backtrace, freeze) = (BACKTRACE.load(Relaxed), FREEZE.load(Relaxed));
    if known.is_some() || freeze {
        let what = known.as_deref().unwrap_or_else(|| signal_name(fault.signal));
        let place = gasnet_wire::report::place_in_program();
        let place = place.map_or(String::new(), |place| format!(", in {place}"));
        crate::console::say(&format!("UPC Runtime error: thread {}: {what}{place}", upc.me));
    }
    if backtrace {
        let trace = std::backtrace::Backtrace::force_capture();
        crate::console::say(&format!("Backtrace of thread {}:\n{trace}", upc.me));
    }
    if freeze {
        crate::debugger::freeze(&format!("thread {}", upc.me));
    }
}
