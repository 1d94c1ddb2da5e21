//! Operations that NICs carry out by themselves (`GASNET_COLL=nic`), with their event counts and triggered
//! commands ([`gasnet_wire::port`]). A host writes its bytes to the board, gives its NIC all commands of the
//! operation, including those that wait for other commands, and raises the first event. After that no host
//! gives a command or runs a handler until the last event of its own NIC has been raised.
//!
//! **Trees.** Broadcasts, reductions, and barriers of many members go up a binomial tree to a root and down
//! again, with bytes on the way up, on the way down, in both directions or in neither. An event count with
//! commands that wait for it is a semaphore with waiters. A node's *up* event counts its host and its
//! children, its *fold* event counts the children's blocks that were combined, and its *down* event counts
//! the word of its parent.
//!
//! ```text
//! up   = children + 1   -> fold each child's block into mine, raising my fold;   without blocks: as if fold were complete
//! fold = children       -> send my block to my parent, raising its up;           at the root: raise my down
//! down = 1              -> send the block to each child, raising its down;       my host goes on
//! ```
//!
//! **Segments.** A command moves at most a page. A block of several pages is sent in up to
//! [`MAX_SEGMENTS`](super::board::MAX_SEGMENTS) parts with events of their own, so that one part moves up
//! while others are folded or move down. Events count the pages of a part.
//!
//! **Direct blocks.** A block that another member gets unchanged goes from its owner's board to the other
//! board in one step. Scatter, gather and exchange (with blocks of one size or of different sizes) and
//! all-gather use such blocks. Only the two members of a block need its length: each member derives the
//! commands for its NIC from its own sizes, and the number of pieces that will arrive, which an event counts.
//! If no member knows all sizes, a block's [place](Places) depends only on its two members, and all places
//! have the same length. Empty blocks are not sent. But among up to [`MAX_MEMBERS_ALL_TO_ALL`] members every
//! member sends every other member at least a signal, so that no member ends before all have begun. With more
//! members, a tree without bytes runs in addition. A barrier is such an operation without blocks.
//!
//! **Identification.** Each block begins with a [word](Turn::word) that says to which operation it belongs,
//! and the kind and size of that operation. A signal is only such a word. Before an operation ends, hosts
//! compare the received words with their own, and [report](super::agree) a member that takes part in
//! something else. A word of an earlier operation, at a place where nothing has arrived, is ignored.
//!
//! **Two sets.** An operation uses the events and board places of its team and of one of two sets, in turn.
//! No member ends an operation before all have begun it, and a member that begins the next operation has read
//! the results of the last one. So data that arrives early for the next operation finds its own set unused,
//! and no data can arrive for the operation after that. Therefore direct blocks need no waiting: a member
//! that has not begun the operation has ended the one before the last. Counts are never reset; each rank
//! knows their future values.
//!
//! **Combining.** NICs know sums and similar functions of words ([`Reduction::known`]). No NIC can call a
//! function of the program. For such functions the operands go directly to the members that need the result,
//! and hosts combine them when the operation is over. Short operands of few members are treated in the same
//! way, because the turns of a tree take longer there; short broadcasts are direct as well.
//!
//! **The job's own barrier**, with or without a name, is a reduction of a team that exists for this purpose
//! only ([`JOB_BARRIER_TEAM`](super::board::JOB_BARRIER_TEAM)).
//!
//! **Operations by messages.** All operations of teams after the first [`MAX_TEAMS`](super::board::MAX_TEAMS)
//! use messages, as do blocks that do not fit ([`fits`](super::board::fits)). The limits for two, four and
//! eight members, each block with its word, are: 124, 84 and 60 KiB for a broadcast, or a combination by a
//! function that NICs know; 124, 60 and 28 KiB for a block of scatter and gather; 60, 28 and 12 KiB for a
//! block of exchange; 252 KiB for all members' blocks together in all-gather and scan. If blocks have
//! different sizes, the members cannot agree on a way, since no member knows all sizes. But the two members
//! of a block can, so only blocks that are longer than their place ([`Places::most`]) are sent by messages,
//! in addition to the others.

