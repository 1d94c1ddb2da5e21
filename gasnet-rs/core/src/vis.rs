//! Transfers of many pieces: vector, indexed and strided put and get.
//!
//! Each side of a transfer is a [`Shape`], a sequence of pieces; the bytes of one side in order become those
//! of the other. **Locality** is decided once for a transfer. Memory that is mapped here is copied at once
//! ([`near`]). To and from other ranks, runs of [`far::MIN_UNPACKED_BYTES`] and more go on their own;
//! shorter ones are packed into messages, which say where they belong, and unpacked by a handler ([`far`]).
#![expect(unsafe_code, reason = "declares and forwards the unsafe put and get of many pieces")]

mod far;
mod near;
#[cfg(all(test, not(loom)))]
mod oracle;
mod runs;
mod side;

pub(crate) use self::far::{Door, Runs};
pub use self::near::Window;
pub(crate) use self::side::Fault;
use self::side::MAX_BYTES;
use crate::{Error, Rank, RankId};
use gasnet_wire::am::{FIRST_CLIENT_HANDLER, Kind, Message, Outgoing, Served, Token, nonsense};
use gasnet_wire::conduit::Channel;
use gasnet_wire::event::{Event, Implicit, Local};
use gasnet_wire::segment::{GlobalPtr, SegmentEntry, Shared};

/// Messages of this module, as numbers of the core's own messages.
pub(crate) const FIRST: u8 = 24;
const PUT: u8 = FIRST;
const GET: u8 = FIRST + 1;
pub(crate) const DATA: u8 = FIRST + 2;
const NOTIFY: u8 = FIRST + 3;
/// The last of them.
pub(crate) const LAST: u8 = NOTIFY;

/// A range of bytes. C's `gasnet_memvec_t` has this layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins: an offset in a segment, or an address.
    pub at: usize,
    /// Bytes.
    pub len: usize,
}

/// One side of a transfer, as a sequence of pieces. Places are offsets in the segment on the remote side,
/// addresses on the local one.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'a> {
    /// Any pieces.
    Vector(&'a [Piece]),
    /// Pieces of one length at any places.
    Indexed(&'a [usize], usize),
    /// A box in an array of any number of dimensions: `count[0]` contiguous bytes, `count[i]` times at
    /// distance `strides[i - 1]`. Places and distances are reckoned modulo 2^64, so a distance cast from a
    /// negative `isize` leads downwards.
    Strided {
        /// Where it begins.
        at: usize,
        /// Distances in bytes, one less than there are counts.
        strides: &'a [usize],
        /// Extents; nothing is moved if one of them is 0.
        count: &'a [usize],
    },
}

impl<'a> Shape<'a> {
    /// Bytes of all pieces; `None` if they are more than can be counted.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Shape::Vector(list) => list.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.len)),
            Shape::Indexed(list, len) => list.len().checked_mul(len),
            Shape::Strided { count, .. } if count.is_empty() || count.contains(&0) => Some(0),
            Shape::Strided { count, .. } => count.iter().try_fold(1usize, |all, n| all.checked_mul(*n)),
        }
    }

    /// Where the first byte is, and the end of the last one, of the places as numbers that are not negative;
    /// `None` if there is no byte.
    pub fn span(self) -> Option<(i128, i128)> {
        let both = |a: (i128, i128), b: (i128, i128)| (a.0.min(b.0), a.1.max(b.1));
        let run = |at: usize, len: usize| (at as i128, at as i128 + len as i128);
        match self {
            Shape::Vector(list) => {
                list.iter().filter(|piece| piece.len > 0).map(|piece| run(piece.at, piece.len)).reduce(both)
            }
            Shape::Indexed(_, 0) => None,
            Shape::Indexed(list, len) => list.iter().map(|at| run(*at, len)).reduce(both),
            Shape::Strided { count, .. } if count.is_empty() || count.contains(&0) => None,
            Shape::Strided { at, strides, count } => {
                let far =
                    strides.iter().zip(&count[1..]).map(|(s, n)| *s as isize as i128 * (*n as i128 - 1));
                Some(far.fold(run(at, count[0]), |(low, high), far| (low + far.min(0), high + far.max(0))))
            }
        }
    }

    fn pieces(self, origin: usize) -> Pieces<'a> {
        let dimensions = match self {
            Shape::Strided { count, .. } => count.len().saturating_sub(1),
            _ => 0,
        };
        Pieces { shape: self, origin, next: 0, index: vec![0; dimensions], over: false }
    }
}

