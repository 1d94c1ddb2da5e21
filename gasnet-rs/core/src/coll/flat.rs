//! Operations on small blocks among members of one host. Every member writes its block to the team's
//! [table](super::table), the last member to arrive combines the blocks if the operation needs it, and all
//! members read their results. Such an operation is as fast as a barrier over the same memory.
#![expect(unsafe_code, reason = "copies between buffers of callers and shared memory")]

use super::mail::{Op, Ptr};
use super::record::Signature;
use super::reduction::Reduction;
use super::table::{AREA_BYTES, Arrival, MAX_MEMBERS, RESULT_BYTES, Table};
use super::{Path, Shape};
use core::future::poll_fn;
use core::task::Poll;

/// Whether a table can carry out an operation among `size` members.
pub(super) fn fits(shape: Shape, size: usize) -> bool {
    if size > MAX_MEMBERS {
        return false;
    }
    match shape {
        Shape::Barrier => true,
        Shape::GatherAll(n) | Shape::Scan(n) => n * size <= AREA_BYTES,
        Shape::ReduceAll(n, _) => n * size <= AREA_BYTES && n <= RESULT_BYTES,
        Shape::Exchange(n) => n * size * size <= AREA_BYTES,
        // The roots of these operations need not wait for all members.
        Shape::Broadcast(_) | Shape::Scatter(_) | Shape::Gather(_) | Shape::Reduce(..) => false,
        Shape::GatherAllV(_) | Shape::ScatterV(_) | Shape::GatherV(_) | Shape::ExchangeV => false,
    }
}

/// A phase of the table that this member has entered.
struct Entered<'a> {
    op: &'a Op,
    table: &'a Table,
    phase: u32,
    area: Ptr,
    result: Ptr,
}

impl<'a> Entered<'a> {
    /// Enters, in turn, a phase with this many bytes of area and result: `leave` puts this member's bytes
    /// into the area, `combine` makes the result of the area if this is the last to come.
    fn new(
        op: &'a Op,
        (in_area, in_result): (usize, usize),
        leave: impl FnOnce(Ptr),
        combine: impl FnOnce(Ptr, Ptr),
    ) -> Entered<'a> {
        debug_assert_eq!(op.path, Path::Flat);
        let team = &*op.team;
        let table = team.table().expect("planned with a table");
        let phase = team.phase();
        let (area, result) = (Ptr(table.area(phase, in_area)), Ptr(table.result(phase, in_result)));
        leave(area);
        if let Some(presence) = op.rank().wire.presence {
            presence.watch_nobody();
        }
        match table.arrive(phase, op.size() as u32, op.part()) {
            Arrival::Last => {
                combine(area, result);
                table.publish(phase);
            }
            Arrival::Early => {}
            Arrival::Others(what) => {
                // Any of them.
                let other = team.ranks.of(usize::from(op.me() == 0));
                op.rank().part(team, op.number, op.what, (other, Signature::of_short(what)))
            }
        }
        Entered { op, table, phase, area, result }
    }

    fn is_over(&self) -> bool {
        self.table.done(self.phase)
    }

    /// Leaves a phase that is over: `take` reads area and result.
    fn leave(self, take: impl FnOnce(Ptr, Ptr)) {
        take(self.area, self.result);
        self.op.team.next_phase();
        self.op.next_turn();
    }
}

/// One phase of the table; see [`Entered`].
async fn phase(
    op: &Op,
    bytes: (usize, usize),
    leave: impl FnOnce(Ptr),
    combine: impl FnOnce(Ptr, Ptr),
    take: impl FnOnce(Ptr, Ptr),
) {
    op.turn().await;
    let entered = Entered::new(op, bytes, leave, combine);
    poll_fn(|_| {
        if entered.is_over() {
            return Poll::Ready(());
        }
        // No message announces it.
        op.rank().coll.mail.bump();
        Poll::Pending
    })
    .await;
    entered.leave(take);
}

