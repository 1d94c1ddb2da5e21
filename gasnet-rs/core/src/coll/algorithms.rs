//! The operations.
//!
//! The choice of an algorithm depends only on facts that all members know: the number of members, the size of
//! a block, and which members share a host. Steps of one operation are numbered so that no two messages
//! between the same members have the same number: the upper bits name the part of the operation, the lower
//! ones a round or a segment.
#![expect(unsafe_code, reason = "works on buffers of callers")]

use super::board::Places;
use super::mail::{Flying, MAX_EAGER_BYTES, Op, Part, Ptr, Way};
use super::reduction::Reduction;
use super::tree::{below, binomial};
use super::{Path, SyncMode, When, flat, nic};
use core::future::Future;
use std::sync::Arc;

const ENTER: u32 = 1 << 27;
const BODY: u32 = 2 << 27;
const BACK: u32 = 3 << 27;
const LEAVE: u32 = 4 << 27;

/// Size of the segments of a broadcast between hosts. Segments let all levels of the tree work at once.
const BROADCAST_SEGMENT_BYTES: usize = 128 << 10;
/// Largest block that is sent in bundles, in a logarithmic number of messages.
const MAX_BUNDLED_BLOCK_BYTES: usize = 1024;
/// Largest vector that is reduced whole. Larger ones are reduced in slices, each by one member.
const MAX_UNSLICED_VECTOR_BYTES: usize = 32 << 10;
/// Smallest number of members with which bundles are faster.
const MIN_MEMBERS_FOR_BUNDLES: usize = 5;

/// Wraps an operation in the barriers its mode asks for.
pub(crate) async fn synchronised<T>(op: &Op, mode: SyncMode, body: impl Future<Output = T>) -> T {
    if mode.enter == When::All {
        barrier(op, ENTER).await;
    }
    let result = body.await;
    if mode.leave == When::All {
        barrier(op, LEAVE).await;
    }
    result
}

/// No member returns before all have called: members tell their leader, leaders exchange rounds, and tell
/// their members.
pub(crate) async fn barrier(op: &Op, step: u32) {
    match op.path {
        Path::Flat => return flat::barrier(op).await,
        Path::Nic => return nic::barrier(op).await,
        Path::Mail => {}
    }
    let hosts = &op.team.hosts;
    let at = hosts.of(op.me());
    let leader = hosts.member(at, 0);
    let others = || (1..hosts.size(at)).map(|i| hosts.member(at, i));
    let none = Ptr(core::ptr::null_mut());
    // SAFETY: messages without bytes.
    unsafe {
        if leader != op.me() {
            op.send(leader, step, none, 0, Way::Push).await;
            return op.receive(leader, step + 1, none, 0, Way::Push).await;
        }
        for m in others() {
            op.receive(m, step, none, 0, Way::Push).await;
        }
        let count = hosts.count();
        let (mut distance, mut round) = (1, 2);
        while distance < count {
            let (to, from) = ((at + distance) % count, (at + count - distance) % count);
            op.send(hosts.member(to, 0), step + round, none, 0, Way::Push).await;
            op.receive(hosts.member(from, 0), step + round, none, 0, Way::Push).await;
            distance *= 2;
            round += 1;
        }
        for m in others() {
            op.send(m, step + 1, none, 0, Way::Push).await;
        }
    }
}

/// Copies the root's `n` bytes at `src` to every member's `dst`.
///
/// # Safety
/// 1. `dst` is valid for `n` bytes, on the root `src` too, until the future is over (owed by the caller, also
///    of all below).
pub(crate) async unsafe fn broadcast(op: &Op, root: usize, dst: Ptr, src: Ptr, n: usize) {
    if op.path == Path::Nic {
        return nic::broadcast(op, root, dst, src, n).await;
    }
    // SAFETY: (1).
    unsafe {
        if root == op.me() {
            src.copy_to(dst, n);
        }
        spread(op, root, if root == op.me() { src } else { dst }, n, BODY).await;
    }
}

