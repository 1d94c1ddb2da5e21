//! Puts and gets of many pieces of a region.
//!
//! Runs are packed into messages as those for segments are ([`crate::vis`]). The owner looks the region up
//! once for each message, and at the places of all its runs before it touches one. Tripwires hear of the
//! runs, not of what lies between. Two kinds of regions are accessed piece by piece: one that allows one
//! access, and one that the owner's NIC serves, which needs nothing of the owner's program.
#![expect(unsafe_code, reason = "copies between regions, message payloads and user memory")]

use super::long::LONG;
use super::ops::refuse;
use super::refusal::STRICT;
use super::{Access, Grant, KeyedRegion, Modes, RegionError, RegionKey, SERVED, region_number};
use crate::amref;
use crate::vis::{self, Door, Fault, Runs, Shape, Shapes, Window};
use crate::{Error, Rank};
use gasnet_wire::am::{Kind, Message, Served, Token, nonsense};
use gasnet_wire::event::{Event, Implicit};

/// Messages of this module, as numbers of the core's own messages.
pub(crate) const PUT_RUNS: u8 = LONG + 1;
pub(crate) const GET_RUNS: u8 = LONG + 2;

/// Who serves them.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, _| wire.fatal_started("an operation on a region", to),
};

impl KeyedRegion<'_, '_> {
    /// Starts to copy the bytes of `from`, addresses here, to `to`, places in a region of which `origin` is
    /// the first. Their bytes may be reused on return.
    ///
    /// # Safety
    /// 1. The local pieces are valid (owed by the caller). 2. As for [`Rank::put`].
    ///
    /// # Panics
    /// As [`KeyedRegion::put_nb`], and when the sides have different numbers of bytes.
    pub unsafe fn put_shape_nb(self, to: Shape<'_>, origin: usize, from: Shape<'_>) -> Event {
        let all = Shapes::of_region(false, self.key.rank(), (to, origin), from);
        // SAFETY: owed by the caller.
        unsafe { self.rank.region_shapes_nb(self.key, &all) }
    }

    /// Starts to copy the bytes of `from`, places in a region of which `origin` is the first, to `to`,
    /// addresses here.
    ///
    /// # Safety
    /// 1. The local pieces are valid for writes, and used by nobody, until the event is done, and do not
    ///    overlap (owed by the caller).
    /// 2. As for [`Rank::put`].
    ///
    /// # Panics
    /// As [`KeyedRegion::put_shape_nb`].
    pub unsafe fn get_shape_nb(self, to: Shape<'_>, from: Shape<'_>, origin: usize) -> Event {
        let all = Shapes::of_region(true, self.key.rank(), (from, origin), to);
        // SAFETY: owed by the caller.
        unsafe { self.rank.region_shapes_nb(self.key, &all) }
    }

    /// Starts [`KeyedRegion::put_shape_nb`] as an implicit put.
    ///
    /// # Safety
    /// As [`KeyedRegion::put_shape_nb`].
    ///
    /// # Panics
    /// As [`KeyedRegion::put_shape_nb`].
    pub unsafe fn put_shape_nbi(self, to: Shape<'_>, origin: usize, from: Shape<'_>) {
        let all = Shapes::of_region(false, self.key.rank(), (to, origin), from);
        // SAFETY: owed by the caller.
        unsafe { self.rank.start_region_shapes(self.rank.wire.ops.implicit(Implicit::Puts), self.key, &all) }
    }

    /// Starts [`KeyedRegion::get_shape_nb`] as an implicit get.
    ///
    /// # Safety
    /// As [`KeyedRegion::get_shape_nb`], until the implicit gets of this thread (or the access region) are
    /// synchronised.
    ///
    /// # Panics
    /// As [`KeyedRegion::put_shape_nb`].
    pub unsafe fn get_shape_nbi(self, to: Shape<'_>, from: Shape<'_>, origin: usize) {
        let all = Shapes::of_region(true, self.key.rank(), (from, origin), to);
        // SAFETY: owed by the caller.
        unsafe { self.rank.start_region_shapes(self.rank.wire.ops.implicit(Implicit::Gets), self.key, &all) }
    }
}

impl Rank {
    /// # Safety
    /// As [`KeyedRegion::put_shape_nb`] or [`KeyedRegion::get_shape_nb`].
    unsafe fn region_shapes_nb(&self, key: &RegionKey, all: &Shapes<'_>) -> Event {
        // SAFETY: owed by the caller.
        self.region_op(key.rank(), STRICT, |op| unsafe { self.start_region_shapes(op, key, all) })
    }

