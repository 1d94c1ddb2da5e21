//! Local memory of puts and gets, for providers that reach registered memory only.
//!
//! If the provider demands no registration (FI_MR_LOCAL), nothing is needed. Otherwise memory of the own
//! segment is registered already, and small transfers use registered *bounce* buffers. For other memory there
//! are three ways ([`crate::prices`]), of which a measurement chooses one. Memory that Firehose cannot keep
//! (files, more than its bound) is registered for the duration of the transfer. Memory that cannot be
//! registered (more than may be locked, or than the provider accepts) is copied: in pieces, if it is larger
//! than a bounce buffer.
#![expect(unsafe_code, reason = "copies, and registers memory of the caller's")]

use crate::fabric::{Port, RegisteredRegion, Span};
use crate::memory::Chunk;
use crate::pins::{MAX_PIECES, Pins, Registers, Taken};
use crate::prices::{Choice, LARGE_BYTES, MEASURED_BYTES, Prices, Way};
use firehose::{PinError, Registrar, Run};
use firehose_live::{MappingMonitor, Watched};
use gasnet_settings::ofi::Registration;
use gasnet_wire::bytes;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of bounce buffers by class: for small transfers, and for all.
const BOUNCE_BUFFER_BYTES: [usize; 2] = [16 << 10, LARGE_BYTES];
/// Number of buffers by class: made in one step, also at the start; and the most.
const BUFFERS_PER_CHUNK: [usize; 2] = [16, 4];
const MAX_BUFFERS_BY_CLASS: [usize; 2] = [256, 32];
/// Most bytes that Firehose keeps registered.
const MAX_FIREHOSE_BYTES: u64 = 256 << 20;
/// Measurements of each way; a first one is not counted.
const MEASUREMENTS_PER_WAY: usize = 5;

/// Memory that an operation may use.
pub(crate) struct MemoryLease {
    spans: [Span; MAX_PIECES],
    count: usize,
    kind: LeaseKind,
}

/// Memory for a transfer, or what to do without it.
#[expect(clippy::large_enum_variant, reason = "taken apart where it comes back")]
pub(crate) enum Room {
    Here(MemoryLease),
    /// There is none at the moment.
    Later,
    /// It goes through bounce buffers in pieces of at most [`LARGE_BYTES`] bytes, see [`Local::bounce`].
    InPieces,
}

enum LeaseKind {
    /// The caller's own memory, usable as it is.
    Plain,
    /// A bounce buffer, its class, and the destination of its bytes: null for a put.
    Bounce { class: usize, to: *mut u8, len: usize },
    /// The caller's own memory, registered for this operation.
    Registered(RegisteredRegion),
    /// The caller's own memory, which stays registered.
    Kept(Taken),
}

impl MemoryLease {
    fn one(at: *mut u8, len: usize, desc: *mut c_void, kind: LeaseKind) -> MemoryLease {
        let mut spans = [Span::NONE; MAX_PIECES];
        spans[0] = Span { at, len, desc };
        MemoryLease { spans, count: 1, kind }
    }

    /// The memory for the provider, in order.
    pub(crate) fn spans(&self) -> ([Span; MAX_PIECES], usize) {
        (self.spans, self.count)
    }

    /// Copies a get's bytes to their destination; does nothing for a put.
    ///
    /// # Safety
    /// 1. The get is complete, and its destination is still valid (owed by the caller).
    pub(crate) unsafe fn deliver(&self) {
        if let LeaseKind::Bounce { to, len, .. } = self.kind
            && !to.is_null()
        {
            // SAFETY: (1); a bounce buffer is not memory of the caller.
            unsafe { bytes::store(to, self.spans[0].at, len) };
        }
    }
}

impl Registers for Port {
    type Region = RegisteredRegion;

    fn register(&mut self, at: u64, len: u64) -> Result<RegisteredRegion, String> {
        // SAFETY: the program's memory exists now, since it is about to be used. If it is unmapped later, the
        // registration is no longer used: `Pins` learns of the change first.
        unsafe { Port::register(self, at as *mut u8, len as usize, false) }
    }

    fn forget(&mut self, region: &RegisteredRegion) {
        Port::forget(self, region);
    }
}

/// A registrar that does nothing: the pages are only watched.
struct Nothing;

impl Registrar for Nothing {
    fn pin(&self, _: Run) -> Option<Result<(), PinError>> {
        Some(Ok(()))
    }

