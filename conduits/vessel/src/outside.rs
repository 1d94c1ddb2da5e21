//! What a rank learns from outside of its job: the time, and random numbers.
//!
//! Both would differ from run to run. So the process's references to the functions of the C library that give
//! them are turned to those below, which know virtual time and the seed. References are slots that the
//! dynamic linker has filled, in the program and in the libraries that are loaded when the runtime starts;
//! those of libraries that are loaded later, and of programs without dynamic linking, stay as they are.
//!
//! Only the thread that asks the simulator gets virtual time: others, and children, get what the system says.
//!
//! Reading the clock takes time, too, or a program that waits for a time by reading the clock would wait for
//! ever. So does `sched_yield`, as a look in vain at what others may change: loops for a word of the rank's
//! own memory call nothing else.
#![expect(unsafe_code, reason = "stands in for functions of the C library, and writes to the linker's slots")]

use crate::asker::{Asker, current};
use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::Ordering;
use gasnet_wire::conduit::Meanwhile;
use std::sync::Arc;

/// Virtual time of reading the clock.
const READ_NANOSECONDS: u64 = 20;
/// So many reads are told to the simulator at once.
const READS: u64 = 256;
/// Virtual time begins at this second of the calendar: 2020-01-01.
const EPOCH_SECONDS: i64 = 1_577_836_800;

impl Asker {
    /// Virtual time in nanoseconds. It never goes back.
    fn read_clock(&self) -> u64 {
        let outside = &self.outside;
        let reads = outside.reads.load(Ordering::Relaxed) + 1;
        if reads >= READS {
            self.pass(reads * READ_NANOSECONDS);
            outside.reads.store(0, Ordering::Relaxed);
        } else {
            outside.reads.store(reads, Ordering::Relaxed);
        }
        let own = outside.reads.load(Ordering::Relaxed) * READ_NANOSECONDS;
        let now = self.nanoseconds() + own;
        now.max(outside.seen.fetch_max(now, Ordering::Relaxed))
    }

    /// The next random word of this rank: splitmix64, as published by Steele and others.
    fn random(&self) -> u64 {
        let number = self.outside.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        let mut z = (self.seed_of_rank()).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// The rank, if the calling thread is the one that asks.
fn rank() -> Option<&'static Arc<Asker>> {
    current().filter(|asker| asker.is_owner())
}

fn timespec(nanoseconds: u64, since: i64) -> libc::timespec {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    libc::timespec { tv_sec: since + seconds as i64, tv_nsec: rest as c_long }
}

unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    let Some(asker) = rank() else {
        // SAFETY: the caller's pointer.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, to) as c_int };
    };
    let of_calendar = [libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE, libc::CLOCK_TAI].contains(&clock);
    let since = if of_calendar { EPOCH_SECONDS } else { 0 };
    // SAFETY: the caller's pointer.
    unsafe { to.write(timespec(asker.read_clock(), since)) };
    0
}

unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, zone: *mut c_void) -> c_int {
    let Some(asker) = rank() else {
        // SAFETY: the caller's pointers.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, to, zone) as c_int };
    };
    let now = timespec(asker.read_clock(), EPOCH_SECONDS);
    if !to.is_null() {
        // SAFETY: the caller's pointer.
        unsafe { to.write(libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 }) };
    }
    0
}

unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a destination here; then the caller's pointer, which may be null.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
        if !to.is_null() {
            to.write(now.tv_sec);
        }
    }
    now.tv_sec
}

/// Lets a rank sleep; `false` for others.
fn sleeps(time: libc::timespec) -> bool {
    let Some(asker) = rank() else { return false };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    asker.pass(seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64));
    true
}

unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe { if sleeps(*time) { 0 } else { libc::syscall(libc::SYS_nanosleep, time, left) as c_int } }
}

unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller's pointer.
    let mut wanted = unsafe { *time };
    if flags & libc::TIMER_ABSTIME != 0 && rank().is_some() {
        let mut now = wanted;
        // SAFETY: a destination here.
        unsafe { clock_gettime(clock, &raw mut now) };
        let of = |t: libc::timespec| i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec);
        wanted = timespec(u64::try_from(of(wanted) - of(now)).unwrap_or(0), 0);
    }
    if sleeps(wanted) {
        return 0;
    }
    // SAFETY: the caller's pointers.
    let done = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, left) };
    // It returns its error.
    if done == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL) }
}

unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let time = timespec(u64::from(microseconds) * 1000, 0);
    // SAFETY: a time here.
    unsafe { nanosleep(&raw const time, core::ptr::null_mut()) }
}

unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let time = timespec(u64::from(seconds) * 1_000_000_000, 0);
    // SAFETY: a time here.
    unsafe { nanosleep(&raw const time, core::ptr::null_mut()) };
    0
}

/// A loop that yields the processor waits, most often for what others store here.
unsafe extern "C" fn sched_yield() -> c_int {
    match rank() {
        Some(asker) => asker.idle("a loop that yields", Meanwhile::Looked),
        // SAFETY: a plain system call.
        None => drop(unsafe { libc::syscall(libc::SYS_sched_yield) }),
    }
    0
}

