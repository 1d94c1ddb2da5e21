//! Shared objects of UPC (`upcc -shared`): the places of their shared variables.
//!
//! Each has a constructor, which calls [`register`] with a description of the object: what its files were
//! compiled for, its shared variables and their initialisers. `upcc -shared` links it in; where another
//! linker made the object, that of one of its files does the same. What happens then depends on when the
//! object is loaded.
//!
//! **Before the program starts** (it is linked with the program, or loaded before `bupc_init`): the object is
//! kept, and [`AtStart`] places its variables behind those of the program. Threads compare the objects that
//! they have, in order, when they compare their programs.
//!
//! **Later** (`dlopen`): the variables come from the heap of distributed objects, which makes loading
//! collective: all threads load the same objects in the same order. The constructor does not return before
//! all threads are in it:
//! ```text
//! 1  each thread writes the object's checksum into its control area (`loading`);
//!    they meet with the checksum
//! 2  thread 0 looks at the word of every thread, allocates, and writes the checksum and the offset into its
//!    control area (`loaded`); they meet with the checksum
//! 3  each thread looks at `loaded`, clears its part, sets the proxies and runs the initialisers, which write
//!    to the own part alone; they meet
//! ```
//! The meetings are barriers whose names are made of the step, the object and the checksum, so a thread that
//! is in another collective function, or in a barrier with a name, ends the job with a message. A barrier
//! without a name agrees with every name: a thread in one is found out by its word, which it has not written,
//! in step 2, or in step 3 if it is thread 0. A thread that has ended is found out by the barrier.
//!
//! Invariants
//! - The checksum is of the number of objects loaded before, too: no word of an earlier object is taken for
//!   this one's.
//! - The offset in a proxy is set once. Emitted code takes it for a constant.
//! - A variable has one initialiser. One that several objects define is one variable, as the dynamic linker
//!   makes their proxies one; later objects must not need more room than it has.
//! - An object that defines no shared variable needs no meeting.
//! - Objects stay (`-z nodelete`, or [`keep_loaded`]): loading one again runs no constructor.
#![expect(unsafe_code, reason = "reads what constructors describe, and sets variables of emitted C")]

use crate::abi::{self, Library, Shrec, Shvar, Startup, slice};
use crate::control::field;
use crate::error::fatal_at_start;
use crate::image::{self, MIN_ALIGNMENT_BYTES, Placement, VariableRecord, mix};
use crate::layout::STATICS_OFFSET;
use crate::objects;
use crate::state::Upc;
use gasnet::atomics::Function;
use gasnet_sys::mutex::lock;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The environment that a program or an object file was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompiledFor {
    /// Whether pointers-to-shared have 16 bytes.
    pub wide: bool,
    /// The number of threads, if fixed.
    pub threads: Option<u32>,
}

impl CompiledFor {
    /// From the words of emitted C.
    pub fn of(struct_pts: c_uint, static_threads: c_int) -> CompiledFor {
        CompiledFor { wide: struct_pts != 0, threads: u32::try_from(static_threads).ok().filter(|n| *n > 0) }
    }
}

/// The objects that have registered, up to the start: constructors run before there is any other state.
static EARLY: Mutex<Early> = Mutex::new(Early::Before(Vec::new()));

enum Early {
    /// The program has not started. These wait for it.
    Before(Vec<Described>),
    /// Variables are being placed.
    Starting,
    /// Objects that come now are loaded by `dlopen`.
    Running,
}

