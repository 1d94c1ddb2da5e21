//! Transfers of many pieces with memory that is reached by messages.
//!
//! A frame holds as many runs as fit: a put's request the bytes and where they belong, a get's request where
//! they are, and the answer the bytes. Frames do not wait for each other. Each side is walked by a [`Cursor`]
//! of its own, so they may be cut up in different ways. A place in a frame is one of these forms:
//!
//! | Form | Words | What they say |
//! |---|---|---|
//! | [`GRID`] | place, length of a run, bytes before the first one here, and for each level extent and distance | all runs of the grid, of which the frame has a part |
//! | [`PLACES`] | place, length, bytes of the first run that are not meant, and a list of distances from the place | runs of one length |
//! | [`PIECES`] | place, and a list of distances and lengths | any runs |
//!
//! Distances in lists have 4 bytes, or 8 where some need it ([`WIDE`]). The target looks at all places before
//! it touches one. The answer to a get names a transfer, whose entry here says where the bytes go.
#![expect(unsafe_code, reason = "copies between segments, message payloads and user memory")]

use super::runs::{self, Even};
use super::side::{self, Addresses, Boxes, Fault, Grid, Side, are_inside, is_inside};
use super::{DATA, GET, PUT, Piece, Shapes, Way};
use crate::amref;
use crate::{Error, Rank};
use gasnet_wire::am::{MAX_MEDIUM, Token, nonsense};
use gasnet_wire::transfer::{Answer, FarAccess, Plan};
use smallvec::SmallVec;

/// Runs of this size are not packed.
pub(super) const MIN_UNPACKED_BYTES: usize = 4096;

const GRID: u32 = 0;
const PLACES: u32 = 1;
const PIECES: u32 = 2;
/// Added to a form: distances in the list have 8 bytes.
const WIDE: u32 = 4;

/// Extent and distance of a level.
type Level = (usize, usize);

/// Levels of a grid: most have few.
type Levels = SmallVec<[Level; 2]>;

/// Places in a frame as they are written: most are short.
type Head = SmallVec<[u8; 128]>;

/// How the owner of the remote side is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door<'a> {
    /// The messages.
    pub(crate) put: u8,
    pub(crate) get: u8,
    /// What their arguments have between the transfer's name and what the places are: [`MAX_DOOR_WORDS`] at
    /// most.
    pub(crate) words: &'a [u32],
}

/// Words of a door.
const MAX_DOOR_WORDS: usize = 4;
/// Arguments of a request besides those: the transfer's name, form, entries, bytes.
const REQUEST_WORDS: usize = 5;

/// The door to segments.
const SEGMENT: Door<'_> = Door { put: PUT, get: GET, words: &[] };

/// How runs are laid out.
#[derive(Debug)]
enum Form<'a> {
    /// Runs of one length; extents are not 0.
    Grid { at: usize, len: usize, levels: Levels },
    /// Runs of one length, at listed places.
    Places { list: List<'a>, len: usize },
    /// Runs of any lengths.
    Pieces(Vec<Piece>),
}

/// A list of places, of the caller's or of our own.
#[derive(Debug)]
enum List<'a> {
    Given(Addresses<'a>),
    Own(Vec<usize>),
}

impl List<'_> {
    fn addresses(&self) -> Addresses<'_> {
        match self {
            List::Given(list) => *list,
            List::Own(list) => Addresses::Bare(list),
        }
    }
}

/// Where a walk along the bytes of a side is.
#[derive(Debug)]
struct Cursor<'a> {
    form: Form<'a>,
    /// Number of the run it is in.
    run: usize,
    /// Bytes of that run that lie behind it.
    within: usize,
}

/// What a frame has room for.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Most bytes of its payload.
    most: usize,
    /// Bytes that are left to be sent.
    left: usize,
    /// Whether the places have a frame of their own, without the bytes.
    alone: bool,
}

/// Places in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Described {
    form: u32,
    /// Levels of a grid, entries of a list.
    entries: u32,
    /// Bytes that are there.
    n: usize,
}

