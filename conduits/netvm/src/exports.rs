//! Program memory under the NIC: regions of this rank, for the firmware.
//!
//! The core keeps the regions and checks each access; the NIC's thread, or whoever runs the NIC, carries it
//! out. The rank's own segment is not accessed so: its pages come and go, and a thread that runs the NIC must
//! not wait for one.

use gasnet::RegionError;
use gasnet::conduit::regions::{RegionPlace, ServedRegions};
use netvm_fw::region::{Refusal, RegionMemory, RegionName};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The rank's regions.
pub(crate) struct ExportedRegions(pub(crate) Arc<dyn ServedRegions>);

fn place(name: RegionName, at: u64) -> RegionPlace {
    RegionPlace { number: name.number, secret: name.secret, at }
}

fn refusal(why: RegionError) -> Refusal {
    NonZeroU32::new(why.code()).map_or(Refusal::UNKNOWN, Refusal)
}

/// The error that a peer's NIC has sent.
pub(crate) fn reason(why: Refusal) -> RegionError {
    RegionError::from_code(why.0.get()).unwrap_or(RegionError::Revoked)
}

impl RegionMemory for ExportedRegions {
    fn write(&self, to: RegionName, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.0.write(place(to, at), bytes).map_err(refusal)
    }

    fn read(&self, from: RegionName, at: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.0.read(place(from, at), into).map_err(refusal)
    }
}