/// A shared object, as it describes itself.
struct Described {
    /// Its name, in quotes.
    who: Arc<str>,
    /// Its files: version of the interface, kind, name.
    files: Vec<(u32, CompiledFor, &'static str)>,
    variables: Vec<Declared>,
    records: &'static [Shrec],
    initialisers: &'static [Startup],
}

/// A shared variable, as its object file declares it.
#[derive(Debug, Clone, Copy)]
struct Declared {
    record: VariableRecord,
    name: &'static str,
    initialised: bool,
}

/// The variables of a running program.
pub struct Libraries {
    kind: CompiledFor,
    state: Mutex<LibraryState>,
}

struct LibraryState {
    /// By proxy.
    variables: HashMap<usize, Variable>,
    /// Objects loaded by `dlopen` so far that have shared variables.
    loaded: u64,
}

/// A variable that has its place.
struct Variable {
    offset: u64,
    bytes: u64,
    /// The object that defined it first.
    owner: Arc<str>,
}

impl Libraries {
    /// The environment that the program was compiled for.
    pub fn kind(&self) -> CompiledFor {
        self.kind
    }
}

/// The variables of a program, and of the objects that came before its start.
pub struct AtStart {
    /// The environment that the program was compiled for.
    pub kind: CompiledFor,
    libraries: Vec<Described>,
    variables: Vec<(Arc<str>, Declared)>,
    /// Of the program and of the objects.
    records: Vec<&'static Shrec>,
    placement: Placement,
}

/// Registers a shared object: called by its constructor.
///
/// # Collective
/// If the program has started and the object defines shared variables.
///
/// # Safety
/// 1. `library` and everything it points to are as described in `upcc_abi.h`, for as long as the process
///    lives; if it has another version of the interface, its version and name (owed by the caller).
pub unsafe fn register(library: &'static Library) {
    // SAFETY: (1).
    let who: Arc<str> = format!("'{}'", unsafe { name(library) }).into();
    let running = match (&*lock(&EARLY), crate::state::get()) {
        (Early::Running, Some(upc)) => Some(upc),
        _ => None,
    };
    if let Some(text) = unlike_version(&who, library.abi) {
        match running {
            Some(upc) => upc.fatal_about(Some(&who), &text),
            None => fatal_at_start(&text),
        }
    }
    // SAFETY: (1).
    let described = unsafe { describe(who, library) };
    if library.name.is_null() {
        keep_loaded(library);
    }
    if let Some(upc) = running {
        upc.load(&described);
    } else if let Early::Before(all) = &mut *lock(&EARLY) {
        all.push(described);
    } else {
        fatal_at_start(&format!("{} is loaded while the program starts", described.who));
    }
}

impl AtStart {
    /// Takes the objects that have registered, for a program of this kind with these variables. An object
    /// that does not go with it ends the job.
    ///
    /// # Safety
    /// 1. The records are as described in `upcc_abi.h`, and stay (owed by the caller).
    pub unsafe fn take(kind: CompiledFor, program: &'static [Shrec]) -> AtStart {
        let libraries = match std::mem::replace(&mut *lock(&EARLY), Early::Starting) {
            Early::Before(all) => all,
            Early::Starting | Early::Running => Vec::new(),
        };
        if let Some(text) = libraries.iter().find_map(|l| l.refusal(kind)) {
            fatal_at_start(&text);
        }
        let own: Arc<str> = "the program".into();
        // SAFETY: (1).
        let mut variables: Vec<_> = program.iter().map(|r| (own.clone(), unsafe { declared(r) })).collect();
        variables.extend(libraries.iter().flat_map(|l| l.variables.iter().map(|v| (l.who.clone(), *v))));
        if let Some(text) = initialised_twice(&variables) {
            fatal_at_start(&text);
        }
        let records: Vec<&Shrec> = program.iter().chain(libraries.iter().flat_map(|l| l.records)).collect();
        let gap = objects::gap(records.iter().copied());
        let placement = image::place(STATICS_OFFSET, variables.iter().map(|(_, v)| v.record), gap);
        AtStart { kind, libraries, variables, records, placement }
    }

    /// Bytes of all variables on each thread, if they can be counted.
    pub fn bytes(&self) -> Option<u64> {
        self.placement.bytes
    }

    /// The variables, for messages of programs that are checked.
    pub fn described(&self, threads: u32) -> Vec<objects::Variable> {
        let offsets = self.placement.offsets.iter().copied().collect();
        // SAFETY: names of records are strings that stay, as `take` and `register` ask for.
        unsafe { objects::variables(self.records.iter().copied(), &offsets, threads) }
    }

    /// Checksum of the variables.
    pub fn variables(&self) -> u64 {
        self.variables.iter().fold(self.variables.len() as u64, |sum, (_, v)| v.mix_into(sum))
    }

    /// Checksum of the objects and their order.
    pub fn objects(&self) -> u64 {
        self.libraries.iter().fold(self.libraries.len() as u64, |sum, l| {
            let sum = mix(sum, l.who.as_bytes());
            let counts = [l.variables.len(), l.initialisers.len()];
            counts.iter().fold(sum, |sum, n| mix(sum, &n.to_le_bytes()))
        })
    }

    /// The variables, for the running program.
    pub fn remembered(&self) -> Libraries {
        let mut variables = HashMap::new();
        let offsets: HashMap<usize, u64> = self.placement.offsets.iter().copied().collect();
        for (owner, v) in &self.variables {
            remember(&mut variables, v, offsets[&v.record.proxy], owner);
        }
        Libraries { kind: self.kind, state: Mutex::new(LibraryState { variables, loaded: 0 }) }
    }