/// Direction of [`Cursor::copy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// From the runs to where they are packed.
    Pack,
    Unpack,
}

impl<'a> Cursor<'a> {
    fn new(form: Form<'a>) -> Cursor<'a> {
        Cursor { form, run: 0, within: 0 }
    }

    fn of(side: &Side<'a>) -> Cursor<'a> {
        Cursor::new(match *side {
            Side::Nothing => Form::Pieces(Vec::new()),
            Side::Grid(grid) => folded(grid.at, grid.len, grid.levels()),
            Side::Places { list, len } => Form::Places { list: List::Given(list), len },
            Side::Pieces(list) => Form::Pieces(list.iter().copied().filter(|piece| piece.len > 0).collect()),
        })
    }

    /// The run it is in: place and length, or nothing at the end of a list.
    fn here(&self) -> Piece {
        match &self.form {
            Form::Grid { at, len, levels } => {
                let (mut at, mut rest) = (*at, self.run);
                for (count, step) in levels {
                    at = at.wrapping_add((rest % count).wrapping_mul(*step));
                    rest /= count;
                }
                Piece { at, len: *len }
            }
            Form::Places { list, len } => {
                let list = list.addresses();
                if self.run < list.len() { Piece { at: list.get(self.run), len: *len } } else { NO_PIECE }
            }
            Form::Pieces(list) => list.get(self.run).copied().unwrap_or(NO_PIECE),
        }
    }

    /// What of that run is ahead.
    fn ahead(&self) -> Piece {
        let piece = self.here();
        Piece { at: piece.at.wrapping_add(self.within), len: piece.len.saturating_sub(self.within) }
    }

    /// Goes on within a run.
    fn step(&mut self, n: usize, run: usize) {
        self.within += n;
        if self.within == run {
            (self.run, self.within) = (self.run + 1, 0);
        }
    }

    /// Goes on by `n` bytes, which are there.
    fn advance(&mut self, mut n: usize) {
        match &self.form {
            Form::Grid { len, .. } | Form::Places { len, .. } => {
                let all = self.within + n;
                self.run += all / len;
                self.within = all % len;
            }
            Form::Pieces(_) => {
                while n > 0 {
                    let (run, ahead) = (self.here().len, self.ahead().len);
                    let now = n.min(ahead);
                    self.step(now, run);
                    n -= now;
                }
            }
        }
    }

    /// Copies the next `n` bytes, all of which are there, to or from where they are packed.
    ///
    /// # Safety
    /// 1. `shift` added to the places of the runs gives addresses where they are valid, and others access
    ///    them as [`crate::bytes`] says (owed by the caller). 2. `packed` is valid for `n` bytes, which
    ///    nobody else uses (owed by the caller).
    unsafe fn copy(&mut self, direction: Direction, packed: *mut u8, n: usize, shift: usize) {
        let pack = direction == Direction::Pack;
        let mut done = 0;
        while done < n {
            let (run, rest) = (self.here(), n - done);
            debug_assert!(run.len > 0, "there are as many bytes");
            let tight = Even { at: packed.expose_provenance() + done, step: run.len };
            // SAFETY, of all: (1), (2).
            if self.within > 0 || rest < run.len {
                let now = rest.min(run.len - self.within);
                let at = run.at.wrapping_add(self.within).wrapping_add(shift);
                let (at, packed) = (core::ptr::with_exposed_provenance_mut(at), packed.wrapping_add(done));
                let (to, from) = if pack { (packed, at) } else { (at, packed) };
                // SAFETY: see above.
                unsafe { runs::run_of(now, to, from, pack) };
                self.step(now, run.len);
                done += now;
                continue;
            }
            let whole = rest / run.len;
            let count = match &self.form {
                Form::Grid { levels, .. } => {
                    let (all, step) = levels.first().copied().unwrap_or((1, 0));
                    let count = whole.min(all - self.run % all);
                    let row = Even { at: run.at.wrapping_add(shift), step };
                    // SAFETY: see above.
                    unsafe {
                        match direction {
                            Direction::Pack => runs::copy(tight, row, count, run.len, true),
                            Direction::Unpack => runs::copy(row, tight, count, run.len, false),
                        }
                    };
                    count
                }
                Form::Places { list, .. } => {
                    let places = list.addresses().part(self.run, whole).listed(shift);
                    // SAFETY: see above; the list has as many entries.
                    unsafe {
                        match direction {
                            Direction::Pack => runs::copy(tight, places, whole, run.len, true),
                            Direction::Unpack => runs::copy(places, tight, whole, run.len, false),
                        }
                    };
                    whole
                }
                Form::Pieces(_) => {
                    let one = Even { at: run.at.wrapping_add(shift), step: 0 };
                    // SAFETY: see above.
                    unsafe {
                        match direction {
                            Direction::Pack => runs::copy(tight, one, 1, run.len, true),
                            Direction::Unpack => runs::copy(one, tight, 1, run.len, false),
                        }
                    };
                    1
                }
            };
            self.run += count;
            done += count * run.len;
        }
    }

    /// A cursor of its own for the next `n` bytes, all of which are there: it outlives the caller's lists.
    fn own_part(&self, n: usize) -> Cursor<'static> {
        let (run, within) = (self.run, self.within);
        match &self.form {
            Form::Grid { at, len, levels } => {
                Cursor { form: Form::Grid { at: *at, len: *len, levels: levels.clone() }, run, within }
            }
            Form::Places { list, len } => {
                let list = list.addresses().part(run, (within + n).div_ceil(*len));
                let list = List::Own((0..list.len()).map(|i| list.get(i)).collect());
                Cursor { form: Form::Places { list, len: *len }, run: 0, within }
            }
            Form::Pieces(list) => {
                let mut left = n + within;
                let part = list[run..].iter().take_while(|piece| {
                    let more = left > 0;
                    left = left.saturating_sub(piece.len);
                    more
                });
                Cursor { form: Form::Pieces(part.copied().collect()), run: 0, within }
            }
        }
    }

    /// Writes where the next bytes are to `head`, as distances from `origin`, and goes on by as many as fit
    /// the frame.
    fn describe(&mut self, head: &mut Head, origin: usize, frame: Frame) -> Described {
        head.clear();
        let Frame { most, left, alone } = frame;
        let room = |head: usize| if alone { most } else { most - head };
        match &self.form {
            Form::Grid { at, len, levels } if (3 + 2 * levels.len()) * WORD_BYTES <= most / 2 => {
                let before = self.run * len + self.within;
                let at = at.wrapping_sub(origin);
                for word in [at, *len, before].into_iter().chain(levels.iter().flat_map(|l| [l.0, l.1])) {
                    head.extend_from_slice(&(word as u64).to_le_bytes());
                }
                let (n, entries) = (left.min(room(head.len())), levels.len() as u32);
                self.advance(n);
                Described { form: GRID, entries, n }
            }
            Form::Places { list, len } if self.within + len < most / 2 => {
                let (list, len, run, within) = (list.addresses(), *len, self.run, self.within);
                let fit = |entry: usize| {
                    let head = 3 * WORD_BYTES;
                    let by_frame = if alone {
                        ((most - head) / entry).min((most + within) / len)
                    } else {
                        (most - head + within) / (entry + len)
                    };
                    list.part(run, by_frame.min((within + left).div_ceil(len)).max(1))
                };
                let places = fit(4);
                let (low, high) = ends(places);
                let wide = high - low > u32::MAX as usize;
                let places = if wide { fit(8) } else { places };
                for word in [low.wrapping_sub(origin), len, within] {
                    head.extend_from_slice(&(word as u64).to_le_bytes());
                }
                for i in 0..places.len() {
                    put_distance(head, places.get(i) - low, wide);
                }
                let (n, entries) = ((places.len() * len - within).min(left), places.len() as u32);
                self.advance(n);
                Described { form: PLACES + if wide { WIDE } else { 0 }, entries, n }
            }
            _ => self.describe_pieces(head, origin, frame),
        }
    }

    /// [`Cursor::describe`] run by run.
    fn describe_pieces(&mut self, head: &mut Head, origin: usize, frame: Frame) -> Described {
        let Frame { most, left, alone } = frame;
        let mut pieces = Vec::new();
        let (mut n, mut size) = (0, WORD_BYTES);
        let entry = 2 * WORD_BYTES;
        while n < left && size + entry < most {
            let (run, piece) = (self.here().len, self.ahead());
            if !pieces.is_empty() && piece.len >= MIN_UNPACKED_BYTES {
                break;
            }
            let room = if alone { most - n } else { (most - size - entry).saturating_sub(n) };
            let len = piece.len.min(left - n).min(room);
            if len == 0 {
                break;
            }
            pieces.push(Piece { len, ..piece });
            self.step(len, run);
            (n, size) = (n + len, size + entry);
        }
        let low = pieces.iter().map(|piece| piece.at).min().unwrap_or(0);
        let wide = pieces.iter().any(|piece| piece.at - low > u32::MAX as usize);
        head.extend_from_slice(&(low.wrapping_sub(origin) as u64).to_le_bytes());
        for piece in &pieces {
            put_distance(head, piece.at - low, wide);
            put_distance(head, piece.len, wide);
        }
        Described { form: PIECES + if wide { WIDE } else { 0 }, entries: pieces.len() as u32, n }
    }
}

const NO_PIECE: Piece = Piece { at: 0, len: 0 };
const WORD_BYTES: usize = 8;

/// The lowest of some places and the highest.
fn ends(places: Addresses<'_>) -> (usize, usize) {
    (0..places.len())
        .map(|i| places.get(i))
        .fold((usize::MAX, 0), |(low, high), at| (low.min(at), high.max(at)))
}

fn put_distance(to: &mut Head, distance: usize, wide: bool) {
    if wide {
        to.extend_from_slice(&(distance as u64).to_le_bytes());
    } else {
        to.extend_from_slice(&(distance as u32).to_le_bytes());
    }
}

/// A grid with as few levels as it can have.
fn folded<'a>(at: usize, mut len: usize, levels: impl Iterator<Item = Level>) -> Form<'a> {
    let mut kept = Levels::new();
    for (count, step) in levels {
        match kept.last_mut() {
            _ if count == 1 => {}
            None if step == len => len *= count,
            Some(last) if step == last.0.wrapping_mul(last.1) => last.0 *= count,
            _ => kept.push((count, step)),
        }
    }
    Form::Grid { at, len, levels: kept }
}

/// Cursors along both sides, and the number of bytes.
fn cursors<'a>(all: &Shapes<'a>, size: usize) -> Result<(Cursor<'a>, Cursor<'a>, usize), Fault> {
    let (there, here, bytes) = side::pair(all.remote, all.local, all.origin, size)?;
    let get = all.way == Way::Get;
    let grids = |remote: Grid<'a>, local: Grid<'a>| {
        let boxes = if get { Boxes::of(local, remote) } else { Boxes::of(remote, local) }?;
        let to = folded(boxes.to, boxes.len, boxes.levels().iter().map(|level| (level.count, level.to)));
        let from =
            folded(boxes.from, boxes.len, boxes.levels().iter().map(|level| (level.count, level.from)));
        let bytes = boxes.levels().iter().map(|level| level.count).product::<usize>() * boxes.len;
        let (remote, local) = if get { (from, to) } else { (to, from) };
        Some((Cursor::new(remote), Cursor::new(local), bytes))
    };
    if let (Side::Grid(remote), Side::Grid(local)) = (there, here)
        && let Some(grids) = grids(remote, local)
    {
        return Ok(grids);
    }
    Ok((Cursor::of(&there), Cursor::of(&here), bytes))
}

