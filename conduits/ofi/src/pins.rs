//! Registers memory of the program and keeps it registered for its next use: the local half of Firehose, over
//! the provider's regions.
//!
//! The crate `firehose` decides which pages are pinned and which are given up for them, counts their users,
//! and respects a bound. This module manages the registrations. A *region* is one registration of the
//! provider; it covers the pages that were missing for one transfer. A *part* is a range of pages with the
//! region that serves them. A region ends when it serves no page and no transfer uses it. Providers bound the
//! number of regions: beyond [`MAX_REGIONS`], regions are given up that are not in use and were not used
//! recently (the clock algorithm). A hand goes around all regions and clears the mark that each use but the
//! first sets; a region without the mark is given up.
//!
//! A transfer whose memory is in several regions takes as many pieces, if it may; otherwise its pages are
//! pinned again, as one region.
//!
//! Before each use the notifier is asked for changes; the kernel reports a change before the program
//! continues.

use firehose::{
    Action, Change, Config, ConfigError, Firehose, Notifier, OpId, Outcome, PinError, Registrar, Run,
    Strategy,
};
use std::collections::BTreeMap;

/// Most regions, not counting those that a single transfer adds.
const MAX_REGIONS: usize = 4096;
/// Most pieces of a transfer.
pub(crate) const MAX_PIECES: usize = 4;

/// Registers memory.
pub(crate) trait Registers {
    /// A registration.
    type Region;
    fn register(&mut self, at: u64, len: u64) -> Result<Self::Region, String>;
    fn forget(&mut self, region: &Self::Region);
}

/// A range of a transfer's bytes that one region serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RegisteredRange {
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) region: u32,
}

/// Memory that a transfer uses, registered until it is given back.
#[derive(Debug)]
pub(crate) struct Taken {
    op: OpId,
    pieces: [RegisteredRange; MAX_PIECES],
    count: usize,
}

impl Taken {
    pub(crate) fn pieces(&self) -> &[RegisteredRange] {
        &self.pieces[..self.count]
    }
}

struct Pinned<R> {
    region: R,
    /// The pages that it was made for; `parts` has those that it serves.
    run: Run,
    /// Number of pages it serves.
    pages: u64,
    /// Number of transfers that use it.
    users: u32,
    /// Whether it was used at all; and whether again since the hand passed.
    used: bool,
    marked: bool,
}

#[derive(Clone, Copy)]
struct PinnedRange {
    pages: u64,
    region: u32,
}

/// The registered memory.
pub(crate) struct Pins<P: Registers> {
    firehose: Firehose,
    page: u64,
    notifier: Box<dyn Notifier + Send>,
    watch: Box<dyn Registrar + Send>,
    /// Parts by first page.
    parts: BTreeMap<u64, PinnedRange>,
    regions: Vec<Option<Pinned<P::Region>>>,
    free: Vec<u32>,
    /// Most regions to keep, and the position of the hand.
    most: usize,
    hand: usize,
    made: u64,
}

impl<P: Registers> Pins<P> {
    /// Registers at most `budget` bytes; `watch` tells the notifier to report changes of pinned memory.
    pub(crate) fn new(
        page: u64,
        budget: u64,
        notifier: Box<dyn Notifier + Send>,
        watch: Box<dyn Registrar + Send>,
    ) -> Result<Pins<P>, ConfigError> {
        let config = Config { bucket_bytes: page, victim_bytes: budget.max(page), ..Config::default() };
        let firehose = Firehose::new(config)?;
        Ok(Pins {
            firehose,
            page,
            notifier,
            watch,
            parts: BTreeMap::new(),
            regions: Vec::new(),
            free: Vec::new(),
            most: MAX_REGIONS,
            hand: 0,
            made: 0,
        })
    }