use super::Path;
use super::board::{
    Cut, EVENTS_PER_SET, EventCounts, Events, LEN_BITS, MAX_BYTES_ALL_TO_ALL, MAX_MEMBERS_ALL_TO_ALL,
    PAGE_BYTES, Places, SET_BYTES, SIGNALS_AT, WHAT_BITS, WORD_BYTES, place, stride, word, words,
};
use super::mail::{self, Op, Part, Ptr};
use super::record;
use super::reduction::Reduction;
use super::tree::binomial;
use crate::RankId;
use crate::atomics::Operation;
use core::future::poll_fn;
use core::task::Poll;
use gasnet_wire::port::{Command, CommandKind, Move, NicPort, Trigger};

/// The part of this rank in the tree of one operation.
struct Tree<'a> {
    op: &'a Op,
    port: &'a dyn NicPort,
    /// First event and first byte of the board of the set.
    event: u32,
    board: u32,
    /// The place of the rank's own block on the board, before the children's blocks, and the bytes from one
    /// to the next.
    own: u32,
    stride: u32,
    parent: Option<(RankId, u32)>,
    children: Vec<RankId>,
}

impl<'a> Tree<'a> {
    /// `beside`: it goes beside blocks, with signals only.
    fn new(op: &'a Op, port: &'a dyn NicPort, root: usize, beside: bool, set: u32) -> Tree<'a> {
        let (size, v) = (op.size(), (op.me() + op.size() - root) % op.size());
        let rank = |v: usize| op.team.ranks.of((v + root) % size);
        let (parent, children) = binomial(v, size);
        let parent = parent.map(|p| {
            let at = binomial(p, size).1.iter().position(|c| c.0 == v).unwrap_or(0);
            (rank(p), at as u32)
        });
        let index = place(op.team.id).expect("planned with a place") * 2 + set;
        Tree {
            op,
            port,
            event: port.events().start + EVENTS_PER_SET * index,
            board: SET_BYTES * index,
            own: SET_BYTES * index + if beside { SIGNALS_AT } else { 0 },
            stride: if beside { WORD_BYTES as u32 } else { stride(size) as u32 },
            parent,
            children: children.into_iter().map(|c| rank(c.0)).collect(),
        }
    }

    fn up(&self, s: usize) -> u32 {
        self.event + 3 * s as u32
    }
    fn fold(&self, s: usize) -> u32 {
        self.up(s) + 1
    }
    fn down(&self, s: usize) -> u32 {
        self.up(s) + 2
    }
    fn slot(&self, child: u32) -> u32 {
        self.own + self.stride * (child + 1)
    }
    /// The place of a member's signal on all boards, in operations where every member sends to every other.
    fn signal_of(&self, member: usize) -> u32 {
        self.board + SIGNALS_AT + (WORD_BYTES * member) as u32
    }

    async fn post(&self, when: Option<(u32, u32)>, what: CommandKind) {
        let when = when.map(|(event, count)| Trigger { event, count });
        let command = Command { when, what };
        poll_fn(|_| {
            if self.port.post(&command) {
                return Poll::Ready(());
            }
            self.op.rank().coll.mail.bump();
            Poll::Pending
        })
        .await;
    }

    /// The transfer of those bytes of a block, from `first` to `len`, that are on page `page`.
    fn page(
        &self,
        page: usize,
        (first, len): (usize, usize),
        from: u32,
        to: RankId,
        at: u32,
        raise: u32,
    ) -> Move {
        let start = first.max(page * PAGE_BYTES);
        let len = (len.min((page + 1) * PAGE_BYTES) - start) as u32;
        Move { from: from + start as u32, to, at: at + start as u32, len, raise }
    }

    /// A signal: a word without a block.
    fn signal(&self, from: u32, to: RankId, at: u32, raise: u32) -> CommandKind {
        CommandKind::Write(Move { from, to, at, len: WORD_BYTES as u32, raise })
    }

    /// A segment from the own block to another, or a signal.
    async fn send(
        &self,
        when: (u32, u32),
        (pages, len): (core::ops::Range<usize>, usize),
        to: RankId,
        at: u32,
        raise: u32,
    ) {
        if len == 0 {
            return self.post(Some(when), self.signal(self.own, to, at, raise)).await;
        }
        for page in pages {
            let part = self.page(page, (0, WORD_BYTES + len), self.own, to, at, raise);
            self.post(Some(when), CommandKind::Write(part)).await;
        }
    }

    /// Gives the NIC all that the operation takes. `up`: what is combined on the way up, and how many bytes;
    /// `down`: bytes on the way down. `counts`: what the set's events have counted so far.
    async fn start(&self, counts: Events, up: Option<(Operation, usize)>, down: usize) -> Events {
        let me = self.op.rank().id();
        let children = self.children.len() as u32;
        let brings = up.map_or(0, |u| u.1);
        let cut = Cut::new(brings.max(down));
        let mut after = counts;
        let more = |count: &mut u32, n: u32| *count = count.wrapping_add(n);
        // Commands of a segment with so many bytes: one for each of its pages, or a signal.
        let commands = |s: usize, len: usize| if len == 0 { 1 } else { cut.segment(s).len() as u32 };
        // Without bytes, one signal says that all members have arrived.
        let rising = if brings > 0 { cut.segments } else { 1 };
        for s in 0..cut.segments {
            let mut ready = (self.up(0), after.up[0]);
            if s < rising {
                more(&mut after.up[s], children * commands(s, brings) + 1);
                ready = (self.up(s), after.up[s]);
            }
            if let Some((how, len)) = up
                && children > 0
            {
                for (child, page) in (0..children).flat_map(|c| cut.segment(s).map(move |page| (c, page))) {
                    let part = self.page(
                        page,
                        (WORD_BYTES, WORD_BYTES + len),
                        self.slot(child),
                        me,
                        self.own,
                        self.fold(s),
                    );
                    self.post(Some(ready), CommandKind::Combine(part, how)).await;
                }
                more(&mut after.fold[s], children * commands(s, len));
                ready = (self.fold(s), after.fold[s]);
            }
            match self.parent {
                None => {
                    self.post(Some(ready), CommandKind::Raise(self.down(s))).await;
                    more(&mut after.down[s], 1);
                }
                Some((parent, child)) => {
                    if s < rising {
                        let part = (cut.segment(s), brings);
                        self.send(ready, part, parent, self.slot(child), self.up(s)).await;
                    }
                    more(&mut after.down[s], commands(s, down));
                }
            }
            let ready = (self.down(s), after.down[s]);
            for &child in &self.children {
                self.send(ready, (cut.segment(s), down), child, self.own, self.down(s)).await;
            }
        }
        for s in 0..rising {
            self.post(None, CommandKind::Raise(self.up(s))).await;
        }
        after
    }
}

