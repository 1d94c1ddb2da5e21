//! Checks of programs compiled with `-fsanitize=upc`: every access must stay in one object ([`Object`]) and,
//! if its place was computed in the same expression, in the one it was computed from. Messages have the
//! source line.
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::abi::PACKED_OFFSET_BITS;
use crate::layout::STATICS_OFFSET;
use crate::objects::{Object, Spread};
use crate::state::{Upc, get, upc};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_ulong};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `struct __upc_w` of programs that are checked.
#[repr(C)]
pub struct Computed {
    offset: u64,
    thread: u64,
    phase: u64,
    /// The place that it was computed from; offset 0: it was not.
    from_offset: u64,
    from_thread: u64,
}

/// Bytes that are about to be accessed.
#[derive(Clone, Copy)]
struct Span {
    t: u64,
    o: u64,
    n: u64,
}

thread_local! {
    /// The access to a far thread that was checked last: the call that makes it need not check it again.
    static CHECKED: Cell<(u64, u64, u64)> = const { Cell::new((0, 0, 0)) };
}

/// The last object on a near thread that the checks have found valid.
#[derive(Clone, Copy)]
struct CheckedObject {
    t: u64,
    start: u64,
    end: u64,
    /// As [`Object::alive`]; null for variables.
    word: *const AtomicU64,
    holds: u64,
}

impl CheckedObject {
    const NONE: CheckedObject = CheckedObject { t: 0, start: 0, end: 0, word: std::ptr::null(), holds: 0 };

    fn has(&self, t: u64, o: u64) -> bool {
        // ORDER: Relaxed: programs order frees and accesses by themselves.
        // SAFETY: a word of a near segment, which stays mapped; atomics tolerate whatever is done to it.
        let alive = || unsafe { self.word.as_ref() }.is_none_or(|word| word.load(Relaxed) == self.holds);
        self.t == t && o >= self.start && o < self.end && alive()
    }

    fn same_object(&self, other: &CheckedObject) -> bool {
        (self.start, self.holds) == (other.start, other.holds)
    }
}

/// Parts found lately, each at the lines or the pages that were accessed: loops use the same again and again.
struct Recent {
    lines: [Cell<CheckedObject>; 64],
    pages: [Cell<CheckedObject>; 64],
}

impl Recent {
    /// Where a part may be. One that is longer than a page is among the pages.
    fn slots(&self, t: u64, o: u64) -> [&Cell<CheckedObject>; 2] {
        let slot = |shift: u32| ((o >> shift) ^ t) as usize % 64;
        [&self.lines[slot(6)], &self.pages[slot(12)]]
    }

    fn find(&self, t: u64, o: u64) -> Option<CheckedObject> {
        self.slots(t, o).into_iter().map(Cell::get).find(|part| part.has(t, o))
    }

    fn keep(&self, o: u64, part: CheckedObject) {
        self.slots(part.t, o)[usize::from(part.end - part.start > 4096)].set(part);
    }
}

thread_local! {
    static RECENT: Recent = const {
        Recent { lines: [const { Cell::new(CheckedObject::NONE) }; 64], pages: [const { Cell::new(CheckedObject::NONE) }; 64] }
    };
}

/// Whether an access is inside a part found lately, and computed from the same object.
fn is_well_known(Span { t, o, n }: Span, from: Option<(u64, u64)>) -> bool {
    RECENT.with(|recent| {
        let Some(part) = recent.find(t, o).filter(|part| n <= part.end - o) else { return false };
        let same = |(t, o)| recent.find(t, o).is_some_and(|other| part.same_object(&other));
        from.is_none_or(|(from, o)| from == t && o >= part.start && o < part.end || same((from, o)))
    })
}

impl Upc {
    fn fatal_here(&self, file: *const c_char, line: c_int, text: &str) -> ! {
        self.site.set(file, line);
        self.fatal(text)
    }

    /// Checks a shared address in a call that moves data; `what` it does with the bytes.
    #[inline]
    pub fn check_transfer(&self, what: &str, t: u32, o: u64, n: u64) {
        if self.sanitized() && n > 0 {
            let span = Span { t: t.into(), o, n };
            if CHECKED.take() != (span.t, o, n)
                && let Err(text) = self.check(what, span, None)
            {
                self.fatal(&text);
            }
        }
    }

