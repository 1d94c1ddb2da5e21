//! Regions as the NIC sees them: the same checks as for messages, and a copy, on the thread that runs the
//! NIC.
//!
//! A NIC names a region by number and secret alone. The generation, which a message names too, adds nothing
//! to a secret that is drawn anew for each region.
#![expect(unsafe_code, reason = "copies to and from regions")]

use super::{Access, Modes, RegionError, Regions, SERVED};
use crate::bytes;
use crate::conduit::regions::{RegionPlace, ServedRegions};
use crate::prim::Ordering;

impl Regions {
    /// Begins an access of the NIC.
    fn served(&self, place: RegionPlace, modes: Modes, len: usize) -> Result<Access<'_>, RegionError> {
        let entry = self.entries.get(place.number).ok_or(RegionError::Revoked)?;
        // Relaxed: `begin` looks again.
        entry.begin((entry.word.load(Ordering::Relaxed) >> 32) as u32)?;
        // A key can be forged that says so of memory which the NIC must not touch.
        self.begun(entry, place.secret, modes, place.at, len, SERVED)
    }
}

impl ServedRegions for Regions {
    fn write(&self, to: RegionPlace, bytes: &[u8]) -> Result<(), RegionError> {
        let access = self.served(to, Modes::WRITE, bytes.len())?;
        // SAFETY: inside a region that stays until the access is dropped.
        unsafe { bytes::store(access.at, bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn read(&self, from: RegionPlace, into: &mut [u8]) -> Result<(), RegionError> {
        let access = self.served(from, Modes::READ, into.len())?;
        // SAFETY: as above.
        unsafe { bytes::load(into.as_mut_ptr(), access.at, into.len()) };
        Ok(())
    }
}