/// An operation during its turn.
struct Turn<'a> {
    tree: Tree<'a>,
    /// Its number among the operations that the team's NICs carry out.
    operation: u32,
    set: usize,
    /// The counts of the set's events so far.
    counts: Events,
}

impl<'a> Turn<'a> {
    async fn begin(op: &'a Op, root: usize, beside: bool) -> Turn<'a> {
        debug_assert_eq!(op.path, Path::Nic);
        op.turn().await;
        let port = op.rank().wire.nic_port().expect("planned with a NIC");
        let EventCounts { operations, sets } = *op.team.nic.counts();
        let set = operations as usize & 1;
        let tree = Tree::new(op, port, root, beside, set as u32);
        Turn { tree, operation: operations, set, counts: sets[set] }
    }

    /// The word at the start of the block of `len` bytes that a member sends in this operation.
    fn word(&self, len: usize) -> u64 {
        word(self.tree.op.what.short(), self.operation, len)
    }

    /// Puts the word of blocks of `len` bytes on the board, and so many bytes after it.
    fn store(&self, at: u32, len: usize, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let mut block = vec![0u8; WORD_BYTES + bytes];
        block[..WORD_BYTES].copy_from_slice(&self.word(len).to_le_bytes());
        fill(&mut block[WORD_BYTES..]);
        self.tree.port.store(at, &block);
    }

    /// Compares the word that has arrived from a peer, before a block of `len` bytes.
    fn compare(&self, at: u32, peer: RankId, len: usize) {
        let mut came = [0; WORD_BYTES];
        self.tree.port.load(at, &mut came);
        let (came, mine) = (u64::from_le_bytes(came), self.word(len));
        if came != mine {
            self.differ(peer, came, mine);
        }
    }

    #[cold]
    fn differ(&self, peer: RankId, came: u64, mine: u64) -> ! {
        let op = self.tree.op;
        let (len, is_of) =
            (|word: u64| (word >> WHAT_BITS) as usize & ((1 << LEN_BITS) - 1), |word: u64| word as u32);
        if came >> (WHAT_BITS + LEN_BITS) != mine >> (WHAT_BITS + LEN_BITS) {
            // No word of this operation has arrived. The peer reports the reason.
            op.rank().part(&op.team, op.number, op.what, (peer, record::Signature::of_short(0)));
        }
        if is_of(came) != is_of(mine) {
            let theirs = record::Signature::of_short(is_of(came));
            op.team.record.differ(op.rank(), op.number, (op.rank().id(), op.what), (peer, theirs));
        }
        mail::lengths_differ(op.rank(), (peer, len(came)), (op.rank().id(), len(mine)))
    }

    /// Compares the words of parent and children in the tree, which has brought blocks of so many bytes up,
    /// down, or both.
    fn compare_tree(&self, len: usize) {
        let tree = &self.tree;
        if let Some((parent, _)) = tree.parent {
            self.compare(tree.own, parent, len);
        }
        for (&child, at) in tree.children.iter().zip(0..) {
            self.compare(tree.slot(at), child, len);
        }
    }

    /// From here on a sleeping wait is woken by the down events of so many segments.
    fn watch(&self, segments: usize) {
        (0..segments).for_each(|s| _ = self.tree.port.count(self.tree.down(s)));
    }

    /// Waits until these events have reached their counts.
    async fn wait(&self, segments: usize, after: &Events) {
        let Tree { op, port, .. } = self.tree;
        poll_fn(|_| {
            let missing = |s: usize| after.down[s].wrapping_sub(port.count(self.tree.down(s)));
            let most = (0..segments).map(missing).max().unwrap_or(0);
            if most == 0 {
                return Poll::Ready(());
            }
            if most > i32::MAX as u32 {
                op.rank().fatal(
                    "a collective operation: this rank receives more than it expects: the ranks of the team disagree about the operation or \
                     its size",
                );
            }
            op.rank().coll.mail.bump();
            Poll::Pending
        })
        .await;
    }

    /// Ends the turn, after the received data has been read.
    fn end(self, after: Events) {
        let mut counts = self.tree.op.team.nic.counts();
        counts.operations = counts.operations.wrapping_add(1);
        counts.sets[self.set] = after;
        drop(counts);
        self.tree.op.next_turn();
    }
}

/// Runs one operation by a tree: `fill` puts this rank's bytes on its block, `take` takes the result from
/// there.
async fn run(
    op: &Op,
    root: usize,
    up: Option<(Operation, usize)>,
    down: usize,
    fill: impl FnOnce(&mut [u8]),
    take: impl FnOnce(&[u8]),
) {
    let up = up.filter(|u| u.1 > 0);
    let turn = Turn::begin(op, root, false).await;
    let brings = up.map_or(0, |u| u.1);
    let len = brings.max(down);
    turn.store(turn.tree.own, len, if op.me() == root { len } else { brings }, fill);
    let segments = Cut::new(len).segments;
    turn.watch(segments);
    let after = turn.tree.start(turn.counts, up, down).await;
    turn.wait(segments, &after).await;
    turn.compare_tree(len);
    let brought = down.max(if op.me() == root { brings } else { 0 });
    if brought > 0 {
        let mut block = vec![0u8; brought];
        turn.tree.port.load(turn.tree.own + WORD_BYTES as u32, &mut block);
        take(&block);
    }
    turn.end(after);
}

/// The parts of a block between two places, none of which crosses a page: (offset in the block, bytes).
fn pieces(here: u32, there: u32, len: usize) -> impl Iterator<Item = (u32, u32)> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let room = |place: u32| PAGE_BYTES as u32 - (place + at) % PAGE_BYTES as u32;
        let piece = (at, room(here).min(room(there)).min(len as u32 - at));
        at += piece.1;
        (piece.1 > 0).then_some(piece)
    })
}