/// The pieces of a shape, in order, without empty ones.
struct Pieces<'a> {
    shape: Shape<'a>,
    origin: usize,
    next: usize,
    /// Of a strided shape: where we are, innermost dimension first.
    index: Vec<usize>,
    over: bool,
}

impl Pieces<'_> {
    fn any(&mut self) -> Option<Piece> {
        let i = self.next;
        self.next += 1;
        match self.shape {
            Shape::Vector(list) => list.get(i).copied(),
            Shape::Indexed(list, len) => list.get(i).map(|&at| Piece { at, len }),
            Shape::Strided { at, strides, count } => {
                if self.over || count.contains(&0) {
                    return None;
                }
                let offset = self.index.iter().zip(strides).map(|(i, s)| i.wrapping_mul(*s));
                let piece = Piece { at: offset.fold(at, usize::wrapping_add), len: *count.first()? };
                // Like a counter: the first digit that does not overflow ends the carry.
                self.over = !self.index.iter_mut().zip(&count[1..]).any(|(i, n)| {
                    *i = (*i + 1) % n;
                    *i != 0
                });
                Some(piece)
            }
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let piece = self.any()?;
            if piece.len > 0 {
                return Some(Piece { at: piece.at.wrapping_sub(self.origin), ..piece });
            }
        }
    }
}

/// Walks both sides together, in the largest pieces that are contiguous on both; `false` if one has more
/// bytes than the other.
fn walk(a: Pieces<'_>, b: Pieces<'_>, mut each: impl FnMut(usize, usize, usize)) -> bool {
    let (mut a, mut b) = (a, b);
    let none = Piece { at: 0, len: 0 };
    let (mut x, mut y) = (none, none);
    let mut run = (0, 0, 0);
    loop {
        if x.len == 0 {
            x = a.next().unwrap_or(none);
        }
        if y.len == 0 {
            y = b.next().unwrap_or(none);
        }
        let n = x.len.min(y.len);
        // Wrapping: places are what a program says, and are looked at later.
        let follows = |run: usize, len: usize, at: usize| run.wrapping_add(len) == at;
        if n > 0 && run.2 > 0 && follows(run.0, run.2, x.at) && follows(run.1, run.2, y.at) {
            run.2 += n;
        } else {
            if run.2 > 0 {
                each(run.0, run.1, run.2);
            }
            run = (x.at, y.at, n);
        }
        if n == 0 {
            return x.len == y.len;
        }
        let rest = |piece: Piece| Piece { at: piece.at.wrapping_add(n), len: piece.len - n };
        (x, y) = (rest(x), rest(y));
    }
}

/// Calls `each` with the places, remote then local, and the length of every run that is contiguous on both
/// sides; `false` if one has more bytes than the other.
pub fn matched(remote: Shape<'_>, local: Shape<'_>, each: impl FnMut(usize, usize, usize)) -> bool {
    walk(remote.pieces(0), local.pieces(0), each)
}

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shapes<'a> {
    way: Way,
    rank: RankId,
    remote: Shape<'a>,
    /// What is subtracted from remote places to give offsets.
    origin: usize,
    local: Shape<'a>,
    /// Whether the remote side may lie in kept memory.
    kept: bool,
}

