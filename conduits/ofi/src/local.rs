//! Local memory of puts and gets, for providers that reach registered memory only.
//!
//! Where the provider demands no registration (FI_MR_LOCAL) there is nothing to do. Else memory of the own segment is registered already; small
//! transfers go through registered *bounce* buffers; for other memory there are three ways ([`crate::prices`]), one of which is chosen
//! by measurement. What Firehose cannot keep (files, more than its bound) is registered for the time of the transfer. What cannot be registered
//! (more than may be locked, or than the provider takes) is copied after all: in pieces, where it is more than a bounce buffer.
#![expect(unsafe_code, reason = "copies, and registers memory of the caller's")]

use crate::fabric::{Port, Region, Span};
use crate::memory::Chunk;
use crate::pins::{PIECES, Pins, Registers, Taken};
use crate::prices::{Choice, LARGE, Prices, SIZES, Way};
use firehose::{PinError, Registrar, Run};
use firehose_live::{Monitor, Watched};
use gasnet::bytes;
use gasnet::config::OfiRegistration;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of bounce buffers: for small transfers, and for all.
const BOUNCES: [usize; 2] = [16 << 10, LARGE];
/// How many are made at once, the first ones at the start, and at most.
const AT_ONCE: [usize; 2] = [16, 4];
const MOST: [usize; 2] = [256, 32];
/// Most bytes that Firehose keeps registered.
const KEPT: u64 = 256 << 20;
/// How often a way is tried, the first time not counted.
const TRIES: usize = 5;

/// Memory that an operation may use.
pub(crate) struct Lease {
    spans: [Span; PIECES],
    count: usize,
    kind: Kind,
}

/// Memory for a transfer, or what to do without.
#[expect(clippy::large_enum_variant, reason = "taken apart where it comes back")]
pub(crate) enum Room {
    Here(Lease),
    /// There is none for now.
    Later,
    /// It goes through bounce buffers, which are smaller: in pieces of at most [`LARGE`] bytes, see [`Local::bounce`].
    InPieces,
}

enum Kind {
    /// The caller's own, usable as it is.
    Plain,
    /// A bounce buffer, its class, and where its bytes go: nowhere (null) for a put.
    Bounce { class: usize, to: *mut u8, len: usize },
    /// The caller's own, registered for this operation.
    Registered(Region),
    /// The caller's own, which stays registered.
    Kept(Taken),
}

impl Lease {
    fn one(at: *mut u8, len: usize, desc: *mut c_void, kind: Kind) -> Lease {
        let mut spans = [Span::NONE; PIECES];
        spans[0] = Span { at, len, desc };
        Lease { spans, count: 1, kind }
    }

    /// What the provider is to use, in order.
    pub(crate) fn spans(&self) -> ([Span; PIECES], usize) {
        (self.spans, self.count)
    }

    /// Brings a get's bytes to where they belong; a put has none.
    ///
    /// # Safety
    /// 1. The get is complete, and its destination still valid (owed by the caller).
    pub(crate) unsafe fn deliver(&self) {
        if let Kind::Bounce { to, len, .. } = self.kind
            && !to.is_null()
        {
            // SAFETY: (1); a bounce buffer is none of the caller's memory.
            unsafe { bytes::store(to, self.spans[0].at, len) };
        }
    }
}

impl Registers for Port {
    type Region = Region;

    fn register(&mut self, at: u64, len: u64) -> Result<Region, String> {
        // SAFETY: the program's memory is there now, for it is about to be used. If it is unmapped later, the registration is no longer
        // used: `Pins` hears of that first.
        unsafe { Port::register(self, at as *mut u8, len as usize, false) }
    }

    fn forget(&mut self, region: &Region) {
        Port::forget(self, region);
    }
}

/// A registrar with nothing to do beyond being watched.
struct Nothing;

impl Registrar for Nothing {
    fn pin(&self, _: Run) -> Option<Result<(), PinError>> {
        Some(Ok(()))
    }

    fn unpin(&self, _: Run) -> Option<()> {
        Some(())
    }
}

/// What Firehose may keep: a part of what may be locked at all.
fn budget() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills in the limits.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } == 0;
    // SAFETY: asks for a number.
    let bounded = known && limit.rlim_cur != libc::RLIM_INFINITY && unsafe { libc::geteuid() } != 0;
    if bounded { KEPT.min(limit.rlim_cur / 2) } else { KEPT }
}