unsafe extern "C" fn getrandom(to: *mut c_void, len: usize, flags: c_uint) -> isize {
    let Some(asker) = rank() else {
        // SAFETY: the caller's pointer.
        return unsafe { libc::syscall(libc::SYS_getrandom, to, len, flags) as isize };
    };
    for at in (0..len).step_by(8) {
        let word = asker.random().to_ne_bytes();
        // SAFETY: the caller's pointer, to as many bytes.
        unsafe {
            let to = to.cast::<u8>().add(at);
            core::ptr::copy_nonoverlapping(word.as_ptr(), to, word.len().min(len - at));
        }
    }
    len as isize
}

unsafe extern "C" fn getentropy(to: *mut c_void, len: usize) -> c_int {
    // SAFETY: the caller's pointer.
    unsafe { if getrandom(to, len, 0) == len as isize { 0 } else { -1 } }
}

/// The functions of the C library that are replaced.
fn replaced() -> [(&'static CStr, usize); 10] {
    [
        (c"clock_gettime", clock_gettime as *const () as usize),
        (c"gettimeofday", gettimeofday as *const () as usize),
        (c"time", time as *const () as usize),
        (c"nanosleep", nanosleep as *const () as usize),
        (c"clock_nanosleep", clock_nanosleep as *const () as usize),
        (c"usleep", usleep as *const () as usize),
        (c"sleep", sleep as *const () as usize),
        (c"sched_yield", sched_yield as *const () as usize),
        (c"getrandom", getrandom as *const () as usize),
        (c"getentropy", getentropy as *const () as usize),
    ]
}

/// Turns the references of all loaded objects. To be called once, while the process has one thread.
pub(crate) fn replace() {
    // SAFETY: the callback has the type that is asked for, and uses what it is given during the call only.
    unsafe { libc::dl_iterate_phdr(Some(replace_in), core::ptr::null_mut()) };
}

/// Kinds of slots that hold a function's address.
#[cfg(target_arch = "x86_64")]
const SLOTS: [u64; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const SLOTS: [u64; 2] = [1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SLOTS: [u64; 0] = [];

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A relocation.
#[repr(C)]
struct Relocation {
    at: u64,
    info: u64,
    addend: i64,
}

unsafe extern "C" fn replace_in(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    const END: i64 = 0;
    const CALLS_BYTES: i64 = 2;
    const STRINGS: i64 = 5;
    const SYMBOLS: i64 = 6;
    const RELOCATIONS: i64 = 7;
    const RELOCATIONS_BYTES: i64 = 8;
    const CALLS: i64 = 23;
    // SAFETY: the linker's description of a loaded object, valid during this call, and so are the tables that
    // it leads to: the object's own, in the format of its system.
    unsafe {
        let object = &*object;
        let segments = core::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        let Some(dynamic) = segments.iter().find(|segment| segment.p_type == libc::PT_DYNAMIC) else {
            return 0;
        };
        let mut entry = (object.dlpi_addr + dynamic.p_vaddr) as *const Dynamic;
        let mut found = [0; 24];
        while (*entry).tag != END {
            if let Some(value) = usize::try_from((*entry).tag).ok().and_then(|tag| found.get_mut(tag)) {
                *value = (*entry).value;
            }
            entry = entry.add(1);
        }
        // Some systems' linkers make addresses of these, others leave offsets.
        let address = |tag: i64| match found[tag as usize] {
            0 => 0,
            value if value < object.dlpi_addr => value + object.dlpi_addr,
            value => value,
        };
        let (strings, symbols) = (address(STRINGS), address(SYMBOLS));
        if strings == 0 || symbols == 0 {
            return 0;
        }
        for (table, bytes) in [(RELOCATIONS, RELOCATIONS_BYTES), (CALLS, CALLS_BYTES)] {
            let (at, bytes) = (address(table), found[bytes as usize] as usize);
            if at == 0 {
                continue;
            }
            let all = core::slice::from_raw_parts(at as *const Relocation, bytes / size_of::<Relocation>());
            for relocation in all.iter().filter(|relocation| SLOTS.contains(&(relocation.info & 0xffff_ffff)))
            {
                let symbol = (symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize);
                let name = CStr::from_ptr((strings as *const c_char).add((*symbol).st_name as usize));
                let Some((_, new)) = replaced().into_iter().find(|(known, _)| *known == name) else {
                    continue;
                };
                let slot = (object.dlpi_addr + relocation.at) as usize;
                let fixed = segments.iter().any(|segment| {
                    let from = (object.dlpi_addr + segment.p_vaddr) as usize;
                    segment.p_type == libc::PT_GNU_RELRO
                        && (from..from + segment.p_memsz as usize).contains(&slot)
                });
                write_slot(slot, new, fixed);
            }
        }
    }
    0
}

/// Writes an address to a slot, which may be one that the linker has made read-only.
///
/// # Safety
/// 1. It is a slot of a loaded object (owed by the caller).
unsafe fn write_slot(slot: usize, new: usize, fixed: bool) {
    const PAGE_BYTES: usize = 4096;
    let page = (slot & !(PAGE_BYTES - 1)) as *mut c_void;
    // SAFETY: (1): the page is the object's own data. Nobody calls through the slot meanwhile: there is one
    // thread.
    unsafe {
        if fixed && libc::mprotect(page, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        (slot as *mut usize).write(new);
        if fixed {
            libc::mprotect(page, PAGE_BYTES, libc::PROT_READ);
        }
    }
}