impl<'a> Shapes<'a> {
    /// A transfer with a region, whose first byte has the place `origin`. The source of a put has been read
    /// when it is started.
    pub(crate) fn of_region(
        get: bool,
        rank: RankId,
        (remote, origin): (Shape<'a>, usize),
        local: Shape<'a>,
    ) -> Shapes<'a> {
        let way = if get { Way::Get } else { Way::Put(Local::Now) };
        Shapes { way, rank, remote, origin, local, kept: false }
    }

    pub(crate) fn is_get(&self) -> bool {
        self.way == Way::Get
    }

    pub(crate) fn origin(&self) -> usize {
        self.origin
    }

    /// Calls `each` with place in the region, address here and length of every run; `false` as [`matched`].
    pub(crate) fn runs(&self, mut each: impl FnMut(u64, usize, usize)) -> bool {
        matched(self.remote, self.local, |at, here, n| each(at.wrapping_sub(self.origin) as u64, here, n))
    }

    /// Does the transfer with memory that is mapped here.
    ///
    /// # Safety
    /// As [`Window::copy`].
    pub(crate) unsafe fn copy_in(&self, window: &Window) -> Result<(), Fault> {
        let get = self.is_get();
        // SAFETY: owed by the caller.
        near::ordered(get, || unsafe { near::copy(window, self.remote, self.local, get) })
    }

    /// Bytes of a segment that the remote side may lie in.
    #[inline]
    fn room(&self, segment: &SegmentEntry) -> usize {
        if self.kept { segment.whole } else { segment.size }
    }
}

/// How [`ShapeCalls::start`] starts a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// From the remote side.
    pub get: bool,
    /// As an implicit operation of this thread.
    pub implicit: bool,
    /// When the local pieces of a put may be written again.
    pub source: Local,
}

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// When the sources may be written again.
    Put(Local),
    Get,
}

/// Rows of elements in a segment, as the typed calls have them.
struct Rows {
    at: usize,
    /// Bytes of a row, and the number of rows.
    count: [usize; 2],
    /// Bytes from the beginning of a row to that of the next: there, and without a gap.
    steps: [usize; 2],
}

impl Rows {
    /// `values` elements in all.
    fn new<T>(rank: &Rank, what: &str, at: GlobalPtr<T>, step: usize, columns: usize, values: usize) -> Rows {
        if values.checked_rem(columns).is_some_and(|rest| rest > 0) || columns == 0 && values > 0 {
            rank.fatal(&format!("a {what} of rows: {values} elements are not whole rows of {columns}"));
        }
        let rows = values.checked_div(columns).unwrap_or(0);
        let bytes = |elements: usize| elements.checked_mul(size_of::<T>());
        // No segment is so large that a distance of more bytes leads into it.
        let Some((step, columns)) =
            bytes(step).filter(|step| *step <= isize::MAX as usize).zip(bytes(columns))
        else {
            rank.wire.fatal_outside(what, at.rank(), at.offset(), usize::MAX);
        };
        Rows { at: at.offset() as usize, count: [columns, rows], steps: [step, columns] }
    }

    fn remote(&self) -> Shape<'_> {
        Shape::Strided { at: self.at, strides: &self.steps[..1], count: &self.count }
    }

    /// The same, one row after another from this address on.
    fn tight(&self, at: usize) -> Shape<'_> {
        Shape::Strided { at, strides: &self.steps[1..], count: &self.count }
    }
}

/// Puts and gets of many pieces: [`Rank::shapes`].
#[derive(Debug, Clone, Copy)]
pub struct ShapeCalls<'a> {
    pub(crate) rank: &'a Rank,
}

