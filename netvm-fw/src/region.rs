//! Regions: memory of a program that its NIC reaches without the page table.
//!
//! A *region* is a range of bytes that the host's program exported, of any size and anywhere in its memory.
//! Who exports, revokes and checks regions is outside of the firmware ([`RegionMemory`]); the firmware brings
//! the bytes. Such memory is never paged by the host half, so it has no frames, and no message for it waits:
//! an access is checked and carried out in one step, when its packet arrives.
//!
//! A [`Span`] whose page belongs to the port [`REGIONS`] names a place in a region. That port is never
//! opened, and nothing exports pages under it. So the table has none of its pages, and the NIC looks for a
//! region only where it has found no page: accesses of exported pages cost what they cost without regions.

use core::fmt;
use core::num::NonZeroU32;

use crate::ids::{Hash, Key, PAGE, PortId, Vpn};
use crate::wire::Span;

/// The port whose pages are those of regions.
pub const REGIONS: PortId = PortId(u16::MAX);

/// Places in regions are below this many bytes.
pub const MAX_REGION_BYTES: u64 = (1 << 48) * PAGE as u64;

/// The name of a region, which the holder of its key knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegionName {
    /// Its number among those of its node.
    pub number: u32,
    /// The secret that makes it the right one.
    pub secret: u64,
}

impl RegionName {
    /// `len` bytes from byte `at` on, which must lie in one page of the region.
    pub fn span(self, at: u64, len: u32) -> Span {
        let offset = (at % u64::from(PAGE)) as u16;
        Span {
            vpn: Vpn::of(REGIONS, at),
            key: Key(self.secret),
            hash: Hash(self.number),
            offset,
            len: len as u16,
        }
    }

    /// The region that a span is in, and its first byte there.
    pub fn of(span: Span) -> Option<(RegionName, u64)> {
        let name = RegionName { number: span.hash.0, secret: span.key.0 };
        let at = span.vpn.page() * u64::from(PAGE) + u64::from(span.offset);
        (span.vpn.port() == REGIONS).then_some((name, at))
    }
}

/// Why an access was refused, as a number of the two programs: the NICs only carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal(pub NonZeroU32);

impl Refusal {
    /// No region has this name.
    pub const UNKNOWN: Refusal = Refusal(NonZeroU32::MIN);
}

/// The regions of a node.
///
/// Each call checks the access and carries it out. It waits for nothing but other copies.
pub trait RegionMemory: Send + Sync {
    /// Copies into a region, from byte `at` on.
    ///
    /// # Errors
    /// The access may not be made. Nothing was written.
    fn write(&self, to: RegionName, at: u64, bytes: &[u8]) -> Result<(), Refusal>;

    /// Copies out of a region.
    ///
    /// # Errors
    /// The access may not be made.
    fn read(&self, from: RegionName, at: u64, into: &mut [u8]) -> Result<(), Refusal>;
}

impl fmt::Debug for dyn RegionMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegionMemory")
    }
}

/// A NIC without regions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRegions;

impl RegionMemory for NoRegions {
    fn write(&self, _: RegionName, _: u64, _: &[u8]) -> Result<(), Refusal> {
        Err(Refusal::UNKNOWN)
    }
    fn read(&self, _: RegionName, _: u64, _: &mut [u8]) -> Result<(), Refusal> {
        Err(Refusal::UNKNOWN)
    }
}