/// Sends what the root has in `data` down the tree.
async unsafe fn spread(op: &Op, root: usize, data: Ptr, n: usize, step: u32) {
    let place = op.team.hosts.place(root, op.me());
    // On one host each member copies once; segments would only add messages.
    let segment = if op.team.hosts.one() { n.max(1) } else { BROADCAST_SEGMENT_BYTES };
    let count = n.div_ceil(segment).max(1);
    let part = |i: usize| (data.at(i * segment), segment.min(n - (i * segment).min(n)));
    let mut flying = Flying::default();
    // SAFETY: parts of the buffer that `broadcast` and its like were promised.
    unsafe {
        let posted: Vec<_> = place
            .parent
            .map(|p| {
                (0..count).map(|i| op.receive(p, step + i as u32, part(i).0, part(i).1, Way::Pull)).collect()
            })
            .unwrap_or_default();
        let mut posted = posted.into_iter();
        for i in 0..count {
            if let Some(receive) = posted.next() {
                flying.during(receive).await;
            }
            for &c in &place.children {
                flying.push(op.send(c, step + i as u32, part(i).0, part(i).1, Way::Pull));
            }
        }
    }
    flying.land().await;
}

/// Gives member i the i-th block of `n` bytes of the root's `src`.
///
/// # Safety
/// As [`broadcast`]; `src` has a block for every member.
pub(crate) async unsafe fn scatter(op: &Op, root: usize, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: blocks of the buffers; owned buffers outlive the sends from them.
    unsafe {
        if op.path == Path::Nic {
            return scatter_v(op, root, dst, n, src, &equal(op, n)).await;
        }
        if n <= MAX_BUNDLED_BLOCK_BYTES && size >= MIN_MEMBERS_FOR_BUNDLES && !op.team.hosts.one() {
            let v = (me + size - root) % size;
            let (parent, children) = binomial(v, size);
            let mut mine = vec![0u8; below(v, size) * n];
            let at = Ptr(mine.as_mut_ptr());
            match parent {
                None => (0..size).for_each(|i| src.at((i + root) % size * n).copy_to(at.at(i * n), n)),
                Some(p) => op.receive((p + root) % size, BODY, at, mine.len(), Way::Push).await,
            }
            let mut flying = Flying::default();
            for (c, b) in children {
                flying.push(op.send((c + root) % size, BODY, at.at((c - v) * n), b * n, Way::Push));
            }
            at.copy_to(dst, n);
            return flying.land().await;
        }
        if root != me {
            return op.receive(root, BODY, dst, n, Way::Pull).await;
        }
        let mut flying = Flying::default();
        for i in 1..size {
            let to = (me + i) % size;
            flying.push(op.send(to, BODY, src.at(to * n), n, Way::Pull));
        }
        src.at(me * n).copy_to(dst, n);
        flying.land().await;
    }
}

/// Collects the members' blocks of `n` bytes at the root, in the order of the team.
///
/// # Safety
/// As [`broadcast`]; on the root `dst` has room for a block of every member.
pub(crate) async unsafe fn gather(op: &Op, root: usize, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `scatter`.
    unsafe {
        if op.path == Path::Nic {
            return gather_v(op, root, dst, src, n, &equal(op, n)).await;
        }
        if n <= MAX_BUNDLED_BLOCK_BYTES && size >= MIN_MEMBERS_FOR_BUNDLES && !op.team.hosts.one() {
            let v = (me + size - root) % size;
            let (parent, children) = binomial(v, size);
            let mut mine = vec![0u8; below(v, size) * n];
            let at = Ptr(mine.as_mut_ptr());
            let posted: Vec<_> = children
                .iter()
                .map(|&(c, b)| op.receive((c + root) % size, BODY, at.at((c - v) * n), b * n, Way::Push))
                .collect();
            src.copy_to(at, n);
            for receive in posted {
                receive.await;
            }
            match parent {
                None => (0..size).for_each(|i| at.at(i * n).copy_to(dst.at((i + root) % size * n), n)),
                Some(p) => op.send((p + root) % size, BODY, at, mine.len(), Way::Push).await,
            }
            return;
        }
        if root != me {
            return op.send(root, BODY, src, n, Way::Push).await;
        }
        let posted: Vec<_> = (1..size)
            .map(|i| (me + i) % size)
            .map(|from| op.receive(from, BODY, dst.at(from * n), n, Way::Push))
            .collect();
        src.copy_to(dst.at(me * n), n);
        for receive in posted {
            receive.await;
        }
    }
}

