//! Images: threads of a process that take part in collective operations individually.
//!
//! # Vocabulary
//! *Image*: a thread that has called `gasnet_coll_init` with an array of the numbers of images of all
//! processes. Images are numbered through the job, those of node 0 first. A team of processes has the images
//! of its *members*, numbered in the order of the team. *Layout*: the number of images of each member.
//! *Meeting*: an operation of a team in one process, while its images arrive. *Call*: the arguments of one
//! image.
//!
//! # How it goes
//! The core knows only processes. The images of a process meet, and the last to arrive starts the operation
//! of the process. When data may be read, the images' data is packed into one block. The result is
//! distributed to all images before the operation ends ([`Team`]'s methods that end in `around`). Each image
//! has an event of its own, which completes after that, so that waits, tests and lists of handles work as for
//! any operation. A team whose members have one image each has no meetings: its calls go straight to the
//! core.
//!
//! # Invariants
//! 1. All images start the operations of a team in the same order. So the n-th call of an image belongs to
//!    the n-th meeting, and an image that does something else there ends the job with a message.
//! 2. The operation of a process is started under the lock of the team's meetings. The n-th meeting is
//!    complete before the next one, so all processes start in the same order.
//! 3. An image's buffers are used from the last one's arrival until its event is done, by one thread at a
//!    time.
//! 4. The forms with lists of addresses differ from the others only in how an image passes its address. So
//!    images that use different forms can meet.

#![expect(unsafe_code, reason = "copies between the callers' buffers")]

use gasnet_sys::mutex::lock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use gasnet::barrier::{self, Consensus, Outcome};
use gasnet::coll::{Promise, Reduction, SyncMode};
use gasnet::{Event, Team};

use crate::fatal::die;
use crate::state::{ClientJob, PerWorld};

/// How many images the members of a team have.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The number of each member's first image; last, how many images there are.
    first: Vec<usize>,
    /// The member that this process is.
    me: usize,
}

impl Layout {
    /// The layout of a team whose members have `counts` images each; this process is member `me`.
    pub fn new(counts: impl IntoIterator<Item = usize>, me: usize) -> Layout {
        let mut first = vec![0];
        for count in counts {
            first.push(first[first.len() - 1] + count);
        }
        Layout { first, me }
    }

    fn members(&self) -> Range<usize> {
        0..self.first.len() - 1
    }

    /// The images of a member.
    fn of(&self, member: usize) -> Range<usize> {
        self.first[member]..self.first[member + 1]
    }

    /// The images of this process.
    pub fn mine(&self) -> Range<usize> {
        self.of(self.me)
    }

    /// How many images the team has.
    pub fn total(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// The member that has an image.
    fn member(&self, image: usize) -> usize {
        self.first.partition_point(|first| *first <= image) - 1
    }

    /// Whether all members have the same number of images.
    fn equal(&self) -> bool {
        self.members().all(|m| self.of(m).len() == self.mine().len())
    }
}

/// The collective operations over images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageOperation {
    /// One image's bytes go to all images.
    Broadcast,
    /// One image sends a block to each image.
    Scatter,
    /// Each image sends a block to one image.
    Gather,
    /// Each image sends its block to all images.
    GatherAll,
    /// Each image sends a block to each image.
    Exchange,
    /// The elements of all images are combined; one image gets the result.
    Reduce,
    /// The same; all images get the result.
    ReduceAll,
    /// Each image gets what the images up to it combine to.
    Scan,
    /// New teams are made of the team's images, by color and key.
    Split(u32, u32),
}

/// The parameters of an operation that must be equal on all images of a team.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation {
    /// The operation.
    pub what: ImageOperation,
    /// The image that has or gets all data, in operations that have one.
    pub root: usize,
    /// Bytes of a block, where all have the same.
    pub n: usize,
    /// Blocks have different sizes, so each image gives lists of blocks.
    pub differ: bool,
    /// With whom it synchronises when it begins and when it ends.
    pub mode: SyncMode,
}