/// Firehose, if the kernel tells of unmapped memory.
fn pins() -> Option<Pins<Port>> {
    let monitor = Arc::new(Monitor::start().ok()?);
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let watch = Watched { monitor: Arc::clone(&monitor), registrar: Nothing, bucket_bytes: page };
    Pins::new(page, budget(), Box::new(monitor), Box::new(watch)).ok()
}

/// The shortest time that something takes for each size; `None` if it fails.
fn best(port: &mut Port, mut once: impl FnMut(&mut Port, usize) -> Option<()>) -> Option<[f64; SIZES.len()]> {
    let mut all = [f64::INFINITY; SIZES.len()];
    for (price, size) in all.iter_mut().zip(SIZES) {
        for tried in 0..=TRIES {
            let start = Instant::now();
            once(port, size)?;
            if tried > 0 {
                *price = price.min(start.elapsed().as_nanos() as f64);
            }
        }
    }
    Some(all)
}

/// What was done with memory of the program, in transfers.
#[derive(Default)]
struct Counts {
    copied: u64,
    registered: u64,
    kept: u64,
    /// Should have been registered, and were copied.
    refused: u64,
}

/// The own memory that operations may use.
pub(crate) struct Local {
    demanded: bool,
    choice: Choice,
    prices: Prices,
    counts: Counts,
    quiet: bool,
    segment: Option<(usize, usize, *mut c_void)>,
    pins: Option<Pins<Port>>,
    bounces: [Vec<Chunk>; 2],
    free: [Vec<(*mut u8, *mut c_void)>; 2],
}