    fn unpin(&self, _: Run) -> Option<()> {
        Some(())
    }
}

/// The bytes that Firehose may keep: a part of what may be locked.
fn budget() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills in the limits.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } == 0;
    // SAFETY: asks for a number.
    let bounded = known && limit.rlim_cur != libc::RLIM_INFINITY && unsafe { libc::geteuid() } != 0;
    if bounded { MAX_FIREHOSE_BYTES.min(limit.rlim_cur / 2) } else { MAX_FIREHOSE_BYTES }
}

/// Firehose, if the kernel reports unmapped memory.
fn pins() -> Option<Pins<Port>> {
    let monitor = Arc::new(MappingMonitor::start().ok()?);
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let watch = Watched { monitor: Arc::clone(&monitor), registrar: Nothing, bucket_bytes: page };
    Pins::new(page, budget(), Box::new(monitor), Box::new(watch)).ok()
}

/// The shortest time of an operation for each size; `None` if it fails.
fn best(
    port: &mut Port,
    mut once: impl FnMut(&mut Port, usize) -> Option<()>,
) -> Option<[f64; MEASURED_BYTES.len()]> {
    let mut all = [f64::INFINITY; MEASURED_BYTES.len()];
    for (price, size) in all.iter_mut().zip(MEASURED_BYTES) {
        for tried in 0..=MEASUREMENTS_PER_WAY {
            let start = Instant::now();
            once(port, size)?;
            if tried > 0 {
                *price = price.min(start.elapsed().as_nanos() as f64);
            }
        }
    }
    Some(all)
}

/// Numbers of transfers by the way their memory was handled.
#[derive(Default)]
struct TransferCounters {
    copied: u64,
    registered: u64,
    kept: u64,
    /// They should have been registered, and were copied.
    refused: u64,
}

/// The local memory of operations.
pub(crate) struct Local {
    demanded: bool,
    choice: Choice,
    prices: Prices,
    counts: TransferCounters,
    quiet: bool,
    segment: Option<(usize, usize, *mut c_void)>,
    pins: Option<Pins<Port>>,
    bounces: [Vec<Chunk>; 2],
    free: [Vec<(*mut u8, *mut c_void)>; 2],
}

impl Local {
    /// Measures which way is the cheapest, if the provider demands registration.
    pub(crate) fn new(port: &mut Port, wanted: Registration, quiet: bool) -> Result<Local, String> {
        let demanded = port.traits.mr_local;
        let choice = Choice { way: Way::Provider, copies: 0 };
        let mut local = Local {
            demanded,
            choice,
            prices: Prices::default(),
            counts: TransferCounters::default(),
            quiet,
            segment: None,
            pins: None,
            bounces: Default::default(),
            free: Default::default(),
        };
        if demanded {
            // While memory can still be registered: later there may be no others.
            for class in 0..BOUNCE_BUFFER_BYTES.len() {
                local.more_bounces(port, class)?;
            }
            if matches!(wanted, Registration::Auto | Registration::Firehose) {
                local.pins = pins();
            }
            local.prices = local.measure(port);
            local.choice =
                local.prices.choose(wanted).map_err(|why| format!("GASNET_OFI_REGISTRATION: {why}"))?;
            if local.choice.way != Way::Firehose
                && let Some(pins) = local.pins.take()
            {
                pins.end(port);
            }
        }
        Ok(local)
    }

    /// Measures the cost of each way.
    fn measure(&mut self, port: &mut Port) -> Prices {
        let memory = vec![1u8; 2 * LARGE_BYTES];
        let mut copy = vec![2u8; LARGE_BYTES];
        let (at, to) = (memory.as_ptr().cast_mut(), copy.as_mut_ptr());
        let copied = best(port, |_, size| {
            // SAFETY: room for LARGE bytes in both buffers, which are different.
            unsafe { ptr::copy_nonoverlapping(at, to, size) };
            std::hint::black_box(to);
            Some(())
        });
        let provider = best(port, |port, size| {
            // SAFETY: the memory outlives the region.
            let region = unsafe { port.register(at, size, false) }.ok()?;
            port.forget(&region);
            Some(())
        });
        let pins = &mut self.pins;
        let firehose = best(port, |port, size| {
            let pins = pins.as_mut()?;
            let taken = pins.take(port, at as u64, size as u64, 1)?;
            pins.give_back(port, &taken);
            Some(())
        });
        Prices { copy: copied.unwrap_or([0.0; MEASURED_BYTES.len()]), firehose, provider }
    }

