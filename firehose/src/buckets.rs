//! The bucket table: what is pinned on this node, who has references to it, and the FIFO of victims.
//!
//! A bucket's life:
//! ```text
//!   (none) -> Wanted -> Pinning -> Ready -> Unpinning -> (none), or Wanted if somebody waits for it
//! ```
//! A `Ready` bucket without references is *idle*: it is in the victim FIFO. A changed mapping sends `Ready`
//! to `Unpinning` at once, whoever has references, and `Pinning` as soon as the pin has ended.
//!
//! **Claims.** A caller claims all buckets it needs at once. A claim first needs budget: at most `local`
//! buckets have local references, and at most `remote` have remote ones. A claim without budget waits in line
//! and holds nothing. A claim with budget references all its buckets, and is granted when all are `Ready`.
//! The references of a granted claim carry the key of the registration. Giving back a reference whose key is
//! no longer the bucket's does nothing, because a void registration lost its references with it.
//!
//! **The bound.** `resident` counts the buckets that are `Pinning`, `Ready` or `Unpinning`. A pin begins only
//! while `resident < total`, and `total >= local + remote`; a bucket beyond the budgets is idle and can be
//! unpinned. So pins wait for unpins only, and the bound holds whatever the peers do.

use std::collections::{HashMap, VecDeque};

use slab::Slab;

use crate::action::Action;
use crate::config::Config;
use crate::fifo::{Fifo, Pool};
use crate::message::Granted;
use crate::registrar::{Change, PinError};
use crate::request::{Refusal, Side};
use crate::run::Node;
use crate::run::{Held, Keys, Run};
use crate::strategy::{Stats, Usage};
use crate::table::{Table, TableSlot, VACANT};

/// Limits on the number of buckets in each state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Registered buckets; `None`: no bound.
    pub total: Option<u64>,
    /// Buckets with local references.
    pub local: u64,
    /// Buckets with remote references.
    pub remote: u64,
    /// Idle buckets.
    pub idle: Idle,
}

/// How long idle buckets stay pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Idle buckets and buckets with local references are together at most `local`.
    WithLocal,
    /// Idle buckets stay until their room is needed.
    WhileRoom,
    /// Idle buckets are unpinned at once.
    Never,
}

impl Limits {
    /// The limits of Firehose.
    pub fn firehose(config: &Config) -> Limits {
        let local = config.victim_bytes / config.bucket_bytes;
        let remote = config.firehoses() * u64::from(config.nodes - 1);
        let idle = if config.adaptive { Idle::WhileRoom } else { Idle::WithLocal };
        Limits { total: Some(local + remote), local, remote, idle }
    }
}

/// Who made a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// An operation of this node.
    Operation(u32),
    /// A peer's request, under the id that the peer gave it.
    Peer { node: Node, id: u64 },
    /// The whole segment, claimed by pin-everything at the start.
    Segment,
}

/// A claim that was granted.
#[derive(Debug)]
pub(crate) struct Grant {
    pub who: Who,
    pub runs: Vec<Run>,
    pub granted: Granted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BucketState {
    Wanted,
    Pinning,
    /// The mapping changed while it was being pinned.
    PinningStale,
    Ready,
    Unpinning,
}

/// Half a cache line, so that looking at a bucket touches one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Bucket {
    bucket: u64,
    key: u64,
    local: u32,
    remote: u32,
    stamp: u32,
    /// One bit for each node, modulo 16, that may hold a firehose on the bucket.
    holders: u16,
    state: BucketState,
}

const _: () = assert!(size_of::<Bucket>() == 32);

impl TableSlot for Bucket {
    fn vacant() -> Bucket {
        Bucket {
            bucket: VACANT,
            key: 0,
            local: 0,
            remote: 0,
            stamp: 0,
            holders: 0,
            state: BucketState::Wanted,
        }
    }

    #[inline]
    fn id(&self) -> u64 {
        self.bucket
    }
}

impl Bucket {
    #[inline]
    fn free(&self) -> bool {
        self.local | self.remote == 0
    }

