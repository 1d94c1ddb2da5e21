//! Export maps: the memory that each port lets others use, and its keys.
//!
//! Exports consist of whole pages (the table has one key for a frame) and do not overlap. A page outside all
//! exports has no key, and a message for it is refused.

use std::collections::BTreeMap;
use thiserror::Error;

use crate::ids::{Key, PAGE, PortId, Vpn};

/// An exported range of a port's memory. Importing it means knowing this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The port that exports it.
    pub port: PortId,
    /// The name that importers use.
    pub name: u64,
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
    /// The key that gives the right to use it.
    pub key: Key,
}

impl Segment {
    /// Its first page, and its number of pages.
    pub fn pages(&self) -> (Vpn, u64) {
        (Vpn::of(self.port, self.address), self.size / u64::from(PAGE))
    }
}

/// Why memory cannot be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ExportError {
    /// Not whole pages.
    #[error(
        "only whole pages can be exported: address and size must be multiples of {PAGE}, and the size not 0"
    )]
    NotPages,
    /// Part of it is exported already.
    #[error("part of this memory is exported already: unexport that first")]
    Overlap,
    /// An unexport of part of it has not finished.
    #[error("part of this memory is in use by an export that has ended: wait until its unexport is done")]
    Ending,
    /// The port has an export of this name.
    #[error("this port exports something of the same name already")]
    Name,
}

/// The export maps of all ports of a host.
#[derive(Debug)]
pub struct Exports {
    /// Segments by first page.
    segments: BTreeMap<u64, Segment>,
    random: u64,
}

impl Exports {
    /// No exports. Keys come from a sequence that starts at `seed`; use a random seed where keys must keep
    /// others out.
    pub fn new(seed: u64) -> Exports {
        Exports { segments: BTreeMap::new(), random: seed }
    }

    /// Adds an export.
    pub fn add(&mut self, port: PortId, name: u64, address: u64, size: u64) -> Result<Segment, ExportError> {
        let page = u64::from(PAGE);
        if size == 0
            || !address.is_multiple_of(page)
            || !size.is_multiple_of(page)
            || address.checked_add(size).is_none()
        {
            return Err(ExportError::NotPages);
        }
        let segment = Segment { port, name, address, size, key: Key(self.draw()) };
        let (first, pages) = segment.pages();
        let before = self.segments.range(..first.0 + pages).next_back();
        if before.is_some_and(|(start, other)| start + other.pages().1 > first.0) {
            return Err(ExportError::Overlap);
        }
        if self.find(port, name).is_some() {
            return Err(ExportError::Name);
        }
        self.segments.insert(first.0, segment);
        Ok(segment)
    }

    /// Removes an export. Returns false if it is gone already.
    pub fn remove(&mut self, segment: &Segment) -> bool {
        let first = segment.pages().0.0;
        let same = self.segments.get(&first) == Some(segment);
        if same {
            self.segments.remove(&first);
        }
        same
    }

    /// The key of a page, if it is exported.
    pub fn key(&self, vpn: Vpn) -> Option<Key> {
        let (start, segment) = self.segments.range(..=vpn.0).next_back()?;
        (vpn.0 - start < segment.pages().1).then_some(segment.key)
    }

    /// The export of a port with this name: the answer to an import.
    pub fn find(&self, port: PortId, name: u64) -> Option<Segment> {
        self.of(port).find(|s| s.name == name)
    }

    /// All exports of a port.
    pub fn of(&self, port: PortId) -> impl Iterator<Item = Segment> + '_ {
        let end = Vpn::new(PortId(port.0.wrapping_add(1)), 0).0;
        let end = if end == 0 { u64::MAX } else { end };
        self.segments.range(Vpn::new(port, 0).0..end).map(|(_, s)| *s)
    }

    /// Not `fastrand`: traces of the simulator, which tests compare, depend on these draws.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
