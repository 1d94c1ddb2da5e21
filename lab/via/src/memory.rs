//! Protection: tags, and memory handles that name registered memory under a tag.
//!
//! Every reference of a provider to memory, in a descriptor here or in an RDMA operation of a peer, is
//! checked against the tag of the VI that it belongs to. A handle that a posted descriptor uses is *held* and
//! cannot be deregistered.

use crate::table::Table;
use crate::terms::{Errors, MemoryAttributes, MemoryId, NicId, Segment, TagId, ViaError};
use gasnet::RegionKey;

/// Memory that a machine reads and writes.
pub(crate) trait Region {
    /// Bytes of it.
    fn len(&self) -> u64;
    /// Copies bytes out of it.
    fn load(&self, at: u64, into: &mut [u8]);
    /// Copies bytes into it.
    fn store(&self, at: u64, from: &[u8]);
    /// Lets others write and read it from now on, or not, and ends what earlier keys allowed.
    fn share(&mut self, write: bool, read: bool) -> Result<(), ViaError>;
    /// The key with which others access it, if they may.
    fn key(&self) -> Option<RegionKey>;
}

#[derive(Debug, Clone)]
struct Tag {
    nic: NicId,
    uses: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Memory<R> {
    pub(crate) nic: NicId,
    pub(crate) attributes: MemoryAttributes,
    /// Address of the first byte.
    pub(crate) base: u64,
    pub(crate) region: R,
    /// Segments of posted descriptors that name it.
    held: u32,
}

impl<R: Region> Memory<R> {
    /// Where `len` bytes at an address are in the region.
    pub(crate) fn place(&self, at: u64, len: u64) -> Option<u64> {
        let offset = at.checked_sub(self.base)?;
        (offset.checked_add(len)? <= self.region.len()).then_some(offset)
    }
}

/// All tags and handles of a rank.
#[derive(Debug, Clone)]
pub(crate) struct Protection<R> {
    tags: Table<Tag>,
    memories: Table<Memory<R>>,
}

impl<R> Default for Protection<R> {
    fn default() -> Protection<R> {
        Protection { tags: Table::default(), memories: Table::default() }
    }
}

const NO_MEMORY: ViaError = ViaError::Parameter("there is no such memory handle, or it was deregistered");

impl<R: Region> Protection<R> {
    pub(crate) fn create_tag(&mut self, nic: NicId) -> TagId {
        TagId(self.tags.add(Tag { nic, uses: 0 }))
    }

    pub(crate) fn destroy_tag(&mut self, nic: NicId, tag: TagId) -> Result<(), ViaError> {
        if self.tag(nic, tag)?.uses > 0 {
            return Err(ViaError::Resource("VIs or memory still have the protection tag"));
        }
        self.tags.remove(tag.0);
        Ok(())
    }

    fn tag(&mut self, nic: NicId, tag: TagId) -> Result<&mut Tag, ViaError> {
        self.tags.get_mut(tag.0).filter(|t| t.nic == nic).ok_or(ViaError::Tag)
    }

    /// One more object has this tag.
    pub(crate) fn use_tag(&mut self, nic: NicId, tag: TagId) -> Result<(), ViaError> {
        self.tag(nic, tag)?.uses += 1;
        Ok(())
    }

    /// One object less.
    pub(crate) fn drop_tag(&mut self, tag: TagId) {
        if let Some(tag) = self.tags.get_mut(tag.0) {
            tag.uses -= 1;
        }
    }

    pub(crate) fn register(
        &mut self,
        nic: NicId,
        base: u64,
        mut region: R,
        attributes: MemoryAttributes,
    ) -> Result<MemoryId, ViaError> {
        self.tag(nic, attributes.tag)?;
        region.share(attributes.rdma_write, attributes.rdma_read)?;
        self.use_tag(nic, attributes.tag)?;
        Ok(MemoryId(self.memories.add(Memory { nic, attributes, base, region, held: 0 })))
    }

    pub(crate) fn get(&self, nic: NicId, id: MemoryId) -> Result<&Memory<R>, ViaError> {
        self.memories.get(id.0).filter(|m| m.nic == nic).ok_or(NO_MEMORY)
    }

    pub(crate) fn deregister(&mut self, nic: NicId, id: MemoryId) -> Result<R, ViaError> {
        if self.get(nic, id)?.held > 0 {
            return Err(ViaError::Resource(
                "posted descriptors use the memory: disconnect, or wait for them",
            ));
        }
        let memory = self.memories.remove(id.0).ok_or(NO_MEMORY)?;
        self.drop_tag(memory.attributes.tag);
        Ok(memory.region)
    }