    #[inline]
    fn count(&mut self, side: Side) -> &mut u32 {
        match side {
            Side::Local => &mut self.local,
            Side::Remote => &mut self.remote,
        }
    }

    fn is_victim(&self, stamp: u32) -> bool {
        self.stamp == stamp && self.free() && self.state == BucketState::Ready
    }
}

/// The bit that stands for a node among the holders.
fn holder(node: Node) -> u16 {
    1 << (node % 16)
}

#[derive(Debug)]
struct Claim {
    who: Who,
    side: Side,
    runs: Vec<Run>,
    /// Number of its buckets that are not ready.
    missing: u64,
    /// The claim waits for budget and has no references yet.
    queued: bool,
    failed: Vec<(u64, PinError)>,
}

impl Claim {
    /// Whether the claim has a reference to the bucket.
    fn counts_on(&self, side: Side, bucket: u64) -> bool {
        self.side == side && self.times(bucket) > 0
    }

    /// How many references the claim has to the bucket.
    fn times(&self, bucket: u64) -> usize {
        if self.queued || self.failed.iter().any(|(b, _)| *b == bucket) {
            return 0;
        }
        self.runs.iter().filter(|run| run.contains(bucket)).count()
    }
}

/// Registrations that a change made void and that peers may hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Voided {
    pub held: Held,
    holders: u16,
}

