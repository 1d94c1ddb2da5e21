//! Operations on small blocks among members of one host: every member leaves its block in the team's [table](super::table), the last one to
//! come combines them where that is asked for, and all read what concerns them. As fast as a barrier of the same memory.
#![expect(unsafe_code, reason = "copies between buffers of callers and shared memory")]

use super::algorithms::Reduction;
use super::mail::{Op, Ptr};
use super::table::{AREA, RESULT};
use super::{Path, Shape};
use core::future::poll_fn;
use core::task::Poll;

/// Whether a table can do an operation among so many members.
pub(super) fn fits(shape: Shape, size: usize) -> bool {
    match shape {
        Shape::Barrier => true,
        Shape::GatherAll(n) | Shape::Scan(n) => n * size <= AREA,
        Shape::ReduceAll(n, _) => n * size <= AREA && n <= RESULT,
        Shape::Exchange(n) => n * size * size <= AREA,
        // Their roots need not wait for everybody.
        Shape::Broadcast(_) | Shape::Scatter(_) | Shape::Gather(_) | Shape::Reduce(..) => false,
        Shape::GatherAllV(_) | Shape::Other => false,
    }
}

/// One phase of the table: `leave` puts this member's bytes into the area, `combine` makes the result of the area, `take` reads both.
async fn phase(
    op: &Op,
    leave: impl FnOnce(Ptr),
    combine: impl FnOnce(Ptr, Ptr),
    take: impl FnOnce(Ptr, Ptr),
) {
    debug_assert_eq!(op.path, Path::Flat);
    op.turn().await;
    let team = &*op.team;
    let table = team.table().expect("planned with a table");
    let phase = team.phase();
    let (area, result) = (Ptr(table.area(phase)), Ptr(table.result(phase)));
    leave(area);
    if let Some(presence) = op.rank().presence {
        presence.watch_nobody();
    }
    if table.arrive(phase, op.size() as u32) {
        combine(area, result);
        table.publish(phase);
    } else {
        poll_fn(|_| {
            if table.done(phase) {
                return Poll::Ready(());
            }
            // Nothing that comes announces it.
            op.rank().coll.mail.bump();
            Poll::Pending
        })
        .await;
    }
    take(area, result);
    team.next_phase();
    op.next_turn();
}

pub(super) async fn barrier(op: &Op) {
    phase(op, |_| (), |_, _| (), |_, _| ()).await;
}

/// # Safety
/// As [`super::algorithms::gather_all`].
pub(super) async unsafe fn gather_all(op: &Op, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: parts of the area, whose size was planned for; buffers of the caller.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    // SAFETY: as above.
    let take = |area: Ptr, _: Ptr| unsafe { area.copy_to(dst, n * size) };
    phase(op, leave, |_, _| (), take).await;
}

/// # Safety
/// As [`super::algorithms::exchange`].
pub(super) async unsafe fn exchange(op: &Op, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    let row = n * size;
    // SAFETY: as in `gather_all`.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * row), row) };
    let take = |area: Ptr, _: Ptr| {
        for i in 0..size {
            // SAFETY: as in `gather_all`.
            unsafe { area.at(i * row + me * n).copy_to(dst.at(i * n), n) }
        }
    };
    phase(op, leave, |_, _| (), take).await;
}

/// # Safety
/// As [`super::algorithms::reduce_all`].
pub(super) async unsafe fn reduce_all(op: &Op, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `gather_all`.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    let combine = |area: Ptr, result: Ptr| {
        // SAFETY: as in `gather_all`; the result has room, and nobody reads it yet.
        unsafe { area.copy_to(result, n) };
        for i in 1..size {
            (how.combine)(result.0, area.at(i * n).0, n);
        }
    };
    // SAFETY: as in `gather_all`.
    let take = |_: Ptr, result: Ptr| unsafe { result.copy_to(dst, n) };
    phase(op, leave, combine, take).await;
}

/// # Safety
/// As [`super::algorithms::scan`].
pub(super) async unsafe fn scan(op: &Op, dst: Ptr, src: Ptr, n: usize, inclusive: bool, how: &Reduction) {
    let me = op.me();
    // SAFETY: as in `gather_all`.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    let take = |area: Ptr, _: Ptr| {
        let count = me + usize::from(inclusive);
        if count > 0 {
            // SAFETY: as in `gather_all`; the destination is no part of the area.
            unsafe { area.copy_to(dst, n) };
            for i in 1..count {
                (how.combine)(dst.0, area.at(i * n).0, n);
            }
        }
    };
    phase(op, leave, |_, _| (), take).await;
}