    /// Registers memory for a transfer, in at most `most` pieces. `None` if that is not possible: it is too
    /// much, other memory in use fills the bound, or it is of a kind that cannot be watched.
    pub(crate) fn take(&mut self, port: &mut P, at: u64, len: u64, most: usize) -> Option<Taken> {
        let mut out = Vec::new();
        let firehose = &mut self.firehose;
        self.notifier.changes(&mut |change| firehose.changed(change, &mut out));
        self.act(port, out, None);
        let beyond = (self.regions.len() - self.free.len()).saturating_sub(self.most);
        let _ = (0..beyond).all(|_| self.give_up_one(port));
        for again in [false, true] {
            let op = self.hold(port, at, len)?;
            if let Some((pieces, count)) = self.find(at, len, most.min(MAX_PIECES)) {
                for piece in &pieces[..count] {
                    if let Some(pinned) = &mut self.regions[piece.region as usize] {
                        pinned.users += 1;
                        pinned.marked |= std::mem::replace(&mut pinned.used, true);
                    }
                }
                return Some(Taken { op, pieces, count });
            }
            self.release(port, op);
            if !again {
                let mut out = Vec::new();
                self.firehose.changed(Change::Removed { addr: at, len }, &mut out);
                self.act(port, out, None);
            }
        }
        None
    }

    /// Registrations so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// The region of a piece.
    pub(crate) fn region(&self, piece: &RegisteredRange) -> Option<&P::Region> {
        self.regions[piece.region as usize].as_ref().map(|pinned| &pinned.region)
    }

    /// A transfer has ended. The memory stays registered while there is room.
    pub(crate) fn give_back(&mut self, port: &mut P, taken: &Taken) {
        for piece in taken.pieces() {
            self.change(port, piece.region, |pinned| pinned.users -= 1);
        }
        self.release(port, taken.op);
    }

    /// Ends all registrations. No transfer uses any.
    pub(crate) fn end(mut self, port: &mut P) {
        for pinned in self.regions.drain(..).flatten() {
            port.forget(&pinned.region);
        }
        for (first, part) in &self.parts {
            self.watch.unpin(Run { first: *first, count: part.pages });
        }
    }

    fn release(&mut self, port: &mut P, op: OpId) {
        let mut out = Vec::new();
        self.firehose.transferred(op, Outcome::Done, &mut out);
        self.act(port, out, None);
    }

    fn hold(&mut self, port: &mut P, at: u64, len: u64) -> Option<OpId> {
        let mut out = Vec::new();
        if let Some((op, _)) = self.firehose.try_hold(at, len, &mut out).ok()? {
            self.act(port, out, None);
            return Some(op);
        }
        // A transfer that would have to wait for others uses another way.
        let op = self.firehose.hold_at_once(at, len, 0, &mut out).ok()??;
        self.act(port, out, Some(op)).then_some(op)
    }

    /// Gives up a region that is not in use and was not used recently; `false` if all are in use.
    fn give_up_one(&mut self, port: &mut P) -> bool {
        // Once around to take marks away, and once more.
        for _ in 0..2 * self.regions.len() {
            let index = self.hand;
            self.hand = (index + 1) % self.regions.len();
            let Some(pinned) = &mut self.regions[index] else { continue };
            if pinned.users > 0 || std::mem::take(&mut pinned.marked) {
                continue;
            }
            let (run, mut out) = (pinned.run, Vec::new());
            let parts = self.parts.range(run.first..run.first + run.count);
            for (first, part) in parts.filter(|(_, part)| part.region == index as u32) {
                let change = Change::Removed { addr: first * self.page, len: part.pages * self.page };
                self.firehose.changed(change, &mut out);
            }
            self.act(port, out, None);
            return true;
        }
        false
    }

    /// Carries out what Firehose says; whether `wanted` is held then.
    fn act(&mut self, port: &mut P, mut actions: Vec<Action>, wanted: Option<OpId>) -> bool {
        let mut held = false;
        while !actions.is_empty() {
            let mut more = Vec::new();
            for action in actions {
                match action {
                    Action::Pin(run) => {
                        let result = self.pin(port, run);
                        self.firehose.pinned(run, result, &mut more);
                    }
                    Action::Unpin(run) => {
                        self.carve(port, run);
                        self.watch.unpin(run);
                        self.firehose.unpinned(run, &mut more);
                    }
                    Action::Held { op, .. } => held |= wanted == Some(op),
                    _ => {}
                }
            }
            actions = more;
        }
        held
    }