impl Voided {
    /// Whether the node may hold the registration.
    pub fn concerns(&self, node: Node) -> bool {
        self.holders & holder(node) != 0
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Buckets {
    limits: Limits,
    shift: u32,
    table: Table<Bucket>,
    pool: Pool,
    victims: Fifo,
    /// Counts changes of mappings; never 0, so that 0 is nobody's key.
    epoch: u64,
    resident: u64,
    unpinning: u64,
    idle: u64,
    local: u64,
    attached: u64,
    peak: u64,
    /// Buckets to be pinned as soon as there is room.
    wanted: VecDeque<u64>,
    claims: Slab<Claim>,
    /// Buckets that the system had no room for; they are tried again when something was unpinned.
    starved: Vec<u64>,
    /// Claims waiting for a bucket.
    waiting: HashMap<u64, Vec<u32>>,
    /// Claims waiting for budget, by side.
    lines: [VecDeque<u32>; 2],
    grants: VecDeque<Grant>,
    stats: Stats,
}

impl Buckets {
    pub fn new(config: &Config, limits: Limits) -> Buckets {
        Buckets {
            limits,
            shift: config.bucket_bytes.trailing_zeros(),
            table: Table::default(),
            pool: Pool::default(),
            victims: Fifo::default(),
            epoch: 1,
            resident: 0,
            unpinning: 0,
            idle: 0,
            local: 0,
            attached: 0,
            peak: 0,
            wanted: VecDeque::new(),
            starved: Vec::new(),
            claims: Slab::default(),
            waiting: HashMap::new(),
            lines: [VecDeque::new(), VecDeque::new()],
            grants: VecDeque::new(),
            stats: Stats::default(),
        }
    }

    /// The most buckets that one claim of that side may have.
    pub fn most(&self, side: Side) -> u64 {
        match side {
            Side::Local => self.limits.local,
            Side::Remote => self.limits.remote,
        }
    }

    /// How many buckets have references of that side.
    fn used(&mut self, side: Side) -> &mut u64 {
        match side {
            Side::Local => &mut self.local,
            Side::Remote => &mut self.attached,
        }
    }

    /// Takes references for this node to buckets that are all ready. Returns `None`, and takes none, if a
    /// bucket is not ready, if there is no budget, or if other claims wait for budget.
    #[inline]
    pub fn hold(&mut self, run: Run) -> Option<Keys> {
        self.take_ready(Side::Local, &[run], 0)
    }

    /// [`hold`](Self::hold) for a peer: what its claim would come to, without making a claim.
    #[inline]
    pub fn grant_ready(&mut self, runs: &[Run], node: Node) -> Option<Keys> {
        self.take_ready(Side::Remote, runs, holder(node))
    }

    #[inline(always)]
    fn take_ready(&mut self, side: Side, runs: &[Run], holders: u16) -> Option<Keys> {
        if !self.lines[side as usize].is_empty() {
            return None;
        }
        if let [Run { first, count: 1 }] = *runs {
            let (used, most) = (*self.used(side), self.most(side));
            let entry = self.table.get_mut(first)?;
            if entry.state != BucketState::Ready {
                return None;
            }
            let revived = entry.free();
            let count = entry.count(side);
            let fresh = *count == 0;
            if fresh && used >= most {
                return None;
            }
            *count += 1;
            entry.holders |= holders;
            let key = entry.key;
            *self.used(side) += u64::from(fresh);
            self.idle -= u64::from(revived);
            self.stats.revived += u64::from(revived);
            return Some(Keys::Uniform(key));
        }
        let (mut fresh, mut all) = (0, 0u64);
        for bucket in runs.iter().flat_map(|run| run.buckets()) {
            let entry = self.table.get(bucket)?;
            if entry.state != BucketState::Ready {
                return None;
            }
            let count = if side == Side::Local { entry.local } else { entry.remote };
            fresh += u64::from(count == 0);
            all += 1;
        }
        let most = self.most(side);
        if all > most || *self.used(side) + fresh > most {
            return None;
        }
        for bucket in runs.iter().flat_map(|run| run.buckets()) {
            self.count(side, bucket, holders);
        }
        Some(self.keys(all, runs.iter().copied()))
    }

    /// Takes one reference; returns whether the bucket is ready.
    fn count(&mut self, side: Side, bucket: u64, holders: u16) -> bool {
        let Some(entry) = self.table.get_mut(bucket) else {
            let mut entry = Bucket { bucket, holders, ..Bucket::vacant() };
            *entry.count(side) = 1;
            self.table.insert(entry);
            self.wanted.push_back(bucket);
            *self.used(side) += 1;
            return false;
        };
        let ready = entry.state == BucketState::Ready;
        let revived = ready && entry.free();
        entry.holders |= holders;
        let count = entry.count(side);
        *count += 1;
        let first = *count == 1;
        if revived {
            self.idle -= 1;
            self.stats.revived += 1;
        }
        *self.used(side) += u64::from(first);
        ready
    }

    fn keys(&self, count: u64, runs: impl Iterator<Item = Run> + Clone) -> Keys {
        let key = |bucket: u64| self.table.get(bucket).map_or(0, |entry| entry.key);
        let mut buckets = runs.clone().flat_map(Run::buckets);
        let first = buckets.next().map_or(0, key);
        if count == 1 || buckets.all(|bucket| key(bucket) == first) {
            return Keys::Uniform(first);
        }
        Keys::Each(runs.flat_map(Run::buckets).map(key).collect())
    }

    /// Claims buckets. [`Buckets::grant`] reports the grant, which may follow at once; [`Buckets::settle`]
    /// must be called next.
    pub fn claim(&mut self, side: Side, runs: Vec<Run>, who: Who) {
        let mut buckets = 0u64;
        let sane = runs.iter().all(|run| {
            buckets = buckets.saturating_add(run.count);
            buckets <= self.most(side)
        });
        if !sane {
            let failed = vec![(runs.first().map_or(0, |run| run.first), PinError::Limit)];
            self.grants.push_back(Grant { who, runs, granted: Granted { keys: Keys::Uniform(0), failed } });
            return;
        }
        let claim = Claim { who, side, runs, missing: 0, queued: true, failed: Vec::new() };
        let id = self.claims.insert(claim) as u32;
        self.lines[side as usize].push_back(id);
        self.admit(side);
    }

    /// Whether a claim of this node would get its budget at once.
    pub fn has_room(&mut self, run: Run) -> bool {
        self.lines[Side::Local as usize].is_empty() && self.fits(Side::Local, &[run])
    }

    /// Whether the budget of that side is enough for these buckets.
    fn fits(&mut self, side: Side, runs: &[Run]) -> bool {
        let fresh = runs.iter().flat_map(|run| run.buckets());
        let fresh = fresh.filter(|bucket| match (self.table.get(*bucket), side) {
            (None, _) => true,
            (Some(entry), Side::Local) => entry.local == 0,
            (Some(entry), Side::Remote) => entry.remote == 0,
        });
        fresh.count() as u64 + *self.used(side) <= self.most(side)
    }

    /// Admits waiting claims in order, as far as the budget goes.
    fn admit(&mut self, side: Side) {
        while let Some(&id) = self.lines[side as usize].front() {
            let Some(claim) = self.claims.get_mut(id as usize) else { return };
            let runs = std::mem::take(&mut claim.runs);
            let fits = self.fits(side, &runs);
            let Some(claim) = self.claims.get_mut(id as usize) else { return };
            claim.runs = runs;
            if !fits {
                return;
            }
            self.lines[side as usize].pop_front();
            let Some(claim) = self.claims.get_mut(id as usize) else { return };
            claim.queued = false;
            let holders = match claim.who {
                Who::Peer { node, .. } => holder(node),
                _ => 0,
            };
            let runs = std::mem::take(&mut claim.runs);
            let mut missing = 0;
            for bucket in runs.iter().flat_map(|run| run.buckets()) {
                if !self.count(side, bucket, holders) {
                    missing += 1;
                    self.waiting.entry(bucket).or_default().push(id);
                }
            }
            let Some(claim) = self.claims.get_mut(id as usize) else { return };
            (claim.runs, claim.missing) = (runs, missing);
            if missing == 0 {
                self.grant_claim(id);
            }
        }
    }

    fn grant_claim(&mut self, id: u32) {
        let Some(claim) = self.claims.try_remove(id as usize) else { return };
        let count = claim.runs.iter().map(|run| run.count).sum();
        let mut keys = self.keys(count, claim.runs.iter().copied());
        if !claim.failed.is_empty() {
            // Another claim may have registered a failed bucket since; this claim has no reference to it.
            let failed = |bucket| claim.failed.iter().any(|(b, _)| *b == bucket);
            let buckets = claim.runs.iter().flat_map(|run| run.buckets());
            let each = buckets.enumerate().map(|(i, b)| if failed(b) { 0 } else { keys.of(i) });
            keys = Keys::Each(each.collect());
        }
        let granted = Granted { keys, failed: claim.failed };
        self.grants.push_back(Grant { who: claim.who, runs: claim.runs, granted });
    }

    /// The next claim that was granted.
    pub fn grant(&mut self) -> Option<Grant> {
        self.grants.pop_front()
    }

    /// Gives one reference back if the key is still the registration's. [`Buckets::settle`] must be called
    /// next.
    #[inline]
    pub fn release(&mut self, side: Side, bucket: u64, key: u64) {
        let Some(entry) = self.table.get_mut(bucket) else { return };
        if entry.state != BucketState::Ready || entry.key != key {
            return;
        }
        let count = entry.count(side);
        match *count {
            0 => return,
            // A claim that waits for other buckets has references to this one; it was not granted, so it
            // cannot give them back.
            1 if side == Side::Remote
                && !self.waiting.is_empty()
                && self.claims.iter().any(|(_, claim)| claim.counts_on(side, bucket)) =>
            {
                return;
            }
            1 => *count = 0,
            _ => {
                *count -= 1;
                return;
            }
        }
        if side == Side::Remote {
            entry.holders = 0;
        }
        let free = entry.free();
        *self.used(side) -= 1;
        if free {
            self.idle += 1;
            let table = &self.table;
            let live = |key, stamp| table.get(key).is_some_and(|entry| entry.is_victim(stamp));
            let stamp = self.victims.push(&mut self.pool, bucket, self.idle, live);
            if let Some(entry) = self.table.get_mut(bucket) {
                entry.stamp = stamp;
            }
        }
    }

    /// Gives back references to consecutive buckets.
    #[inline]
    pub fn release_run(&mut self, side: Side, run: Run, keys: &Keys) {
        for (i, bucket) in run.buckets().enumerate() {
            self.release(side, bucket, keys.get(i).unwrap_or(0));
        }
    }

    #[inline]
    fn too_many_idle(&self) -> bool {
        match self.limits.idle {
            Idle::WithLocal => self.idle > 0 && self.idle + self.local > self.limits.local,
            Idle::WhileRoom => false,
            Idle::Never => self.idle > 0,
        }
    }

    /// Admits waiting claims, unpins what exceeds the limits, pins what is wanted. To be called after every
    /// change.
    #[inline]
    pub fn settle(&mut self, out: &mut Vec<Action>) {
        if !self.lines[0].is_empty() || !self.lines[1].is_empty() {
            self.admit(Side::Local);
            self.admit(Side::Remote);
        }
        if !self.wanted.is_empty() || self.too_many_idle() {
            self.rearrange(out);
        }
    }

    #[cold]
    fn rearrange(&mut self, out: &mut Vec<Action>) {
        let total = self.limits.total.unwrap_or(u64::MAX);
        let mut runs = Vec::new();
        let wanted = self.wanted.len() as u64;
        while self.too_many_idle() || (self.idle > 0 && self.resident - self.unpinning + wanted > total) {
            let Some(victim) = self.evict() else { break };
            Run::append(&mut runs, victim);
        }
        out.extend(runs.drain(..).map(Action::Unpin));
        while self.resident < total {
            let Some(bucket) = self.wanted.pop_front() else { break };
            let Some(entry) = self.table.get_mut(bucket) else { continue };
            entry.state = BucketState::Pinning;
            entry.key = self.epoch;
            self.resident += 1;
            Run::append(&mut runs, bucket);
        }
        self.peak = self.peak.max(self.resident);
        out.extend(runs.into_iter().map(Action::Pin));
    }

    /// Gives up the oldest victim.
    fn evict(&mut self) -> Option<u64> {
        let table = &self.table;
        let live = |key, stamp| table.get(key).is_some_and(|entry| entry.is_victim(stamp));
        let victim = self.victims.pop(&mut self.pool, live);
        let Some(entry) = victim.and_then(|bucket| self.table.get_mut(bucket)) else {
            debug_assert!(self.idle == 0, "{} idle buckets, and none in the FIFO", self.idle);
            return None;
        };
        entry.state = BucketState::Unpinning;
        self.idle -= 1;
        self.unpinning += 1;
        victim
    }

    /// A pin ended.
    pub fn pinned(&mut self, run: Run, result: Result<(), PinError>, out: &mut Vec<Action>) {
        if result.is_err() && run.count > 1 {
            // Some of its buckets may be usable: try them one by one.
            out.extend(run.buckets().map(|bucket| Action::Pin(Run { first: bucket, count: 1 })));
            return;
        }
        let mut stale = Vec::new();
        for bucket in run.buckets() {
            let Some(entry) = self.table.get_mut(bucket) else { continue };
            match (entry.state, result) {
                (BucketState::Pinning, Ok(())) => {
                    entry.state = BucketState::Ready;
                    self.stats.pins += 1;
                    self.wake(bucket, None);
                }
                (BucketState::PinningStale, Ok(())) => {
                    entry.state = BucketState::Unpinning;
                    self.stats.pins += 1;
                    self.unpinning += 1;
                    Run::append(&mut stale, bucket);
                }
                (BucketState::PinningStale, Err(_)) => {
                    // The address may be another mapping by now: pin it again.
                    entry.state = BucketState::Wanted;
                    self.resident -= 1;
                    self.wanted.push_back(bucket);
                }
                (BucketState::Pinning, Err(PinError::Limit)) if self.idle + self.unpinning > 0 => {
                    // The system allows less than it promised: victims make room.
                    entry.state = BucketState::Wanted;
                    self.resident -= 1;
                    self.starved.push(bucket);
                    if let Some(victim) = self.evict() {
                        Run::append(&mut stale, victim);
                    }
                }
                (BucketState::Pinning, Err(error)) => {
                    // All its references belong to claims that wait.
                    let (local, remote) = (entry.local > 0, entry.remote > 0);
                    self.table.remove(bucket);
                    self.resident -= 1;
                    self.local -= u64::from(local);
                    self.attached -= u64::from(remote);
                    self.wake(bucket, Some(error));
                }
                _ => debug_assert!(false, "bucket {bucket:#x} was not being pinned"),
            }
        }
        out.extend(stale.into_iter().map(Action::Unpin));
        self.settle(out);
    }

    /// Tells claims that wait for a bucket.
    fn wake(&mut self, bucket: u64, error: Option<PinError>) {
        for id in self.waiting.remove(&bucket).unwrap_or_default() {
            let Some(claim) = self.claims.get_mut(id as usize) else { continue };
            claim.failed.extend(error.map(|error| (bucket, error)));
            claim.missing -= 1;
            if claim.missing == 0 {
                self.grant_claim(id);
            }
        }
    }

    /// An unpin ended.
    pub fn unpinned(&mut self, run: Run, out: &mut Vec<Action>) {
        for bucket in run.buckets() {
            let Some(entry) = self.table.get_mut(bucket) else { continue };
            if entry.state != BucketState::Unpinning {
                debug_assert!(false, "bucket {bucket:#x} was not being unpinned");
                continue;
            }
            self.resident -= 1;
            self.unpinning -= 1;
            self.wanted.extend(self.starved.drain(..));
            self.stats.unpins += 1;
            if entry.free() {
                self.table.remove(bucket);
            } else {
                entry.state = BucketState::Wanted;
                self.wanted.push_back(bucket);
            }
        }
        self.settle(out);
    }

    /// A mapping changed. Returns the registrations that peers may hold and must drop.
    pub fn changed(&mut self, change: Change, out: &mut Vec<Action>) -> Vec<Voided> {
        self.epoch += 1;
        let range = change.range().map(|(addr, len)| {
            let (first, last) = (addr >> self.shift, addr.saturating_add(len.max(1) - 1) >> self.shift);
            Run { first, count: last - first + 1 }
        });
        let hit: Vec<u64> = match range {
            Some(run) if run.count <= 2 * self.table.len() as u64 + 1 => {
                run.buckets().filter(|bucket| self.table.get(*bucket).is_some()).collect()
            }
            range => {
                let concerned = |bucket: &u64| range.is_none_or(|run| run.contains(*bucket));
                let mut hit: Vec<u64> = self.table.iter().map(TableSlot::id).filter(concerned).collect();
                hit.sort_unstable();
                hit
            }
        };
        let (mut voided, mut runs) = (Vec::new(), Vec::new());
        for bucket in hit {
            let Some(entry) = self.table.get_mut(bucket) else { continue };
            match entry.state {
                BucketState::Pinning => entry.state = BucketState::PinningStale,
                BucketState::Ready => {
                    Run::append(&mut runs, bucket);
                    self.void(bucket, &mut voided);
                }
                BucketState::Wanted | BucketState::PinningStale | BucketState::Unpinning => {}
            }
        }
        out.extend(runs.into_iter().map(Action::Unpin));
        self.settle(out);
        voided
    }

    /// Ends the registration of a ready bucket. The references of claims that still wait stay; all others are
    /// gone.
    fn void(&mut self, bucket: u64, voided: &mut Vec<Voided>) {
        let mut left = [0u32; 2];
        let mut holders = 0;
        for (id, claim) in &mut self.claims {
            let times = claim.times(bucket);
            if times == 0 {
                continue;
            }
            left[claim.side as usize] += times as u32;
            if let Who::Peer { node, .. } = claim.who {
                holders |= holder(node);
            }
            claim.missing += times as u64;
            self.waiting.entry(bucket).or_default().extend(std::iter::repeat_n(id as u32, times));
        }
        let Some(entry) = self.table.get_mut(bucket) else { return };
        // Without a bound, peers may have kept keys of buckets without references.
        if self.limits.total.is_none() || entry.remote > left[Side::Remote as usize] {
            let (key, holders) = (entry.key, entry.holders);
            match voided.last_mut() {
                Some(last)
                    if last.holders == holders
                        && last.held.key == key
                        && last.held.run.first + last.held.run.count == bucket =>
                {
                    last.held.run.count += 1;
                }
                _ => {
                    voided.push(Voided { held: Held { run: Run { first: bucket, count: 1 }, key }, holders })
                }
            }
        }
        self.idle -= u64::from(entry.free());
        self.local -= u64::from(entry.local > 0 && left[Side::Local as usize] == 0);
        self.attached -= u64::from(entry.remote > 0 && left[Side::Remote as usize] == 0);
        entry.local = left[Side::Local as usize];
        entry.remote = left[Side::Remote as usize];
        entry.holders = holders;
        entry.state = BucketState::Unpinning;
        self.unpinning += 1;
        self.stats.voided += 1;
    }

    /// Whether the keys name the present registrations of `len` bytes at `addr`.
    #[inline]
    pub fn check(
        &self,
        config: &Config,
        side: Side,
        addr: u64,
        len: u64,
        keys: &Keys,
    ) -> Result<(), Refusal> {
        let Some(run) = config.run(addr, len) else {
            return Err(Refusal { side, bucket: addr >> self.shift, key: 0 });
        };
        for (i, bucket) in run.buckets().enumerate() {
            let key = keys.get(i).unwrap_or(0);
            let entry = self.table.get(bucket);
            if !entry.is_some_and(|entry| entry.state == BucketState::Ready && entry.key == key) {
                return Err(Refusal { side, bucket, key });
            }
        }
        Ok(())
    }

    /// References of both sides on a bucket that is registered.
    pub fn counts(&self, bucket: u64) -> Option<(u32, u32)> {
        let entry = self.table.get(bucket).filter(|entry| entry.state == BucketState::Ready)?;
        Some((entry.local, entry.remote))
    }

    /// Adds what was counted here.
    pub fn with_stats(&self, others: Stats) -> Stats {
        let Stats { revived, pins, unpins, voided, .. } = self.stats;
        Stats { revived, pins, unpins, voided, ..others }
    }

    /// How much is pinned.
    pub fn usage(&self) -> Usage {
        let bytes = |buckets: u64| buckets << self.shift;
        Usage {
            pinned_bytes: bytes(self.resident),
            peak_bytes: bytes(self.peak),
            bound_bytes: self.limits.total.map(bytes),
            victim_bytes: bytes(self.idle),
        }
    }

    /// Panics if the counters are not what the table says. For tests.
    pub fn audit(&self) {
        let is = |state: BucketState| move |entry: &&Bucket| entry.state == state;
        let count = |f: &dyn Fn(&&Bucket) -> bool| self.table.iter().filter(|e| f(e)).count() as u64;
        assert_eq!(self.local, count(&|e| e.local > 0), "local");
        assert_eq!(self.attached, count(&|e| e.remote > 0), "attached");
        assert_eq!(self.idle, count(&|e| e.free() && e.state == BucketState::Ready), "idle");
        assert_eq!(self.unpinning, count(&is(BucketState::Unpinning)), "unpinning");
        let wanted = (self.wanted.len() + self.starved.len()) as u64;
        assert_eq!(wanted, count(&is(BucketState::Wanted)), "wanted");
        assert_eq!(self.resident, self.table.len() as u64 - wanted, "resident");
        assert!(self.starved.is_empty() || self.unpinning > 0, "starved for ever");
        assert!(self.limits.total.is_none_or(|total| self.resident <= total), "bound");
        assert!(self.local <= self.limits.local && self.attached <= self.limits.remote, "budgets");
        assert!(!self.too_many_idle(), "victims");
    }
}
