//! Apertures: memory of another rank that a program stores to, a word or a few bytes at a time.
//!
//! An aperture is bound to the key of a region, or to a part of a rank's segment. A store goes out at once,
//! and nobody waits for it; the stores of an aperture become visible in the order of the program. Where the
//! memory is a segment that is mapped here, a store is a store. Elsewhere it is a put: it leaves when the one
//! before it is in place, as conduits do not keep the order of puts.
//!
//! Loads work, take a round trip, and are counted ([`Aperture::remote_loads`]). So a protocol can show that
//! it never reads over the network: each side stores to the other and looks at its own memory.
//!
//! An aperture holds no resource of the network: to bind one costs nothing, so none are cached.

use core::sync::atomic::{Ordering, fence};
use gasnet::region::{RegionKey, RegionOp};
use gasnet::{Error, GlobalPtr, Pending, Rank, RankId, Shared};

/// The memory.
#[derive(Debug, Clone, Copy)]
enum Target {
    Region(RegionKey),
    Segment { first: GlobalPtr<u8>, len: u64, mapped: bool },
}

/// The last store, until it is known to be in place.
#[derive(Debug)]
enum UnderWay<'r> {
    Region(RegionOp<'r, u8>),
    Segment(Pending<'r, u8>),
}

/// Memory of another rank to store to; see the [module](self). Dropping it waits for the last store.
#[derive(Debug)]
pub struct Aperture<'r> {
    rank: &'r Rank,
    target: Target,
    last: Option<UnderWay<'r>>,
    remote_loads: u64,
}

impl<'r> Aperture<'r> {
    /// An aperture on a region.
    pub fn bind(rank: &'r Rank, key: RegionKey) -> Aperture<'r> {
        Aperture { rank, target: Target::Region(key), last: None, remote_loads: 0 }
    }

    /// An aperture on `len` bytes of a segment.
    ///
    /// # Errors
    /// They are not in the segment, or do not begin at a multiple of 8.
    pub fn segment(rank: &'r Rank, first: GlobalPtr<u8>, len: u64) -> Result<Aperture<'r>, Error> {
        let size = rank.table().get(first.rank()).map_or(0, |segment| segment.size as u64);
        let fits = first.offset().checked_add(len).is_some_and(|end| end <= size);
        if !fits || !first.offset().is_multiple_of(8) {
            let (offset, of) = (first.offset(), first.rank());
            return Err(Error::op(format!(
                "an aperture on {len} bytes at {offset} of the segment of rank {of}, which has {size} bytes; \
                 it begins at a multiple of 8"
            )));
        }
        let mapped = rank.address(first, len as usize).is_some();
        let target = Target::Segment { first, len, mapped };
        Ok(Aperture { rank, target, last: None, remote_loads: 0 })
    }

    /// Whose memory it is.
    pub fn owner(&self) -> RankId {
        match &self.target {
            Target::Region(key) => key.rank(),
            Target::Segment { first, .. } => first.rank(),
        }
    }

    /// How many bytes it has.
    #[expect(clippy::len_without_is_empty, reason = "the length of what it is bound to")]
    pub fn len(&self) -> u64 {
        match &self.target {
            Target::Region(key) => key.len(),
            Target::Segment { len, .. } => *len,
        }
    }

    /// Stores a word at byte `at`, which is a multiple of 8.
    ///
    /// # Errors
    /// The word is not aligned or not inside; nothing is stored. An earlier store was refused.
    pub fn store(&mut self, at: u64, word: u64) -> Result<(), Error> {
        self.store_word(at, word)
    }

    /// Stores a word of 32 bits at byte `at`, which is a multiple of 4.
    ///
    /// # Errors
    /// As [`store`](Self::store).
    pub fn store_u32(&mut self, at: u64, word: u32) -> Result<(), Error> {
        self.store_word(at, word)
    }

    fn store_word<T: Shared>(&mut self, at: u64, word: T) -> Result<(), Error> {
        self.check(at, size_of::<T>(), size_of::<T>())?;
        match self.target {
            Target::Segment { first, mapped: true, .. } => {
                // ORDER: Release; pairs with Acquire in `Rank::read` and `AtomicCalls::load`: whoever reads
                // this store finds those before it.
                fence(Ordering::Release);
                self.rank.write(first.add(at as usize).cast(), word);
                Ok(())
            }
            _ => self.put(at, bytemuck::bytes_of(&word).to_vec()),
        }
    }

    /// Stores bytes, in any order among themselves.
    ///
    /// # Errors
    /// They are not inside; nothing is stored. An earlier store was refused.
    pub fn fill(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(at, bytes.len(), 1)?;
        match self.target {
            _ if bytes.is_empty() => Ok(()),
            Target::Segment { first, mapped: true, .. } => {
                // ORDER: Release; as in `store_word`.
                fence(Ordering::Release);
                self.rank.write_slice(first.add(at as usize), bytes);
                Ok(())
            }
            _ => self.put(at, bytes.to_vec()),
        }
    }

    /// Waits until all stores are in place.
    ///
    /// # Errors
    /// One was refused.
    pub fn flush(&mut self) -> Result<(), Error> {
        match self.last.take() {
            None => Ok(()),
            Some(UnderWay::Segment(put)) => {
                put.wait();
                Ok(())
            }
            Some(UnderWay::Region(put)) => {
                let owner = self.owner();
                let refused = |e| Error::op(format!("a store to a region of rank {owner}: {e}"));
                put.wait().map(drop).map_err(refused)
            }
        }
    }

    /// Loads the word at byte `at`, after all stores. This takes a round trip, and is counted.
    ///
    /// # Errors
    /// As [`store`](Self::store); the region does not allow it.
    pub fn load(&mut self, at: u64) -> Result<u64, Error> {
        self.check(at, 8, 8)?;
        self.flush()?;
        self.remote_loads += u64::from(self.owner() != self.rank.id());
        match self.target {
            Target::Segment { first, .. } => Ok(self.rank.read(first.add(at as usize).cast())),
            Target::Region(key) => {
                let mut word = [0u64];
                let refused = |e| Error::op(format!("a load from a region of rank {}: {e}", key.rank()));
                self.rank.region(&key).read(at, &mut word).map_err(refused)?;
                Ok(word[0])
            }
        }
    }

    /// How many loads went to another rank.
    pub fn remote_loads(&self) -> u64 {
        self.remote_loads
    }

    fn check(&self, at: u64, bytes: usize, align: usize) -> Result<(), Error> {
        let (len, owner) = (self.len(), self.owner());
        let fits = at.checked_add(bytes as u64).is_some_and(|end| end <= len);
        if !fits || !at.is_multiple_of(align as u64) {
            let text = format!("{bytes} bytes at {at} of an aperture of {len} bytes, aligned to {align}");
            return Err(Error::op(text));
        }
        if self.rank.has_departed(owner) {
            return Err(Error::op(format!("an aperture on memory of rank {owner}, which has left")));
        }
        Ok(())
    }

    /// Puts bytes when the last store is in place.
    fn put(&mut self, at: u64, bytes: Vec<u8>) -> Result<(), Error> {
        self.flush()?;
        self.last = Some(match self.target {
            Target::Region(key) => UnderWay::Region(self.rank.region(&key).write_nb(at, bytes)),
            Target::Segment { first, .. } => {
                UnderWay::Segment(self.rank.write_nb(first.add(at as usize), bytes))
            }
        });
        Ok(())
    }
}
