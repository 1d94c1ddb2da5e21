//! The operating system, one thin safe function per call. The only file of this crate with unsafe code.
//!
//! Every descriptor made here is close-on-exec; [`before_exec`] lifts that for the few a rank must keep.

#![expect(unsafe_code, reason = "system calls")]

use std::ffi::{CString, OsString, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Process id.
pub type Pid = libc::pid_t;

/// Turns the `-1` of a system call into the error it stands for.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that a system call has just returned.
fn own(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An anonymous memory file of length 0.
pub fn memfd(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    own(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })
}

/// A pipe: (read end, write end).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: `fds` is an array of two ints, as the call requires.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((own(fds[0])?, own(fds[1])?))
}

/// A pair of connected sockets that keep packet boundaries.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: `fds` is an array of two ints, as the call requires.
    check(unsafe {
        libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr())
    })?;
    Ok((own(fds[0])?, own(fds[1])?))
}

/// Opens a file with plain `open(2)` flags.
pub fn open(path: &str, flags: c_int) -> io::Result<OwnedFd> {
    let path = CString::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    own(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

/// Sets or clears `O_NONBLOCK` on the open file behind `fd`.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain flag calls on a valid descriptor.
    unsafe {
        let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
    }
    Ok(())
}

/// Takes over a descriptor number that was inherited through `exec`, and marks it close-on-exec.
///
/// Fails if no such descriptor is open. To be called once per number: the caller becomes its owner.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    if fd <= 2 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: setting a descriptor flag touches no memory; a closed number yields EBADF.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the descriptor is open (checked above), was handed to this process by its launcher for this
    // purpose, and no other part of the process knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Opens `/dev/null` on every standard descriptor that is closed, so that no later descriptor lands there.
pub fn ensure_standard_descriptors() {
    for fd in 0..3 {
        // SAFETY: plain calls on descriptor numbers; `open` gets a NUL-terminated literal.
        unsafe {
            if libc::fcntl(fd, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
}

/// Marks all descriptors above the standard ones close-on-exec: whatever this program was started with, its children are not.
pub fn keep_descriptors_private() {
    // SAFETY: sets a flag of descriptors; a kernel without this call leaves them as they are, which loses tidiness only.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Closes descriptors, with one call for each run of numbers without a gap.
pub fn close_all(all: impl Iterator<Item = OwnedFd>) {
    let mut all: Vec<OwnedFd> = all.collect();
    all.sort_unstable_by_key(|fd| std::cmp::Reverse(fd.as_raw_fd()));
    while let Some(first) = all.pop() {
        let mut run = vec![first];
        while let Some(next) = all.pop_if(|fd| fd.as_raw_fd() == run[0].as_raw_fd() + run.len() as RawFd) {
            run.push(next);
        }
        let (first, last) = (run[0].as_raw_fd() as u32, run[0].as_raw_fd() as u32 + run.len() as u32 - 1);
        // SAFETY: a plain call; all descriptors from the first to the last are ours, and nobody else's.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0u32) } == 0 {
            // They are closed. (Where the kernel has no such call, they are now.)
            run.into_iter().for_each(std::mem::forget);
        }
    }
}

/// Reads from a descriptor.
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `buffer`, which is borrowed mutably for the call.
    let n = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Writes to a descriptor.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `bytes`, borrowed for the call.
    let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Sends on a socket without ever blocking and without raising `SIGPIPE`.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `bytes`, borrowed for the call.
    let n = unsafe {
        libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
    };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Sends a packet, waiting until there is room.
pub fn send_waiting(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        // SAFETY: the pointer and length describe `bytes`, borrowed for the call.
        let n = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        match io::Error::last_os_error() {
            _ if n >= 0 => return Ok(()),
            e if e.kind() == io::ErrorKind::Interrupted => {}
            e => return Err(e),
        }
    }
}

/// Waits for one packet; 0 at the end.
pub fn receive_waiting(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length describe `buffer`, which is borrowed mutably for the call.
        let n = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match (usize::try_from(n), io::Error::last_os_error()) {
            (Ok(n), _) => return Ok(n),
            (_, e) if e.kind() == io::ErrorKind::Interrupted => {}
            (_, e) => return Err(e),
        }
    }
}

/// A second descriptor, above the standard ones, for what a (standard) descriptor stands for.
pub fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a plain call on a descriptor number.
    own(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })
}