    fn pin(&mut self, port: &mut P, run: Run) -> Result<(), PinError> {
        self.watch.pin(run).unwrap_or(Ok(()))?;
        let region = match port.register(run.first * self.page, run.count * self.page) {
            Ok(region) => region,
            Err(_) => {
                self.watch.unpin(run);
                return Err(PinError::Limit);
            }
        };
        self.made += 1;
        let pinned = Some(Pinned { region, run, pages: run.count, users: 0, used: false, marked: false });
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.regions.push(None);
                self.regions.len() as u32 - 1
            }
        };
        self.regions[index as usize] = pinned;
        self.parts.insert(run.first, PinnedRange { pages: run.count, region: index });
        Ok(())
    }

    /// The pages are no longer served.
    fn carve(&mut self, port: &mut P, run: Run) {
        let end = run.first + run.count;
        let start = self.parts.range(..=run.first).next_back().map_or(run.first, |(first, _)| *first);
        let reached: Vec<(u64, PinnedRange)> =
            self.parts.range(start..end).map(|(first, part)| (*first, *part)).collect();
        for (first, part) in reached {
            let (from, to) = (first.max(run.first), (first + part.pages).min(end));
            if from >= to {
                continue;
            }
            self.parts.remove(&first);
            if first < from {
                self.parts.insert(first, PinnedRange { pages: from - first, ..part });
            }
            if to < first + part.pages {
                self.parts.insert(to, PinnedRange { pages: first + part.pages - to, ..part });
            }
            self.change(port, part.region, |pinned| pinned.pages -= to - from);
        }
    }

    fn change(&mut self, port: &mut P, index: u32, how: impl FnOnce(&mut Pinned<P::Region>)) {
        let slot = &mut self.regions[index as usize];
        if let Some(pinned) = slot {
            how(pinned);
            if pinned.pages == 0 && pinned.users == 0 {
                port.forget(&pinned.region);
                *slot = None;
                self.free.push(index);
            }
        }
    }

    /// The pieces of held memory.
    fn find(&self, at: u64, len: u64, most: usize) -> Option<([RegisteredRange; MAX_PIECES], usize)> {
        let (mut pieces, mut count, mut from) = ([RegisteredRange::default(); MAX_PIECES], 0usize, at);
        let end = at + len;
        while from < end {
            let (first, part) = self.parts.range(..=from / self.page).next_back()?;
            let to = end.min((first + part.pages) * self.page);
            if to <= from {
                return None;
            }
            match count.checked_sub(1).map(|last| &mut pieces[last]) {
                Some(last) if last.region == part.region => last.len += to - from,
                _ if count < most => {
                    pieces[count] = RegisteredRange { at: from, len: to - from, region: part.region };
                    count += 1;
                }
                _ => return None,
            }
            from = to;
        }
        Some((pieces, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firehose::Notices;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    const PAGE: u64 = 4096;

    /// A provider that keeps a list; no memory is mapped beyond page 1000.
    #[derive(Default)]
    struct Card {
        open: BTreeMap<u64, (u64, u64)>,
        made: u64,
    }

    impl Registers for Card {
        type Region = u64;
        fn register(&mut self, at: u64, len: u64) -> Result<u64, String> {
            if at + len > 1000 * PAGE {
                return Err("not mapped".to_string());
            }
            self.made += 1;
            self.open.insert(self.made, (at, len));
            Ok(self.made)
        }
        fn forget(&mut self, region: &u64) {
            assert!(self.open.remove(region).is_some(), "ended twice");
        }
    }

    struct Unwatched;

    impl Registrar for Unwatched {
        fn pin(&self, _: Run) -> Option<Result<(), PinError>> {
            Some(Ok(()))
        }
        fn unpin(&self, _: Run) -> Option<()> {
            Some(())
        }
    }

    fn pins(pages: u64) -> (Pins<Card>, Card, Arc<Notices>) {
        let notices = Arc::new(Notices::default());
        let pins = Pins::new(PAGE, pages * PAGE, Box::new(Arc::clone(&notices)), Box::new(Unwatched));
        (pins.expect("good"), Card::default(), notices)
    }

    /// Whether every byte is in the region that its piece names, and that region is open.
    fn assert_covered(pins: &Pins<Card>, card: &Card, taken: &Taken, at: u64, len: u64) {
        let mut from = at;
        for piece in taken.pieces() {
            assert_eq!(piece.at, from);
            let (start, size) = card.open[pins.region(piece).expect("there")];
            assert!(start <= piece.at && piece.at + piece.len <= start + size, "{piece:?} {start:#x} {size}");
            from += piece.len;
        }
        assert_eq!(from, at + len);
    }

    #[test]
    fn what_is_used_again_is_registered_once() {
        let (mut pins, mut card, notices) = pins(64);
        for _ in 0..3 {
            let taken = pins.take(&mut card, 5 * PAGE + 7, 3 * PAGE, 4).expect("room");
            assert_covered(&pins, &card, &taken, 5 * PAGE + 7, 3 * PAGE);
            pins.give_back(&mut card, &taken);
        }
        assert_eq!((card.made, card.open.len()), (1, 1));
        // Overlapping: the rest becomes a region of its own, and if only one piece is allowed all pages are
        // pinned anew.
        let taken = pins.take(&mut card, 7 * PAGE, 4 * PAGE, 4).expect("room");
        assert_eq!((taken.pieces().len(), card.made), (2, 2));
        assert_covered(&pins, &card, &taken, 7 * PAGE, 4 * PAGE);
        let one = pins.take(&mut card, 7 * PAGE, 4 * PAGE, 1).expect("room");
        assert_eq!((one.pieces().len(), card.made), (1, 3));
        // The first transfer still has its regions.
        assert_covered(&pins, &card, &taken, 7 * PAGE, 4 * PAGE);
        pins.give_back(&mut card, &taken);
        pins.give_back(&mut card, &one);
        // The old registration of changed memory is never used.
        notices.tell(Change::Unmapped { addr: 0, len: 1 << 20 });
        let taken = pins.take(&mut card, 7 * PAGE, PAGE, 4).expect("room");
        assert_eq!((card.made, card.open.len()), (4, 1), "made anew, and the old ones have ended");
        pins.give_back(&mut card, &taken);
        pins.end(&mut card);
        assert!(card.open.is_empty());
    }

    #[test]
    fn what_cannot_be_is_left_to_the_caller() {
        let (mut pins, mut card, _) = pins(8);
        assert!(pins.take(&mut card, 0, 9 * PAGE, 4).is_none(), "more than the bound");
        assert!(pins.take(&mut card, 999 * PAGE, 2 * PAGE, 4).is_none(), "not mapped");
        let all = pins.take(&mut card, 0, 8 * PAGE, 4).expect("room");
        let made = card.made;
        assert!(pins.take(&mut card, 100 * PAGE, PAGE, 4).is_none(), "all of it is in use");
        // Memory in use can get further users, even after others were refused.
        let again = pins.take(&mut card, 3 * PAGE, PAGE, 4).expect("held by others");
        pins.give_back(&mut card, &again);
        pins.give_back(&mut card, &all);
        assert_eq!(card.made, made, "nothing is registered for whom was refused: it has found another way");
        let other = pins.take(&mut card, 100 * PAGE, PAGE, 4).expect("room again");
        pins.give_back(&mut card, &other);
        pins.end(&mut card);
        assert!(card.open.is_empty());
    }

    /// One buffer is used all the time, beside many that are used once, of which two stay in use for long.
    #[test]
    fn regions_in_use_stay_and_the_others_go_one_by_one() {
        const KEPT_REGIONS: usize = 8;
        let (mut pins, mut card, _) = pins(500);
        pins.most = KEPT_REGIONS;
        let cold = |k: u64| (100 + 2 * k) * PAGE;
        let first = pins.take(&mut card, PAGE, PAGE, 4).expect("room");
        pins.give_back(&mut card, &first);
        let hot = pins.made();
        let held: Vec<Taken> =
            (0..2).map(|k| pins.take(&mut card, cold(k), PAGE, 4).expect("room")).collect();
        for k in 2..400 {
            for at in [cold(k), PAGE] {
                let taken = pins.take(&mut card, at, PAGE, 4).expect("room");
                assert_covered(&pins, &card, &taken, at, PAGE);
                pins.give_back(&mut card, &taken);
            }
            // The last few are kept, not none.
            assert!(
                card.open.len() <= KEPT_REGIONS + 1 && (k < 20 || card.open.len() >= KEPT_REGIONS),
                "{}",
                card.open.len()
            );
        }
        assert!(card.open.contains_key(&hot), "what is used all the time is registered once");
        assert_eq!(pins.made(), 1 + 400, "and so is each of the others");
        for (k, taken) in held.iter().enumerate() {
            assert_covered(&pins, &card, taken, cold(k as u64), PAGE);
            pins.give_back(&mut card, taken);
        }
        // All are in use: more are made all the same.
        let held: Vec<Taken> = (0..2 * KEPT_REGIONS as u64)
            .map(|k| pins.take(&mut card, cold(k), PAGE, 4).expect("room"))
            .collect();
        assert!(card.open.len() >= 2 * KEPT_REGIONS);
        held.iter().for_each(|taken| pins.give_back(&mut card, taken));
        let taken = pins.take(&mut card, PAGE, PAGE, 4).expect("room");
        assert!(card.open.len() <= KEPT_REGIONS + 1, "{} again", card.open.len());
        pins.give_back(&mut card, &taken);
        pins.end(&mut card);
        assert!(card.open.is_empty());
    }

    /// Random transfers, several at once, with changes in between: each has regions that are open, and the
    /// bound holds.
    #[test]
    fn whatever_comes_is_covered() {
        let (mut pins, mut card, notices) = pins(40);
        pins.most = 12;
        let (mut x, mut running, mut done) = (7u64, Vec::new(), 0);
        let mut next = |below: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % below
        };
        for _ in 0..20_000 {
            if next(50) == 0 {
                let (addr, len) = (next(100) * PAGE, (1 + next(20)) * PAGE);
                // No memory is unmapped that a transfer uses.
                let used: BTreeSet<u64> = running
                    .iter()
                    .flat_map(|(_, at, len): &(Taken, u64, u64)| at / PAGE..=(at + len - 1) / PAGE)
                    .collect();
                if (addr / PAGE..(addr + len) / PAGE).all(|page| !used.contains(&page)) {
                    notices.tell(Change::Unmapped { addr, len });
                }
            }
            let (at, len) = (next(100 * PAGE), 1 + next(12 * PAGE));
            if let Some(taken) = pins.take(&mut card, at, len, 1 + next(4) as usize) {
                running.push((taken, at, len));
            }
            while running.len() > next(5) as usize {
                let (taken, at, len) = running.swap_remove(next(running.len() as u64) as usize);
                assert_covered(&pins, &card, &taken, at, len);
                pins.give_back(&mut card, &taken);
                done += 1;
            }
            assert!(pins.firehose.usage().pinned_bytes <= 40 * PAGE);
            let pages: u64 = pins.parts.values().map(|part| part.pages).sum();
            assert_eq!(pages * PAGE, pins.firehose.usage().pinned_bytes);
        }
        for (taken, ..) in running {
            pins.give_back(&mut card, &taken);
        }
        assert!(done > 10_000, "{done} transfers");
        pins.end(&mut card);
        assert!(card.open.is_empty());
    }
}