    /// The same in a call that only starts to move data, which must not wait for a far thread: whether there
    /// is an object on its heap is not looked up.
    #[inline]
    pub fn check_started(&self, what: &str, t: u32, o: u64, n: u64) {
        let heap = o >= self.layout.heap_lo && o < self.layout.heap_hi && n <= self.layout.heap_hi - o;
        if t >= self.size || self.core.near(t) || !heap {
            self.check_transfer(what, t, o, n);
        }
    }

    /// Checks this thread's part of `n` elements of `e` bytes that begin with phase `ph` in blocks of `b`
    /// elements, 0: all in one.
    pub fn check_own_elements(&self, what: &str, (t, o, ph): (u64, u64, u64), (n, b, e): (u64, u64, u64)) {
        let (me, threads) = (u64::from(self.me), u64::from(self.size));
        if !self.sanitized() || n == 0 || t >= threads {
            return;
        }
        let (b, ph) = if b == 0 { (n, 0) } else { (b, ph) };
        // Blocks are numbered from that of the first element on.
        let (blocks, own) = ((ph + n).div_ceil(b), (me + threads - t) % threads);
        if own >= blocks {
            return;
        }
        let last = own + (blocks - 1 - own) / threads * threads;
        let offset = |block: u64, at: u64| o - ph * e + ((t + block) / threads * b + at) * e;
        let first = offset(own, if own == 0 { ph } else { 0 });
        let end = offset(last, b.min(ph + n - last * b));
        self.check_transfer(what, self.me, first, end - first);
    }

    /// Checks that bytes are of one object, of that which has the place `from`.
    fn check(&self, what: &str, span: Span, from: Option<(u64, u64)>) -> Result<(), String> {
        let Span { t, o, n } = span;
        let known = |t: u64| u32::try_from(t).ok().filter(|t| *t < self.size);
        let has = |object: &Object<'_>, (t, o): (u64, u64), n| {
            known(t).is_some_and(|t| object.has((t, o), n, self.size))
        };
        let at = |(t, o)| known(t).and_then(|t| self.object_at(t, o));
        let object = if o < STATICS_OFFSET { None } else { at((t, o)) };
        let inside = object.filter(|object| !object.freed && has(object, (t, o), n));
        if let Some(inside) = inside
            && from.is_none_or(|from| has(&inside, from, 1))
        {
            self.remember(&inside, (t, o));
            if let Some(from) = from {
                self.remember(&inside, from);
            }
            return Ok(());
        }
        // A place after the end of an object may be computed from, and belongs to none.
        let origin = from.and_then(|from| at(from).filter(|object| has(object, from, 1)));
        if inside.is_some() && origin.is_none() {
            return Ok(());
        }
        Err(self.complaint(what, span, origin.or(object)))
    }

    /// Keeps what was found about an object that has the byte at a place.
    fn remember(&self, object: &Object<'_>, (t, o): (u64, u64)) {
        let end = object.start + object.spread.on(t as u32, self.size);
        let (word, holds) = object.alive.unwrap_or((std::ptr::null(), 0));
        // An object of the heap whose label is far may be freed unseen.
        if object.alive.is_some() || object.start < self.layout.heap_lo {
            RECENT.with(|recent| recent.keep(o, CheckedObject { t, start: object.start, end, word, holds }));
        }
    }

    /// The message about an invalid access, with the nearest object.
    #[cold]
    fn complaint(&self, what: &str, Span { t, o, n }: Span, object: Option<Object<'_>>) -> String {
        if o < STATICS_OFFSET && object.is_none() {
            let beyond = if (t, o) == (0, 0) { String::new() } else { format!(", {o} bytes beyond it") };
            return format!("a null pointer-to-shared is followed{beyond}");
        }
        let Some(thread) = u32::try_from(t).ok().filter(|t| *t < self.size) else {
            return format!("a pointer-to-shared to thread {t} is followed; there are {} threads", self.size);
        };
        let who = format!("thread {} {what} {n} bytes of thread {t}'s shared memory", self.me);
        let end = o.saturating_add(n);
        if let Some(object) = object {
            let bytes = object.spread.on(thread, self.size);
            if object.freed {
                return format!("{who}, of {object}, which is freed: offset {o:#x}");
            }
            let (start, after) = (object.start, object.start + bytes);
            let size = match object.spread {
                Spread::On(there, _) if there == thread => String::new(),
                _ => format!(" ({bytes} bytes there)"),
            };
            return match () {
                () if bytes == 0 => format!("{who}, where {object} has none: offset {o:#x}"),
                () if o >= after => format!("{who}, {} bytes after the end of {object}{size}", o - after),
                () if o < start => format!("{who}, {} bytes before {object}{size}", start - o),
                () => format!("{who}, the last {} of them after the end of {object}{size}", end - after),
            };
        }
        if o >= self.layout.heap_hi {
            return format!(
                "{who}, which is outside shared memory: offset {o:#x}, where shared objects lie in {STATICS_OFFSET:#x} to {:#x}",
                self.layout.heap_hi
            );
        }
        format!("{who}, where nothing is allocated, or no longer: offset {o:#x}")
    }

    /// Checks a pointer that is to become a private one.
    fn check_cast(&self, t: u64, o: u64) -> Result<(), String> {
        let me = self.me;
        if t == u64::from(me) && (STATICS_OFFSET..=self.layout.heap_hi).contains(&o) {
            return Ok(());
        }
        if t == u64::from(me) {
            return Err(format!(
                "thread {me} casts a pointer-to-shared outside shared memory to a private pointer: offset {o:#x}"
            ));
        }
        let object = u32::try_from(t).ok().filter(|t| *t < self.size).and_then(|t| self.object_at(t, o));
        let to = object.map_or(String::new(), |object| format!(", to {object}"));
        Err(format!(
            "thread {me} casts a pointer-to-shared with affinity to thread {t}{to}, to a private pointer, which reaches thread {me}'s own \
             memory only (upc_cast gives the address of others', where it has one)"
        ))
    }
}

