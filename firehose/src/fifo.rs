//! Victim FIFOs: queues ordered by the last release. A member leaves from anywhere without touching the
//! queue.
//!
//! A hit must not pay for a linked list: unlinking a member would touch two neighbours, each a cache miss in
//! a large table. So nothing is unlinked. A release writes a *record* (key, stamp) at the end of the queue,
//! and the stamp into the table's slot. A record counts only while its slot is free and has the record's
//! stamp. Other records are skipped when they reach the front, and swept out before there are many.
//!
//! **Bounds.** Blocks hold the records. While there are more than four times as many records as members,
//! three blocks are swept for each block filled: outdated records go, and a block that fits into the one
//! before it is merged into it. So with `L` members there are at most about `4 L` records. A release costs
//! one or two probes of the table on average, and some hundred at worst. A stamp is used again after 2^32
//! releases, when no record from then is left.

/// Records in a block, which has about 1 KiB with them.
const RECORDS_PER_BLOCK: usize = 63;
/// Blocks swept for each one filled.
const BLOCKS_SWEPT_PER_BLOCK_FILLED: usize = 3;
/// No block.
const NO_BLOCK: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct FifoEntry {
    key: u64,
    stamp: u32,
}

#[derive(Debug, Clone)]
struct Block {
    records: [FifoEntry; RECORDS_PER_BLOCK],
    /// Index of the first record that has not left.
    start: u16,
    end: u16,
    next: u32,
}

/// Blocks for the queues of one table.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    blocks: Vec<Block>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { blocks: Vec::new(), free: NO_BLOCK }
    }
}

impl Pool {
    fn take(&mut self) -> u32 {
        let fresh =
            Block { records: [FifoEntry::default(); RECORDS_PER_BLOCK], start: 0, end: 0, next: NO_BLOCK };
        if self.free == NO_BLOCK {
            self.blocks.push(fresh);
            return (self.blocks.len() - 1) as u32;
        }
        let block = self.free;
        let slot = &mut self.blocks[block as usize];
        self.free = slot.next;
        (slot.start, slot.end, slot.next) = (0, 0, NO_BLOCK);
        block
    }

    fn give(&mut self, block: u32) {
        self.blocks[block as usize].next = self.free;
        self.free = block;
    }

    fn at(&mut self, block: u32) -> &mut Block {
        &mut self.blocks[block as usize]
    }
}

/// One queue.
#[derive(Debug, Clone)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
    /// The block to be swept next, and the one before it.
    sweep: u32,
    before: u32,
    clock: u32,
    blocks: u64,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NO_BLOCK, tail: NO_BLOCK, sweep: NO_BLOCK, before: NO_BLOCK, clock: 0, blocks: 0 }
    }
}

impl Fifo {
    /// Puts a key at the end of a queue that has `members` with it. The caller writes the returned stamp into
    /// the key's slot. `live` says whether a record (key, stamp) counts; it is not called for this one.
    #[inline]
    pub fn push(
        &mut self,
        pool: &mut Pool,
        key: u64,
        members: u64,
        live: impl FnMut(u64, u32) -> bool,
    ) -> u32 {
        self.clock = self.clock.wrapping_add(1);
        let record = FifoEntry { key, stamp: self.clock };
        if self.tail != NO_BLOCK {
            let block = pool.at(self.tail);
            let end = block.end as usize;
            // The same key again: its last record is outdated, so it can be written over.
            if end > block.start as usize && block.records[end - 1].key == key {
                block.records[end - 1] = record;
                return self.clock;
            }
            if end < RECORDS_PER_BLOCK {
                block.records[end] = record;
                block.end += 1;
                return self.clock;
            }
        }
        self.grow(pool, record, members, live);
        self.clock
    }

    #[cold]
    fn grow(
        &mut self,
        pool: &mut Pool,
        record: FifoEntry,
        members: u64,
        mut live: impl FnMut(u64, u32) -> bool,
    ) {
        if self.blocks > 4 * members / RECORDS_PER_BLOCK as u64 + 4 {
            for _ in 0..BLOCKS_SWEPT_PER_BLOCK_FILLED {
                self.sweep_one(pool, &mut live);
            }
        }
        self.blocks += 1;
        let fresh = pool.take();
        pool.at(fresh).records[0] = record;
        pool.at(fresh).end = 1;
        if self.tail == NO_BLOCK {
            self.head = fresh;
        } else {
            pool.at(self.tail).next = fresh;
        }
        self.tail = fresh;
    }

