//! Recent operations of a rank in a team, as words that can be compared with those of other members; see
//! [`agree`](super::agree).

use super::reduction::ElementType;
use super::{Shape, SyncMode, When};
use crate::{Rank, RankId};
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use gasnet_sys::mutex::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// The properties of an operation on which members have to agree, as a word of a record. The fields, from
/// the lowest bit: kind (4), mode (2), root (17), whether it is typed (1), bytes of a block (32), round of
/// the record (8). In a typed word the upper 8 bits of the size are the [`ElementType`]. Operations that
/// combine values are always typed; others are if they have a type, and the size leaves room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature(u64);

/// Bits of the fields.
const KIND: u32 = 4;
const ROOT: u32 = 6;
const TYPED: u32 = 23;
const SIZE: u32 = 24;
const ROUND: u32 = 56;
/// In a typed word.
const ELEMENT: u32 = 48;
/// Kinds that combine values.
const COMBINING: core::ops::RangeInclusive<u64> = 7..=9;
/// In messages and tables: the root's lowest bits, and sizes up to a MiB.
const SHORT_ROOT: u32 = 6;
const SHORT_SIZE: u32 = 20;

const KINDS: [&str; 14] = [
    "nothing",
    "a barrier",
    "a broadcast",
    "a scatter",
    "a gather",
    "a gather_all",
    "an exchange",
    "a reduction",
    "a reduction to all",
    "a scan",
    "a scatter of blocks that differ",
    "a gather of blocks that differ",
    "a gather_all of blocks that differ",
    "an exchange of blocks that differ",
];

impl Signature {
    pub(crate) fn new(shape: Shape, root: Option<usize>, mode: SyncMode, elements: ElementType) -> Signature {
        let (kind, size) = match shape {
            Shape::Barrier => (1, 0),
            Shape::Broadcast(n) => (2, n),
            Shape::Scatter(n) => (3, n),
            Shape::Gather(n) => (4, n),
            Shape::GatherAll(n) => (5, n),
            Shape::Exchange(n) => (6, n),
            Shape::Reduce(n, _) => (7, n),
            Shape::ReduceAll(n, _) => (8, n),
            Shape::Scan(n) => (9, n),
            Shape::ScatterV(_) => (10, 0),
            Shape::GatherV(_) => (11, 0),
            Shape::GatherAllV(all) => (12, all),
            Shape::ExchangeV => (13, 0),
        };
        let all = |when: When, bit: u32| u64::from(when == When::All) << bit;
        let mode = all(mode.enter, KIND) | all(mode.leave, KIND + 1);
        let root = root.map_or(0, |root| (root as u64 + 1).min((1 << (TYPED - ROOT)) - 1));
        let (size, elements) = (size as u64, u64::from(elements.number()));
        let typed = COMBINING.contains(&kind) || elements != 0 && size < 1 << (ELEMENT - SIZE);
        let (above, elements) = if typed { (ELEMENT, elements) } else { (ROUND, 0) };
        let size = size.min((1 << (above - SIZE)) - 1);
        let typed = u64::from(typed);
        Signature(kind | mode | root << ROOT | typed << TYPED | size << SIZE | elements << ELEMENT)
    }

    fn is_typed(self) -> bool {
        self.0 >> TYPED & 1 != 0
    }

    /// The type of the elements as a number.
    fn elements(self) -> u8 {
        if self.is_typed() { (self.0 >> ELEMENT) as u8 } else { 0 }
    }

    /// The same in fewer bits: equal for operations that agree, and different if kinds, modes or sizes up to
    /// a MiB are.
    pub(crate) fn short(self) -> u32 {
        // A root that differs, or elements that do, give another word as a rule.
        let root = (self.0 >> ROOT ^ u64::from(self.elements())) & ((1 << SHORT_ROOT) - 1);
        let size = self.size().min((1 << SHORT_SIZE) - 1);
        (self.0 & ((1 << ROOT) - 1) | root << ROOT | size << (32 - SHORT_SIZE)) as u32
    }

    /// The properties in a short word, which does not contain the root.
    pub(crate) fn of_short(short: u32) -> Signature {
        let (size, short) = (u64::from(short >> (32 - SHORT_SIZE)), u64::from(short));
        let typed = u64::from(COMBINING.contains(&(short & ((1 << KIND) - 1))));
        Signature(short & ((1 << ROOT) - 1) | typed << TYPED | size << SIZE)
    }

    /// Without the root and the type.
    fn unrooted(self) -> (u64, u64) {
        (self.0 & ((1 << ROOT) - 1), self.size())
    }

    fn size(self) -> u64 {
        let above = if self.is_typed() { ELEMENT } else { ROUND };
        self.0 >> SIZE & ((1 << (above - SIZE)) - 1)
    }