impl Rank {
    /// Starts a transfer with a rank that is reached by messages. It counts in an op. As
    /// [`Rank::by_messages`].
    ///
    /// # Safety
    /// As [`ShapeCalls::put`](crate::ShapeCalls::put) or [`ShapeCalls::get`](crate::ShapeCalls::get), until
    /// the op is complete, or its sources are.
    pub(super) unsafe fn far_shapes(&self, all: &Shapes<'_>, op: u32) -> Result<(), Fault> {
        let size = self.wire.segments.get(all.rank).map_or(0, |segment| all.room(segment));
        let one = |offset: u64, at: *mut u8, len: usize| {
            let far = FarAccess { op, peer: all.rank, offset, len, immediate: false };
            // Never refused. SAFETY: owed by the caller; the range was checked.
            let _ = unsafe {
                match all.way {
                    Way::Put(source) => self.far_put(far, at, source),
                    Way::Get => self.far_get(far, at),
                }
            };
        };
        // SAFETY: owed by the caller.
        unsafe { self.by_messages(all, op, size, &SEGMENT, one) }
    }

    /// Starts a transfer with memory of `size` bytes, which is reached through a door. Runs that go on their
    /// own, and a transfer of one run, are started by `one`, which gets place, address here, and length. The
    /// error says what is wrong with the pieces; nothing was done then.
    ///
    /// # Safety
    /// As [`ShapeCalls::put`](crate::ShapeCalls::put) or [`ShapeCalls::get`](crate::ShapeCalls::get), until
    /// the op is complete, or its sources are.
    pub(crate) unsafe fn by_messages(
        &self,
        all: &Shapes<'_>,
        op: u32,
        size: usize,
        door: &Door<'_>,
        one: impl Fn(u64, *mut u8, usize),
    ) -> Result<(), Fault> {
        let (mut there, mut here, mut left) = cursors(all, size)?;
        let most = self.wire.max_frame(all.rank, REQUEST_WORDS + MAX_DOOR_WORDS).min(MAX_MEDIUM);
        let mut head = Head::new();
        while left > 0 {
            let (remote, local) = (there.ahead(), here.ahead());
            let n = remote.len.min(local.len);
            // What is left is one run: it needs no description, and conduits have something better for it.
            if n >= MIN_UNPACKED_BYTES || n == left {
                let at = core::ptr::with_exposed_provenance_mut::<u8>(local.at);
                one(remote.at.wrapping_sub(all.origin) as u64, at, n);
                there.advance(n);
                here.advance(n);
                left -= n;
                continue;
            }
            let frame = Frame { most, left, alone: all.way == Way::Get };
            // SAFETY: owed by the caller.
            left -= unsafe { self.send_runs(all, op, door, (&mut there, &mut here), frame, &mut head) };
        }
        Ok(())
    }