impl Local {
    /// Finds out which way is the cheapest, where the provider demands registration.
    pub(crate) fn new(port: &mut Port, wanted: OfiRegistration, quiet: bool) -> Result<Local, String> {
        let demanded = port.traits.mr_local;
        let choice = Choice { way: Way::Provider, copies: 0 };
        let mut local = Local {
            demanded,
            choice,
            prices: Prices::default(),
            counts: Counts::default(),
            quiet,
            segment: None,
            pins: None,
            bounces: Default::default(),
            free: Default::default(),
        };
        if demanded {
            // While there is memory to be registered: later they may be all that there is.
            for class in 0..BOUNCES.len() {
                local.more_bounces(port, class)?;
            }
            if matches!(wanted, OfiRegistration::Auto | OfiRegistration::Firehose) {
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

    /// What each way costs here.
    fn measure(&mut self, port: &mut Port) -> Prices {
        let memory = vec![1u8; 2 * LARGE];
        let mut copy = vec![2u8; LARGE];
        let (at, to) = (memory.as_ptr().cast_mut(), copy.as_mut_ptr());
        let copied = best(port, |_, size| {
            // SAFETY: room for LARGE bytes in both, which are different.
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
        Prices { copy: copied.unwrap_or([0.0; SIZES.len()]), firehose, provider }
    }

    /// The own segment is registered.
    pub(crate) fn attached(&mut self, base: *mut u8, len: usize, region: &Region) {
        self.segment = Some((base as usize, len, region.desc));
    }

    /// Memory that needs nothing, if this is.
    fn plain(&self, at: *mut u8, len: usize) -> Option<Lease> {
        let lease = |desc| Some(Lease::one(at, len, desc, Kind::Plain));
        match self.segment {
            Some((base, size, desc)) if (at as usize).checked_sub(base).is_some_and(|o| o + len <= size) => {
                lease(desc)
            }
            _ if !self.demanded => lease(ptr::null_mut()),
            _ => None,
        }
    }

    fn more_bounces(&mut self, port: &mut Port, class: usize) -> Result<(), String> {
        let (size, at_once) = (BOUNCES[class], AT_ONCE[class]);
        let chunk = Chunk::new(port, at_once * size)?;
        let places = (0..at_once).map(|k| (chunk.at().wrapping_add(k * size), chunk.desc()));
        self.free[class].extend(places);
        self.bounces[class].push(chunk);
        Ok(())
    }

    /// A bounce buffer for at most [`LARGE`] bytes, whose bytes go `to` there in the end; `None` if there is none for now.
    pub(crate) fn bounce(&mut self, port: &mut Port, to: *mut u8, len: usize) -> Option<Lease> {
        let class = usize::from(len > BOUNCES[0]);
        if self.free[class].is_empty() && self.bounces[class].len() * AT_ONCE[class] < MOST[class] {
            // Without more of them there are those of the start.
            let _ = self.more_bounces(port, class);
        }
        let (at, desc) = self.free[class].pop()?;
        self.counts.copied += 1;
        Some(Lease::one(at, len, desc, Kind::Bounce { class, to, len }))
    }

    /// A bounce buffer with the source of a put, or of a part of it that is at most [`LARGE`].
    ///
    /// # Safety
    /// 1. The source is valid (owed by the caller).
    pub(crate) unsafe fn bounce_source(
        &mut self,
        port: &mut Port,
        src: *const u8,
        len: usize,
    ) -> Option<Lease> {
        let lease = self.bounce(port, ptr::null_mut(), len)?;
        // SAFETY: (1); room for that many bytes.
        unsafe { bytes::load(lease.spans[0].at, src, len) };
        Some(lease)
    }

    /// The caller's memory, registered as long as the lease, or longer; `None` if it cannot be, or should not.
    ///
    /// # Safety
    /// 1. The memory is valid until the lease ends (owed by the caller).
    unsafe fn registered(&mut self, port: &mut Port, at: *mut u8, len: usize) -> Option<Lease> {
        if self.choice.way == Way::Bounce {
            return None;
        }
        if let Some(pins) = &mut self.pins
            && let Some(taken) = pins.take(port, at as u64, len as u64, port.traits.spans)
        {
            let mut spans = [Span::NONE; PIECES];
            for (span, piece) in spans.iter_mut().zip(taken.pieces()) {
                let desc = pins.region(piece).map_or(ptr::null_mut(), |region| region.desc);
                *span = Span { at: piece.at as *mut u8, len: piece.len as usize, desc };
            }
            self.counts.kept += 1;
            return Some(Lease { spans, count: taken.pieces().len(), kind: Kind::Kept(taken) });
        }
        // SAFETY: (1).
        match unsafe { port.register(at, len, false) } {
            Ok(region) => {
                self.counts.registered += 1;
                Some(Lease::one(at, len, region.desc, Kind::Registered(region)))
            }
            Err(why) => {
                self.refused(port, len, &why);
                None
            }
        }
    }

    /// Memory of the program cannot be registered: that is slow, and said once.
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

    /// Memory with the source of a put. With `inject` the provider reads it at once and needs no registration.
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
            return Room::Here(Lease::one(at, len, ptr::null_mut(), Kind::Plain));
        }
        // Small sources are copied wherever they are: the caller was told so, see `copies`.
        if !self.copies(len) {
            if let Some(lease) = self.plain(at, len) {
                return Room::Here(lease);
            }
            // SAFETY: (1).
            if let Some(lease) = unsafe { self.registered(port, at, len) } {
                return Room::Here(lease);
            }
        }
        if len > LARGE {
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
        if len > LARGE {
            return Room::InPieces;
        }
        self.bounce(port, dst, len).map_or(Room::Later, Room::Here)
    }

    /// Whether the source of a put of this many bytes is copied.
    pub(crate) fn copies(&self, len: usize) -> bool {
        self.demanded && len <= self.choice.copies
    }

    /// Bytes up to which sources are copied.
    pub(crate) fn copied(&self) -> usize {
        if self.demanded { self.choice.copies } else { 0 }
    }

    /// What was chosen, why, and what was done, for `GASNET_STATS`.
    pub(crate) fn counters(&self) -> Vec<(&'static str, u64)> {
        if !self.demanded {
            return Vec::new();
        }
        let way = match self.choice.way {
            Way::Bounce => "way to registered memory: bounce",
            Way::Firehose => "way to registered memory: firehose",
            Way::Provider => "way to registered memory: provider",
        };
        let price = |prices: Option<[f64; SIZES.len()]>| prices.map_or(0, |all| all[SIZES.len() - 1] as u64);
        let Counts { copied, registered, kept, refused } = self.counts;
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

    /// An operation is done with its memory.
    pub(crate) fn end(&mut self, port: &mut Port, lease: Lease) {
        match lease.kind {
            Kind::Plain => {}
            Kind::Bounce { class, .. } => self.free[class].push((lease.spans[0].at, lease.spans[0].desc)),
            Kind::Registered(region) => port.forget(&region),
            Kind::Kept(taken) => {
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
