//! The [`Upc`] object: all state of one thread of a UPC program, reached through one pointer.
#![expect(unsafe_code, reason = "overlays the control area, which is made of atomics, on the segment")]

use crate::abi::PACKED_OFFSET_BITS;
use crate::alloc::{HeapReply, HeapRequest};
use crate::barrier::BarrierState;
use crate::control::Control;
use crate::core::Core;
use crate::heap::PageDescriptor;
use crate::io::IoState;
use crate::layout::Layout;
use crate::libraries::Libraries;
use crate::locks::LockState;
use crate::objects::Variable;
use crate::settings::Settings;
use crate::site::Site;
use gasnet::am::{FIRST_LIBRARY_HANDLER, Handler, Message, Token};
use gasnet::atomics::Function;
use gasnet::{Error, Rank, Team};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, OnceLock};

/// Active-message handlers: a request to the owner of a heap, and its reply.
const HEAP_REQUEST: u8 = FIRST_LIBRARY_HANDLER;
const HEAP_REPLY: u8 = FIRST_LIBRARY_HANDLER + 1;

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
    /// The shared variables of the program, for messages.
    pub variables: OnceLock<Vec<Variable>>,
    /// Whether the program was compiled with `-fsanitize=upc`.
    pub checks: AtomicBool,
    /// The location of the last call of the library, in a program compiled with `-fsanitize=upc`.
    pub site: Site,
    /// Whether the end of this thread has begun.
    pub leaving: AtomicBool,
    calls: Calls,
}

/// At most one request to a heap's owner is under way.
#[derive(Default)]
struct Calls {
    turn: Mutex<()>,
    answered: AtomicBool,
    kind: AtomicU64,
    value: AtomicU64,
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
        rank.register_library(HEAP_REQUEST, Handler::new(|token, m| upc().handle_request(token, m)))?;
        rank.register_library(HEAP_REPLY, Handler::new(|_, m| upc().handle_reply(m)))?;
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
                rank.ranks().filter(|r| rank.host_of(*r) == rank.host_of(rank.id())).count() as u32,
            ),
            partials: AtomicU64::new(0),
            io: IoState::default(),
            pid: std::process::id(),
            labels: AtomicU64::new(0),
            variables: OnceLock::new(),
            checks: AtomicBool::new(false),
            site: Site::default(),
            leaving: AtomicBool::new(false),
            calls: Calls::default(),
        };
        UPC.set(upc).map_err(|_| Error::op("the UPC runtime was started twice"))?;
        Ok(self::upc())
    }

    /// Whether every possible check is made.
    pub fn sanitized(&self) -> bool {
        self.checks.load(Relaxed)
    }

    /// The control area and the page descriptors of a near thread.
    pub fn bookkeeping(&self, t: u32) -> (&Control, &[PageDescriptor]) {
        // SAFETY: laid out for these types in every segment; both are made of atomics.
        unsafe {
            let control = &self.core.view::<Control>(t, self.layout.control, 1)[0];
            (control, self.core.view::<PageDescriptor>(t, self.layout.table(), self.layout.pages()))
        }
    }

    /// This thread's part of the heap range: address and bytes.
    pub fn own_heap(&self) -> (*mut u8, usize) {
        let near = self.core.near_segments();
        let offset = u64::from(self.me) * near.stride + self.layout.heap_lo;
        (near.base.wrapping_add(offset as usize), (self.layout.heap_hi - self.layout.heap_lo) as usize)
    }

    /// Writes to the pages of this thread's segment between two offsets, so that they are allocated near it.
    /// To be called before others use them.
    pub fn touch(&self, from: u64, to: u64) {
        let near = self.core.near_segments();
        let start = near.base.wrapping_add((u64::from(self.me) * near.stride) as usize);
        for offset in (from..to).step_by(crate::heap::PAGE_BYTES as usize) {
            // SAFETY: within this thread's own segment, which is mapped; no user code runs yet, and the
            // values stay.
            unsafe {
                let at = start.wrapping_add(offset as usize);
                at.write_volatile(at.read_volatile());
            }
        }
    }

    /// An atomic operation on a word of a thread's control area.
    #[inline]
    pub fn amo(&self, t: u32, field: u64, op: Function, a: u64, b: u64) -> u64 {
        self.core.amo(t, self.layout.control + field, op, a, b)
    }

    /// Stores a word of a thread's control area.
    #[inline]
    pub fn store_word(&self, t: u32, field: u64, value: u64) {
        self.core.store_word(t, self.layout.control + field, value);
    }

    /// Lets the owner of a heap serve a request, in a handler.
    pub fn call(&self, t: u32, request: HeapRequest) -> HeapReply {
        let _turn = self.calls.turn.lock().unwrap_or_else(|e| e.into_inner());
        self.calls.answered.store(false, Relaxed);
        let (kind, a, b) = request.encode();
        let args = [kind, (a >> 32) as u32, a as u32, (b >> 32) as u32, b as u32];
        self.core.request(t, HEAP_REQUEST, &args);
        // ORDER: Acquire; pairs with the Release in `handle_reply`; the answer is seen.
        self.core.wait_until("an answer of the owner of a heap", || self.calls.answered.load(Acquire));
        HeapReply::decode(self.calls.kind.load(Relaxed) as u32, self.calls.value.load(Relaxed))
    }

    fn handle_request(&self, token: &Token<'_>, message: &Message<'_>) {
        let &[kind, a1, a0, b1, b0] = message.args else { return };
        let reply = self.serve(self.me, HeapRequest::decode(kind, wide(a1, a0), wide(b1, b0)));
        let (kind, value) = reply.encode();
        if let Err(e) = token.reply_short(HEAP_REPLY, &[kind, (value >> 32) as u32, value as u32]) {
            self.core.abort(&e.to_string());
        }
    }

    fn handle_reply(&self, message: &Message<'_>) {
        let &[kind, high, low] = message.args else { return };
        self.calls.kind.store(kind.into(), Relaxed);
        self.calls.value.store(wide(high, low), Relaxed);
        // ORDER: Release; pairs with the Acquire in `call`.
        self.calls.answered.store(true, Release);
    }
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