    /// Sets the proxies of all variables, in segments that have room for them.
    ///
    /// # Safety
    /// 1. No user code runs yet (owed by the caller).
    pub unsafe fn set_proxies(&self) {
        for (proxy, offset) in &self.placement.offsets {
            // SAFETY: (1); as the records say, a variable of the program or of an object.
            unsafe { (*(*proxy as *mut Shvar)).offset = *offset };
        }
    }

    /// Runs the initialisers of the objects. Those of the program come after them: where both define a
    /// variable of C, it is the program's.
    pub fn initialise(&self) {
        for init in self.libraries.iter().flat_map(|l| l.initialisers).flatten() {
            init();
        }
    }

    /// Objects that come from here on are loaded by `dlopen`.
    pub fn done(self) {
        *lock(&EARLY) = Early::Running;
    }
}

impl Upc {
    /// Gives places to the variables of an object that `dlopen` loads, and initialises them.
    fn load(&self, library: &Described) {
        let who = &library.who;
        if std::process::id() != self.pid {
            crate::console::say(&format!(
                "UPC Runtime error: {who} is loaded by a child of thread {}, which is no thread of the program",
                self.me
            ));
            // SAFETY: plain call; what C does at the end is the parent's.
            unsafe { libc::_exit(1) }
        }
        if let Some(text) = library.refusal(self.libraries.kind) {
            self.fatal_about(Some(who), &text);
        }
        if !library.variables.is_empty() {
            self.place_loaded(library);
        }
        for init in library.initialisers.iter().flatten() {
            init();
        }
        if !library.variables.is_empty() {
            self.meet_agreeing(&format!("dlopen: {who} is initialised"), &[]);
        }
    }

    fn place_loaded(&self, library: &Described) {
        let who = &library.who;
        let mut state = lock(&self.libraries.state);
        state.loaded += 1;
        let mut sum = mix(state.loaded, who.as_bytes());
        sum = mix(sum, &library.initialisers.len().to_le_bytes());
        let mut new = Vec::new();
        for v in &library.variables {
            sum = v.mix_into(sum);
            match state.variables.get(&v.record.proxy) {
                None => new.push(v),
                Some(known) => {
                    sum = mix(sum, &known.offset.to_le_bytes());
                    if let Some(text) = v.contradicts(who, known) {
                        self.fatal_about(Some(who), &text);
                    }
                }
            }
        }
        let align = new.iter().map(|v| v.record.align).max().unwrap_or(0).max(MIN_ALIGNMENT_BYTES);
        let placement = image::place(0, new.iter().map(|v| v.record), objects::gap(library.records));
        let bytes = placement.bytes.unwrap_or(u64::MAX);
        // Zero means that a thread has not loaded anything.
        let start = self.agree(who, sum | 1, bytes, align.next_power_of_two());
        self.clear_own(start, bytes);
        let mut offsets = HashMap::new();
        for (proxy, offset) in placement.offsets {
            offsets.insert(proxy, start + offset);
            // SAFETY: as the records say, a variable of the object; no code that reads it has run yet.
            unsafe { (*(proxy as *mut Shvar)).offset = start + offset };
        }
        for v in new {
            remember(&mut state.variables, v, offsets[&v.record.proxy], who);
        }
    }

    /// Steps 1 and 2: all threads load the object with this checksum, and have room for its variables at the
    /// offset that is returned, a multiple of `align`.
    fn agree(&self, who: &str, sum: u64, bytes: u64, align: u64) -> u64 {
        let arguments = [("checksum", sum)];
        let alone = |t: u32| -> ! {
            self.fatal_about(
                Some(who),
                &format!(
                    "dlopen: thread {} loads {who}, which has shared variables, and thread {t} does something else: all threads have to \
                     load the same objects in the same order",
                    self.me
                ),
            )
        };
        self.store_word(self.me, field!(loading), sum);
        self.meet_agreeing(&format!("dlopen: {who} is loaded"), &arguments);
        if self.me == 0 {
            let differs = |t: &u32| self.amo(*t, field!(loading), Function::Get, 0, 0) != sum;
            if let Some(t) = (0..self.size).find(differs) {
                alone(t);
            }
            let room = bytes.saturating_add(align);
            let at = self.alloc_everywhere(
                &format!("dlopen of {who}"),
                self.size.into(),
                room,
                bytes.checked_add(align),
            );
            // Never at the start of what was allocated, so that no program can free a variable.
            let start = (at + 1).next_multiple_of(align);
            self.store_word(0, field!(loaded), sum);
            self.store_word(0, field!(loaded) + 8, start);
        }
        self.meet_agreeing(&format!("dlopen: {who} gets memory"), &arguments);
        if self.amo(0, field!(loaded), Function::Get, 0, 0) != sum {
            alone(0);
        }
        self.amo(0, field!(loaded) + 8, Function::Get, 0, 0)
    }