/// The arguments of one image. Blocks are (offset, bytes).
#[derive(Debug, Clone)]
pub struct Call {
    /// Where its results go.
    pub dst: *mut u8,
    /// The blocks there, if blocks differ.
    pub dst_blocks: Vec<(usize, usize)>,
    /// Where its data is.
    pub src: *const u8,
    /// The blocks there, if blocks differ.
    pub src_blocks: Vec<(usize, usize)>,
    /// Bytes of its own block.
    pub n: usize,
}

// SAFETY: addresses of a caller, who lets the runtime use them until its event is done; one thread at a time
// does.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

/// A meeting that images are missing from.
struct Meeting {
    operation: Operation,
    /// The image that came first; messages name it.
    image: usize,
    calls: Vec<Option<Call>>,
    missing: usize,
    promises: Vec<Promise>,
    split: Arc<Mutex<Option<Split>>>,
}

/// The result of a split for an image: its new team, and the images of that team.
type Split = (Team, Arc<Images>);

#[derive(Default)]
struct Meetings {
    /// How many calls each image has made.
    calls: Vec<u64>,
    /// Meetings that images are missing from, by number.
    open: BTreeMap<u64, Meeting>,
}

/// The barrier of a team's images.
#[derive(Default)]
struct Barrier {
    /// How many phases each image has entered, and how many it has left.
    entered: Vec<u64>,
    left: Vec<u64>,
    /// How many images have entered the current phase, and the name they agree on.
    count: usize,
    said: Option<Consensus>,
    /// How many phases the process has entered and left, and the result of the last one.
    begun: u64,
    over: u64,
    result: Option<Consensus>,
}

/// The images of a team in this process.
pub struct Images {
    /// How many images each member has.
    pub layout: Layout,
    meetings: Mutex<Meetings>,
    barrier: Mutex<Barrier>,
}

/// Memory for the packed blocks of all images of a process, aligned for any type.
struct Packed(Vec<u128>);

impl Packed {
    fn new(bytes: usize) -> Packed {
        Packed(vec![0; bytes.div_ceil(16).max(1)])
    }
    fn at(&mut self, offset: usize) -> BlockPtr {
        BlockPtr(self.0.as_mut_ptr().cast::<u8>().wrapping_add(offset))
    }
}

/// An address in such memory, which its owner keeps until the operation is over.
#[derive(Clone, Copy)]
struct BlockPtr(*mut u8);

// SAFETY: an address; one thread at a time follows it.
unsafe impl Send for BlockPtr {}

impl BlockPtr {
    fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// Copies bytes; the ranges may overlap.
///
/// # Safety
/// Both are valid for `n` bytes.
unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    if n > 0 && !std::ptr::eq(from, to) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(from, to, n) }
    }
}

/// Offsets and lengths of `count` blocks of `n` bytes, one after the other.
fn blocks_of(n: usize, count: usize) -> Vec<(usize, usize)> {
    (0..count).map(|i| (i * n, n)).collect()
}

/// Offsets and bytes of blocks of these sizes, one after the other.
fn in_turn(sizes: impl IntoIterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut at = 0;
    let place = |n| {
        at += n;
        (at - n, n)
    };
    sizes.into_iter().map(place).collect()
}

fn sum(blocks: &[(usize, usize)]) -> usize {
    blocks.iter().map(|b| b.1).sum()
}

impl Images {
    /// The images of a team of this layout.
    pub fn new(layout: Layout) -> Images {
        let k = layout.mine().len();
        let zeros = || vec![0; k];
        let meetings = Meetings { calls: zeros(), open: BTreeMap::new() };
        let barrier = Barrier { entered: zeros(), left: zeros(), ..Barrier::default() };
        Images { layout, meetings: Mutex::new(meetings), barrier: Mutex::new(barrier) }
    }

