//! The one pointer to this process's rank, and what `gasnet_init` learned about the program.
//!
//! A process is a rank of one world after another if ranks die and it goes on (`gasnet_survive.h`). The job
//! is at one place all the time, so that no call has to look where it is, and its rank is another one in each
//! world. What else there is once in a world is in a [`OfWorld`] or a [`PerWorld`], which is made anew.

#![expect(unsafe_code, reason = "follows pointers to what lives for ever")]

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, Ordering::Relaxed};

use gasnet::{Rank, RankId, SegmentEntry, Threading};

/// What the program is, in all worlds.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// How many of its threads call the library.
    pub threading: Threading,
    /// It was compiled for `GASNET_SEGMENT_EVERYTHING`.
    pub everything: bool,
    /// The client was started by `gasnet_init`, so everything but attaching waits until it has attached.
    pub legacy: bool,
    /// It goes on when ranks die: it includes `gasnet_survive.h`.
    pub survives: bool,
}

/// The C program's job.
#[derive(Debug)]
pub struct ClientJob {
    /// The rank that every call works on.
    pub rank: Current<Rank>,
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
    /// Ranks may die, and the others go on.
    pub mortal: bool,
    /// All that is known of the program.
    pub program: Program,
    /// The segment is attached.
    pub attached: AtomicBool,
    /// Some process has several images: read without the lock of the list.
    pub several: AtomicBool,
    /// `gasnet_set_waitmode`.
    pub wait_mode: AtomicU32,
    /// What else there is once in a world.
    pub world: Current<OfWorld>,
}

/// What there is in this world, and in the next one anew.
#[derive(Debug)]
pub struct OfWorld {
    /// The number of processes that were this rank before this one.
    pub incarnation: u32,
    /// The numbers that the ranks had in the job's first world; `None` in that.
    pub first_numbers: Option<Box<[u32]>>,
    /// `gex_Segment_Attach` was called.
    pub segment_asked: AtomicBool,
    /// Largest long payload to any rank, once asked for.
    pub max_long: OnceLock<usize>,
}

/// One of several values, which live for ever, that was set last.
#[derive(Debug)]
pub struct Current<T: 'static>(AtomicPtr<T>);

impl<T> Current<T> {
    /// This value, at first.
    pub fn new(value: &'static T) -> Current<T> {
        Current(AtomicPtr::new(std::ptr::from_ref(value).cast_mut()))
    }

    /// The value.
    #[inline]
    pub fn now(&self) -> &'static T {
        // ORDER: Acquire; pairs with Release in `set`.
        // SAFETY: made of such a reference.
        unsafe { &*self.0.load(Ordering::Acquire) }
    }

    fn set(&self, value: &'static T) {
        // ORDER: Release; pairs with Acquire in `now`.
        self.0.store(std::ptr::from_ref(value).cast_mut(), Ordering::Release);
    }
}

impl<T> Deref for Current<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.now()
    }
}

impl ClientJob {
    /// The job is in another world from now on. Nobody else is in a call.
    pub fn go_on(&self, rank: &'static Rank, world: OfWorld, attached: bool) {
        self.attached.store(attached, Relaxed);
        self.several.store(false, Relaxed);
        self.world.set(Box::leak(Box::new(world)));
        self.rank.set(rank);
    }

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

/// Sets the job, once.
pub fn set(state: ClientJob) -> &'static ClientJob {
    STATE.get_or_init(|| state)
}

/// A value that there is once in each world: made when a call first asks for it.
#[derive(Debug)]
pub struct PerWorld<T>(AtomicPtr<(usize, T)>);

impl<T> PerWorld<T> {
    /// No value yet.
    pub const fn empty() -> PerWorld<T> {
        PerWorld(AtomicPtr::new(std::ptr::null_mut()))
    }
}

impl<T: Send + Sync + 'static> PerWorld<T> {
    /// The value of this job's world.
    #[inline]
    pub fn of(&self, state: &ClientJob, make: impl FnOnce() -> T) -> &'static T {
        let world = std::ptr::from_ref(state.rank.now()) as usize;
        // ORDER: Acquire; pairs with AcqRel in `make`.
        let found = self.0.load(Ordering::Acquire);
        // SAFETY: null, or what `make` has leaked.
        match unsafe { found.as_ref() } {
            Some((of, value)) if *of == world => value,
            _ => self.make(found, (world, make())),
        }
    }

    #[cold]
    fn make(&self, found: *mut (usize, T), new: (usize, T)) -> &'static T {
        let new = Box::into_raw(Box::new(new));
        // ORDER: AcqRel; pairs with Acquire in `of`, and with itself: who comes second takes the first one's.
        let value = match self.0.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: made above, and nobody else has it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: never freed once it is there. Nobody begins another world while threads are in calls.
        unsafe { &(*value).1 }
    }
}