/// Receives one packet without blocking; `Ok(None)` when nothing is there, `Ok(Some(0))` at the end.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the pointer and length describe `buffer`, which is borrowed mutably for the call.
    let n =
        unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    match usize::try_from(n) {
        Ok(n) => Ok(Some(n)),
        Err(_) => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => Ok(None),
            e => Err(e),
        },
    }
}

/// What lies behind a descriptor, as far as writing to it is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// Device and inode: equal for two descriptors of the same file.
    pub identity: (u64, u64),
    /// A terminal.
    pub terminal: bool,
    /// A pipe or FIFO.
    pub pipe: bool,
    /// A socket.
    pub socket: bool,
}

/// Looks up what `fd` is; `None` if it is closed.
pub fn file_kind(fd: RawFd) -> Option<FileKind> {
    // SAFETY: an all-zero `stat` is a valid value of that plain C struct, and `fstat` fills it.
    let stat = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check(libc::fstat(fd, &mut stat)).ok()?;
        stat
    };
    let format = stat.st_mode & libc::S_IFMT;
    Some(FileKind {
        identity: (stat.st_dev, stat.st_ino),
        // SAFETY: `isatty` takes any number.
        terminal: unsafe { libc::isatty(fd) } == 1,
        pipe: format == libc::S_IFIFO,
        socket: format == libc::S_IFSOCK,
    })
}

/// One entry of a [`poll`] call.
pub type PollFd = libc::pollfd;

/// An entry that waits for input.
pub fn poll_in(fd: RawFd) -> PollFd {
    PollFd { fd, events: libc::POLLIN, revents: 0 }
}

/// An entry that waits until output is possible.
pub fn poll_out(fd: RawFd) -> PollFd {
    PollFd { fd, events: libc::POLLOUT, revents: 0 }
}

/// Waits until one of `fds` is ready or `timeout` (rounded up to a millisecond) is over. Interruption counts as ready.
pub fn poll(fds: &mut [PollFd], timeout: Option<Duration>) -> io::Result<()> {
    let millis = match timeout {
        None => -1,
        Some(t) => c_int::try_from(t.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX),
    };
    // SAFETY: the pointer and length describe `fds`, borrowed mutably for the call.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, millis) }) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// This process.
pub fn pid() -> Pid {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::getpid() }
}

/// The parent of this process.
pub fn parent_pid() -> Pid {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::getppid() }
}

/// Sends a signal; the process may be gone already.
pub fn kill(pid: Pid, signal: c_int) {
    if pid > 0 {
        // SAFETY: a plain call. The caller names a child it has not reaped yet, so the number is still that child's.
        unsafe { libc::kill(pid, signal) };
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It called `exit` with this code (0 to 255).
    Code(i32),
    /// A signal killed it.
    Signal(i32),
}

/// What [`reap`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended and is now reaped.
    Child(Pid, Ended),
    /// There are children, all of them running.
    AllRunning,
    /// There is no child at all.
    NoChild,
}

/// Reaps one ended child, whichever, without waiting.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    match pid {
        0 => Reaped::AllRunning,
        p if p < 0 => Reaped::NoChild,
        p if libc::WIFSIGNALED(status) => Reaped::Child(p, Ended::Signal(libc::WTERMSIG(status))),
        p => Reaped::Child(p, Ended::Code(libc::WEXITSTATUS(status))),
    }
}