    /// As an entry of a record.
    fn entry(self, number: u32) -> u64 {
        self.0 | u64::from(round(number)) << ROUND
    }
}

/// An operation as a member has started it, where it is not what another member has: for messages in the
/// words of a language ([`Rank::say_collectives`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called {
    /// The member.
    pub rank: RankId,
    /// The operation, as this runtime calls it: `a barrier`.
    pub name: &'static str,
    /// Bytes of a block.
    pub bytes: u64,
    /// The member of the team that data comes from or goes to, as far as it is known.
    pub root: Option<u32>,
    /// The number of [`ElementType::of_language`], as far as it is known.
    pub element_type: Option<u8>,
}

/// A line that says what two members have called.
pub type Words = fn(&Called, &Called) -> String;

impl Signature {
    fn of(self, rank: RankId) -> Called {
        let name = KINDS.get((self.0 & ((1 << KIND) - 1)) as usize).unwrap_or(&KINDS[0]);
        let root = (self.0 >> ROOT & ((1 << (TYPED - ROOT)) - 1)).checked_sub(1).map(|root| root as u32);
        let element_type = ElementType::language_number(self.elements());
        Called { rank, name, bytes: self.size(), root, element_type }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |at: u32, bits: u32| self.0 >> at & ((1 << bits) - 1);
        let kind = field(0, KIND) as usize;
        f.write_str(KINDS.get(kind).unwrap_or(&KINDS[0]))?;
        if !matches!(kind, 0 | 1 | 10 | 11 | 13) {
            write!(f, " of {} bytes", self.size())?;
        }
        if self.elements() != 0 {
            write!(f, " ({})", ElementType::in_words(self.elements()))?;
        }
        if let Some(root) = field(ROOT, TYPED - ROOT).checked_sub(1) {
            write!(f, ", root {root}")?;
        }
        f.write_str(match field(KIND, 2) {
            0 => "",
            1 => ", all waiting for all at the beginning",
            2 => ", all waiting for all at the end",
            _ => ", all waiting for all at both ends",
        })
    }
}

/// Number of operations that a record remembers.
const MAX_REMEMBERED_OPERATIONS: usize = if cfg!(miri) { 8 } else { 32 };

/// Number of times that an operation's place in the record has been used.
fn round(number: u32) -> u8 {
    (number / MAX_REMEMBERED_OPERATIONS as u32) as u8
}

fn place(number: u32) -> usize {
    number as usize % MAX_REMEMBERED_OPERATIONS
}

/// A question to a peer.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    /// It has not answered yet.
    open: bool,
    /// Number of operations that were compared.
    compared: u32,
}

/// Recent operations of this rank in a team, and the reports of other members about theirs.
#[derive(Debug)]
pub(crate) struct Record {
    team: u32,
    /// Number of operations started here.
    started: AtomicU32,
    /// The last of them, by number; 0 if there was none yet.
    done: [AtomicU64; MAX_REMEMBERED_OPERATIONS],
    /// The operations of messages that arrived before the operation was started here: short word, rank (24
    /// bits), round; or 0.
    early: [AtomicU64; MAX_REMEMBERED_OPERATIONS],
    asked: Mutex<HashMap<u32, Asked>>,
}

impl Record {
    pub(crate) fn new(team: u32) -> Record {
        let zeros = || core::array::from_fn(|_| AtomicU64::new(0));
        Record { team, started: AtomicU32::new(0), done: zeros(), early: zeros(), asked: Mutex::default() }
    }

    pub(super) fn team(&self) -> u32 {
        self.team
    }

    pub(crate) fn started(&self) -> u32 {
        self.started.load(Relaxed)
    }

    /// Starts the next operation and returns its number. Threads of a rank take turns. A message that another
    /// thread handles at the same moment may escape the comparison.
    pub(crate) fn start(&self, rank: &Rank, what: Signature) -> u32 {
        let (number, other) = self.begin(what);
        if let Some(other) = other {
            self.differ(rank, number, (rank.id(), what), other);
        }
        number
    }

    /// The work of [`start`](Self::start). Returns the operation's number, and the member that has already
    /// reported another operation.
    fn begin(&self, what: Signature) -> (u32, Option<(RankId, Signature)>) {
        let number = self.started.fetch_add(1, Relaxed);
        self.done[place(number)].store(what.entry(number), Relaxed);
        let early = &self.early[place(number)];
        let said = early.load(Relaxed);
        if said == 0 {
            return (number, None);
        }
        // Rounds repeat. So nothing is kept for later operations, including messages that arrived while an
        // earlier one was started.
        early.store(0, Relaxed);
        let differs = (said >> ROUND) as u8 == round(number) && said as u32 != what.short();
        (number, differs.then(|| (early_rank(said), Signature::of_short(said as u32))))
    }