    /// Sends what fits one frame; how many bytes.
    ///
    /// # Safety
    /// As [`Rank::far_shapes`].
    unsafe fn send_runs(
        &self,
        all: &Shapes<'_>,
        op: u32,
        door: &Door<'_>,
        (there, here): (&mut Cursor<'_>, &mut Cursor<'_>),
        frame: Frame,
        head: &mut Head,
    ) -> usize {
        let Described { form, entries, n } = there.describe(head, all.origin, frame);
        let plan = |answer| Plan::message(all.rank, op, answer);
        let (handler, plan, data) = match all.way {
            Way::Put(_) => (door.put, plan(Answer::Done), n),
            // Taken back by the handler of the answer, which this rank's table of transfers lets in once.
            Way::Get => {
                let at = Box::into_raw(Box::new(here.own_part(n))).cast();
                here.advance(n);
                (door.get, Plan { at, len: n, step: n, ..plan(Answer::Pieces) }, 0)
            }
        };
        let [name, generation] = self.transfer(&plan).piece(0);
        let words = door.words.len();
        let mut args = [0; REQUEST_WORDS + MAX_DOOR_WORDS];
        args[..2].copy_from_slice(&[name, generation]);
        args[2..2 + words].copy_from_slice(door.words);
        args[2 + words..REQUEST_WORDS + words].copy_from_slice(&[form, entries, n as u32]);
        let args = &args[..REQUEST_WORDS + words];
        let len = head.len() + data;
        let sent = self.messages().prepare_medium(all.rank, len, args.len(), false).and_then(|prepared| {
            let mut message = prepared.expect("it waits for room");
            let (places, bytes) = message.payload().split_at_mut(head.len());
            places.copy_from_slice(head);
            // SAFETY: the caller's pieces are valid; the message has as many bytes more.
            unsafe { here.copy(Direction::Pack, bytes.as_mut_ptr(), data, 0) };
            // SAFETY: a message of this module or of the door's, as the table there says.
            unsafe { message.commit_any(handler, args, len, 0) }
        });
        if let Err(e) = sent {
            self.fatal(&e.to_string());
        }
        n
    }
}