    /// Enters an image of this process into an operation, and returns its event. `how`: the way a reduction
    /// combines elements.
    ///
    /// # Safety
    /// The call's buffers have what the operation needs until the event is done.
    pub unsafe fn call(
        &self,
        team: &Team,
        local: usize,
        operation: Operation,
        call: Call,
        how: Option<&Reduction>,
    ) -> Event {
        self.meet(team, local, operation, call, how).0
    }

    /// Enters an image into the making of teams, and returns the team that the image is in.
    pub fn split(&self, team: &Team, local: usize, color: u32, key: u32) -> Option<Split> {
        let what = ImageOperation::Split(color, key);
        let operation = Operation { what, root: 0, n: 0, differ: false, mode: SyncMode::MY };
        let call = Call {
            dst: std::ptr::null_mut(),
            dst_blocks: Vec::new(),
            src: std::ptr::null(),
            src_blocks: Vec::new(),
            n: 0,
        };
        let (event, split) = self.meet(team, local, operation, call, None);
        team.rank().wait(event);
        lock(&split).clone()
    }

    fn meet(
        &self,
        team: &Team,
        local: usize,
        operation: Operation,
        call: Call,
        how: Option<&Reduction>,
    ) -> (Event, Arc<Mutex<Option<Split>>>) {
        let k = self.layout.mine().len();
        let mut meetings = lock(&self.meetings);
        let number = meetings.calls[local];
        meetings.calls[local] += 1;
        let meeting = meetings.open.entry(number).or_insert_with(|| Meeting {
            operation,
            image: local,
            calls: vec![None; k],
            missing: k,
            promises: Vec::new(),
            split: Arc::default(),
        });
        if meeting.operation != operation {
            let first = self.layout.mine().start;
            die(&format!(
                "collective operations do not match: in call {} of a team, image {} does {:?}, and image {} does {operation:?}: all images must \
                 call the same operations in the same order",
                number + 1,
                first + meeting.image,
                meeting.operation,
                first + local,
            ));
        }
        meeting.calls[local] = Some(call);
        meeting.missing -= 1;
        let split = meeting.split.clone();
        if meeting.missing > 0 {
            let promise = team.rank().events().promise();
            let event = promise.event();
            meeting.promises.push(promise);
            return (event, split);
        }
        let meeting = meetings.open.remove(&number).expect("it was just there");
        let calls: Vec<Call> = meeting.calls.into_iter().flatten().collect();
        if let ImageOperation::Split(color, key) = operation.what {
            *lock(&split) = self.split_team(team, color, key);
            meeting.promises.into_iter().for_each(Promise::keep);
            return (Event::DONE, split);
        }
        // SAFETY: all images have promised.
        let event = unsafe { self.start(team, &operation, calls, how) };
        if meeting.promises.is_empty() {
            return (event, split);
        }
        let promise = team.rank().events().promise();
        let mine = promise.event();
        let promises = meeting.promises;
        team.rank()
            .events()
            .after(event, move || promises.into_iter().chain([promise]).for_each(Promise::keep));
        (mine, split)
    }

    fn split_team(&self, team: &Team, color: u32, key: u32) -> Option<Split> {
        let new = team.split(Some(color), key)?;
        let ranks = (0..new.size()).filter_map(|member| new.rank_of(member));
        let counts = ranks.map(|rank| team.member(rank).map_or(0, |member| self.layout.of(member).len()));
        let layout = Layout::new(counts, new.me());
        Some((new, Arc::new(Images::new(layout))))
    }