/// Waits for the end of a child that was killed.
pub fn reap_child(pid: Pid) {
    // SAFETY: a null pointer means that nobody wants the status. Interrupted or not, a child that is left is init's in the end.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Has orphaned descendants become children of this process, so that none can escape it.
pub fn become_subreaper() {
    // SAFETY: a plain flag of this process. On failure descendants go to init, which loses only the final cleaning.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Has the kernel kill this process when its parent ends. `parent` is the parent it must still have; if that one is
/// already gone, this process ends here.
pub fn die_with_parent(parent: Pid) {
    // SAFETY: plain calls; `_exit` runs no code of this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != parent {
            libc::_exit(128 + libc::SIGKILL);
        }
    }
}

/// Takes this process out of the job that it was forked from: a session of its own, no signals, no descriptors but `keep`, no directory.
pub fn stand_apart(keep: RawFd) {
    let all = SignalSet::all();
    all.block();
    // SAFETY: plain calls. What the closed descriptors belonged to is used by nobody in this process any more: it only reads files that it
    // opens itself.
    unsafe {
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"gasnet-keeper".as_ptr());
        let (before, after) = (keep as u32, keep as u32 + 1);
        if before > 0 {
            libc::syscall(libc::SYS_close_range, 0u32, before - 1, 0u32);
        }
        libc::syscall(libc::SYS_close_range, after, u32::MAX, 0u32);
    }
}

/// A handle of a process, which stays with it when its number is another's.
pub fn process_handle(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: a plain call; the descriptor that it returns is ours.
    own(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0u32) } as c_int)
}

/// Kills the process behind a handle, if it is still there.
pub fn kill_by_handle(handle: &OwnedFd) {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a plain call on an open handle; a null pointer means what `kill` would send.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), libc::SIGKILL, none, 0u32) };
}

/// Ends this process at once, without exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` is always allowed.
    unsafe { libc::_exit(code) }
}

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// The set of exactly these signals.
    pub fn of(signals: &[c_int]) -> SignalSet {
        // SAFETY: an all-zero `sigset_t` is a valid place for `sigemptyset` to initialise; numbers come from constants.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for &signal in signals {
                libc::sigaddset(&mut set, signal);
            }
            SignalSet(set)
        }
    }

    /// All signals.
    pub fn all() -> SignalSet {
        // SAFETY: an all-zero `sigset_t` is a valid place for `sigfillset` to initialise.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut set);
            SignalSet(set)
        }
    }

    /// Blocks these signals in the calling thread, and returns what was blocked before.
    pub fn block(&self) -> SignalSet {
        let mut before = SignalSet::of(&[]);
        // SAFETY: both sets are initialised and live.
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &self.0, &mut before.0) };
        before
    }

    /// Blocks exactly these signals in the calling thread.
    pub fn set(&self) {
        // SAFETY: the set is initialised; a null pointer asks for no old mask.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }

    /// A descriptor that delivers these (blocked) signals.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        own(unsafe { libc::signalfd(-1, &self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })
    }
}

/// The next signal waiting in a signal descriptor.
pub fn next_signal(fd: BorrowedFd<'_>) -> Option<c_int> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut record = [0; SIZE];
    let n = read(fd, &mut record).ok()?;
    // The first field, `ssi_signo`, is a u32.
    (n == SIZE).then(|| i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))
}

/// What a process does on a signal.
pub struct SignalAction(c_int, libc::sigaction);

impl SignalAction {
    /// Sets a signal to its default action, or to be ignored, and returns what it was.
    pub fn change(signal: c_int, ignore: bool) -> SignalAction {
        // SAFETY: an all-zero `sigaction` is valid, both dispositions are predefined, no handler of ours is installed.
        unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            let mut old: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = if ignore { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::sigaction(signal, &new, &mut old);
            SignalAction(signal, old)
        }
    }

    /// Puts it back.
    pub fn restore(&self) {
        // SAFETY: the action was in force in this program before.
        unsafe { libc::sigaction(self.0, &self.1, std::ptr::null_mut()) };
    }
}

/// Whether a signal is ignored, as `nohup` arranges for `SIGHUP`.
pub fn ignored(signal: c_int) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid place for the result; a null pointer changes nothing.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now);
        now.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether `pid` has a handler for `signal`.