/// Words of 4 or 8 bytes in a message; `None` behind its end.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self, wide: bool) -> Option<usize> {
        if wide {
            let (word, rest) = self.0.split_first_chunk()?;
            self.0 = rest;
            Some(u64::from_le_bytes(*word) as usize)
        } else {
            let (word, rest) = self.0.split_first_chunk()?;
            self.0 = rest;
            Some(u32::from_le_bytes(*word) as usize)
        }
    }
}

/// The places that a request begins with, as a cursor along `n` bytes of a segment of `size` bytes, and what
/// follows them; `None` if they are none, or are not in the segment.
fn parse(form: u32, entries: u32, n: usize, payload: &[u8], size: usize) -> Option<(Cursor<'static>, &[u8])> {
    let (wide, entries, mut words) = (form & WIDE != 0, entries as usize, Words(payload));
    // An entry has 4 bytes at least.
    if entries > payload.len() {
        return None;
    }
    let at = words.next(true)?;
    let cursor = match form & !WIDE {
        GRID => {
            let (len, before) = (words.next(true)?, words.next(true)?);
            let level = |_| Some((words.next(true)?, words.next(true)?));
            let levels: Levels = (0..entries).map(level).collect::<Option<_>>()?;
            let bytes = levels.iter().try_fold(len, |all, level| all.checked_mul(level.0))?;
            if bytes == 0
                || before > bytes
                || n > bytes - before
                || !is_inside(at, len, levels.iter().copied(), size)
            {
                return None;
            }
            let (run, within) = (before / len, before % len);
            Cursor { form: Form::Grid { at, len, levels }, run, within }
        }
        PLACES => {
            let (len, within) = (words.next(true)?, words.next(true)?);
            let place = |_| Some(at.wrapping_add(words.next(wide)?));
            let list: Vec<usize> = (0..entries).map(place).collect::<Option<_>>()?;
            let bytes = entries.checked_mul(len)?;
            if within >= len || n > bytes - within || !Addresses::Bare(&list).are_inside(0, size, len) {
                return None;
            }
            Cursor { form: Form::Places { list: List::Own(list), len }, run: 0, within }
        }
        PIECES => {
            let piece = |_| Some(Piece { at: at.wrapping_add(words.next(wide)?), len: words.next(wide)? });
            let list: Vec<Piece> = (0..entries).map(piece).collect::<Option<_>>()?;
            let bytes = list.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.len))?;
            if n > bytes || list.iter().any(|piece| piece.len == 0) || !are_inside(&list, 0, size) {
                return None;
            }
            Cursor::new(Form::Pieces(list))
        }
        _ => return None,
    };
    Some((cursor, words.0))
}

