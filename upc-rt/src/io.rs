//! `upc_io.h`: files that all threads read and write together.
//!
//! Every thread opens the file itself and transfers its own part with `pread` and `pwrite`. A handle is a
//! small shared object, so that it is the same pointer on all threads; it names an entry of each thread's
//! table. Every thread keeps its own copy of a common file pointer. The copies agree, because the calls that
//! move it have the same arguments on all threads and agree on the number of bytes.
//!
//! An asynchronous transfer is made when it is started. Its result, and the exit synchronisation of its
//! flags, wait for `upc_all_fwait_async` or `upc_all_ftest_async`.
#![expect(unsafe_code, reason = "copies between files and memory of the caller")]

use crate::state::Upc;
use gasnet_sys::mutex::lock;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Mutex;

/// Flags of `upc_all_fopen`.
mod flag {
    pub const RDONLY: u32 = 1 << 0;
    pub const WRONLY: u32 = 1 << 1;
    pub const RDWR: u32 = 1 << 2;
    pub const INDIVIDUAL_FP: u32 = 1 << 3;
    pub const COMMON_FP: u32 = 1 << 4;
    pub const APPEND: u32 = 1 << 5;
    pub const CREATE: u32 = 1 << 6;
    pub const EXCL: u32 = 1 << 7;
    pub const STRONG_CA: u32 = 1 << 8;
    pub const TRUNC: u32 = 1 << 9;
    pub const DELETE_ON_CLOSE: u32 = 1 << 10;
    pub const KNOWN: u32 = (1 << 11) - 1;
}

/// Flag of a transfer: it is asynchronous.
const ASYNC_FLAG: u32 = 1 << 6;
/// Bytes that go through a buffer in one step.
const IO_BUFFER_BYTES: u64 = 1 << 20;

/// A number of bytes, or an error number.
type Outcome = Result<i64, i32>;

/// A part of memory, as emitted C describes it (`struct __upc_iovec`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Its first thread; all ones for private memory.
    thread: u64,
    /// Offset on that thread, or private address.
    at: u64,
    /// Bytes of a block; 0 if there is one block.
    block: u64,
    /// Bytes.
    len: u64,
}

impl Memory {
    /// Private memory.
    pub fn private(at: *mut u8, len: u64) -> Memory {
        Memory { thread: u64::MAX, at: at as u64, block: 0, len }
    }

    /// Shared memory in blocks, beginning at the start of a block.
    pub fn shared(t: u32, o: u64, block: u64, len: u64) -> Memory {
        Memory { thread: t.into(), at: o, block, len }
    }
}

/// A part of a file (`struct upc_filevec`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Range {
    offset: i64,
    len: u64,
}

/// `struct upc_hint`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Hint {
    key: *const c_char,
    value: *const c_char,
}

/// One open file.
struct Open {
    file: File,
    name: CString,
    flags: u32,
    /// The file pointer.
    at: i64,
    /// The asynchronous transfer under way: its result and its flags.
    pending: Option<(Outcome, u32)>,
    hints: Vec<(CString, CString)>,
    /// `hints` in the form of C.
    hint_table: Vec<Hint>,
}

// SAFETY: the pointers in `hint_table` are into `hints`, whose strings keep their addresses.
unsafe impl Send for Open {}

/// The files that this thread has open, by offset of the handle.
#[derive(Default)]
pub struct IoState(Mutex<HashMap<u64, Open>>);

fn os_error(e: &std::io::Error) -> i32 {
    e.raw_os_error().unwrap_or(libc::EIO)
}