impl Rank {
    /// Puts and gets of many pieces: vector, indexed and strided.
    #[inline]
    pub fn shapes(&self) -> ShapeCalls<'_> {
        ShapeCalls { rank: self }
    }

    /// Runs a client's handler on a rank, as if that had been sent a medium reply without arguments: what
    /// follows a put that is complete.
    ///
    /// # Errors
    /// The rank, the handler or the size of the payload is out of range.
    pub fn notify(&self, to: RankId, handler: u8, payload: &[u8]) -> Result<(), Error> {
        if handler < FIRST_CLIENT_HANDLER {
            return Err(Error::op(format!(
                "handler {handler} is not a client's: use {FIRST_CLIENT_HANDLER}..=255"
            )));
        }
        let (src, len, args) = (payload.as_ptr(), payload.len(), [u32::from(handler)]);
        let out = Outgoing { kind: Kind::Medium, handler: NOTIFY, args: &args, src, len, dst: 0 };
        // SAFETY: a slice is valid for its length.
        unsafe { self.wire.send(Channel::Request, to, out) }
    }

    /// # Safety
    /// As [`ShapeCalls::put_nb`] or [`ShapeCalls::get_nb`].
    unsafe fn explicit_shapes(&self, all: &Shapes<'_>) -> Event {
        // SAFETY: owed by the caller.
        unsafe { self.start_shapes(all, false) }.unwrap_or_else(|fault| self.wrong_shapes(all, fault))
    }

    /// # Safety
    /// As [`ShapeCalls::put_nbi`] or [`ShapeCalls::get_nbi`].
    unsafe fn implicit_shapes(&self, all: &Shapes<'_>) {
        // SAFETY: owed by the caller.
        if let Err(fault) = unsafe { self.start_shapes(all, true) } {
            self.wrong_shapes(all, fault);
        }
    }

    /// Starts a transfer, or does it at once; the event of one that is not implicit.
    ///
    /// # Safety
    /// As [`ShapeCalls::put_nb`] or [`ShapeCalls::get_nb`], or their implicit forms.
    #[inline]
    unsafe fn start_shapes(&self, all: &Shapes<'_>, implicit: bool) -> Result<Event, Fault> {
        // SAFETY: owed by the caller, all.
        unsafe {
            if self.near_shapes(all)? {
                return Ok(Event::DONE);
            }
            if implicit {
                let kind = if all.is_get() { Implicit::Gets } else { Implicit::Puts };
                self.far_shapes(all, self.wire.ops.implicit(kind))?;
                return Ok(Event::DONE);
            }
            let op = self.wire.ops.start_with(all.rank);
            let started = self.far_shapes(all, op);
            let event = self.wire.ops.started(op);
            // Of what was wrong nothing has begun.
            started.map(|()| event)
        }
    }

    /// Copies what is mapped here; `false` where nothing is.
    ///
    /// # Safety
    /// As [`ShapeCalls::put`] or [`ShapeCalls::get`].
    #[inline]
    unsafe fn near_shapes(&self, all: &Shapes<'_>) -> Result<bool, Fault> {
        let segment = self.wire.segments.get(all.rank).ok_or(Fault::Outside)?;
        if segment.local.is_null() {
            return Ok(false);
        }
        let get = all.way == Way::Get;
        let window =
            Window { origin: all.origin, size: all.room(segment), at: segment.local.expose_provenance() };
        // SAFETY: owed by the caller; the window is the segment.
        near::ordered(get, || unsafe { near::copy(&window, all.remote, all.local, get) })?;
        Ok(true)
    }

    /// Ends the job for a transfer that cannot be.
    #[cold]
    fn wrong_shapes(&self, all: &Shapes<'_>, fault: Fault) -> ! {
        if fault == Fault::Bytes {
            let bytes = |shape: Shape<'_>| match shape.bytes() {
                Some(bytes) if bytes <= MAX_BYTES => format!("{bytes} bytes"),
                _ => format!("more than the most of {MAX_BYTES} bytes"),
            };
            let (there, here) = (bytes(all.remote), bytes(all.local));
            self.fatal(&format!(
                "a transfer of pieces: source and destination have different numbers of bytes, or too many: {there} of rank {}, {here} \
                 here",
                all.rank
            ));
        }
        let (first, end) = all.remote.span().unwrap_or((all.origin as i128, all.origin as i128));
        let offset = first.wrapping_sub(all.origin as i128) as u64;
        let what = if all.way == Way::Get { "get" } else { "put" };
        self.wire.fatal_outside(what, all.rank, offset, usize::try_from(end - first).unwrap_or(usize::MAX))
    }
}