    /// Sweeps one block that is not the last, or starts again at the front.
    fn sweep_one(&mut self, pool: &mut Pool, live: &mut impl FnMut(u64, u32) -> bool) {
        if self.sweep == NO_BLOCK || self.sweep == self.tail {
            (self.sweep, self.before) = (self.head, NO_BLOCK);
        }
        if self.sweep == self.tail {
            return;
        }
        let (at, before) = (self.sweep, self.before);
        let block = pool.at(at);
        let next = block.next;
        let mut end = 0;
        for i in block.start as usize..block.end as usize {
            let record = block.records[i];
            block.records[end] = record;
            end += usize::from(live(record.key, record.stamp));
        }
        (block.start, block.end) = (0, end as u16);
        self.sweep = next;
        let fits = before != NO_BLOCK && {
            let last = pool.at(before);
            last.end as usize + end <= RECORDS_PER_BLOCK
        };
        if !fits {
            self.before = at;
            return;
        }
        for i in 0..end {
            let record = pool.at(at).records[i];
            let last = pool.at(before);
            last.records[last.end as usize] = record;
            last.end += 1;
        }
        pool.at(before).next = next;
        self.blocks -= 1;
        pool.give(at);
    }

    /// Takes the oldest member.
    pub fn pop(&mut self, pool: &mut Pool, mut live: impl FnMut(u64, u32) -> bool) -> Option<u64> {
        while self.head != NO_BLOCK {
            let block = pool.at(self.head);
            while block.start < block.end {
                let record = block.records[block.start as usize];
                block.start += 1;
                if live(record.key, record.stamp) {
                    return Some(record.key);
                }
            }
            let (gone, next) = (self.head, block.next);
            self.head = next;
            if self.sweep == gone {
                self.sweep = next;
            }
            if self.before == gone {
                self.before = NO_BLOCK;
            }
            if next == NO_BLOCK {
                self.tail = NO_BLOCK;
            }
            self.blocks -= 1;
            pool.give(gone);
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys with their stamps, 0 for those not in the queue; and the queue as it should be.
    struct Model {
        stamps: Vec<u32>,
        order: Vec<u64>,
        fifo: Fifo,
        pool: Pool,
    }

    impl Model {
        fn new(keys: usize) -> Model {
            Model { stamps: vec![0; keys], order: Vec::new(), fifo: Fifo::default(), pool: Pool::default() }
        }

        fn push(&mut self, key: u64) {
            self.order.retain(|k| *k != key);
            self.order.push(key);
            let (stamps, members) = (&self.stamps, self.order.len() as u64);
            // Before its new stamp is written the key's slot is in use.
            let stamp =
                self.fifo.push(&mut self.pool, key, members, |k, s| k != key && stamps[k as usize] == s);
            self.stamps[key as usize] = stamp;
        }

        fn leave(&mut self, key: u64) {
            self.order.retain(|k| *k != key);
            self.stamps[key as usize] = 0;
        }

        fn pop(&mut self) -> Option<u64> {
            let stamps = &self.stamps;
            let popped = self.fifo.pop(&mut self.pool, |k, s| stamps[k as usize] == s);
            if let Some(key) = popped {
                self.stamps[key as usize] = 0;
            }
            popped
        }

        /// Blocks in the queue.
        fn blocks(&self) -> usize {
            let (mut at, mut count) = (self.fifo.head, 0);
            while at != NO_BLOCK {
                count += 1;
                at = self.pool.blocks[at as usize].next;
            }
            count
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]

        #[test]
        fn pops_in_the_order_of_the_last_push(
            keys in prop::sample::select(vec![1u64, 3, 50, 400]),
            steps in prop::collection::vec((0..8u8, any::<u64>()), 0..if cfg!(miri) { 100 } else { 6000 }),
        ) {
            let mut model = Model::new(keys as usize);
            for (what, key) in steps {
                let key = key % keys;
                match what {
                    0..=5 => model.push(key),
                    6 => model.leave(key),
                    _ => {
                        let oldest = if model.order.is_empty() { None } else { Some(model.order.remove(0)) };
                        prop_assert_eq!(model.pop(), oldest);
                    }
                }
            }
            for key in std::mem::take(&mut model.order) {
                prop_assert_eq!(model.pop(), Some(key));
            }
            prop_assert_eq!(model.pop(), None);
            prop_assert_eq!((model.fifo.blocks, model.blocks()), (0, 0));
        }
    }

    #[test]
    fn outdated_records_do_not_pile_up() {
        for keys in [1u64, 2, if cfg!(miri) { 20 } else { 100 }, 5000] {
            let mut model = Model::new(keys as usize);
            let mut random = 1u64;
            for _ in 0..if cfg!(miri) { 300 } else { 200_000 } {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = (random >> 33) % keys;
                let stamps = &model.stamps;
                let stamp =
                    model.fifo.push(&mut model.pool, key, keys, |k, s| k != key && stamps[k as usize] == s);
                model.stamps[key as usize] = stamp;
            }
            let most = keys as usize * 5 / RECORDS_PER_BLOCK + 12;
            assert!(model.blocks() <= most, "{keys} keys in {} blocks", model.blocks());
            assert!(
                model.pool.blocks.len() <= most + 4,
                "{keys} keys, {} blocks made",
                model.pool.blocks.len()
            );
        }
    }
}