/// Runs one operation with direct blocks: `out` to other members, `back` from them, none of them empty.
/// `place` gives the place of the block from one member to another on the boards of both; blocks with the
/// same start are the same block. With `meet`, every member sends every other member at least a signal;
/// without it, the members wait for each other by a tree. The down event of segment 1 counts the pieces that
/// arrive; the tree uses segment 0 only.
async fn straight(
    op: &Op,
    place: impl Fn(usize, usize) -> (u32, u32),
    meet: bool,
    out: Vec<Part>,
    back: Vec<Part>,
) {
    /// Segment whose down event counts the pieces that arrive.
    const DATA_SEGMENT: usize = 1;
    let turn = Turn::begin(op, 0, true).await;
    let (tree, mut after) = (&turn.tree, turn.counts);
    let (port, me) = (tree.port, op.me());
    turn.watch(1 + DATA_SEGMENT);
    turn.store(if meet { tree.signal_of(me) } else { tree.own }, 0, 0, |_| ());
    let mut stored = None;
    for part in &out {
        let (here, there) = place(me, part.peer);
        if stored.replace(here) != Some(here) {
            let (at, len) = (tree.board + here, part.len);
            turn.store(at, len, len, |block| get(block, 0, part.at, len));
        }
        for (at, len) in pieces(here, there, WORD_BYTES + part.len) {
            let (from, at) = (tree.board + here + at, tree.board + there + at);
            let piece =
                Move { from, to: op.team.ranks.of(part.peer), at, len, raise: tree.down(DATA_SEGMENT) };
            tree.post(None, CommandKind::Write(piece)).await;
        }
    }
    let arrivals = |part: &Part| {
        let (here, there) = place(part.peer, me);
        pieces(here, there, WORD_BYTES + part.len).count()
    };
    let mut come = back.iter().map(arrivals).sum::<usize>();
    // Members without a block from or to this one.
    let without = |parts: &[Part]| {
        let mut without = vec![true; op.size()];
        without[me] = false;
        parts.iter().for_each(|part| without[part.peer] = false);
        (0..op.size()).filter(move |peer| without[*peer])
    };
    if meet {
        let at = tree.signal_of(me);
        for peer in without(&out) {
            tree.post(None, tree.signal(at, op.team.ranks.of(peer), at, tree.down(DATA_SEGMENT))).await;
        }
        come += op.size() - 1 - back.len();
    } else {
        after = tree.start(after, None, 0).await;
    }
    after.down[DATA_SEGMENT] = after.down[DATA_SEGMENT].wrapping_add(come as u32);
    turn.wait(1 + DATA_SEGMENT, &after).await;
    if meet {
        without(&back).for_each(|peer| turn.compare(tree.signal_of(peer), op.team.ranks.of(peer), 0));
    } else {
        turn.compare_tree(0);
    }
    for part in back {
        let at = tree.board + place(part.peer, me).1;
        turn.compare(at, op.team.ranks.of(part.peer), part.len);
        let mut block = vec![0u8; part.len];
        port.load(at + WORD_BYTES as u32, &mut block);
        put(&block, 0, part.at, part.len);
    }
    turn.end(after);
}

