//! Export maps: the memory that each port lets others use, and its keys.
//!
//! Exports consist of whole pages (the table has one key for a frame) and do not overlap. A page outside all
//! exports has no key, and a message for it is refused.

use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hasher;
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

/// The source of the keys of exports: one number for each.
///
/// Whoever imports a segment has its key. So a key must not tell the next one, as it would if both came from
/// a generator whose state is its output.
pub struct KeySource(Box<dyn FnMut() -> u64 + Send>);

impl KeySource {
    /// Calls `draw` for each key. Where keys must keep others out, that is the system's source of random
    /// numbers.
    pub fn drawn(draw: impl FnMut() -> u64 + Send + 'static) -> KeySource {
        KeySource(Box::new(draw))
    }

    /// Keys that a seed decides, for simulated hosts: the same in each run. They are a keyed hash of their
    /// number, so that keys tell nothing of each other to those who do not know the seed.
    pub fn seeded(seed: u64) -> KeySource {
        let mut number = 0u64;
        KeySource::drawn(move || {
            number += 1;
            let mut hasher = SipHasher13::new_with_keys(seed, 0);
            hasher.write_u64(number);
            hasher.finish()
        })
    }

    fn draw(&mut self) -> Key {
        Key((self.0)())
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySource").finish_non_exhaustive()
    }
}

/// The export maps of all ports of a host.
#[derive(Debug)]
pub struct Exports {
    /// Segments by first page.
    segments: BTreeMap<u64, Segment>,
    keys: KeySource,
}

impl Exports {
    /// No exports yet.
    pub fn new(keys: KeySource) -> Exports {
        Exports { segments: BTreeMap::new(), keys }
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
        let mut segment = Segment { port, name, address, size, key: Key(0) };
        let (first, pages) = segment.pages();
        let before = self.segments.range(..first.0 + pages).next_back();
        if before.is_some_and(|(start, other)| start + other.pages().1 > first.0) {
            return Err(ExportError::Overlap);
        }
        if self.find(port, name).is_some() {
            return Err(ExportError::Name);
        }
        segment.key = self.keys.draw();
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
}