    /// Starts the operation of the process for all its images.
    ///
    /// # Safety
    /// The calls' buffers have what the operation needs until the event is done.
    unsafe fn start(
        &self,
        team: &Team,
        operation: &Operation,
        calls: Vec<Call>,
        how: Option<&Reduction>,
    ) -> Event {
        let &Operation { what, root, n, mode, .. } = operation;
        let layout = &self.layout;
        let home = layout.member(root);
        let rooted = (home == layout.me).then(|| root - layout.mine().start);
        let (here, calls) = (calls[0].dst, Arc::new(calls));
        // SAFETY: the caller's promise.
        unsafe {
            match what {
                ImageOperation::Broadcast => {
                    let src = rooted.map_or(std::ptr::null(), |i| calls[i].src);
                    team.broadcast_raw_around(home, here, src, n, mode, || (), move || give(&calls, n))
                }
                ImageOperation::Scatter => self.scatter(team, operation, &calls, home, rooted),
                ImageOperation::Gather => self.gather(team, operation, &calls, home, rooted),
                ImageOperation::GatherAll => self.gather_all(team, operation, calls),
                ImageOperation::Exchange => self.exchange(team, operation, calls),
                ImageOperation::Reduce | ImageOperation::ReduceAll => {
                    let how = how.cloned().expect("reductions have a function");
                    let mut folded = Packed::new(n);
                    let from = folded.at(0);
                    let first = fold(from, &calls, n, &how);
                    if what == ImageOperation::Reduce {
                        let dst = rooted.map_or(std::ptr::null_mut(), |i| calls[i].dst);
                        let then = move || drop(folded);
                        return team.reduce_raw_around(home, dst, from.0, n, how, mode, first, then);
                    }
                    let then = move || {
                        give(&calls, n);
                        drop(folded);
                    };
                    team.reduce_all_raw_around(here, from.0, n, how, mode, first, then)
                }
                ImageOperation::Scan => {
                    let how = how.cloned().expect("reductions have a function");
                    let (mut folded, mut before) = (Packed::new(n), Packed::new(n));
                    let (from, to) = (folded.at(0), before.at(0));
                    let first = fold(from, &calls, n, &how);
                    let (leads, by) = (layout.me == 0, how.clone());
                    let then = move || {
                        for (i, call) in calls.iter().enumerate() {
                            if leads && i == 0 {
                                copy(call.src, to.at(0), n);
                            } else {
                                by.apply(to.at(0), call.src, n);
                            }
                            copy(to.at(0), call.dst, n);
                        }
                        drop((folded, before));
                    };
                    team.scan_raw_around(to.0, from.0, n, false, how, mode, first, then)
                }
                ImageOperation::Split(..) => Event::DONE,
            }
        }
    }

    /// Bytes of each member's images together.
    fn by_member(&self, bytes: impl Fn(usize) -> usize) -> Vec<(usize, usize)> {
        in_turn(self.layout.members().map(|m| self.layout.of(m).map(&bytes).sum()))
    }

    unsafe fn scatter(
        &self,
        team: &Team,
        operation: &Operation,
        calls: &Arc<Vec<Call>>,
        home: usize,
        rooted: Option<usize>,
    ) -> Event {
        let &Operation { n, differ, mode, .. } = operation;
        let blocks = match rooted {
            Some(i) if differ => calls[i].src_blocks.clone(),
            _ => blocks_of(n, self.layout.total()),
        };
        let mine: usize = calls.iter().map(|call| call.n).sum();
        let members = self.by_member(|image| blocks[image].1);
        let mut come = Packed::new(mine);
        let mut out = Packed::new(if rooted.is_some() { sum(&blocks) } else { 0 });
        let (from, to) = (out.at(0), come.at(0));
        let (givers, takers) = (calls.clone(), calls.clone());
        let first = move || {
            if let Some(i) = rooted {
                // SAFETY: the root's source has its blocks, and `out` has room for them.
                unsafe { gather_up(givers[i].src, &blocks, from) }
            }
        };
        let then = move || {
            let places = in_turn(takers.iter().map(|call| call.n));
            // SAFETY: destinations have room for their blocks.
            takers.iter().zip(places).for_each(|(call, p)| unsafe { copy(to.at(p.0), call.dst, p.1) });
            drop((come, out));
        };
        // SAFETY: both have room, and stay until the operation is over.
        unsafe {
            if !differ && self.layout.equal() {
                return team.scatter_raw_around(home, to.0, from.0, mine, mode, first, then);
            }
            team.scatter_v_raw_around(home, to.0, mine, from.0, &members, mode, first, then)
        }
    }