    /// Fills memory of this thread with zeros, as variables without an initialiser are.
    fn clear_own(&self, offset: u64, bytes: u64) {
        let near = self.core.near_segments();
        let at = near.base.wrapping_add((u64::from(self.me) * near.stride + offset) as usize);
        // SAFETY: inside this thread's segment, which is mapped: `agree` allocated this much on every thread,
        // and no thread accesses it before the next meeting.
        unsafe { at.write_bytes(0, bytes as usize) };
    }
}

impl Described {
    /// Why the object does not go with a program of this kind.
    fn refusal(&self, program: CompiledFor) -> Option<String> {
        let who = &self.who;
        let pointers = |wide| if wide { "with -fupc-pts=struct" } else { "without -fupc-pts=struct" };
        let count = |threads: Option<u32>| match threads {
            Some(n) => format!("for {n} threads (-T {n})"),
            None => "for any number of threads (without -T)".into(),
        };
        self.files.iter().find_map(|(version, kind, file)| {
            if let Some(text) = unlike_version(who, *version) {
                Some(text)
            } else if kind.wide != program.wide {
                Some(format!(
                    "'{file}' of {who} was compiled {} and the program {}: compile all files of a program alike",
                    pointers(kind.wide),
                    pointers(program.wide)
                ))
            } else if kind.threads != program.threads {
                Some(format!(
                    "'{file}' of {who} was compiled {} and the program {}: compile all files of a program with the same -T",
                    count(kind.threads),
                    count(program.threads)
                ))
            } else {
                None
            }
        })
    }
}

impl Declared {
    /// Adds the variable to a checksum.
    fn mix_into(&self, sum: u64) -> u64 {
        let sum = mix(sum, self.name.as_bytes());
        mix(mix(sum, &self.record.bytes.to_le_bytes()), &self.record.align.to_le_bytes())
    }

    /// Why an object that is loaded later cannot define the variable, which has its place.
    fn contradicts(&self, who: &str, known: &Variable) -> Option<String> {
        if self.initialised {
            return Some(format!(
                "{who} initialises shared variable '{}', which {} defines and may have changed: declare it extern in one of them",
                self.name, known.owner
            ));
        }
        let VariableRecord { bytes, align, .. } = self.record;
        (bytes > known.bytes || !known.offset.is_multiple_of(align.max(1))).then(|| {
            format!(
                "shared variable '{}' has {bytes} bytes on each thread, aligned to {align}, in {who}, and {} bytes at offset {:#x} for \
                 {}, which was there first: define it alike everywhere",
                self.name, known.bytes, known.offset, known.owner
            )
        })
    }
}

/// A variable that two objects initialise, in words.
fn initialised_twice(variables: &[(Arc<str>, Declared)]) -> Option<String> {
    let mut by = HashMap::new();
    variables.iter().filter(|(_, v)| v.initialised).find_map(|(who, v)| {
        let first = by.entry(v.record.proxy).or_insert(who);
        (*first != who)
            .then(|| format!("shared variable '{}' is initialised in {first} and in {who}", v.name))
    })
}

fn remember(variables: &mut HashMap<usize, Variable>, v: &Declared, offset: u64, owner: &Arc<str>) {
    let new = Variable { offset, bytes: 0, owner: owner.clone() };
    let known = variables.entry(v.record.proxy).or_insert(new);
    known.bytes = known.bytes.max(v.record.bytes);
}

fn unlike_version(who: &str, version: u32) -> Option<String> {
    (version != abi::ABI).then(|| {
        format!(
            "{who} was compiled for version {version} of the runtime interface, the program's library has version {}: recompile it",
            abi::ABI
        )
    })
}

/// # Safety
/// As [`register`], of an object with the same version of the interface.
unsafe fn describe(who: Arc<str>, library: &Library) -> Described {
    // SAFETY: owed by the caller.
    unsafe {
        let files = slice(library.object_begin, library.object_end);
        let records = slice(library.shrec_begin, library.shrec_end);
        Described {
            who,
            files: files
                .iter()
                .map(|f| (f.abi, CompiledFor::of(f.struct_pts, f.static_threads), text(f.source)))
                .collect(),
            variables: records.iter().map(|r| declared(r)).collect(),
            records,
            initialisers: slice(library.init_begin, library.init_end),
        }
    }
}

/// # Safety
/// 1. The record is as described in `upcc_abi.h`, and stays (owed by the caller).
unsafe fn declared(r: &Shrec) -> Declared {
    Declared {
        record: VariableRecord { proxy: r.proxy as usize, bytes: r.bytes_per_thread, align: r.align },
        // SAFETY: (1).
        name: unsafe { text(r.name) },
        initialised: r.flags & abi::INITIALISED != 0,
    }
}

/// # Safety
/// 1. A string that stays, or null (owed by the caller).
unsafe fn text(chars: *const c_char) -> &'static str {
    if chars.is_null() {
        return "";
    }
    // SAFETY: (1).
    unsafe { CStr::from_ptr(chars) }.to_str().unwrap_or("?")
}