    /// The own segment is registered.
    pub(crate) fn attached(&mut self, base: *mut u8, len: usize, region: &RegisteredRegion) {
        self.segment = Some((base as usize, len, region.desc));
    }

    /// A lease for memory that needs nothing, if this is such memory.
    fn plain(&self, at: *mut u8, len: usize) -> Option<MemoryLease> {
        let lease = |desc| Some(MemoryLease::one(at, len, desc, LeaseKind::Plain));
        match self.segment {
            Some((base, size, desc)) if (at as usize).checked_sub(base).is_some_and(|o| o + len <= size) => {
                lease(desc)
            }
            _ if !self.demanded => lease(ptr::null_mut()),
            _ => None,
        }
    }

    fn more_bounces(&mut self, port: &mut Port, class: usize) -> Result<(), String> {
        let (size, at_once) = (BOUNCE_BUFFER_BYTES[class], BUFFERS_PER_CHUNK[class]);
        let chunk = Chunk::new(port, at_once * size)?;
        let places = (0..at_once).map(|k| (chunk.at().wrapping_add(k * size), chunk.desc()));
        self.free[class].extend(places);
        self.bounces[class].push(chunk);
        Ok(())
    }

    /// A bounce buffer for at most [`LARGE_BYTES`] bytes, which are copied to `to` at the end; `None` if
    /// there is none at the moment.
    pub(crate) fn bounce(&mut self, port: &mut Port, to: *mut u8, len: usize) -> Option<MemoryLease> {
        let class = usize::from(len > BOUNCE_BUFFER_BYTES[0]);
        if self.free[class].is_empty()
            && self.bounces[class].len() * BUFFERS_PER_CHUNK[class] < MAX_BUFFERS_BY_CLASS[class]
        {
            // If no more can be made, those of the start are left.
            let _ = self.more_bounces(port, class);
        }
        let (at, desc) = self.free[class].pop()?;
        self.counts.copied += 1;
        Some(MemoryLease::one(at, len, desc, LeaseKind::Bounce { class, to, len }))
    }

    /// A bounce buffer with the source of a put, or with a part of it of at most [`LARGE_BYTES`] bytes.
    ///
    /// # Safety
    /// 1. The source is valid (owed by the caller).
    pub(crate) unsafe fn bounce_source(
        &mut self,
        port: &mut Port,
        src: *const u8,
        len: usize,
    ) -> Option<MemoryLease> {
        let lease = self.bounce(port, ptr::null_mut(), len)?;
        // SAFETY: (1); room for that many bytes.
        unsafe { bytes::load(lease.spans[0].at, src, len) };
        Some(lease)
    }

    /// The caller's memory, registered at least as long as the lease; `None` if it cannot or should not be
    /// registered.
    ///
    /// # Safety
    /// 1. The memory is valid until the lease ends (owed by the caller).
    unsafe fn registered(&mut self, port: &mut Port, at: *mut u8, len: usize) -> Option<MemoryLease> {
        if self.choice.way == Way::Bounce {
            return None;
        }
        if let Some(pins) = &mut self.pins
            && let Some(taken) = pins.take(port, at as u64, len as u64, port.traits.spans)
        {
            let mut spans = [Span::NONE; MAX_PIECES];
            for (span, piece) in spans.iter_mut().zip(taken.pieces()) {
                let desc = pins.region(piece).map_or(ptr::null_mut(), |region| region.desc);
                *span = Span { at: piece.at as *mut u8, len: piece.len as usize, desc };
            }
            self.counts.kept += 1;
            return Some(MemoryLease { spans, count: taken.pieces().len(), kind: LeaseKind::Kept(taken) });
        }
        // SAFETY: (1).
        match unsafe { port.register(at, len, false) } {
            Ok(region) => {
                self.counts.registered += 1;
                Some(MemoryLease::one(at, len, region.desc, LeaseKind::Registered(region)))
            }
            Err(why) => {
                self.refused(port, len, &why);
                None
            }
        }
    }

    /// Memory of the program cannot be registered: that is slow, and reported once.
    #[cold]
    fn refused(&mut self, port: &Port, len: usize, why: &str) {
        if self.counts.refused == 0 && !self.quiet {
            eprintln!(
                "gasnet: warning: ofi ({}): {len} bytes of the program's memory cannot be registered: {why}; such transfers are copied, \
                 which is slower (a larger ulimit -l may help)",
                port.traits.name
            );
        }
        self.counts.refused += 1;
    }