/// The same on the caller's stack, without a future, for operations that are called often.
fn phase_now(
    op: &Op,
    bytes: (usize, usize),
    leave: impl FnOnce(Ptr),
    combine: impl FnOnce(Ptr, Ptr),
    take: impl FnOnce(Ptr, Ptr),
) {
    let (rank, place) = (op.rank(), op.team.meeting_place());
    rank.wire.wait_for_operation(super::COLLECTIVE_WAIT, None, || op.is_next());
    let entered = Entered::new(op, bytes, leave, combine);
    rank.wire.meet_collectively(place, super::COLLECTIVE_WAIT, || entered.is_over());
    entered.leave(take);
}

/// A barrier, at once.
pub(crate) fn barrier_now(op: &Op) {
    phase_now(op, (0, 0), |_| (), |_, _| (), |_, _| ());
}

pub(super) async fn barrier(op: &Op) {
    phase(op, (0, 0), |_| (), |_, _| (), |_, _| ()).await;
}

/// # Safety
/// As [`super::algorithms::gather_all`].
pub(super) async unsafe fn gather_all(op: &Op, dst: Ptr, src: Ptr, n: usize) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: parts of the area, whose size was planned for; buffers of the caller.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    // SAFETY: as above.
    let take = |area: Ptr, _: Ptr| unsafe { area.copy_to(dst, n * size) };
    phase(op, (n * size, 0), leave, |_, _| (), take).await;
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
    phase(op, (row * size, 0), leave, |_, _| (), take).await;
}

/// The three steps of a reduction to all.
///
/// # Safety
/// As [`super::algorithms::reduce_all`].
#[expect(clippy::type_complexity, reason = "three closures, one for each step")]
unsafe fn reducing<'a>(
    op: &Op,
    dst: Ptr,
    src: Ptr,
    n: usize,
    how: &'a Reduction,
) -> (impl FnOnce(Ptr) + use<>, impl FnOnce(Ptr, Ptr) + use<'a>, impl FnOnce(Ptr, Ptr) + use<>) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `gather_all`.
    let leave = move |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    let combine = move |area: Ptr, result: Ptr| {
        // SAFETY: as in `gather_all`; the result has room, and nobody reads it yet.
        unsafe { area.copy_to(result, n) };
        for i in 1..size {
            // SAFETY: as above; both have `n` bytes.
            unsafe { how.apply(result.0, area.at(i * n).0, n) };
        }
    };
    // SAFETY: as in `gather_all`.
    let take = move |_: Ptr, result: Ptr| unsafe { result.copy_to(dst, n) };
    (leave, combine, take)
}

/// # Safety
/// As [`super::algorithms::reduce_all`].
pub(super) async unsafe fn reduce_all(op: &Op, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    // SAFETY: owed by the caller.
    let (leave, combine, take) = unsafe { reducing(op, dst, src, n, how) };
    phase(op, (n * op.size(), n), leave, combine, take).await;
}

/// [`reduce_all`] at once.
///
/// # Safety
/// As [`super::algorithms::reduce_all`].
pub(crate) unsafe fn reduce_all_now(op: &Op, dst: Ptr, src: Ptr, n: usize, how: &Reduction) {
    // SAFETY: owed by the caller.
    let (leave, combine, take) = unsafe { reducing(op, dst, src, n, how) };
    phase_now(op, (n * op.size(), n), leave, combine, take);
}

/// # Safety
/// As [`super::algorithms::scan`].
pub(super) async unsafe fn scan(op: &Op, dst: Ptr, src: Ptr, n: usize, inclusive: bool, how: &Reduction) {
    let (me, size) = (op.me(), op.size());
    // SAFETY: as in `gather_all`.
    let leave = |area: Ptr| unsafe { src.copy_to(area.at(me * n), n) };
    let take = |area: Ptr, _: Ptr| {
        let count = me + usize::from(inclusive);
        if count > 0 {
            // SAFETY: as in `gather_all`; the destination is no part of the area.
            unsafe {
                area.copy_to(dst, n);
                (1..count).for_each(|i| how.apply(dst.0, area.at(i * n).0, n));
            }
        }
    };
    phase(op, (n * size, 0), leave, |_, _| (), take).await;
}