fn get(block: &mut [u8], at: usize, from: Ptr, n: usize) {
    #[expect(unsafe_code, reason = "copies from a buffer of the caller")]
    // SAFETY: the operation's caller vouches for its buffers.
    unsafe {
        from.copy_to(Ptr(block[at..at + n].as_mut_ptr()), n);
    }
}

fn put(block: &[u8], at: usize, to: Ptr, n: usize) {
    #[expect(unsafe_code, reason = "copies to a buffer of the caller")]
    // SAFETY: as in `get`.
    unsafe {
        Ptr::of(block[at..at + n].as_ptr()).copy_to(to, n);
    }
}

pub(super) async fn barrier(op: &Op) {
    straight(op, |_, _| (0, 0), op.size() <= MAX_MEMBERS_ALL_TO_ALL, Vec::new(), Vec::new()).await;
}

pub(super) async fn broadcast(op: &Op, root: usize, dst: Ptr, src: Ptr, n: usize) {
    let me = op.me();
    if is_short(n, op.size()) {
        let part = |peer, at| (n > 0).then_some(Part { peer, at, len: n });
        let (mut out, mut back) = (Vec::new(), Vec::new());
        if me == root {
            out.extend((0..op.size()).filter(|m| *m != me).filter_map(|m| part(m, src)));
        } else {
            back.extend(part(root, dst));
        }
        straight(op, |_, _| (0, 0), true, out, back).await;
        if me == root {
            #[expect(unsafe_code, reason = "copies between buffers of the caller")]
            // SAFETY: the operation's caller vouches for its buffers.
            unsafe {
                src.copy_to(dst, n);
            }
        }
        return;
    }
    let fill = |block: &mut [u8]| {
        if me == root {
            get(block, 0, src, n);
        }
    };
    run(op, root, None, n, fill, |block| put(block, 0, dst, n)).await;
}

