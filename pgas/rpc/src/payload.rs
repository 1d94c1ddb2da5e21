//! Payloads: bytes of any size that are in place before the record they belong to.
//!
//! ```text
//! who sends                              who receives
//! | OFFER: the lengths ----------------> | handler: makes rooms of these lengths, exports each for writing
//!    | <------------------- GRANT: the keys |
//!    | puts to the keys, acknowledged ----> | bytes land in their rooms
//!    | the record, which names the keys --> | revokes the keys; the service gets the rooms
//! ```
//! The bytes go from the memory of who sends to that of the service, and are nowhere in between but in the
//! network. A key is for one payload: it stops working when its record is taken. The record is held back
//! until all puts are acknowledged, since messages have no order. A room costs address space only until bytes
//! arrive, so an offer that is forged costs no memory.
#![expect(unsafe_code, reason = "starts puts from slices")]

use crate::wire::To;
use gasnet::region::{Exported, Modes, RegionKey};
use gasnet::{Event, Rank, RankId};
use gasnet_sys::mutex::lock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Payloads that a record may have besides its body.
pub const MOST_PAYLOADS: usize = 200;

/// Where bytes that are to be sent lie. They do not change, and are sent from there.
pub trait Source: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

impl Source for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Bytes that have arrived, from an address that is a multiple of 8.
#[derive(Debug, Default)]
pub struct Payload {
    words: Vec<u64>,
    len: usize,
}

impl Payload {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The words they lie in, the last of them filled up, and the number of bytes.
    pub fn into_words(self) -> (Vec<u64>, usize) {
        (self.words, self.len)
    }
}

/// A record that waits for its payloads to be in place.
pub(crate) struct HeldRecord {
    pub(crate) to: RankId,
    pub(crate) what: To,
    /// The first payload is the body.
    pub(crate) whole: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) sources: Vec<Arc<dyn Source>>,
}

impl HeldRecord {
    /// Bytes of all payloads.
    pub(crate) fn len(&self) -> usize {
        self.sources.iter().map(|source| source.bytes().len()).sum()
    }
}

/// A record all of whose puts have been started.
struct UnderWay {
    held: HeldRecord,
    keys: Vec<RegionKey>,
    puts: Vec<Event>,
}

/// Where a payload is to land.
struct LandingRoom {
    from: RankId,
    memory: Exported<'static, u64>,
    len: usize,
}

/// The end of a record that was held until its payloads have been placed.
pub(crate) enum Ended {
    /// All is in place.
    InPlace(HeldRecord, Vec<RegionKey>),
    /// There is no memory at the other end.
    Refused(HeldRecord),
}

#[derive(Default)]
pub(crate) struct Payloads {
    held: Mutex<HashMap<u32, HeldRecord>>,
    next: AtomicU32,
    granted: Mutex<Vec<(HeldRecord, Vec<RegionKey>)>>,
    under_way: Mutex<Vec<UnderWay>>,
    /// Records in the two lists above, for a look without their locks.
    busy: AtomicUsize,
    rooms: Mutex<HashMap<RegionKey, LandingRoom>>,
}

impl Payloads {
    /// Holds a record; the number and the lengths to be offered.
    pub(crate) fn hold(&self, held: HeldRecord) -> (u32, Vec<u64>) {
        let lengths = held.sources.iter().map(|source| source.bytes().len() as u64).collect();
        // Relaxed: only the number counts.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.held).insert(number, held);
        (number, lengths)
    }

    /// Handler: makes rooms of these lengths. `None` if there is no memory for one.
    pub(crate) fn make_rooms(
        &self,
        rank: &'static Rank,
        from: RankId,
        lengths: &[u8],
    ) -> Option<Vec<RegionKey>> {
        let mut made = Vec::new();
        for length in lengths.chunks_exact(8) {
            let len = usize::try_from(bytemuck::pod_read_unaligned::<u64>(length)).ok()?;
            let words = len.div_ceil(8);
            // Making the vector would end the process if there were no such address space.
            Vec::<u64>::new().try_reserve_exact(words).ok()?;
            let memory = rank.regions().export_vec(vec![0u64; words], Modes::WRITE).ok()?;
            made.push(LandingRoom { from, memory, len });
        }
        let keys = made.iter().map(|room| room.memory.key()).collect();
        lock(&self.rooms).extend(made.into_iter().map(|room| (room.memory.key(), room)));
        Some(keys)
    }

    /// Handler: keys for a record that was offered; none if it was refused. Returns whether this record was
    /// offered to that rank.
    pub(crate) fn granted(&self, from: RankId, number: u32, keys: Vec<RegionKey>) -> bool {
        let mut all = lock(&self.held);
        let fits =
            |held: &HeldRecord| held.to == from && (keys.is_empty() || keys.len() == held.sources.len());
        let Some(held) = all.get(&number).is_some_and(fits).then(|| all.remove(&number)).flatten() else {
            return false;
        };
        drop(all);
        lock(&self.granted).push((held, keys));
        // Relaxed: a hint; the lock hands the record over.
        self.busy.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Whether records wait for puts to be started or to be over.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        // Relaxed: a hint, as where it is stored.
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Starts puts that have been granted, and returns the records whose puts are over. Not in a handler.
    pub(crate) fn advance(&self, rank: &'static Rank) -> Vec<Ended> {
        let granted = core::mem::take(&mut *lock(&self.granted));
        let mut ended = Vec::new();
        for (held, keys) in granted {
            if keys.is_empty() {
                ended.push(Ended::Refused(held));
                continue;
            }
            if rank.survival().is_lost(held.to) {
                // Nobody will read it; the record is dropped where it is sent.
                ended.push(Ended::InPlace(held, keys));
                continue;
            }
            let start = |(key, source): (&RegionKey, &Arc<dyn Source>)| {
                let bytes = source.bytes();
                // SAFETY: a slice is valid for its length; its bytes are not needed after the call.
                unsafe { rank.region(key).put_nb(0, bytes.as_ptr(), bytes.len()) }
            };
            let puts = keys.iter().zip(&held.sources).map(start).collect();
            lock(&self.under_way).push(UnderWay { held, keys, puts });
        }
        let mut under_way = lock(&self.under_way);
        let over = |record: &mut UnderWay| {
            record.puts.retain(|&put| !rank.events().test_quietly(put));
            record.puts.is_empty()
        };
        ended.extend(under_way.extract_if(.., over).map(|record| Ended::InPlace(record.held, record.keys)));
        drop(under_way);
        // Relaxed: a hint.
        self.busy.fetch_sub(ended.len(), Ordering::Relaxed);
        ended
    }

    /// Takes the payload of a key: nobody writes it any more. `None` for a key that that rank was not given.
    pub(crate) fn take(&self, from: RankId, key: RegionKey) -> Option<Payload> {
        let mut rooms = lock(&self.rooms);
        let room = rooms.get(&key).is_some_and(|room| room.from == from).then(|| rooms.remove(&key));
        drop(rooms);
        let room = room.flatten()?;
        Some(Payload { words: room.memory.into_vec(), len: room.len })
    }
}