/// Collects the members' blocks at every member.
///
/// # Safety
/// As [`broadcast`]; `dst` has room for a block of every member.
pub(crate) async unsafe fn gather_all(op: &Op, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: blocks of the buffers; owned buffers outlive the messages.
    unsafe {
        match op.path {
            Path::Flat => return flat::gather_all(op, dst, src, n).await,
            Path::Nic => return gather_all_v(op, dst, src, &equal(op, n)).await,
            Path::Mail => {}
        }
        if n <= MAX_BUNDLED_BLOCK_BYTES && size >= MIN_MEMBERS_FOR_BUNDLES && !op.team.hosts.one() {
            // Bruck: in each round twice as many blocks, from this member's own on.
            let mut all = vec![0u8; size * n];
            let at = Ptr(all.as_mut_ptr());
            src.copy_to(at, n);
            let (mut have, mut round) = (1, BODY);
            while have < size {
                let more = have.min(size - have);
                let receive = op.receive((me + have) % size, round, at.at(have * n), more * n, Way::Push);
                let mut flying = Flying::default();
                flying.push(op.send((me + size - have) % size, round, at, more * n, Way::Push));
                flying.during(receive).await;
                flying.land().await;
                have += more;
                round += 1;
            }
            for i in 0..size {
                at.at(i * n).copy_to(dst.at((me + i) % size * n), n);
            }
            return;
        }
        src.copy_to(dst.at(me * n), n);
        if op.team.hosts.one() || n <= MAX_EAGER_BYTES {
            return everybody(op, BODY, |i| (dst.at(me * n), n, dst.at(i * n), n)).await;
        }
        // A ring: every link carries every block once.
        let mut flying = Flying::default();
        let posted: Vec<_> = (1..size)
            .map(|i| {
                op.receive(
                    (me + size - 1) % size,
                    BODY + i as u32,
                    dst.at((me + size - i) % size * n),
                    n,
                    Way::Push,
                )
            })
            .collect();
        for (i, receive) in (1..size).zip(posted) {
            let block = dst.at((me + size + 1 - i) % size * n);
            flying.push(op.send((me + 1) % size, BODY + i as u32, block, n, Way::Push));
            flying.during(receive).await;
        }
        flying.land().await;
    }
}

/// Sends a block to every other member and receives one from it: `part(i)` gives the source and length, and
/// the destination and length.
async unsafe fn everybody(op: &Op, step: u32, part: impl Fn(usize) -> (Ptr, usize, Ptr, usize)) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: owed by the caller.
    unsafe {
        let posted: Vec<_> = (1..size)
            .map(|i| (me + size - i) % size)
            .map(|i| {
                let (_, _, to, n) = part(i);
                op.receive(i, step, to, n, Way::Pull)
            })
            .collect();
        let mut flying = Flying::default();
        for i in 1..size {
            let peer = (me + i) % size;
            let (from, n, _, _) = part(peer);
            flying.push(op.send(peer, step, from, n, Way::Pull));
        }
        for receive in posted {
            flying.during(receive).await;
        }
        flying.land().await;
    }
}

/// Block j of member i becomes block i of member j.
///
/// # Safety
/// As [`broadcast`]; both sides have a block for every member.
pub(crate) async unsafe fn exchange(op: &Op, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `gather_all`.
    unsafe {
        match op.path {
            Path::Flat => return flat::exchange(op, dst, src, n).await,
            Path::Nic => {
                let blocks = equal(op, n);
                return exchange_v(op, dst, &blocks, src, &blocks).await;
            }
            Path::Mail => {}
        }
        if n * size <= MAX_BUNDLED_BLOCK_BYTES && size >= MIN_MEMBERS_FOR_BUNDLES && !op.team.hosts.one() {
            // Bruck: a block moves towards its target by one bit of the distance in each round.
            let mut all = vec![0u8; size * n];
            let at = Ptr(all.as_mut_ptr());
            for i in 0..size {
                src.at((me + i) % size * n).copy_to(at.at(i * n), n);
            }
            let (mut bit, mut round) = (1, BODY);
            while bit < size {
                let moving: Vec<usize> = (0..size).filter(|i| i & bit != 0).collect();
                let mut out = vec![0u8; moving.len() * n];
                let mut back = vec![0u8; moving.len() * n];
                let (from, to) = (Ptr(out.as_mut_ptr()), Ptr(back.as_mut_ptr()));
                for (k, &i) in moving.iter().enumerate() {
                    at.at(i * n).copy_to(from.at(k * n), n);
                }
                let receive = op.receive((me + size - bit) % size, round, to, back.len(), Way::Push);
                let mut flying = Flying::default();
                flying.push(op.send((me + bit) % size, round, from, out.len(), Way::Push));
                flying.during(receive).await;
                flying.land().await;
                for (k, &i) in moving.iter().enumerate() {
                    to.at(k * n).copy_to(at.at(i * n), n);
                }
                bit *= 2;
                round += 1;
            }
            for i in 0..size {
                at.at(i * n).copy_to(dst.at((me + size - i) % size * n), n);
            }
            return;
        }
        src.at(me * n).copy_to(dst.at(me * n), n);
        everybody(op, BODY, |i| (src.at(i * n), n, dst.at(i * n), n)).await;
    }
}