/// The own segment's first address and length, with its kept memory, for a rank that asks for pieces of it.
/// That rank has looked whether it may reach the kept memory.
fn own_segment(rank: &Rank) -> (usize, usize) {
    match rank.wire.segments.get(rank.id()) {
        Some(own) if !own.local.is_null() => (own.local.expose_provenance(), own.whole),
        _ => (0, 0),
    }
}

/// Runs that a request names, all of them in the memory that it was read for.
#[derive(Debug)]
pub(crate) struct Runs<'a> {
    cursor: Cursor<'static>,
    /// The bytes of a put.
    data: &'a [u8],
    /// How many bytes.
    pub(crate) n: usize,
}

impl<'a> Runs<'a> {
    /// Reads a request for memory of `size` bytes from its last three arguments and its payload; `None` if it
    /// is none, or not of places there.
    pub(crate) fn read(get: bool, words: &[u32], payload: &'a [u8], size: usize) -> Option<Runs<'a>> {
        let &[form, entries, n] = words else { return None };
        let n = n as usize;
        let (cursor, data) = parse(form, entries, n, payload, size)?;
        let bytes = if get { 0 } else { n };
        (n <= MAX_MEDIUM && data.len() == bytes).then_some(Runs { cursor, data, n })
    }

    /// Calls `each` with the place and the length of every run.
    pub(crate) fn each(&self, mut each: impl FnMut(usize, usize)) {
        let (mut cursor, mut left) = (self.cursor.own_part(self.n), self.n);
        while left > 0 {
            let (run, piece) = (cursor.here().len, cursor.ahead());
            let len = piece.len.min(left);
            each(piece.at, len);
            cursor.step(len, run);
            left -= len;
        }
    }

    /// Stores the bytes of a put.
    ///
    /// # Safety
    /// 1. The memory that the request was read for begins at `at`, and others access it as [`crate::bytes`]
    ///    says (owed by the caller).
    pub(crate) unsafe fn store(mut self, at: usize) {
        // SAFETY: (1): `parse` looked at all places. The payload is only read.
        unsafe { self.cursor.copy(Direction::Unpack, self.data.as_ptr().cast_mut(), self.n, at) };
    }

    /// Reads the bytes for a get.
    ///
    /// # Safety
    /// 1. As [`Runs::store`]. 2. `to` is valid for writes of as many bytes (owed by the caller).
    pub(crate) unsafe fn load(mut self, to: *mut u8, at: usize) {
        // SAFETY: (1): `parse` looked at all places; (2).
        unsafe { self.cursor.copy(Direction::Pack, to, self.n, at) };
    }
}

/// Serves a put.
pub(super) fn serve_put(rank: &Rank, token: &Token<'_>, args: &[u32], payload: &[u8]) -> Result<(), Error> {
    let (at, size) = own_segment(rank);
    let runs = args.split_first_chunk::<2>();
    let runs = runs.and_then(|(name, words)| Some((name, Runs::read(false, words, payload, size)?)));
    let Some((name, runs)) = runs else {
        nonsense(token, "a put of pieces that its message does not hold, or not to this segment");
    };
    // SAFETY: the own segment.
    unsafe { runs.store(at) };
    token.answer(amref::ACK, name)
}

/// Serves a get.
pub(super) fn serve_get(rank: &Rank, token: &Token<'_>, args: &[u32], payload: &[u8]) -> Result<(), Error> {
    let (at, size) = own_segment(rank);
    let runs = args.split_first_chunk::<2>();
    let runs = runs.and_then(|(name, words)| Some((name, Runs::read(true, words, payload, size)?)));
    let Some((name, runs)) = runs else {
        nonsense(token, "a get of pieces that no message holds, or not of this segment");
    };
    let n = runs.n;
    let mut answer = token.prepare_medium(n, name.len(), false)?.expect("it waits for room");
    // SAFETY: the own segment; the message has as many bytes.
    unsafe { runs.load(answer.payload().as_mut_ptr(), at) };
    // SAFETY: the data of the transfer that was asked for by that name.
    unsafe { answer.commit_any(DATA, name, n, 0) }
}

/// Takes the answer to a get.
pub(super) fn take_data(rank: &Rank, token: &Token<'_>, name: [u32; 2], data: &[u8]) {
    let piece = rank.answered(token, name, Answer::Pieces, data.len());
    // SAFETY: what `send_runs` put into the plan of a transfer with this kind of answer, which has one piece
    // and so is answered once.
    let mut to = unsafe { Box::from_raw(piece.at.cast::<Cursor<'static>>()) };
    // SAFETY: the caller of the get keeps its pieces valid until the op is done. The payload is only read.
    unsafe { to.copy(Direction::Unpack, data.as_ptr().cast_mut(), data.len(), 0) };
    rank.piece_done(&piece);
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::super::near::Window;
    use super::super::{Local, Shape};
    use super::*;
    use crate::RankId;

    /// Does a transfer by frames of up to `most` bytes, as both ranks do it, without a network.
    ///
    /// # Safety
    /// As [`super::super::near::copy`].
    pub(in crate::vis) unsafe fn by_frames(
        window: &Window,
        remote: Shape<'_>,
        local: Shape<'_>,
        get: bool,
        most: usize,
    ) -> Result<(), Fault> {
        let way = if get { Way::Get } else { Way::Put(Local::Defer) };
        let all = Shapes { way, rank: RankId(0), remote, origin: window.origin, local, kept: false };
        let (mut there, mut here, mut left) = cursors(&all, window.size)?;
        let mut head = Head::new();
        while left > 0 {
            let at = there.describe(&mut head, all.origin, Frame { most, left, alone: get });
            assert!(at.n > 0 && at.n <= most && head.len() + if get { 0 } else { at.n } <= most, "{at:?}");
            let (mut target, rest) =
                parse(at.form, at.entries, at.n, &head, window.size).expect("what was written can be read");
            assert!(rest.is_empty());
            let mut packed = vec![0u8; at.n];
            let bytes = packed.as_mut_ptr();
            // SAFETY: owed by the caller.
            unsafe {
                if get {
                    target.copy(Direction::Pack, bytes, at.n, window.at);
                    here.own_part(at.n).copy(Direction::Unpack, bytes, at.n, 0);
                    here.advance(at.n);
                } else {
                    here.copy(Direction::Pack, bytes, at.n, 0);
                    target.copy(Direction::Unpack, bytes, at.n, window.at);
                }
            }
            left -= at.n;
        }
        Ok(())
    }

    /// Whatever a message says, what is read from it lies in the segment; most of what is not written by
    /// [`Cursor::describe`] is refused.
    #[test]
    fn forged_places_are_refused() {
        const SIZE: usize = 1000;
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let list: Vec<usize> = [300, 7, 960, 512, 40].into();
        let pieces = [Piece { at: 5, len: 40 }, Piece { at: 900, len: 100 }];
        for _ in 0..if cfg!(miri) { 50 } else { 20_000 } {
            let form = match rng.u32(..3) {
                0 => Form::Grid { at: 100, len: 8, levels: Levels::from_slice(&[(5, 16), (3, 200)]) },
                1 => Form::Places { list: List::Own(list.clone()), len: 40 },
                _ => Form::Pieces(pieces.to_vec()),
            };
            let mut head = Head::new();
            let mut at =
                Cursor::new(form).describe(&mut head, 0, Frame { most: 300, left: 120, alone: true });
            assert!(parse(at.form, at.entries, at.n, &head, SIZE).is_some());
            match rng.u32(..4) {
                0 => at.form = rng.u32(..9),
                1 => at.entries = [0, 1, 6, 7, u32::MAX][rng.usize(..5)],
                2 => at.n = [121, 200, 1000, u32::MAX as usize][rng.usize(..4)],
                _ => {
                    let i = rng.usize(..head.len());
                    head[i] ^= 1 << rng.u32(..8);
                }
            }
            let Some((mut cursor, _)) = parse(at.form, at.entries, at.n, &head, SIZE) else { continue };
            let mut left = at.n;
            while left > 0 {
                let piece = cursor.ahead();
                assert!(piece.len > 0 && piece.at <= SIZE && piece.len <= SIZE - piece.at, "{at:?} {head:?}");
                let n = piece.len.min(left);
                cursor.advance(n);
                left -= n;
            }
        }
    }
}