fn path(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

impl Open {
    fn size(&self) -> Outcome {
        Ok(self.file.metadata().map_err(|e| os_error(&e))?.len() as i64)
    }

    fn common(&self) -> bool {
        self.flags & flag::COMMON_FP != 0
    }

    fn set_hint(&mut self, key: CString, value: CString) {
        match self.hints.iter_mut().find(|h| h.0 == key) {
            Some(h) => h.1 = value,
            None => self.hints.push((key, value)),
        }
        self.hint_table =
            self.hints.iter().map(|(k, v)| Hint { key: k.as_ptr(), value: v.as_ptr() }).collect();
    }
}

impl Upc {
    /// `upc_all_fopen`: offset of the handle.
    ///
    /// # Safety
    /// 1. `hints` points to `count` hints, or is null (owed by the caller).
    pub unsafe fn io_open(
        &self,
        name: &CStr,
        flags: u32,
        count: usize,
        hints: *const Hint,
    ) -> Result<u64, i32> {
        let access = flags & (flag::RDONLY | flag::WRONLY | flag::RDWR);
        let pointer = flags & (flag::INDIVIDUAL_FP | flag::COMMON_FP);
        if access.count_ones() != 1 || pointer.count_ones() != 1 || flags & !flag::KNOWN != 0 {
            return Err(libc::EINVAL);
        }
        let open = |extra: i32| {
            OpenOptions::new()
                .read(access != flag::WRONLY)
                .write(access != flag::RDONLY)
                .custom_flags(extra)
                .open(path(name))
                .map_err(|e| os_error(&e))
        };
        // Thread 0 creates and truncates; only then do the others open.
        let first = (self.me == 0).then(|| {
            let bit = |f: u32, o: i32| if flags & f != 0 { o } else { 0 };
            let exclusive = if flags & flag::CREATE != 0 { bit(flag::EXCL, libc::O_EXCL) } else { 0 };
            open(bit(flag::CREATE, libc::O_CREAT) | exclusive | bit(flag::TRUNC, libc::O_TRUNC))
        });
        self.agree_on_error(first.as_ref().and_then(|f| f.as_ref().err().copied()))?;
        let mine = first.unwrap_or_else(|| open(0));
        self.agree_on_error(mine.as_ref().err().copied())?;
        let mut f = Open {
            file: mine?,
            name: name.to_owned(),
            flags,
            at: 0,
            pending: None,
            hints: Vec::new(),
            hint_table: Vec::new(),
        };
        if flags & flag::APPEND != 0 {
            f.at = self.words(f.size().unwrap_or(0) as u64)[0] as i64;
        }
        for i in 0..if hints.is_null() { 0 } else { count } {
            // SAFETY: (1).
            unsafe { take_hint(&mut f, hints.add(i)) };
        }
        let handle = self.alloc_global(self.size.into(), 16, true);
        self.files().insert(handle, f);
        Ok(handle)
    }

    /// `upc_all_fclose`.
    pub fn io_close(&self, handle: u64) -> Outcome {
        self.with_file(handle, |_| Ok(0))?;
        self.meet("upc_all_fclose");
        let Some(f) = self.files().remove(&handle) else { return Err(libc::EBADF) };
        if f.flags & flag::DELETE_ON_CLOSE != 0 && self.me == 0 {
            let _ = std::fs::remove_file(path(&f.name));
        }
        self.free(0, handle, true);
        Ok(0)
    }

    /// Handles the files that are open when a thread ends.
    pub fn io_end(&self) {
        for (_, f) in self.files().drain() {
            if f.flags & flag::DELETE_ON_CLOSE != 0 && self.me == 0 {
                let _ = std::fs::remove_file(path(&f.name));
            }
        }
    }

    /// `upc_all_fsync`.
    pub fn io_sync(&self, handle: u64) -> Outcome {
        self.with_file(handle, |f| {
            let failed = f.file.sync_data().err().map(|e| os_error(&e));
            // A file that cannot be synchronised (a pipe) has no buffers to write either.
            self.agree_on_error(failed.filter(|e| *e != libc::EINVAL))?;
            Ok(0)
        })
    }

    /// `upc_all_fseek`: the new position.
    pub fn io_seek(&self, handle: u64, offset: i64, origin: i32) -> Outcome {
        self.with_file(handle, |f| {
            let base = match origin {
                1 => 0,
                2 => f.at,
                // With a common pointer all threads must use the same size.
                4 if f.common() => self.words(f.size()? as u64)[0] as i64,
                4 => f.size()?,
                _ => return Err(libc::EINVAL),
            };
            f.at = base.checked_add(offset).filter(|at| *at >= 0).ok_or(libc::EINVAL)?;
            Ok(f.at)
        })
    }

    /// `upc_all_fset_size`, or `upc_all_fpreallocate` with `only_grow`.
    pub fn io_set_size(&self, handle: u64, size: i64, only_grow: bool) -> Outcome {
        self.with_file(handle, |f| {
            self.meet("upc_all_fset_size");
            let mut failed = (size < 0).then_some(libc::EINVAL);
            if self.me == 0 && failed.is_none() && !(only_grow && f.size()? >= size) {
                failed = f.file.set_len(size as u64).err().map(|e| os_error(&e));
            }
            self.agree_on_error(failed)?;
            Ok(0)
        })
    }

    /// `upc_all_fget_size`.
    pub fn io_get_size(&self, handle: u64) -> Outcome {
        self.with_file(handle, |f| f.size())
    }

    /// `upc_all_fcntl`.
    ///
    /// # Safety
    /// 1. `arg` is null or what the command takes (owed by the caller).
    pub unsafe fn io_control(&self, handle: u64, command: i32, arg: *mut u8) -> Outcome {
        if command == 1 << 10 {
            return match self.files().get(&handle) {
                Some(f) => Ok(f.pending.is_some().into()),
                None => Err(libc::EBADF),
            };
        }
        self.with_file(handle, |f| {
            match command.trailing_zeros() {
                _ if command.count_ones() != 1 => return Err(libc::EINVAL),
                7 | 9 if arg.is_null() => return Err(libc::EINVAL),
                0 => return Ok((f.flags & flag::STRONG_CA).into()),
                1 => f.flags &= !flag::STRONG_CA,
                2 => f.flags |= flag::STRONG_CA,
                3 => return Ok((f.flags & (flag::COMMON_FP | flag::INDIVIDUAL_FP)).into()),
                4 | 5 => {
                    self.meet("upc_all_fcntl");
                    let kind = if command == 1 << 4 { flag::COMMON_FP } else { flag::INDIVIDUAL_FP };
                    f.flags = f.flags & !(flag::COMMON_FP | flag::INDIVIDUAL_FP) | kind;
                    f.at = 0;
                }
                6 => return Ok(f.flags.into()),
                // SAFETY: (1) for both.
                7 => unsafe { *arg.cast::<*const c_char>() = f.name.as_ptr() },
                8 => {
                    // A caller that wants only their number passes null.
                    if !arg.is_null() {
                        // SAFETY: (1).
                        unsafe { *arg.cast::<*const Hint>() = f.hint_table.as_ptr() };
                    }
                    return Ok(f.hints.len() as i64);
                }
                // SAFETY: (1).
                9 => unsafe { take_hint(f, arg.cast()) },
                _ => return Err(libc::EINVAL),
            }
            Ok(0)
        })
    }

    /// Reads or writes between the file pointer and one part of memory. With a common file pointer, which
    /// requires shared memory, all threads make one transfer together.
    ///
    /// # Safety
    /// 1. `memory`, if private, is valid for its length (owed by the caller).
    pub unsafe fn io_transfer(&self, handle: u64, memory: Memory, write: bool, flags: u32) -> Outcome {
        self.run(handle, flags, |f| {
            if !f.common() {
                // SAFETY: (1).
                let done = unsafe { self.move_bytes(&f.file, f.at, memory, 0, memory.len, write) }?;
                f.at += done;
                return Ok(done);
            }
            if memory.thread == u64::MAX {
                return Err(libc::EINVAL);
            }
            let part = |t: u32| (u128::from(memory.len) * u128::from(t) / u128::from(self.size)) as u64;
            let (from, to) = (part(self.me), part(self.me + 1));
            // SAFETY: (1).
            let mine =
                unsafe { self.move_bytes(&f.file, f.at + from as i64, memory, from, to - from, write) };
            // Errors are sent as negative numbers.
            let all = self.words(mine.unwrap_or_else(|e| -i64::from(e)) as u64);
            if let Some(e) = all.iter().map(|w| *w as i64).find(|w| *w < 0) {
                return Err(-e as i32);
            }
            let total = all.iter().map(|w| *w as i64).sum::<i64>();
            f.at += total;
            Ok(total)
        })
    }

    /// Reads or writes between parts of the file and parts of memory; the file pointer stays.
    ///
    /// # Safety
    /// 1. Private parts of memory are valid for their lengths (owed by the caller).
    pub unsafe fn io_list(
        &self,
        handle: u64,
        memory: &[Memory],
        file: &[Range],
        write: bool,
        flags: u32,
    ) -> Outcome {
        self.run(handle, flags, |f| {
            // Parts without bytes are ignored, wherever they are.
            let file = || file.iter().filter(|r| r.len > 0);
            let end = |r: &Range| r.offset.checked_add(i64::try_from(r.len).ok()?);
            let placed = file().all(|r| r.offset >= 0 && end(r).is_some());
            let rising = file().map(|r| r.offset).is_sorted();
            let in_file = sum(file().map(|r| r.len));
            if !placed || !rising || in_file.is_none() || in_file != sum(memory.iter().map(|m| m.len)) {
                return Err(libc::EINVAL);
            }
            let mut total = 0;
            let mut parts = memory.iter().filter(|m| m.len > 0);
            let (mut part, mut used) = (None, 0);
            for range in file() {
                let mut done = 0;
                while done < range.len {
                    let m: &Memory = match part {
                        Some(m) => m,
                        None => match parts.next() {
                            Some(m) => {
                                used = 0;
                                part.insert(m)
                            }
                            None => return Ok(total),
                        },
                    };
                    let n = (range.len - done).min(m.len - used);
                    // SAFETY: (1).
                    let moved =
                        unsafe { self.move_bytes(&f.file, range.offset + done as i64, *m, used, n, write) }?;
                    total += moved;
                    done += n;
                    used += n;
                    if used == m.len {
                        part = None;
                    }
                }
            }
            Ok(total)
        })
    }

    /// `upc_all_fwait_async`.
    pub fn io_wait(&self, handle: u64) -> Outcome {
        let pending = match self.files().get_mut(&handle) {
            Some(f) => f.pending.take(),
            None => return Err(libc::EBADF),
        };
        let (outcome, flags) = pending.ok_or(libc::EINVAL)?;
        self.exit_io("upc_all_fwait_async", flags);
        outcome
    }

    /// The common frame of transfers: synchronises as the flags ask, at once or, for an asynchronous
    /// transfer, partly later.
    fn run(&self, handle: u64, flags: u32, transfer: impl FnOnce(&mut Open) -> Outcome) -> Outcome {
        let later = flags & ASYNC_FLAG != 0;
        let mut sync = flags & !ASYNC_FLAG;
        let result = self.with_file(handle, |f| {
            if f.flags & flag::STRONG_CA != 0 {
                sync = 0;
            }
            self.enter("a transfer of upc_io.h", sync, &[("flags", sync.into())]);
            let outcome = transfer(f);
            if !later {
                return outcome;
            }
            f.pending = Some((outcome, sync));
            Ok(0)
        });
        if !later {
            self.exit_io("a transfer of upc_io.h", sync);
        }
        result
    }

    /// Moves `n` bytes between the file from `at` on and a part of memory from its byte `from` on; a read may
    /// end early.
    ///
    /// # Safety
    /// 1. Private memory is valid for its length (owed by the caller).
    unsafe fn move_bytes(
        &self,
        file: &File,
        at: i64,
        memory: Memory,
        from: u64,
        n: u64,
        write: bool,
    ) -> Outcome {
        self.check_memory(memory, from, n, write);
        let mut buffer = vec![0u8; n.min(IO_BUFFER_BYTES) as usize];
        let mut done = 0;
        while done < n {
            let now = (n - done).min(IO_BUFFER_BYTES) as usize;
            let position = at as u64 + done;
            if write {
                // SAFETY: (1); the buffer has room for `now` bytes.
                unsafe { self.copy_memory(memory, from + done, buffer.as_mut_ptr(), now as u64, false) };
                file.write_all_at(&buffer[..now], position).map_err(|e| os_error(&e))?;
                done += now as u64;
                continue;
            }
            let got = match file.read_at(&mut buffer[..now], position) {
                Ok(0) => break,
                Ok(got) => got,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(os_error(&e)),
            };
            // SAFETY: (1); `got` bytes of the buffer.
            unsafe { self.copy_memory(memory, from + done, buffer.as_mut_ptr(), got as u64, true) };
            done += got as u64;
        }
        Ok(done as i64)
    }

    /// Checks shared memory that is about to be written to a file, or read from one, whole: how much a file
    /// has is not the program's to know.
    fn check_memory(&self, m: Memory, from: u64, n: u64, write: bool) {
        let what = if write { "reads" } else { "writes" };
        let mut done = if m.thread == u64::MAX || !self.sanitized() { n } else { 0 };
        while done < n {
            let (t, o, run) = place(m, from + done, self.size.into());
            let now = run.min(n - done);
            self.check_transfer(what, t, o, now);
            done += now;
        }
    }

    /// Copies `n` bytes between a buffer and a part of memory from its byte `from` on.
    ///
    /// # Safety
    /// 1. `buffer` is valid for `n` bytes, private memory for its length (owed by the caller).
    unsafe fn copy_memory(&self, m: Memory, from: u64, buffer: *mut u8, n: u64, into_memory: bool) {
        if m.thread == u64::MAX {
            let at = (m.at as *mut u8).wrapping_add(from as usize);
            // SAFETY: (1).
            unsafe {
                if into_memory {
                    std::ptr::copy(buffer, at, n as usize);
                } else {
                    std::ptr::copy(at, buffer, n as usize);
                }
            }
            return;
        }
        let mut done = 0;
        while done < n {
            let (t, o, run) = place(m, from + done, self.size.into());
            let now = run.min(n - done);
            // SAFETY: (1).
            unsafe {
                let at = buffer.add(done as usize);
                if into_memory {
                    self.core.put(t, o, at, now);
                } else {
                    self.core.get(at, t, o, now);
                }
            }
            done += now;
        }
    }

    /// Other threads may have changed this thread's data, so MYSYNC is treated as ALLSYNC.
    fn exit_io(&self, function: &str, flags: u32) {
        const OUT_MYSYNC: u32 = 16;
        self.exit(function, flags & !OUT_MYSYNC, &[("flags", flags.into())]);
    }

    /// The words of all threads.
    fn words(&self, mine: u64) -> Vec<u64> {
        let mut all = vec![0u64; self.size as usize];
        // SAFETY: words of 8 bytes.
        unsafe { self.gather_private((&raw const mine).cast(), all.as_mut_ptr().cast(), 8) };
        all
    }

    /// Collective: an error of one thread becomes the error of all.
    fn agree_on_error(&self, mine: Option<i32>) -> Result<(), i32> {
        match self.words(mine.unwrap_or(0) as u64).into_iter().find(|e| *e != 0) {
            Some(e) => Err(e as i32),
            None => Ok(()),
        }
    }

    fn files(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Open>> {
        lock(&self.io.0)
    }

    /// Works on an open file on which no asynchronous transfer is under way.
    fn with_file(&self, handle: u64, f: impl FnOnce(&mut Open) -> Outcome) -> Outcome {
        // It is out of the table meanwhile: `f` meets other threads, and then no lock may be held.
        let Some(mut open) = self.files().remove(&handle) else { return Err(libc::EBADF) };
        let outcome = if open.pending.is_some() { Err(libc::EINPROGRESS) } else { f(&mut open) };
        self.files().insert(handle, open);
        outcome
    }
}

/// The sum of lengths, if it fits into a number of bytes.
fn sum(mut lengths: impl Iterator<Item = u64>) -> Option<u64> {
    lengths.try_fold(0, u64::checked_add)
}

/// The thread and offset of byte `x` of blocked shared memory, and how many bytes from there on are
/// contiguous.
fn place(m: Memory, x: u64, threads: u64) -> (u32, u64, u64) {
    if m.block == 0 {
        return (m.thread as u32, m.at + x, u64::MAX);
    }
    let (block, rest) = (m.thread + x / m.block, x % m.block);
    ((block % threads) as u32, m.at + block / threads * m.block + rest, m.block - rest)
}

/// # Safety
/// 1. `hint` points to a hint whose strings are valid (owed by the caller).
unsafe fn take_hint(f: &mut Open, hint: *const Hint) {
    // SAFETY: (1).
    unsafe {
        if !(*hint).key.is_null() && !(*hint).value.is_null() {
            f.set_hint(CStr::from_ptr((*hint).key).to_owned(), CStr::from_ptr((*hint).value).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_round_the_threads() {
        let m = Memory::shared(1, 1000, 10, 100);
        let got: Vec<_> = (0..60).step_by(10).map(|x| place(m, x, 3)).collect();
        let want = [(1, 1000), (2, 1000), (0, 1010), (1, 1010), (2, 1010), (0, 1020)];
        assert_eq!(got, want.map(|(t, o)| (t, o, 10)));
        assert_eq!(place(m, 37, 3), (1, 1017, 3));
        assert_eq!(place(Memory::shared(2, 64, 0, 50), 49, 3).0, 2);
    }
}