    unsafe fn gather(
        &self,
        team: &Team,
        operation: &Operation,
        calls: &Arc<Vec<Call>>,
        home: usize,
        rooted: Option<usize>,
    ) -> Event {
        let &Operation { n, differ, mode, .. } = operation;
        let blocks = match rooted {
            Some(i) if differ => calls[i].dst_blocks.clone(),
            _ => blocks_of(n, self.layout.total()),
        };
        let members = self.by_member(|image| blocks[image].1);
        let mut come = Packed::new(if rooted.is_some() { sum(&blocks) } else { 0 });
        let mine = calls.iter().map(|call| call.n).sum();
        let mut out = Packed::new(mine);
        let (from, to) = (out.at(0), come.at(0));
        let takers = calls.clone();
        // SAFETY: sources have their blocks; the root has room for all.
        unsafe {
            let first = pack(from, calls);
            let then = move || {
                if let Some(i) = rooted {
                    deal_out(to, &blocks, takers[i].dst);
                }
                drop((come, out));
            };
            if !differ && self.layout.equal() {
                return team.gather_raw_around(home, to.0, from.0, mine, mode, first, then);
            }
            team.gather_v_raw_around(home, to.0, from.0, mine, &members, mode, first, then)
        }
    }

    unsafe fn gather_all(&self, team: &Team, operation: &Operation, calls: Arc<Vec<Call>>) -> Event {
        let &Operation { n, differ, mode, .. } = operation;
        let mut calls = Arc::unwrap_or_clone(calls);
        if differ {
            let mine = self.layout.mine();
            calls.iter_mut().zip(mine).for_each(|(call, image)| call.n = call.dst_blocks[image].1);
        } else {
            calls.iter_mut().for_each(|call| call.dst_blocks = blocks_of(n, self.layout.total()));
        }
        let members = self.by_member(|image| calls[0].dst_blocks[image].1);
        let mine = calls.iter().map(|call| call.n).sum();
        let (mut come, mut out) = (Packed::new(sum(&members)), Packed::new(mine));
        let (from, to, calls) = (out.at(0), come.at(0), Arc::new(calls));
        // SAFETY: sources have their blocks, destinations have room for all.
        unsafe {
            let first = pack(from, &calls);
            let then = move || {
                calls.iter().for_each(|call| deal_out(to, &call.dst_blocks, call.dst));
                drop((come, out));
            };
            if !differ && self.layout.equal() {
                return team.gather_all_raw_around(to.0, from.0, mine, mode, first, then);
            }
            team.gather_all_v_raw_around(to.0, from.0, &members, mode, first, then)
        }
    }

    /// The blocks for a member are packed by their sending image, then by their receiving one. They arrive in
    /// that order.
    unsafe fn exchange(&self, team: &Team, operation: &Operation, calls: Arc<Vec<Call>>) -> Event {
        let &Operation { n, differ, mode, .. } = operation;
        let mut calls = Arc::unwrap_or_clone(calls);
        if !differ {
            let all = blocks_of(n, self.layout.total());
            calls.iter_mut().for_each(|call| (call.src_blocks, call.dst_blocks) = (all.clone(), all.clone()));
        }
        let layout = self.layout.clone();
        let to_member =
            |m: usize| calls.iter().map(|call| sum(&call.src_blocks[layout.of(m)])).sum::<usize>();
        let from_member =
            |m: usize| calls.iter().map(|call| sum(&call.dst_blocks[layout.of(m)])).sum::<usize>();
        let (go, come) =
            (in_turn(layout.members().map(to_member)), in_turn(layout.members().map(from_member)));
        let (mut out, mut back) = (Packed::new(sum(&go)), Packed::new(sum(&come)));
        let (from, to, calls) = (out.at(0), back.at(0), Arc::new(calls));
        let (equal, each) = (!differ && layout.equal(), go[0].1);
        let (givers, members) = (calls.clone(), layout.clone());
        let first = move || {
            let mut at = 0;
            for m in members.members() {
                for call in givers.iter() {
                    for &(offset, len) in &call.src_blocks[members.of(m)] {
                        // SAFETY: sources have their blocks, and `out` has room for all.
                        unsafe { copy(call.src.wrapping_add(offset), from.at(at), len) };
                        at += len;
                    }
                }
            }
        };
        let then = move || {
            let mut at = 0;
            for image in 0..layout.total() {
                for call in calls.iter() {
                    let (offset, len) = call.dst_blocks[image];
                    // SAFETY: destinations have room for their blocks.
                    unsafe { copy(to.at(at), call.dst.wrapping_add(offset), len) };
                    at += len;
                }
            }
            drop((back, out));
        };
        // SAFETY: both have room, and stay until the operation is over.
        unsafe {
            if equal {
                return team.exchange_raw_around(to.0, from.0, each, mode, first, then);
            }
            team.exchange_v_raw_around(to.0, from.0, &come, &go, mode, first, then)
        }
    }