/// The name of a shared object.
///
/// # Safety
/// As [`register`].
unsafe fn name(library: &'static Library) -> String {
    if !library.name.is_null() {
        // SAFETY: owed by the caller.
        return unsafe { text(library.name) }.into();
    }
    let path = file_of(library).map(|path| PathBuf::from(OsStr::from_bytes(path.to_bytes())));
    let name = path.as_ref().and_then(|path| path.file_name()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The file that the dynamic linker has loaded the description of an object from.
fn file_of(library: &'static Library) -> Option<&'static CStr> {
    // SAFETY: a structure of integers and pointers, for which zeros are values.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: plain call on a local variable; the name that it finds stays as long as the object.
    unsafe {
        let known = libc::dladdr(std::ptr::from_ref(library).cast(), &raw mut found) != 0;
        (known && !found.dli_fname.is_null()).then(|| CStr::from_ptr(found.dli_fname))
    }
}

/// Has an object stay until the process ends, whatever the program closes.
fn keep_loaded(library: &'static Library) {
    if let Some(file) = file_of(library) {
        // SAFETY: the object is loaded, so nothing of it runs now.
        unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(proxy: usize, bytes: u64, initialised: bool) -> Declared {
        Declared { record: VariableRecord { proxy, bytes, align: 8 }, name: "x", initialised }
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let kind = |wide, threads| CompiledFor { wide, threads };
        let of = |version, wide, threads| Described {
            who: "'libx.so'".into(),
            files: vec![(abi::ABI, kind(false, None), "a.upc"), (version, kind(wide, threads), "b.upc")],
            variables: Vec::new(),
            records: &[],
            initialisers: &[],
        };
        let program = kind(false, None);
        assert_eq!(of(abi::ABI, false, None).refusal(program), None);
        for (library, words) in [
            (of(abi::ABI, true, None), "with -fupc-pts=struct and the program without"),
            (of(abi::ABI, false, Some(4)), "for 4 threads (-T 4) and the program for any"),
            (of(abi::ABI + 1, false, None), "was compiled for version"),
        ] {
            let text = library.refusal(program).unwrap_or_default();
            assert!(text.contains(words) && text.contains("'libx.so'"), "{text}");
        }
        let threads = of(abi::ABI, false, None).refusal(kind(false, Some(3))).unwrap_or_default();
        assert!(threads.contains("'a.upc'") && threads.contains("the program for 3 threads"), "{threads}");
    }

    #[test]
    fn a_variable_has_one_initialiser() {
        let [a, b]: [Arc<str>; 2] = ["'a.so'".into(), "'b.so'".into()];
        let list = |second| vec![(a.clone(), declared(1, 8, true)), (b.clone(), second)];
        assert_eq!(initialised_twice(&list(declared(1, 8, false))), None);
        assert_eq!(initialised_twice(&list(declared(2, 8, true))), None);
        let text = initialised_twice(&list(declared(1, 8, true))).unwrap_or_default();
        assert!(text.contains("'x' is initialised in 'a.so' and in 'b.so'"), "{text}");
    }

    #[test]
    fn later_definitions_fit_the_place() {
        let mut variables = HashMap::new();
        let owner: Arc<str> = "'a.so'".into();
        remember(&mut variables, &declared(1, 8, true), 72, &owner);
        remember(&mut variables, &declared(1, 24, false), 72, &owner);
        let known = &variables[&1];
        assert_eq!((known.bytes, known.offset), (24, 72));
        assert_eq!(declared(1, 24, false).contradicts("'b.so'", known), None);
        for bad in [declared(1, 25, false), declared(1, 8, true)] {
            let text = bad.contradicts("'b.so'", known).unwrap_or_default();
            assert!(text.contains("'x'") && text.contains("'a.so'") && text.contains("'b.so'"), "{text}");
        }
    }
}