/// Combines the members' vectors of `n` bytes; the result comes to the root's `dst`.
///
/// # Safety
/// As [`broadcast`]; `dst` counts on the root only.
pub(crate) async unsafe fn reduce(op: &Op, root: usize, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    let (me, size) = (op.me(), op.size());
    if op.path == Path::Nic {
        if nic::combine(how, n, size) {
            return nic::reduce(op, Some(root), dst, src, n, how).await;
        }
        let mut all = Operands::new(if me == root { size * n } else { 0 });
        let at = all.at();
        // SAFETY: the root has room for all operands.
        unsafe {
            gather(op, root, at, src, n).await;
            if me == root {
                folded(at, size, n, how).copy_to(dst, n);
            }
        }
        return;
    }
    let mut sum = Operands::new(n);
    let at = sum.at();
    // SAFETY: owned buffers outlive the messages; `combine` gets two of `n` bytes.
    unsafe {
        src.copy_to(at, n);
        // In order: every subtree of this tree is a range of members.
        let (top, parent, children) = if how.commutes {
            let place = op.team.hosts.place(root, me);
            (root, place.parent, place.children)
        } else {
            let (parent, mut children) = binomial(me, size);
            children.reverse();
            (0, parent, children.into_iter().map(|c| c.0).collect())
        };
        let mut parts: Vec<Operands> = children.iter().map(|_| Operands::new(n)).collect();
        let posted: Vec<_> = children
            .iter()
            .zip(&mut parts)
            .map(|(&c, part)| (part.at(), op.receive(c, BODY, part.at(), n, Way::Push)))
            .collect();
        // One after the other in a fixed order, so that sums of floats give the same result every time.
        for (part, receive) in posted {
            receive.await;
            how.apply(at.0, part.0, n);
        }
        if let Some(p) = parent {
            op.send(p, BODY, at, n, Way::Push).await;
        }
        match (me == top, me == root) {
            (true, true) => at.copy_to(dst, n),
            (true, false) => op.send(root, BACK, at, n, Way::Push).await,
            (false, true) if top != root => op.receive(top, BACK, dst, n, Way::Push).await,
            _ => {}
        }
    }
}

/// [`reduce`] with the result at every member.
///
/// # Safety
/// As [`broadcast`].
pub(crate) async unsafe fn reduce_all(op: &Op, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `reduce`.
    unsafe {
        match op.path {
            Path::Flat => return flat::reduce_all(op, dst, src, n, how).await,
            Path::Nic if nic::combine(how, n, size) => return nic::reduce(op, None, dst, src, n, how).await,
            Path::Nic => return operands(op, dst, src, n, size, how).await,
            Path::Mail => {}
        }
        if n <= MAX_UNSLICED_VECTOR_BYTES || size < 3 || n / how.element.max(1) < size {
            reduce(op, 0, dst, src, n, how).await;
            return spread(op, 0, dst, n, LEAVE + (1 << 26)).await;
        }
        // Member i combines the i-th slices of all members, then every member collects the slices.
        let per = (n / how.element).div_ceil(size) * how.element;
        let slice = |i: usize| ((i * per).min(n), per.min(n - (i * per).min(n)));
        let (own, len) = slice(me);
        let mut parts = Operands::new(len * size);
        let at = parts.at();
        src.at(own).copy_to(at.at(me * len), len);
        everybody(op, BODY, |i| (src.at(slice(i).0), slice(i).1, at.at(i * len), len)).await;
        for i in 1..size {
            how.apply(at.0, at.at(i * len).0, len);
        }
        at.copy_to(dst.at(own), len);
        everybody(op, BACK, |i| (dst.at(own), len, dst.at(slice(i).0), slice(i).1)).await;
    }
}

