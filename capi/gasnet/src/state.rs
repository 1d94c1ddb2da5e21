//! The one pointer to this process's rank, and what `gasnet_init` learned about the program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use gasnet::{Rank, RankId, SegmentEntry};

/// The C program's job.
#[derive(Debug)]
pub struct ClientJob {
    /// The rank that every call works on.
    pub rank: &'static Rank,
    /// `GASNET_CHECK`.
    pub check: bool,
    /// The program was compiled for `GASNET_PAR`.
    pub parallel: bool,
    /// The program was compiled for `GASNET_SEQ`: one and the same thread makes all calls.
    pub one_thread: bool,
    /// The program was compiled for `GASNET_SEGMENT_EVERYTHING`.
    pub everything: bool,
    /// The client was started by `gasnet_init`, so everything but attaching waits until it has attached.
    pub legacy: bool,
    /// The segment is attached.
    pub attached: AtomicBool,
    /// `gasnet_set_waitmode`.
    pub wait_mode: AtomicU32,
    /// Largest long payload to any rank, once asked for.
    pub max_long: OnceLock<usize>,
}

impl ClientJob {
    /// The segment of a rank as the program sees it. All of memory begins at address 0 for it, and is mapped
    /// nowhere else.
    pub fn segment_of(&self, rank: RankId) -> Option<SegmentEntry> {
        let entry = *self.rank.segment_of(rank)?;
        Some(if self.everything {
            SegmentEntry { addr: 0, local: std::ptr::null_mut(), ..entry }
        } else {
            entry
        })
    }
}

static STATE: OnceLock<ClientJob> = OnceLock::new();

/// The job, once `gasnet_init` has run.
#[inline]
pub fn get() -> Option<&'static ClientJob> {
    STATE.get()
}

/// The job; a call that needs one before `gasnet_init` ends the program with a message.
#[inline]
pub fn state(call: &str) -> &'static ClientJob {
    match STATE.get() {
        Some(state) => state,
        None => crate::fatal::die(&format!("{call} was called before gasnet_init or gex_Client_Init")),
    }
}

/// The job after `gasnet_attach`; anything else ends the program with a message.
#[inline]
pub fn attached(call: &str) -> &'static ClientJob {
    let state = state(call);
    if !state.attached.load(Relaxed) {
        crate::fatal::die(&format!("{call} was called before gasnet_attach or gex_Segment_Attach"));
    }
    state
}

/// The job, for calls that need no segment: after `gex_Client_Init`, but after `gasnet_attach` in programs
/// that began with `gasnet_init`.
#[inline]
pub fn ready(call: &str) -> &'static ClientJob {
    let state = state(call);
    if state.legacy { attached(call) } else { state }
}

/// Sets the job; `false` if there is one.
pub fn set(state: ClientJob) -> bool {
    STATE.set(state).is_ok()
}