    /// A member has sent a message of an operation that is this to it.
    pub(crate) fn hear(&self, rank: &Rank, number: u32, from: RankId, short: u32) {
        if let Some((member, what)) = self.take_in(number, from, short) {
            self.differ(
                rank,
                number,
                (from, Signature::of_short(short)),
                (member.unwrap_or(rank.id()), what),
            );
        }
    }

    /// Of [`hear`](Self::hear): what this rank, or the member that is named, takes that operation for, if it
    /// is something else.
    fn take_in(&self, number: u32, from: RankId, short: u32) -> Option<(Option<RankId>, Signature)> {
        let place = place(number);
        let mine = self.done[place].load(Relaxed);
        // Others may be any number of operations ahead.
        let behind = self.started().wrapping_sub(number);
        if (1..=MAX_REMEMBERED_OPERATIONS as u32).contains(&behind)
            && mine != 0
            && (mine >> ROUND) as u8 == round(number)
        {
            let mine = Signature(mine & ((1 << ROUND) - 1));
            return (mine.short() != short).then_some((None, mine));
        }
        if number.wrapping_sub(self.started()) >= MAX_REMEMBERED_OPERATIONS as u32 {
            return None;
        }
        let from_bits = u64::from(from.0 & 0xff_ffff) << 32;
        let entry = u64::from(short) | from_bits | u64::from(round(number)) << ROUND;
        let before = self.early[place].swap(entry, Relaxed);
        let differs = before != 0 && before >> ROUND == entry >> ROUND && before as u32 != short;
        differs.then(|| (Some(early_rank(before)), Signature::of_short(before as u32)))
    }

    #[cold]
    pub(super) fn differ(
        &self,
        rank: &Rank,
        number: u32,
        a: (RankId, Signature),
        b: (RankId, Signature),
    ) -> ! {
        let team = match self.team {
            0 => "the team of all ranks".to_string(),
            team => format!("team {team}"),
        };
        let (before, after) = if a.0 < b.0 { (a, b) } else { (b, a) };
        if let Some(words) = rank.coll.words.get() {
            let line = words(&before.1.of(before.0), &after.1.of(after.0));
            rank.ending().fatal_line("collective operations do not match", &line);
        }
        // Words of messages have neither.
        let alike = before.1.unrooted() == after.1.unrooted();
        let what = if alike { " (the roots differ, or the types of the elements)" } else { "" };
        rank.fatal(&format!(
            "collective operations do not match: operation {} of {team} is {} on rank {}, and {} on rank {}{what}: all members must call \
             the same operations in the same order, with the same sizes and roots, and of the same types",
            number.wrapping_add(1),
            before.1,
            before.0,
            after.1,
            after.0,
        ))
    }