    /// Other attributes; what peers knew of the memory does not work any more.
    pub(crate) fn change(
        &mut self,
        nic: NicId,
        id: MemoryId,
        attributes: MemoryAttributes,
    ) -> Result<(), ViaError> {
        self.get(nic, id)?;
        self.tag(nic, attributes.tag)?;
        let memory = self.memories.get_mut(id.0).ok_or(NO_MEMORY)?;
        memory.region.share(attributes.rdma_write, attributes.rdma_read)?;
        let before = std::mem::replace(&mut memory.attributes, attributes).tag;
        self.drop_tag(before);
        self.use_tag(nic, attributes.tag)
    }

    /// Everything of a NIC handle, whose VIs are gone, is given up.
    pub(crate) fn close(&mut self, nic: NicId) {
        self.memories.retain(|memory| memory.nic != nic);
        self.tags.retain(|tag| tag.nic != nic);
    }

    /// Keeps the memory of a descriptor that is posted. False: there is no such memory, and nothing is kept.
    pub(crate) fn hold(&mut self, segments: &[Segment]) -> bool {
        let all = segments.iter().all(|s| self.memories.get(s.memory.0).is_some());
        if all {
            self.each_held(segments, |held| *held += 1);
        }
        all
    }

    /// The opposite, for what was kept.
    pub(crate) fn release(&mut self, segments: &[Segment]) {
        self.each_held(segments, |held| *held -= 1);
    }

    fn each_held(&mut self, segments: &[Segment], change: impl Fn(&mut u32)) {
        for s in segments {
            if let Some(memory) = self.memories.get_mut(s.memory.0) {
                change(&mut memory.held);
            }
        }
    }

    /// Whether a VI of this tag may use the segments.
    pub(crate) fn check(&self, tag: TagId, segments: &[Segment]) -> Result<(), Errors> {
        let may = |s: &Segment| {
            self.memories
                .get(s.memory.0)
                .is_some_and(|m| m.attributes.tag == tag && m.place(s.at, s.len.into()).is_some())
        };
        if segments.iter().all(may) { Ok(()) } else { Err(Errors::PROTECTION) }
    }

    /// The part of the segments' bytes from byte `from` on, `n` bytes at most, appended to `into`. The
    /// segments were [checked](Self::check).
    pub(crate) fn gather(&self, segments: &[Segment], from: u64, n: usize, into: &mut Vec<u8>) {
        self.walk(segments, from, n as u64, |memory, at, _, len| {
            let start = into.len();
            into.resize(start + len, 0);
            memory.region.load(at, &mut into[start..]);
        });
    }

    /// Writes bytes to the segments' bytes from byte `from` on.
    pub(crate) fn scatter(&self, segments: &[Segment], from: u64, bytes: &[u8]) {
        self.walk(segments, from, bytes.len() as u64, |memory, at, done, len| {
            memory.region.store(at, &bytes[done as usize..done as usize + len]);
        });
    }

    /// Calls `each` for each run of bytes: memory, place in it, bytes before, length.
    fn walk(
        &self,
        segments: &[Segment],
        from: u64,
        n: u64,
        mut each: impl FnMut(&Memory<R>, u64, u64, usize),
    ) {
        let (mut skip, mut done) = (from, 0);
        for s in segments {
            let len = u64::from(s.len);
            let len = match len.checked_sub(skip) {
                None => {
                    skip -= len;
                    continue;
                }
                Some(left) => left.min(n - done),
            };
            let at = s.at + skip;
            skip = 0;
            if len > 0
                && let Some(memory) = self.memories.get(s.memory.0)
                && let Some(place) = memory.place(at, len)
            {
                each(memory, place, done, len as usize);
                done += len;
            }
        }
    }

    /// The key by which the peer of a VI with this tag may access memory, and the address of byte 0.
    pub(crate) fn grant(&self, tag: TagId, memory: u32, write: bool) -> Option<(RegionKey, u64)> {
        let memory = self.memories.get(memory)?;
        let MemoryAttributes { rdma_write, rdma_read, tag: own } = memory.attributes;
        let may = own == tag && if write { rdma_write } else { rdma_read };
        Some((memory.region.key().filter(|_| may)?, memory.base))
    }
}
