//! Regions as the NIC sees them: the same checks as for messages, and a copy, on the thread that runs the
//! NIC.
//!
//! A NIC names a region by number and secret alone. The generation, which a message names too, adds nothing
//! to a secret that is drawn anew for each region.
//!
//! **Memory that may go away.** The program answers for the memory of
//! [`RegionCalls::export_raw`](crate::RegionCalls::export_raw)(crate::Rank), but the NIC has to live on if it
//! unmaps it. So the system copies there, and says if there is no such memory; and the conduit reports what
//! was unmapped, which closes the region before anything else can be mapped there ([`super::gate`]).
#![expect(unsafe_code, reason = "copies to and from regions")]

use super::gate::Inside;
use super::{Access, ENDING, Entry, LIVE, LOOSE, Modes, PHASE, RegionError, Regions, SERVED, USED};
use core::ops::Range;
use gasnet_sys::memory::{read_process, write_process};
use gasnet_wire::bytes;
use gasnet_wire::conduit::regions::{RegionPlace, ServedRegions};
use gasnet_wire::prim::Ordering;

impl Regions {
    /// Begins an access of the NIC. With a guard, to be dropped after it: of memory that may go away.
    fn served(
        &self,
        place: RegionPlace,
        modes: Modes,
        len: usize,
    ) -> Result<(Option<Inside<'_>>, Access<'_>), RegionError> {
        let entry = self.entries.get(place.number).ok_or(RegionError::Revoked)?;
        // Relaxed, both: `begin` and `begun` look again. A slot that became another region's has no such key.
        let loose = entry.modes.load(Ordering::Relaxed) & LOOSE;
        let inside = (loose != 0).then(|| self.gate.enter());
        let generation = (entry.word.load(Ordering::Relaxed) >> 32) as u32;
        entry.begin(generation)?;
        // A key can be forged that says so of memory which the NIC must not touch.
        let marks = Some(SERVED | loose);
        let access =
            self.begun((place.number, generation), entry, place.secret, modes, place.at, len, marks)?;
        Ok((inside, access))
    }
}

impl ServedRegions for Regions {
    fn write(&self, to: RegionPlace, bytes: &[u8]) -> Result<(), RegionError> {
        let (inside, mut access) = self.served(to, Modes::WRITE, bytes.len())?;
        if inside.is_none() {
            // SAFETY: inside a region that stays until the access is dropped.
            unsafe { bytes::store(access.at, bytes.as_ptr(), bytes.len()) };
            return Ok(());
        }
        // SAFETY: the slice has as many bytes; the program has exported those at the other end.
        let copied = unsafe { write_process(self.process, access.at.addr(), bytes.as_ptr(), bytes.len()) };
        access.copied(copied.is_ok())
    }

    fn read(&self, from: RegionPlace, into: &mut [u8]) -> Result<(), RegionError> {
        let (inside, mut access) = self.served(from, Modes::READ, into.len())?;
        if inside.is_none() {
            // SAFETY: as above.
            unsafe { bytes::load(into.as_mut_ptr(), access.at, into.len()) };
            return Ok(());
        }
        // SAFETY: the slice has as many bytes.
        let copied = unsafe { read_process(self.process, access.at.addr(), into.as_mut_ptr(), into.len()) };
        access.copied(copied.is_ok())
    }

    fn hold_back(&self) {
        self.gate.shut();
    }

    fn taken_away(&self, at: usize, len: usize) {
        let gone = at..at.saturating_add(len);
        for number in 0..self.entries.taken() {
            if let Some(entry) = self.entries.get(number) {
                entry.taken_away(&gone);
            }
        }
    }

    fn go_on(&self) {
        self.gate.open();
    }
}

impl Access<'_> {
    /// Ends an access that the system has carried out, or not.
    fn copied(&mut self, done: bool) -> Result<(), RegionError> {
        if !done {
            self.touch = None;
            return Err(RegionError::Revoked);
        }
        Ok(())
    }
}

impl Entry {
    /// Closes the entry if its memory may go away and this is some of it.
    fn taken_away(&self, gone: &Range<usize>) {
        // ORDER: Acquire; pairs with Release in open: what the entry says.
        let mut word = self.word.load(Ordering::Acquire);
        while matches!(word & PHASE, LIVE | USED) && self.modes.load(Ordering::Relaxed) & LOOSE != 0 {
            let base = self.base.load(Ordering::Relaxed).addr();
            let end = base.saturating_add(self.len.load(Ordering::Relaxed) as usize);
            if base >= gone.end || end <= gone.start {
                return;
            }
            // ORDER: Acquire; pairs with Release in open. Another region in the slot has another generation.
            match self.word.compare_exchange(word, word | ENDING, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::region::tests::open;

    /// The system copies where memory may be gone, and what is gone is refused.
    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel to copy")]
    fn reg_08_memory_that_was_taken_away_is_revoked() {
        let all = Regions::new();
        let mut memory = vec![0u8; 100];
        let base = memory.as_mut_ptr().addr();
        let key = open(&all, base, 100, Modes(Modes::ALL.0 | SERVED | LOOSE));
        let beside = open(&all, base, 10, Modes(Modes::ALL.0 | SERVED | LOOSE));
        let place =
            |key: &crate::RegionKey, at| RegionPlace { number: key.slot, secret: key.grant().secret, at };
        assert_eq!(all.write(place(&key, 7), &[1, 2, 3]), Ok(()));
        let mut got = [0; 4];
        assert_eq!((all.read(place(&key, 6), &mut got), got), (Ok(()), [0, 1, 2, 3]));
        all.hold_back();
        all.taken_away(base + 50, 50);
        all.go_on();
        assert_eq!(all.write(place(&key, 0), &[1]), Err(RegionError::Revoked));
        assert_eq!(all.write(place(&beside, 0), &[1]), Ok(()), "other bytes");
        // Not mapped, and not told yet.
        let nowhere = open(&all, 4096, 100, Modes(Modes::ALL.0 | SERVED | LOOSE));
        assert_eq!(all.write(place(&nowhere, 0), &[1]), Err(RegionError::Revoked));
        assert_eq!(all.read(place(&nowhere, 0), &mut got), Err(RegionError::Revoked));
        [key, beside, nowhere].iter().for_each(|key| all.revoke(key.slot));
    }
}
