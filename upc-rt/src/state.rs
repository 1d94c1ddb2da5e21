//! The [`Upc`] object: all state of one thread of a UPC program, reached through one pointer.
#![expect(unsafe_code, reason = "overlays the control area, which is made of atomics, on the segment")]

use crate::abi::PACKED_OFFSET_BITS;
use crate::alloc::{self, HeapCalls};
use crate::barrier::BarrierState;
use crate::control::Control;
use crate::core::Core;
use crate::io::IoState;
use crate::layout::Layout;
use crate::libraries::Libraries;
use crate::locks::LockState;
use crate::objects::{Freed, Variable};
use crate::settings::Settings;
use crate::site::Site;
use gasnet::{Error, Rank, Team};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, OnceLock};

/// One thread of a running UPC program.
pub struct Upc {
    /// The core.
    pub core: Core,
    /// MYTHREAD.
    pub me: u32,
    /// THREADS.
    pub size: u32,
    /// The layout of every segment.
    pub layout: Layout,
    /// Largest heap that a thread could have.
    pub max_heap: u64,
    /// Whether pointers-to-shared have 16 bytes.
    pub struct_pts: bool,
    /// The variables that have their places.
    pub libraries: Libraries,
    /// The environment settings.
    pub settings: Settings,
    /// This thread's own control area.
    pub control: &'static Control,
    /// The barrier's state.
    pub barrier: BarrierState,
    /// State of locks.
    pub locks: LockState,
    /// Number of reductions so far.
    pub partials: AtomicU64,
    /// All threads, for the core's collectives.
    pub team: Team,
    /// Open files.
    pub io: IoState,
    /// The process that is this thread; children that it forks are not.
    pub pid: u32,
    /// Number of objects that this thread has given labels.
    pub labels: AtomicU64,
    /// Objects that this thread has freed, in a program that is checked.
    pub freed: Mutex<Freed>,
    /// The shared variables of the program, for messages.
    pub variables: OnceLock<Vec<Variable>>,
    /// Whether the program was compiled with `-fsanitize=upc`.
    pub checks: AtomicBool,
    /// The location of the last call of the library, in a program compiled with `-fsanitize=upc`.
    pub site: Site,
    /// Whether the end of this thread has begun.
    pub leaving: AtomicBool,
    pub(crate) calls: HeapCalls,
}

static UPC: OnceLock<Upc> = OnceLock::new();

/// The state of this thread.
#[inline]
pub fn upc() -> &'static Upc {
    match UPC.get() {
        Some(upc) => upc,
        None => not_running(),
    }
}

/// The state of this thread, if it has started.
pub fn get() -> Option<&'static Upc> {
    UPC.get()
}

#[cold]
fn not_running() -> ! {
    crate::error::fatal_at_start(
        "a UPC function was called before the UPC program started (from a constructor?)",
    )
}

impl Upc {
    /// Attaches the segments and makes the state, which is usable only after [`Upc::init_heaps`] and a
    /// barrier.
    ///
    /// # Collective
    pub fn start(
        rank: &'static Rank,
        layout: Layout,
        max_heap: u64,
        libraries: Libraries,
        settings: Settings,
    ) -> Result<&'static Upc, Error> {
        // The handlers must exist before a peer can send to them.
        alloc::register(rank)?;
        Core::register_batches(rank)?;
        // In emitted code, packed offset and thread together are the address.
        let struct_pts = libraries.kind().wide;
        let stride = (!struct_pts).then_some(1 << PACKED_OFFSET_BITS);
        let core = Core::attach(rank, layout.total, stride)?;
        let me = rank.id().0;
        // SAFETY: the control area of the own segment, which is always mapped, laid out for a Control;
        // Control is made of atomics. The mapping lives as long as the process.
        let control: &'static Control =
            unsafe { &*std::ptr::from_ref(&core.view::<Control>(me, layout.control, 1)[0]) };
        let upc = Upc {
            team: core.team(),
            core,
            me,
            size: rank.size(),
            layout,
            max_heap,
            struct_pts,
            libraries,
            settings,
            control,
            barrier: BarrierState::default(),
            locks: LockState::new(
                rank.ranks()
                    .filter(|r| rank.topology().host_of(*r) == rank.topology().host_of(rank.id()))
                    .count() as u32,
            ),
            partials: AtomicU64::new(0),
            io: IoState::default(),
            pid: std::process::id(),
            labels: AtomicU64::new(0),
            freed: Mutex::default(),
            variables: OnceLock::new(),
            checks: AtomicBool::new(false),
            site: Site::default(),
            leaving: AtomicBool::new(false),
            calls: HeapCalls::default(),
        };
        UPC.set(upc).map_err(|_| Error::op("the UPC runtime was started twice"))?;
        Ok(self::upc())
    }
}