impl ShapeCalls<'_> {
    /// Copies the bytes of `from`, addresses here, to `to`, offsets in the segment of `rank`; both have the
    /// same number of bytes. `origin` is subtracted from every remote place: 0 for offsets, the segment's
    /// first address where places are addresses.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is in place.
    ///
    /// # Safety
    /// 1. The local pieces are valid (owed by the caller). 2. As for [`Rank::put`].
    pub unsafe fn put(self, rank: RankId, to: Shape<'_>, origin: usize, from: Shape<'_>) {
        // SAFETY: owed by the caller.
        let event = unsafe { self.put_nb(rank, to, origin, from, Local::Defer) };
        self.rank.wait(event);
    }

    /// Starts [`ShapeCalls::put`]. The local pieces stay as they are as long as `source` says; the shapes are
    /// read at once.
    ///
    /// # Safety
    /// As [`ShapeCalls::put`], until then.
    pub unsafe fn put_nb(
        self,
        rank: RankId,
        to: Shape<'_>,
        origin: usize,
        from: Shape<'_>,
        source: Local,
    ) -> Event {
        let all = Shapes { way: Way::Put(source), rank, remote: to, origin, local: from, kept: false };
        // SAFETY: owed by the caller.
        unsafe { self.rank.explicit_shapes(&all) }
    }

    /// Starts [`ShapeCalls::put`] as an implicit put.
    ///
    /// # Safety
    /// As [`ShapeCalls::put`], until the implicit puts of this thread (or the region), or their sources, are
    /// synchronised.
    pub unsafe fn put_nbi(self, rank: RankId, to: Shape<'_>, origin: usize, from: Shape<'_>, source: Local) {
        let all = Shapes { way: Way::Put(source), rank, remote: to, origin, local: from, kept: false };
        // SAFETY: owed by the caller.
        unsafe { self.rank.implicit_shapes(&all) }
    }

    /// Copies the bytes of `from`, offsets in the segment of `rank`, to `to`, addresses here. As
    /// [`ShapeCalls::put`].
    ///
    /// # Safety
    /// 1. The local pieces are valid for writes and do not overlap (owed by the caller). 2. As for
    ///    [`Rank::get`].
    pub unsafe fn get(self, to: Shape<'_>, rank: RankId, from: Shape<'_>, origin: usize) {
        // SAFETY: owed by the caller.
        let event = unsafe { self.get_nb(to, rank, from, origin) };
        self.rank.wait(event);
    }

    /// Starts [`ShapeCalls::get`]. The local pieces are undefined until the event is done.
    ///
    /// # Safety
    /// As [`ShapeCalls::get`], until the event is done.
    pub unsafe fn get_nb(self, to: Shape<'_>, rank: RankId, from: Shape<'_>, origin: usize) -> Event {
        let all = Shapes { way: Way::Get, rank, remote: from, origin, local: to, kept: false };
        // SAFETY: owed by the caller.
        unsafe { self.rank.explicit_shapes(&all) }
    }

    /// Starts [`ShapeCalls::get`] as an implicit get.
    ///
    /// # Safety
    /// As [`ShapeCalls::get`], until the implicit gets of this thread (or the region) are synchronised.
    pub unsafe fn get_nbi(self, to: Shape<'_>, rank: RankId, from: Shape<'_>, origin: usize) {
        let all = Shapes { way: Way::Get, rank, remote: from, origin, local: to, kept: false };
        // SAFETY: owed by the caller.
        unsafe { self.rank.implicit_shapes(&all) }
    }

    /// Starts a put of `local` to `remote`, or a get from there, as `start` says. It returns `None`, and
    /// does nothing, if the sides have different numbers of bytes, or `remote` is not inside the segment of
    /// `rank`. What is implicit has no event of its own.
    ///
    /// # Safety
    /// As [`ShapeCalls::put_nb`], [`ShapeCalls::get_nb`], or their implicit forms.
    #[inline]
    pub unsafe fn start(
        self,
        start: Start,
        rank: RankId,
        remote: Shape<'_>,
        origin: usize,
        local: Shape<'_>,
    ) -> Option<Event> {
        let way = if start.get { Way::Get } else { Way::Put(start.source) };
        let all = Shapes { way, rank, remote, origin, local, kept: false };
        // SAFETY: owed by the caller.
        unsafe { self.rank.start_shapes(&all, start.implicit) }.ok()
    }

    /// Writes rows of `columns` elements each into another rank's segment. They are one after another in
    /// `values`; there, each begins `step` elements behind the one before. With one column they are elements
    /// at equal distances, such as a column of a matrix.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::write_slice`].
    ///
    /// # Panics
    /// Ends the job when a row does not fit into the segment, or `values` is not made of whole rows.
    pub fn write_rows<T: Shared>(self, to: GlobalPtr<T>, step: usize, columns: usize, values: &[T]) {
        let rows = Rows::new(self.rank, "put", to, step, columns, values.len());
        // SAFETY: a slice is valid for its size; T is plain data.
        unsafe { self.put(to.rank(), rows.remote(), 0, rows.tight(values.as_ptr().expose_provenance())) }
    }

    /// Reads rows of `columns` elements each from another rank's segment, each of which begins `step`
    /// elements behind the one before: on return they are in `values`, one after another. In all else as
    /// [`ShapeCalls::write_rows`].
    pub fn read_rows<T: Shared>(self, from: GlobalPtr<T>, step: usize, columns: usize, values: &mut [T]) {
        let rows = Rows::new(self.rank, "get", from, step, columns, values.len());
        let to = values.as_mut_ptr().expose_provenance();
        // SAFETY: a slice is valid for its size; any bytes are a T.
        unsafe { self.get(rows.tight(to), from.rank(), rows.remote(), 0) }
    }

    /// Starts [`ShapeCalls::read_rows`] from kept memory: `rows` of `columns` elements, which begin `step`
    /// elements behind each other there and `tight` elements here.
    ///
    /// # One-sided
    /// # Completion
    /// When the event is done, the rows are there.
    ///
    /// # Safety
    /// 1. As [`KeptCalls::read`](crate::KeptCalls::read), until the event is done. 2. `to` is valid for
    ///    writes of the rows until the event is done (owed by the caller).
    ///
    /// # Panics
    /// Ends the job when a row is not in the segment or its kept memory.
    pub unsafe fn start_read_kept_rows<T: Shared>(
        self,
        from: GlobalPtr<T>,
        step: usize,
        (rows, columns): (usize, usize),
        to: *mut T,
        tight: usize,
    ) -> Event {
        let there = Rows::new(self.rank, "get", from, step, columns, rows.saturating_mul(columns));
        let steps = [tight.wrapping_mul(size_of::<T>())];
        let local = Shape::Strided { at: to.expose_provenance(), strides: &steps, count: &there.count };
        let (rank, remote) = (from.rank(), there.remote());
        // SAFETY: owed by the caller.
        unsafe {
            self.rank.explicit_shapes(&Shapes { way: Way::Get, rank, remote, origin: 0, local, kept: true })
        }
    }
}