    /// An image enters the barrier.
    pub fn barrier_notify(&self, team: &Team, local: usize, id: i32, flags: u32) {
        let mut barrier = lock(&self.barrier);
        if barrier.entered[local] != barrier.left[local] {
            die("gasnet_coll_barrier_notify was called twice by an image: wait for the barrier first");
        }
        barrier.entered[local] += 1;
        let said = Consensus::of(id, flags);
        barrier.said = Some(barrier.said.map_or(said, |before| before.merge(said)));
        barrier.count += 1;
        if barrier.count == self.layout.mine().len() {
            barrier.count = 0;
            barrier.begun += 1;
            match barrier.said.take() {
                Some(Consensus::Named(name)) => team.split_barrier().notify(name, 0),
                Some(Consensus::Mismatch) => team.split_barrier().notify(0, barrier::MISMATCH),
                _ => team.split_barrier().notify(0, barrier::ANONYMOUS),
            }
        }
    }

    /// Whether the phase that the image has entered is over, and how; does not poll.
    pub fn barrier_test(&self, team: &Team, local: usize, id: i32, flags: u32) -> Option<Outcome> {
        let mut barrier = lock(&self.barrier);
        if barrier.entered[local] == barrier.left[local] {
            die("a wait for the barrier of a team without a notify");
        }
        if barrier.over < barrier.entered[local] {
            if barrier.begun == barrier.over {
                return None;
            }
            team.split_barrier().test(0, barrier::ANONYMOUS)?;
            barrier.over += 1;
            barrier.result = team.split_barrier().result();
        }
        barrier.left[local] += 1;
        let result = barrier.result.unwrap_or(Consensus::Mismatch);
        Some(if result.admits(id, flags) { Outcome::Agreed } else { Outcome::Mismatched })
    }

    /// Waits for it.
    pub fn barrier_wait(&self, team: &Team, local: usize, id: i32, flags: u32) -> Outcome {
        let mut outcome = None;
        team.rank().waits().poll_until("the barrier of a team", || {
            outcome = self.barrier_test(team, local, id, flags);
            outcome.is_some()
        });
        outcome.unwrap_or(Outcome::Mismatched)
    }
}

/// Copies the first image's result to the others.
///
/// # Safety
/// All have `n` bytes.
unsafe fn give(calls: &[Call], n: usize) {
    // SAFETY: the caller's promise.
    calls[1..].iter().for_each(|call| unsafe { copy(calls[0].dst, call.dst, n) });
}

/// Copies blocks to a place, one after the other.
///
/// # Safety
/// The source has them, and the place has room.
unsafe fn gather_up(src: *const u8, blocks: &[(usize, usize)], to: BlockPtr) {
    let places = in_turn(blocks.iter().map(|b| b.1));
    // SAFETY: the caller's promise.
    blocks.iter().zip(places).for_each(|(b, p)| unsafe { copy(src.wrapping_add(b.0), to.at(p.0), b.1) });
}