pub fn catches(pid: Pid, signal: c_int) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// What the doctor asks for limits of.
#[derive(Debug, Clone, Copy)]
pub enum Limited {
    /// Processes of the user.
    Processes,
    /// Bytes of memory that a process may keep from being paged.
    LockedMemory,
}

/// A limit of this process (soft), if there is one.
pub fn limit(of: Limited) -> Option<u64> {
    let which = match of {
        Limited::Processes => libc::RLIMIT_NPROC,
        Limited::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the result.
    let known = unsafe { libc::getrlimit(which, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes that are free in the file system of a folder.
pub fn free_space(folder: &str) -> io::Result<u64> {
    let folder = CString::new(folder).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: an all-zero `statvfs` is a valid place for the result; the path is NUL-terminated.
    unsafe {
        let mut space: libc::statvfs = std::mem::zeroed();
        check(libc::statvfs(folder.as_ptr(), &mut space))?;
        Ok(space.f_bavail * space.f_frsize)
    }
}

/// The limit on open descriptors: (soft, hard).
pub type FileLimit = (u64, u64);

/// Raises the soft limit on open descriptors to at least `wanted`, as far as the hard limit allows, and returns the
/// limits as they were.
pub fn raise_file_limit(wanted: u64) -> FileLimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the result.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if limit.rlim_cur < wanted {
        set_file_limit((wanted.min(limit.rlim_max), limit.rlim_max));
    }
    (limit.rlim_cur, limit.rlim_max)
}

/// Sets the limits on open descriptors.
pub fn set_file_limit((soft, hard): FileLimit) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: `limit` is initialised. Failing leaves the old limit, which is harmless.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}

/// The processors this process may run on, in ascending order.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: an all-zero `cpu_set_t` is a valid empty set, and the size passed is its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) < 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

/// Restricts the calling process to these processors.
pub fn bind_to(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero `cpu_set_t` is a valid empty set; out-of-range numbers are filtered.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set))?;
    }
    Ok(())
}

/// Number of threads of this process.
pub fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").map(|tasks| tasks.count()).unwrap_or(1)
}

/// The children of this process, if it is one of a single thread.
pub fn children() -> Vec<Pid> {
    children_of(pid())
}

fn children_of(parent: Pid) -> Vec<Pid> {
    match std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel without that file: look at everyone's parent.
        Err(_) => std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &Pid| state_of(*pid).is_some_and(|(_, of)| of == parent))
            .collect(),
    }
}

/// State and parent of any process, from its `stat` (of which the second field is a name that may hold anything).
fn state_of(pid: Pid) -> Option<(u8, Pid)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((*fields.next()?.as_bytes().first()?, fields.next()?.parse().ok()?))
}

/// Whether a process, or one below it, has something to do: it waits for a processor or a disk, if it is not at it.
pub fn has_work(pid: Pid) -> bool {
    state_of(pid).is_some_and(|(state, _)| b"RD".contains(&state))
        || children_of(pid).into_iter().any(has_work)
}

/// Whether the caller may execute this file.
pub fn executable(path: &Path) -> bool {
    // SAFETY: the path is a NUL-terminated string that outlives the call.
    CString::new(path.as_os_str().as_bytes())
        .is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0)
}

/// Whether the caller may write to this file.
pub fn writable(path: &str) -> bool {
    // SAFETY: the path is a NUL-terminated string that outlives the call.
    CString::new(path).is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0)
}

/// Whether this process is the superuser's.
pub fn is_root() -> bool {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// 64 random bits.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: the pointer and length describe `bytes`.
    let n = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if n == 8 { u64::from_ne_bytes(bytes) } else { u64::from(std::process::id()) << 32 }
}

/// Sets a variable of the environment, in a process that was just forked.
pub(crate) fn set_env(name: &str, value: &std::ffi::OsStr) {
    // SAFETY: the process has the one thread that forked it, out of one of one thread ([`fork`] looks).
    unsafe { std::env::set_var(name, value) };
}