/// Who serves the messages of this module.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, _| wire.fatal_started("a put or get of many pieces", to),
};

/// Serves a message of this module.
fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    let result = match (index, m.args) {
        (PUT, args) if token.is_request() => far::serve_put(rank, token, args, m.bytes()),
        (GET, args) if token.is_request() => far::serve_get(rank, token, args, m.bytes()),
        (DATA, &[name, generation]) => {
            far::take_data(rank, token, [name, generation], m.bytes());
            Ok(())
        }
        (NOTIFY, &[handler]) if token.is_request() && m.kind == Kind::Medium => {
            let Some(handler) = u8::try_from(handler).ok().filter(|h| *h >= FIRST_CLIENT_HANDLER) else {
                nonsense(token, "a notice for a handler that is no client's");
            };
            // SAFETY: the payload of the notice, which is a medium message.
            let message = unsafe { Message::new(Kind::Medium, &[], m.payload, m.len) };
            rank.wire.run_handler(token.source(), Channel::Reply, handler, &message);
            Ok(())
        }
        _ => nonsense(token, &format!("a message {index} with {} arguments", m.args.len())),
    };
    if let Err(e) = result {
        rank.fatal(&format!("answering rank {}: {e}", token.source()));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn list(shape: Shape<'_>) -> Vec<(usize, usize)> {
        shape.pieces(0).map(|p| (p.at, p.len)).collect()
    }

    #[test]
    fn strided_boxes_are_walked_innermost_first() {
        let s = |count| Shape::Strided { at: 100, strides: &[10, 1000], count };
        assert_eq!(list(s(&[4, 3, 2])), [(100, 4), (110, 4), (120, 4), (1100, 4), (1110, 4), (1120, 4)]);
        assert_eq!(list(Shape::Strided { at: 7, strides: &[], count: &[5] }), [(7, 5)]);
        assert_eq!(
            [list(s(&[0, 3, 2])), list(s(&[4, 0, 2])), list(s(&[4, 3, 0]))],
            [const { Vec::new() }; 3]
        );
        assert_eq!(list(Shape::Strided { at: 7, strides: &[], count: &[] }), []);
    }

    #[test]
    fn bytes_and_spans_are_those_of_the_pieces() {
        let p = |at, len| Piece { at, len };
        let back = 10usize.wrapping_neg();
        let vector = [p(30, 4), p(7, 0), p(10, 3)];
        for shape in [
            Shape::Vector(&vector),
            Shape::Vector(&[]),
            Shape::Indexed(&[50, 8, 20], 5),
            Shape::Indexed(&[50], 0),
            Shape::Strided { at: 100, strides: &[10, 1000], count: &[4, 3, 2] },
            Shape::Strided { at: 100, strides: &[back, 1000], count: &[4, 3, 2] },
            Shape::Strided { at: 100, strides: &[10], count: &[4, 0] },
            Shape::Strided { at: 100, strides: &[], count: &[4] },
        ] {
            let pieces = list(shape);
            assert_eq!(shape.bytes(), Some(pieces.iter().map(|p| p.1).sum()), "{shape:?}");
            let first = pieces.iter().map(|p| p.0 as i128).min();
            let end = pieces.iter().map(|p| (p.0 + p.1) as i128).max();
            assert_eq!(shape.span(), first.zip(end), "{shape:?}");
        }
        assert_eq!(Shape::Indexed(&[0, 0], usize::MAX).bytes(), None);
    }

    #[test]
    fn sides_are_matched_and_contiguous_pieces_joined() {
        let p = |at, len| Piece { at, len };
        let a = [p(0, 3), p(3, 5), p(20, 0), p(30, 4)];
        let b = [p(100, 4), p(104, 6), p(200, 2)];
        let mut got = Vec::new();
        let same =
            walk(Shape::Vector(&a).pieces(0), Shape::Vector(&b).pieces(100), |x, y, n| got.push((x, y, n)));
        assert!(same);
        assert_eq!(got, [(0, 0, 8), (30, 8, 2), (32, 100, 2)]);
        assert!(!walk(Shape::Vector(&a).pieces(0), Shape::Vector(&b[..2]).pieces(0), |_, _, _| {}));
        assert!(walk(
            Shape::Indexed(&[], 9).pieces(0),
            Shape::Indexed(&[1, 2], 0).pieces(0),
            |_, _, _| panic!()
        ));
    }
}