    /// Starts a transfer in parts that count in `op`.
    ///
    /// # Safety
    /// As [`KeyedRegion::put_shape_nb`] or [`KeyedRegion::get_shape_nb`], until the op is complete.
    unsafe fn start_region_shapes(&self, op: u32, key: &RegionKey, all: &Shapes<'_>) {
        let (peer, get) = (key.rank(), all.is_get());
        // SAFETY: owed by the caller, both.
        let one = |at: u64, here: *mut u8, n: usize| unsafe {
            if get {
                self.start_region_get(op, here, key, at, n);
            } else {
                self.start_region_put(op, key, at, here, n);
            }
        };
        let modes = if get { Modes::READ } else { Modes::WRITE };
        let agree = if key.modes().has(Modes::ONCE) || key.modes & SERVED != 0 {
            all.runs(|at, here, n| one(at, here as *mut u8, n))
        } else if let Err(e) = self.region_check(key, modes, 0, 0) {
            return self.region_refused(op, peer, e);
        } else if peer == self.id() {
            match self.own_access(key, modes, 0, 0) {
                // SAFETY: owed by the caller.
                Ok(access) => unsafe { self.own_region_shapes(op, key, access, all) },
                Err(e) => return self.region_refused(op, peer, e),
            }
        } else {
            self.regions.reaches_far();
            let words = key.grant().words();
            let door = Door { put: PUT_RUNS, get: GET_RUNS, words: &words };
            // SAFETY: owed by the caller.
            match unsafe { self.by_messages(all, op, key.len() as usize, &door, one) } {
                Ok(()) => true,
                Err(Fault::Bytes) => false,
                Err(Fault::Outside) => return self.region_refused(op, peer, RegionError::Range),
            }
        };
        if !agree {
            self.fatal("a transfer of pieces: source and destination have different numbers of bytes");
        }
    }

    /// Copies pieces of an own region; `false` if the sides have different numbers of bytes.
    ///
    /// # Safety
    /// As [`KeyedRegion::put_shape_nb`] or [`KeyedRegion::get_shape_nb`]. `access` is one to the region.
    unsafe fn own_region_shapes(
        &self,
        op: u32,
        key: &RegionKey,
        access: Access<'_>,
        all: &Shapes<'_>,
    ) -> bool {
        let size = key.len() as usize;
        let window = Window { origin: all.origin(), size, at: access.at.expose_provenance() };
        // SAFETY: owed by the caller; the window is the region.
        match unsafe { all.copy_in(&window) } {
            Ok(()) => {
                let (Grant { slot, generation, .. }, wires) = (key.grant(), &self.regions.wires);
                let modes = if all.is_get() { Modes::READ } else { Modes::WRITE };
                if wires.may_be_armed() {
                    all.runs(|at, _, n| wires.trip(region_number(slot, generation), at, n, modes));
                }
                true
            }
            Err(Fault::Bytes) => false,
            Err(Fault::Outside) => {
                self.region_refused(op, key.rank(), RegionError::Range);
                true
            }
        }
    }
}

/// Serves a message of this module.
fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    let (true, Kind::Medium, &[name, generation, a, b, c, d, ref runs @ ..]) =
        (token.is_request(), m.kind, m.args)
    else {
        nonsense(token, &format!("a {:?} message {index} with {} arguments", m.kind, m.args.len()))
    };
    let grant = Grant::of(&[a, b, c, d]);
    if let Err(e) = serve(rank, token, index == GET_RUNS, [name, generation], grant, runs, m.bytes()) {
        rank.fatal(&format!("answering rank {}: {e}", token.source()));
    }
}

/// Serves a put of runs, or a get: `what` and the payload name the runs.
fn serve(
    rank: &Rank,
    token: &Token<'_>,
    get: bool,
    transfer: [u32; 2],
    grant: Grant,
    what: &[u32],
    payload: &[u8],
) -> Result<(), Error> {
    let modes = if get { Modes::READ } else { Modes::WRITE };
    let (access, len) = match rank.regions.access_all(grant, modes) {
        Ok(access) => access,
        Err(e) => return refuse(token, transfer, e.code()),
    };
    let read = || {
        Runs::read(get, what, payload, len).unwrap_or_else(|| {
            nonsense(token, "a transfer of pieces that its message does not hold, or not of this region")
        })
    };
    let (runs, at) = (read(), access.at.expose_provenance());
    let n = if get { runs.n } else { 0 };
    // Sending may have to wait for room, for which nobody who revokes the region waits: not before the end of
    // the access.
    let mut copy = Vec::<u8>::with_capacity(n);
    // SAFETY: the region stays until the access is dropped; there is room for the bytes of a get, which are
    // all written.
    unsafe {
        if get {
            runs.load(copy.as_mut_ptr(), at);
            copy.set_len(n);
        } else {
            runs.store(at);
        }
    }
    let wires = &rank.regions.wires;
    if wires.may_be_armed() {
        let region = region_number(grant.slot, grant.generation);
        read().each(|at, n| wires.trip(region, at as u64, n, modes));
    }
    drop(access);
    if get {
        // SAFETY: the vector is valid for its length; the data of the transfer that was asked for by that
        // name.
        unsafe { token.answer_with(vis::DATA, &transfer, copy.as_ptr(), copy.len()) }
    } else {
        token.answer(amref::ACK, &transfer)
    }
}