/// Member i's `dst` becomes the combination of the vectors of members 0 to i, or to i - 1 if not `inclusive`
/// (member 0's is then left alone).
///
/// # Safety
/// As [`broadcast`].
pub(crate) async unsafe fn scan(op: &Op, dst: Ptr, src: Ptr, n: usize, inclusive: bool, how: &Reduction) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `reduce`.
    unsafe {
        match op.path {
            Path::Flat => return flat::scan(op, dst, src, n, inclusive, how).await,
            Path::Nic => return operands(op, dst, src, n, me + usize::from(inclusive), how).await,
            Path::Mail => {}
        }
        let (mut sum, mut before) = (Operands::new(n), Operands::new(n));
        src.copy_to(sum.at(), n);
        let (mut distance, mut round) = (1, BODY);
        while distance < size {
            // A copy, because the message may still be on its way when the sum changes.
            let mut out = Operands(sum.0.clone());
            let mut flying = Flying::default();
            if me + distance < size {
                flying.push(op.send(me + distance, round, out.at(), n, Way::Push));
            }
            if me >= distance {
                flying.during(op.receive(me - distance, round, before.at(), n, Way::Push)).await;
                how.apply(before.at().0, sum.at().0, n);
                core::mem::swap(&mut sum, &mut before);
            }
            flying.land().await;
            distance *= 2;
            round += 1;
        }
        let at = sum.at();
        if inclusive {
            return at.copy_to(dst, n);
        }
        let mut flying = Flying::default();
        if me + 1 < size {
            flying.push(op.send(me + 1, BACK, at, n, Way::Push));
        }
        if me > 0 {
            flying.during(op.receive(me - 1, BACK, dst, n, Way::Push)).await;
        }
        flying.land().await;
    }
}

/// Gathers all members' vectors at every member, where `dst` becomes the combination of the first `count` of
/// them, if there are any.
async unsafe fn operands(op: &Op, dst: Ptr, src: Ptr, n: usize, count: usize, how: &Reduction) {
    let mut all = Operands::new(op.size() * n);
    let at = all.at();
    // SAFETY: room for all operands; the rest is owed by the caller.
    unsafe {
        gather_all(op, at, src, n).await;
        if count > 0 {
            folded(at, count, n, how).copy_to(dst, n);
        }
    }
}