    /// Compares with the record of a peer, which has started so many.
    pub(super) fn compare(&self, rank: &Rank, peer: RankId, started: u32, theirs: &[u8]) {
        let mut words = [0u64; MAX_REMEMBERED_OPERATIONS];
        for (word, bytes) in words.iter_mut().zip(theirs.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        // Records that are farther apart have no operation in common.
        if started.wrapping_sub(self.started()).cast_signed().unsigned_abs()
            > MAX_REMEMBERED_OPERATIONS as u32
        {
            return;
        }
        // The first operation that differs.
        for back in (1..=MAX_REMEMBERED_OPERATIONS as u32).rev() {
            let number = started.wrapping_sub(back);
            let (mine, other) = (self.done[place(number)].load(Relaxed), words[place(number)]);
            let known = |entry: u64| entry != 0 && (entry >> ROUND) as u8 == round(number);
            if known(mine) && known(other) && mine != other {
                let what = |entry: u64| Signature(entry & ((1 << ROUND) - 1));
                self.differ(rank, number, (rank.id(), what(mine)), (peer, what(other)));
            }
        }
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Asked>> {
        lock(&self.asked)
    }

    /// The question to a peer, unless it has not answered the last one, or there is nothing new to compare:
    /// number of operations started, and the operations.
    pub(super) fn question(
        &self,
        peer: RankId,
        about: About,
    ) -> Option<(u32, [[u8; 8]; MAX_REMEMBERED_OPERATIONS])> {
        let started = self.started();
        {
            let mut asked = self.asked();
            let state = asked.entry(peer.0).or_default();
            if state.open || state.compared == started && about.len == 0 {
                return None;
            }
            state.open = true;
        }
        let mut words = [[0u8; 8]; MAX_REMEMBERED_OPERATIONS];
        for (word, entry) in words.iter_mut().zip(&self.done) {
            *word = entry.load(Relaxed).to_le_bytes();
        }
        Some((started, words))
    }

    /// A peer has answered, and compared that many operations. Those that it has not started yet could not be
    /// compared.
    pub(super) fn answered(&self, peer: RankId, compared: u32) {
        if let Some(asked) = self.asked().get_mut(&peer.0) {
            asked.open = false;
            asked.compared = compared;
        }
    }
}

/// The message that a member waits for, if it does: for what it asks beside the record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About {
    /// The member that asks.
    pub(crate) member: u32,
    pub(crate) operation: u32,
    pub(crate) step: u32,
    /// Number of bytes that it expects.
    pub(crate) len: usize,
}

fn early_rank(entry: u64) -> RankId {
    RankId((entry >> 32) as u32 & 0xff_ffff)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Reports about an operation are not compared with the operation that has the same place and round
    /// 8192 operations later.
    #[test]
    fn what_was_said_early_is_forgotten() {
        let (record, barrier) =
            (Record::new(0), Signature::new(Shape::Barrier, None, SyncMode::MY, ElementType::UNKNOWN));
        let broadcast = Signature::new(Shape::Broadcast(8), Some(1), SyncMode::MY, ElementType::UNKNOWN);
        let from = RankId(3);
        let rounds = if cfg!(miri) { 1 } else { 3 };
        for number in 0..rounds * 256 * MAX_REMEMBERED_OPERATIONS as u32 {
            let said = match number {
                5 => {
                    assert_eq!(record.take_in(5, from, broadcast.short()), None);
                    broadcast
                }
                6 => {
                    assert_eq!(record.take_in(6, from, broadcast.short()), None);
                    barrier
                }
                7 => broadcast,
                _ => barrier,
            };
            let other = (number == 6).then_some((from, Signature::of_short(broadcast.short())));
            assert_eq!(record.begin(said), (number, other));
            if number == 7 {
                // Another thread has taken this in while the operation was started.
                record.early[7].store(u64::from(broadcast.short()), Relaxed);
            }
        }
        // Who is far ahead, or behind, is not compared with what has the same place.
        assert_eq!(
            record.take_in(
                record.started() + 256 * MAX_REMEMBERED_OPERATIONS as u32 - 1,
                from,
                broadcast.short()
            ),
            None
        );
        let last = record.started() - 1;
        assert!(record.take_in(last, from, broadcast.short()).is_some());
        assert_eq!(record.take_in(last, from, barrier.short()), None);
    }

    #[test]
    fn short_words_tell_kinds_and_small_sizes_apart() {
        let shapes = |n: usize| {
            [
                Shape::Broadcast(n),
                Shape::Scatter(n),
                Shape::Gather(n),
                Shape::GatherAll(n),
                Shape::Exchange(n),
                Shape::Reduce(n, true),
                Shape::ReduceAll(n, false),
                Shape::Scan(n),
                Shape::GatherAllV(n),
            ]
        };
        let mut seen = std::collections::HashSet::new();
        for n in [0, 1, 8, 4096, (1 << 20) - 2] {
            for shape in shapes(n) {
                for mode in [SyncMode::MY, SyncMode::ALL] {
                    let what = Signature::new(shape, None, mode, ElementType::UNKNOWN);
                    assert!(seen.insert(what.short()), "{what}");
                    assert_eq!(Signature::of_short(what.short()), what, "{what}");
                }
            }
        }
        let what = Signature::new(
            Shape::Reduce(1 << 33, true),
            Some(70_000),
            SyncMode::ALL,
            ElementType::of::<f64>(),
        );
        assert_eq!(
            what.to_string(),
            "a reduction of 16777215 bytes (f64), root 70000, all waiting for all at both ends"
        );
    }

    /// Data of another type is another operation; where a size leaves no room for the type, the size counts.
    #[test]
    fn types_are_told_apart_and_sizes_too() {
        let of = |n: usize, elements| Signature::new(Shape::Broadcast(n), Some(1), SyncMode::MY, elements);
        let (word, float) = (ElementType::of::<u64>(), ElementType::of::<f64>());
        for n in [8, 4096, 1 << 23] {
            assert_ne!(of(n, word), of(n, float));
            assert_ne!(of(n, word).short(), of(n, float).short());
            assert_ne!(of(n, word), of(n, ElementType::UNKNOWN));
            assert_eq!(of(n, word).size(), n as u64);
        }
        assert_eq!(of(8, word).to_string(), "a broadcast of 8 bytes (u64), root 1");
        for n in [1 << 24, 1 << 30] {
            assert_eq!(of(n, word).size(), n as u64);
            assert_ne!(of(n, word), of(n + 8, word));
        }
        // Numbers that the compiler knows are those of the names.
        assert_eq!([word, float], [ElementType::named("u64"), ElementType::named("f64")]);
        assert_eq!(ElementType::of::<u8>(), ElementType::named("u8"));
    }
}