/// Every object compiled with the option calls this at the start.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sanitize() {
    upc().checks.store(true, Relaxed);
}

/// The program is about to call the library.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_here(file: *const c_char, line: c_int) {
    if let Some(upc) = get() {
        upc.site.set(file, line);
    }
}

/// The program is about to access `n` bytes at a place; `how`: it reads (0), writes (1) or updates them (2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_check_access(
    place: *const Computed,
    n: c_ulong,
    how: c_int,
    file: *const c_char,
    line: c_int,
) {
    // SAFETY: emitted C passes a variable.
    let place = unsafe { &*place };
    let span = Span { t: place.thread, o: place.offset, n };
    let from = (place.from_offset != 0).then_some((place.from_thread, place.from_offset));
    let what = match how {
        0 => "reads",
        1 => "writes",
        _ => "updates",
    };
    if is_well_known(span, from) {
        return;
    }
    let upc = upc();
    if let Err(text) = upc.check(what, span, from) {
        upc.fatal_here(file, line, &text);
    }
    if !upc.core.near(span.t as u32) {
        CHECKED.set((span.t, span.o, n));
    }
}

/// The program is about to cast a pointer-to-shared, not null, to a private pointer.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_check_cast(t: c_ulong, o: c_ulong, file: *const c_char, line: c_int) {
    if let Err(text) = upc().check_cast(t, o) {
        upc().fatal_here(file, line, &text);
    }
}

/// The program did arithmetic on a pointer whose phase does not fit its type.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_bad_phase(phase: c_ulong, block: c_ulong, file: *const c_char, line: c_int) -> ! {
    let kind = match block {
        0 => "an indefinite block size".to_string(),
        n => format!("block size {n}"),
    };
    upc().fatal_here(
        file,
        line,
        &format!("phase error: a pointer with phase {phase} is used as one with {kind} (cast it through a generic pointer)"),
    )
}

/// The program did arithmetic on a pointer whose result no pointer can hold.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_bad_step(
    t: c_ulong,
    o: c_ulong,
    by: c_long,
    size: c_ulong,
    file: *const c_char,
    line: c_int,
) -> ! {
    let upc = upc();
    let form = match upc.struct_pts {
        false => format!("; packed pointers-to-shared reach 2^{PACKED_OFFSET_BITS} bytes of a thread"),
        true => String::new(),
    };
    upc.fatal_here(
        file,
        line,
        &format!(
            "thread {} moves a pointer-to-shared (thread {t}, offset {o:#x}) by {by} elements of {size} bytes, beyond all addresses{form}",
            upc.me
        ),
    )
}