/// The other way around.
///
/// # Safety
/// The destination has room.
unsafe fn deal_out(from: BlockPtr, blocks: &[(usize, usize)], dst: *mut u8) {
    let places = in_turn(blocks.iter().map(|b| b.1));
    // SAFETY: the caller's promise.
    blocks.iter().zip(places).for_each(|(b, p)| unsafe { copy(from.at(p.0), dst.wrapping_add(b.0), b.1) });
}

/// Copies the images' own blocks to a place, one after the other.
///
/// # Safety
/// Sources have them, and the place has room, when it is called.
unsafe fn pack(to: BlockPtr, calls: &Arc<Vec<Call>>) -> impl FnOnce() + Send + 'static {
    let calls = calls.clone();
    move || {
        let places = in_turn(calls.iter().map(|call| call.n));
        // SAFETY: the caller's promise.
        calls.iter().zip(places).for_each(|(call, p)| unsafe { copy(call.src, to.at(p.0), p.1) });
    }
}

/// Combines the images' vectors of `n` bytes at a place.
///
/// # Safety
/// As [`pack`].
unsafe fn fold(
    to: BlockPtr,
    calls: &Arc<Vec<Call>>,
    n: usize,
    how: &Reduction,
) -> impl FnOnce() + Send + 'static {
    let (calls, how) = (calls.clone(), how.clone());
    // SAFETY: the caller's promise; the place is no part of the sources.
    move || unsafe {
        copy(calls[0].src, to.at(0), n);
        calls[1..].iter().for_each(|call| how.apply(to.at(0), call.src, n));
    }
}

/// The threads of a process that are to be images, as they come to `gasnet_coll_init`.
#[derive(Default)]
struct Beginning {
    here: Vec<bool>,
    count: usize,
    /// Times that all have come.
    rounds: u64,
}

static BEGINNING: PerWorld<Mutex<Beginning>> = PerWorld::empty();

/// Waits until all images of the job have begun. `counts`: how many each node has; `begin` is run by the last
/// one of each process, and makes its images known.
pub fn begin(state: &'static ClientJob, counts: &[usize], local: usize, begin: impl FnOnce(Images)) {
    let rank = state.rank.now();
    let all_here = BEGINNING.of(state, Mutex::default);
    let layout = Layout::new(counts.iter().copied(), rank.id().0 as usize);
    let k = layout.mine().len();
    let (last, round) = {
        let mut beginning = lock(all_here);
        beginning.here.resize(k, false);
        if std::mem::replace(&mut beginning.here[local], true) {
            die(&format!(
                "gasnet_coll_init: two threads say that they are image {}",
                layout.mine().start + local
            ));
        }
        beginning.count += 1;
        (beginning.count == k, beginning.rounds)
    };
    if !last {
        return rank.wait_until("all images of this process", || lock(all_here).rounds != round);
    }
    let all = rank.team_all().gather_all(&[k as u64]);
    if let Some(node) = (0..counts.len()).find(|node| all[*node] != counts[*node] as u64) {
        die(&format!(
            "gasnet_coll_init: node {node} has {} images by its own array, and {} by that of node {}",
            all[node],
            counts[node],
            rank.id()
        ));
    }
    begin(Images::new(layout));
    let mut beginning = lock(all_here);
    *beginning = Beginning { rounds: beginning.rounds + 1, ..Beginning::default() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_number_images_by_member() {
        let layout = Layout::new([2, 1, 3], 2);
        assert_eq!((layout.total(), layout.mine(), layout.equal()), (6, 3..6, false));
        let members: Vec<usize> = (0..6).map(|image| layout.member(image)).collect();
        assert_eq!(members, [0, 0, 1, 2, 2, 2]);
        assert!(Layout::new([2, 2], 0).equal());
    }
}