    /// Memory with the source of a put. With `inject` the provider reads it before the call returns, and
    /// needs no registration.
    ///
    /// # Safety
    /// 1. The source is valid until the put is complete (owed by the caller).
    pub(crate) unsafe fn source(
        &mut self,
        port: &mut Port,
        src: *const u8,
        len: usize,
        inject: bool,
    ) -> Room {
        let at = src.cast_mut();
        if inject {
            return Room::Here(MemoryLease::one(at, len, ptr::null_mut(), LeaseKind::Plain));
        }
        // Small sources are always copied: the caller was told so, see `copies`.
        if !self.copies(len) {
            if let Some(lease) = self.plain(at, len) {
                return Room::Here(lease);
            }
            // SAFETY: (1).
            if let Some(lease) = unsafe { self.registered(port, at, len) } {
                return Room::Here(lease);
            }
        }
        if len > LARGE_BYTES {
            return Room::InPieces;
        }
        // SAFETY: (1).
        unsafe { self.bounce_source(port, src, len) }.map_or(Room::Later, Room::Here)
    }

    /// Memory for a get.
    ///
    /// # Safety
    /// 1. The destination is valid, and nobody else's, until the get is complete (owed by the caller).
    pub(crate) unsafe fn target(&mut self, port: &mut Port, dst: *mut u8, len: usize) -> Room {
        if let Some(lease) = self.plain(dst, len) {
            return Room::Here(lease);
        }
        if !self.copies(len) {
            // SAFETY: (1).
            if let Some(lease) = unsafe { self.registered(port, dst, len) } {
                return Room::Here(lease);
            }
        }
        if len > LARGE_BYTES {
            return Room::InPieces;
        }
        self.bounce(port, dst, len).map_or(Room::Later, Room::Here)
    }

    /// Whether the source of a put of this many bytes is copied.
    pub(crate) fn copies(&self, len: usize) -> bool {
        self.demanded && len <= self.choice.copies
    }

    /// Largest source that is copied, in bytes.
    pub(crate) fn copied(&self) -> usize {
        if self.demanded { self.choice.copies } else { 0 }
    }

    /// The choice, its reason, and the numbers of transfers, for `GASNET_STATS`.
    pub(crate) fn counters(&self) -> Vec<(&'static str, u64)> {
        if !self.demanded {
            return Vec::new();
        }
        let way = match self.choice.way {
            Way::Bounce => "way to registered memory: bounce",
            Way::Firehose => "way to registered memory: firehose",
            Way::Provider => "way to registered memory: provider",
        };
        let price = |prices: Option<[f64; MEASURED_BYTES.len()]>| {
            prices.map_or(0, |all| all[MEASURED_BYTES.len() - 1] as u64)
        };
        let TransferCounters { copied, registered, kept, refused } = self.counts;
        vec![
            (way, 1),
            ("ns of 256 KiB by bounce", price(Some(self.prices.copy))),
            ("ns of 256 KiB by firehose", price(self.prices.firehose)),
            ("ns of 256 KiB by provider", price(self.prices.provider)),
            ("bytes up to which any way copies", self.copied() as u64),
            ("copied", copied),
            ("registered each time", registered),
            ("kept registered", kept),
            ("copied for want of registration", refused),
            ("regions kept", self.pins.as_ref().map_or(0, Pins::made)),
        ]
    }

    /// An operation has finished with its memory.
    pub(crate) fn end(&mut self, port: &mut Port, lease: MemoryLease) {
        match lease.kind {
            LeaseKind::Plain => {}
            LeaseKind::Bounce { class, .. } => {
                self.free[class].push((lease.spans[0].at, lease.spans[0].desc))
            }
            LeaseKind::Registered(region) => port.forget(&region),
            LeaseKind::Kept(taken) => {
                if let Some(pins) = &mut self.pins {
                    pins.give_back(port, &taken);
                }
            }
        }
    }

    /// Gives all memory back. The endpoint is closed.
    pub(crate) fn close(self, port: &mut Port) {
        if let Some(pins) = self.pins {
            pins.end(port);
        }
        for chunk in self.bounces.into_iter().flatten() {
            chunk.end(port);
        }
    }
}