/// Blocks at their [places](Places), none of them empty or longer than those.
pub(super) async fn by_places(op: &Op, places: Places, out: Vec<Part>, back: Vec<Part>) {
    let size = op.size();
    let meet =
        size <= if places == Places::Mutual { 2 * MAX_MEMBERS_ALL_TO_ALL } else { MAX_MEMBERS_ALL_TO_ALL };
    straight(op, |from, to| places.of(size, from, to), meet, out, back).await;
}

/// All members' blocks at every member: every member sends its block to all others. The blocks follow each
/// other on all boards.
pub(super) async fn gather_all_v(op: &Op, dst: Ptr, src: Ptr, blocks: &[(usize, usize)]) {
    let me = op.me();
    let mut end = 0;
    let place = |b: &(usize, usize)| {
        let start = end;
        end += WORD_BYTES + words(b.1);
        start as u32
    };
    let at: Vec<u32> = blocks.iter().map(place).collect();
    let others = || (1..op.size()).map(|i| (me + i) % op.size());
    let parts = |part: &dyn Fn(usize) -> Part| others().map(part).filter(|p| p.len > 0).collect();
    let out = parts(&|peer| Part { peer, at: src, len: blocks[me].1 });
    let back = parts(&|peer| Part { peer, at: dst.at(blocks[peer].0), len: blocks[peer].1 });
    straight(op, |from, _| (at[from], at[from]), op.size() <= 2 * MAX_MEMBERS_ALL_TO_ALL, out, back).await;
}

/// Whether sending blocks of `n` bytes from all to all is faster than a tree.
fn is_short(n: usize, size: usize) -> bool {
    size <= MAX_MEMBERS_ALL_TO_ALL && words(n) * size <= MAX_BYTES_ALL_TO_ALL
}

/// Whether NICs can combine blocks of `n` bytes by it, if they fit.
pub(crate) fn knows(how: &Reduction, n: usize) -> bool {
    known(how, n).is_some()
}

/// Whether they do among so many members: of short blocks it is faster to get all.
pub(super) fn combine(how: &Reduction, n: usize, size: usize) -> bool {
    knows(how, n) && !is_short(n, size)
}

/// The function, if NICs can combine blocks of `n` bytes by it.
fn known(how: &Reduction, n: usize) -> Option<Operation> {
    how.known.filter(|op| n.is_multiple_of(op.width()) && n > 0)
}

/// By a function that NICs know.
pub(super) async fn reduce(op: &Op, root: Option<usize>, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    let up = known(how, n).map(|function| (function, n));
    let down = if root.is_none() { n } else { 0 };
    let wanted = root.is_none_or(|r| r == op.me());
    let fill = |block: &mut [u8]| get(block, 0, src, n);
    run(op, root.unwrap_or(0), up, down, fill, |block| {
        if wanted {
            put(block, 0, dst, n);
        }
    })
    .await;
}
