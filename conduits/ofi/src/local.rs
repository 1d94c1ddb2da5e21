//! Local memory of puts and gets, for providers that reach registered memory only.
//!
//! Where the provider demands no registration (FI_MR_LOCAL) there is nothing to do. Else: small transfers go
//! through registered *bounce* buffers; memory of the own segment is registered already; other memory is registered for the time of the
//! transfer, which the provider's own cache, if it has one, makes cheap.
#![expect(unsafe_code, reason = "copies, and registers memory of the caller's")]

use crate::fabric::{Port, Region};
use crate::memory::Chunk;
use std::ffi::c_void;
use std::ptr;

/// Largest transfer that is copied.
pub(crate) const BOUNCE: usize = 16 << 10;
/// Bounce buffers made at once, and at most.
const AT_ONCE: usize = 16;
const MOST: usize = 256;

/// Memory that an operation may use.
pub(crate) struct Lease {
    at: *mut u8,
    desc: *mut c_void,
    kind: Kind,
}

enum Kind {
    /// The caller's own, usable as it is.
    Plain,
    /// A bounce buffer, and for a get where its bytes go.
    Bounce { to: *mut u8, len: usize },
    /// The caller's own, registered for this operation.
    Registered(Region),
}

impl Lease {
    pub(crate) fn at(&self) -> *mut u8 {
        self.at
    }

    pub(crate) fn desc(&self) -> *mut c_void {
        self.desc
    }

    /// Brings a get's bytes to where they belong.
    ///
    /// # Safety
    /// 1. The get is complete, and its destination still valid (owed by the caller).
    pub(crate) unsafe fn deliver(&self) {
        if let Kind::Bounce { to, len } = self.kind {
            // SAFETY: (1); a bounce buffer is none of the caller's memory.
            unsafe { ptr::copy_nonoverlapping(self.at, to, len) };
        }
    }
}

/// The own memory that operations may use.
pub(crate) struct Local {
    demanded: bool,
    segment: Option<(usize, usize, *mut c_void)>,
    bounces: Vec<Chunk>,
    free: Vec<(*mut u8, *mut c_void)>,
}

impl Local {
    pub(crate) fn new(port: &Port) -> Local {
        Local { demanded: port.traits.mr_local, segment: None, bounces: Vec::new(), free: Vec::new() }
    }

    /// The own segment is registered.
    pub(crate) fn attached(&mut self, base: *mut u8, len: usize, region: &Region) {
        self.segment = Some((base as usize, len, region.desc));
    }

    /// Memory that needs nothing, if this is.
    fn plain(&self, at: *mut u8, len: usize) -> Option<Lease> {
        let lease = |desc| Some(Lease { at, desc, kind: Kind::Plain });
        match self.segment {
            Some((base, size, desc)) if (at as usize).checked_sub(base).is_some_and(|o| o + len <= size) => {
                lease(desc)
            }
            _ if !self.demanded => lease(ptr::null_mut()),
            _ => None,
        }
    }

    fn bounce(&mut self, port: &mut Port, to: *mut u8, len: usize) -> Result<Option<Lease>, String> {
        if self.free.is_empty() && self.bounces.len() * AT_ONCE < MOST {
            let chunk = Chunk::new(port, AT_ONCE * BOUNCE)?;
            let places = (0..AT_ONCE).map(|k| (chunk.at().wrapping_add(k * BOUNCE), chunk.desc()));
            self.free.extend(places);
            self.bounces.push(chunk);
        }
        let lease = |(at, desc)| Lease { at, desc, kind: Kind::Bounce { to, len } };
        Ok(self.free.pop().map(lease))
    }

    /// # Safety
    /// 1. The memory is valid until the lease ends (owed by the caller).
    unsafe fn register(port: &mut Port, at: *mut u8, len: usize) -> Result<Option<Lease>, String> {
        // SAFETY: (1).
        let region = unsafe { port.register(at, len, false) }.map_err(|why| {
            format!("registering {len} bytes of the program's memory: {why} (ulimit -l may be too low)")
        })?;
        Ok(Some(Lease { at, desc: region.desc, kind: Kind::Registered(region) }))
    }

    /// Memory with the source of a put; `None` if there is no room for now. With `inject` the provider reads it at once and
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
    ) -> Result<Option<Lease>, String> {
        if inject {
            return Ok(Some(Lease { at: src.cast_mut(), desc: ptr::null_mut(), kind: Kind::Plain }));
        }
        // Small sources are copied wherever they are: the caller was told so, see `copies`.
        if !self.copies(len) {
            let plain = self.plain(src.cast_mut(), len);
            // SAFETY: (1).
            return plain.map_or_else(
                || unsafe { Local::register(port, src.cast_mut(), len) },
                |lease| Ok(Some(lease)),
            );
        }
        let lease = self.bounce(port, ptr::null_mut(), 0)?;
        if let Some(lease) = &lease {
            // SAFETY: (1); room for BOUNCE bytes.
            unsafe { ptr::copy_nonoverlapping(src, lease.at, len) };
        }
        Ok(lease)
    }

    /// Memory for a get.
    ///
    /// # Safety
    /// 1. The destination is valid, and nobody else's, until the get is complete (owed by the caller).
    pub(crate) unsafe fn target(
        &mut self,
        port: &mut Port,
        dst: *mut u8,
        len: usize,
    ) -> Result<Option<Lease>, String> {
        if let Some(lease) = self.plain(dst, len) {
            return Ok(Some(lease));
        }
        if len > BOUNCE {
            // SAFETY: (1).
            return unsafe { Local::register(port, dst, len) };
        }
        self.bounce(port, dst, len)
    }

    /// Whether the source of a put of this many bytes is copied.
    pub(crate) fn copies(&self, len: usize) -> bool {
        self.demanded && len <= BOUNCE
    }

    /// An operation is done with its memory.
    pub(crate) fn end(&mut self, port: &mut Port, lease: Lease) {
        match lease.kind {
            Kind::Plain => {}
            Kind::Bounce { .. } => self.free.push((lease.at, lease.desc)),
            Kind::Registered(region) => port.forget(&region),
        }
    }

    /// Gives all memory back. The endpoint is closed.
    pub(crate) fn close(self, port: &mut Port) {
        for chunk in self.bounces {
            chunk.end(port);
        }
    }
}