/// Takes a variable out of the environment, so that programs that are started later do not see it: its value for the first who asks. An empty
/// one is none.
pub(crate) fn take_env(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    if thread_count() == 1 {
        // SAFETY: nobody else can be looking at the environment.
        unsafe { std::env::remove_var(name) };
        return Some(value);
    }
    // Others may be looking: the environment keeps its shape, and the value becomes empty where it lies.
    let name = CString::new(name).ok()?;
    // SAFETY: a string. Changing the environment beside other threads is unsafe: who does so answers for it.
    let at = std::ptr::NonNull::new(unsafe { libc::getenv(name.as_ptr()) })?;
    // SAFETY: the first byte of a string that belongs to the process; nobody else knows the variable.
    let first = unsafe { AtomicU8::from_ptr(at.as_ptr().cast()) };
    (first.swap(0, Ordering::Relaxed) != 0).then_some(value)
}

unsafe extern "C" {
    /// C's standard output stream.
    static stdout: *mut libc::FILE;
    /// Size of a stream's buffer; 1 if it is unbuffered, 0 if not chosen yet.
    fn __fbufsize(stream: *mut libc::FILE) -> libc::size_t;
}

/// Makes C's standard output line buffered, unless the program has made it unbuffered: a rank that is ended by
/// another one has then already sent every line it has printed.
pub fn line_buffer_stdout() {
    // SAFETY: `stdout` is set before any code runs; the program is still starting up and uses no stream elsewhere.
    unsafe {
        if __fbufsize(stdout) != 1 {
            libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0);
        }
    }
}

/// Writes out what C's output streams hold.
pub fn flush_stdio() {
    // SAFETY: a null pointer means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Puts `from` on the descriptor number `to` (inherited through `exec`).
pub(crate) fn redirect(from: BorrowedFd<'_>, to: RawFd) -> io::Result<()> {
    // SAFETY: `to` is a standard descriptor, whose owner (this process's stdio) expects it to be redirected.
    check(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
    Ok(())
}

/// Who [`fork`] returned to.
pub enum Fork {
    /// The parent, with the child's id.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks. Refuses in a process with several threads: locks they hold would stay locked in the child.
pub fn fork() -> io::Result<Fork> {
    if thread_count() > 1 {
        return Err(io::Error::other("the process has several threads"));
    }
    // SAFETY: the process has one thread (checked), so the child may go on running any code.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// What the launcher does to a new process just before it becomes the rank's program.
pub struct BeforeExec {
    /// Descriptors the rank keeps.
    pub keep: [RawFd; 3],
    /// The monitor.
    pub monitor: Pid,
    /// Signal mask of the rank.
    pub mask: SignalSet,
    /// Limit on open descriptors of the rank.
    pub files: FileLimit,
    /// Processors of the rank; `None` leaves them.
    pub cpus: Option<Vec<usize>>,
}

/// Arranges for a helper process to end with this one, and to have the signals of a new program.
pub fn end_with_us(command: &mut Command, mask: SignalSet) {
    let us = pid();
    let hook = move || {
        die_with_parent(us);
        SignalAction::change(libc::SIGCHLD, false);
        SignalAction::change(libc::SIGPIPE, false);
        mask.set();
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
}

/// Arranges for `setup` to be done in the child of `command`.
pub fn before_exec(command: &mut Command, setup: BeforeExec) {
    let hook = move || {
        die_with_parent(setup.monitor);
        for fd in setup.keep {
            // SAFETY: clears a flag of a descriptor of this (forked) process.
            check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })?;
        }
        set_file_limit(setup.files);
        if let Some(cpus) = &setup.cpus {
            // Losing the placement is no reason to lose the job (the mask may have shrunk meanwhile).
            let _ = bind_to(cpus);
        }
        SignalAction::change(libc::SIGCHLD, false);
        setup.mask.set();
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
}

/// Name of a signal, for messages.
pub fn signal_name(signal: c_int) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "unnamed",
    }
}
