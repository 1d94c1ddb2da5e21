//! Registered memory of this process.
#![expect(unsafe_code, reason = "accesses memory that peers access at the same time")]

use crate::memory;
use crate::terms::ViaError;
use gasnet::{Modes, Rank, Region, RegionKey};
use gasnet_wire::bytes;

/// Registered memory. Fields are dropped in this order: nobody accesses the vector any more when it goes.
pub(crate) struct Registered {
    rank: &'static Rank,
    /// For peers, in the modes that they may use.
    shared: Option<Region<'static>>,
    at: usize,
    len: usize,
    /// The memory itself, if it was given away.
    vec: Option<Vec<u8>>,
}

impl Registered {
    /// Registers a vector.
    pub(crate) fn vec(rank: &'static Rank, mut vec: Vec<u8>) -> Registered {
        let (at, len) = (vec.as_mut_ptr(), vec.len());
        // SAFETY: the vector is owned from here on, and nobody makes references to its bytes until the region
        // has been revoked.
        let registered = unsafe { Registered::raw(rank, at, len) };
        Registered { vec: Some(vec), ..registered }
    }

    /// Registers memory of the program.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads and writes until this is dropped, and are accessed by means only that
    ///    may meet accesses of others, as for [`RegionCalls::export_raw`](gasnet::RegionCalls::export_raw)
    ///    (owed by the caller).
    pub(crate) unsafe fn raw(rank: &'static Rank, at: *mut u8, len: usize) -> Registered {
        Registered { rank, shared: None, at: at.expose_provenance(), len, vec: None }
    }

    /// Ends the registration. The vector, if it was one.
    pub(crate) fn into_vec(self) -> Option<Vec<u8>> {
        let Registered { shared, vec, .. } = self;
        drop(shared);
        vec
    }

    fn first(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.at)
    }

    /// The bytes from `at` on.
    fn place(&self, at: u64, len: usize) -> *mut u8 {
        let inside = at.checked_add(len as u64).is_some_and(|end| end <= self.len as u64);
        assert!(inside, "the machine checks what it accesses");
        self.first().wrapping_add(at as usize)
    }
}

impl memory::Region for Registered {
    fn len(&self) -> u64 {
        self.len as u64
    }

    fn load(&self, at: u64, into: &mut [u8]) {
        let from = self.place(at, into.len());
        // SAFETY: inside memory that lives as long as this, and that others access by the same means.
        unsafe { bytes::load(into.as_mut_ptr(), from, into.len()) }
    }

    fn store(&self, at: u64, from: &[u8]) {
        let to = self.place(at, from.len());
        // SAFETY: as above.
        unsafe { bytes::store(to, from.as_ptr(), from.len()) }
    }

    fn share(&mut self, write: bool, read: bool) -> Result<(), ViaError> {
        // Accesses that were allowed before end first.
        self.shared = None;
        let modes = match (write, read) {
            (false, false) => return Ok(()),
            (true, false) => Modes::WRITE,
            (false, true) => Modes::READ,
            (true, true) => Modes::READ | Modes::WRITE,
        };
        // SAFETY: memory that lives as long as this, of which the region is a part.
        let region = unsafe { self.rank.regions().export_raw(self.first(), self.len, modes) };
        let no_room = |_| ViaError::Resource("there is no room for another region of memory");
        self.shared = Some(region.map_err(no_room)?);
        Ok(())
    }

    fn key(&self) -> Option<RegionKey> {
        Some(self.shared.as_ref()?.key())
    }
}