/// Zeros, aligned for any type of operand of a program's function.
struct Operands(Vec<OperandLine>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct OperandLine(#[expect(dead_code, reason = "reached by address")] [u8; 64]);

impl Operands {
    fn new(bytes: usize) -> Operands {
        Operands(vec![OperandLine([0; 64]); bytes.div_ceil(size_of::<OperandLine>())])
    }
    fn at(&mut self) -> Ptr {
        Ptr(self.0.as_mut_ptr().cast())
    }
}

/// The combination of `count` vectors of `n` bytes, in place of the first.
///
/// # Safety
/// 1. The vectors are valid (owed by the caller).
unsafe fn folded(all: Ptr, count: usize, n: usize, how: &Reduction) -> Ptr {
    // SAFETY: (1).
    (1..count).for_each(|i| unsafe { how.apply(all.0, all.at(i * n).0, n) });
    all
}

/// As many blocks of `n` bytes as there are members, one after the other.
fn equal(op: &Op, n: usize) -> Vec<(usize, usize)> {
    (0..op.size()).map(|i| (i * n, n)).collect()
}

/// The places of all members' blocks: (offset, bytes) of each.
pub(crate) type Blocks = Arc<[(usize, usize)]>;

/// Sends blocks to other members, and receives blocks from them. NICs, if they can, carry those that have
/// room on their boards; the others are sent as messages.
///
/// # Safety
/// As [`broadcast`].
async unsafe fn straight(op: &Op, places: Places, mut out: Vec<Part>, mut back: Vec<Part>, way: Way) {
    out.retain(|part| part.len > 0);
    back.retain(|part| part.len > 0);
    let mut flying = Flying::default();
    if op.path == Path::Nic {
        // Both members of a block come to the same decision.
        let most = places.most(op.size());
        let short = |parts: &mut Vec<Part>| parts.extract_if(.., |part| part.len <= most).collect();
        let (out, back) = (short(&mut out), short(&mut back));
        flying.push(nic::by_places(op, places, out, back));
    }
    // SAFETY: owed by the caller.
    unsafe {
        let receive = |part: Part| op.receive(part.peer, BODY, part.at, part.len, way);
        let posted: Vec<_> = back.into_iter().map(receive).collect();
        for part in out {
            flying.push(op.send(part.peer, BODY, part.at, part.len, way));
        }
        for receive in posted {
            flying.during(receive).await;
        }
    }
    flying.land().await;
}

/// The blocks of other members, whose places at `base` are in `blocks`. The first is that of the member
/// `step` places to the right.
fn parts(op: &Op, base: Ptr, blocks: &[(usize, usize)], step: usize) -> Vec<Part> {
    let (me, size) = (op.me(), op.size());
    let part = |peer: usize| Part { peer, at: base.at(blocks[peer].0), len: blocks[peer].1 };
    (1..size).map(|i| part((me + i * step) % size)).collect()
}

/// [`scatter`] of blocks of any size and place. The root's `blocks` give their places in its `src`; this
/// member's block has `n` bytes.
///
/// # Safety
/// As [`broadcast`]; `src` has the blocks, `dst` has room for `n` bytes.
pub(crate) async unsafe fn scatter_v(
    op: &Op,
    root: usize,
    dst: Ptr,
    n: usize,
    src: Ptr,
    blocks: &[(usize, usize)],
) {
    let me = op.me();
    // SAFETY: as in `scatter`.
    unsafe {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        if root == me {
            src.at(blocks[me].0).copy_to(dst, blocks[me].1);
            out = parts(op, src, blocks, 1);
        } else {
            back.push(Part { peer: root, at: dst, len: n });
        }
        straight(op, Places::Rooted(root), out, back, Way::Pull).await;
    }
}

/// [`gather`] of blocks of any size. The root's `blocks` give their places in its `dst`; this member's block
/// has `n` bytes.
///
/// # Safety
/// As [`broadcast`]; on the root `dst` has room for the blocks.
pub(crate) async unsafe fn gather_v(
    op: &Op,
    root: usize,
    dst: Ptr,
    src: Ptr,
    n: usize,
    blocks: &[(usize, usize)],
) {
    let me = op.me();
    // SAFETY: as in `gather`.
    unsafe {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        if root == me {
            src.copy_to(dst.at(blocks[me].0), blocks[me].1);
            back = parts(op, dst, blocks, 1);
        } else {
            out.push(Part { peer: root, at: src, len: n });
        }
        straight(op, Places::Rooted(root), out, back, Way::Push).await;
    }
}

/// [`gather_all`] of blocks of any size; all members give the same `blocks` sizes, and each its own places in
/// `dst`.
///
/// # Safety
/// As [`broadcast`]; `dst` has room for the blocks.
pub(crate) async unsafe fn gather_all_v(op: &Op, dst: Ptr, src: Ptr, blocks: &[(usize, usize)]) {
    let (me, size) = (op.me(), op.size());
    let (own, n) = blocks[me];
    // SAFETY: as in `gather_all`.
    unsafe {
        src.copy_to(dst.at(own), n);
        if op.path == Path::Nic {
            return nic::gather_all_v(op, dst, src, blocks).await;
        }
        if op.team.hosts.one() || blocks.iter().all(|b| b.1 <= MAX_EAGER_BYTES) {
            return everybody(op, BODY, |i| (dst.at(own), n, dst.at(blocks[i].0), blocks[i].1)).await;
        }
        // A ring, as for blocks of one size.
        let (left, right) = ((me + size - 1) % size, (me + 1) % size);
        let mut flying = Flying::default();
        let posted: Vec<_> = (1..size)
            .map(|i| {
                let (at, n) = blocks[(me + size - i) % size];
                op.receive(left, BODY + i as u32, dst.at(at), n, Way::Push)
            })
            .collect();
        for (i, receive) in (1..size).zip(posted) {
            let (at, n) = blocks[(me + size + 1 - i) % size];
            flying.push(op.send(right, BODY + i as u32, dst.at(at), n, Way::Push));
            flying.during(receive).await;
        }
        flying.land().await;
    }
}

/// [`exchange`] of blocks of any size: `to` gives the place of each member's block in `src`, and `from` the
/// place in `dst` for the block from each member.
///
/// # Safety
/// As [`broadcast`]; the buffers have the blocks.
pub(crate) async unsafe fn exchange_v(
    op: &Op,
    dst: Ptr,
    from: &[(usize, usize)],
    src: Ptr,
    to: &[(usize, usize)],
) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `exchange`.
    unsafe {
        src.at(to[me].0).copy_to(dst.at(from[me].0), to[me].1.min(from[me].1));
        let (out, back) = (parts(op, src, to, 1), parts(op, dst, from, size - 1));
        straight(op, Places::Mutual, out, back, Way::Pull).await;
    }
}
