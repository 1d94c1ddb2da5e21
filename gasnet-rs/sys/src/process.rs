//! Processes: starting, watching and ending them.

#![expect(unsafe_code, reason = "fork, wait, and what is done between fork and exec")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use rustix::process::{PidfdFlags, Signal};

use crate::limits::{FileLimit, set_file_limit};
use crate::signals::{SignalAction, SignalSet};
use crate::{fd, processors};

/// Process id.
pub type Pid = libc::pid_t;

/// This process.
pub fn pid() -> Pid {
    rustix::process::getpid().as_raw_pid()
}

/// The parent of this process.
pub fn parent_pid() -> Pid {
    rustix::process::Pid::as_raw(rustix::process::getppid())
}

/// Lets all processes of this user read and write this one's memory, where the system would keep that to its
/// parents.
pub fn allow_access() {
    // A system that has no such restriction refuses.
    let _ = rustix::process::set_ptracer(rustix::process::PTracer::Any);
}

/// Has programs that this process starts, and those that they start, find their memory at the same addresses
/// every time. Some containers refuse it.
pub fn keep_addresses() -> io::Result<()> {
    let set = |persona: libc::c_ulong| {
        // SAFETY: a plain call; the flag counts when a program is started.
        let before = unsafe { libc::personality(persona) };
        if before < 0 { Err(io::Error::last_os_error()) } else { Ok(before) }
    };
    // This number asks for the present one.
    let now = set(0xffff_ffff)?;
    set((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong).map(drop)
}

/// Sends a signal; the process may be gone already.
pub fn kill(pid: Pid, signal: c_int) {
    if pid > 0 {
        // SAFETY: a plain call. The caller names a child that it has not reaped yet, so the number is still
        // that child's.
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

/// The result of [`reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended and is now reaped.
    Child(Pid, Ended),
    /// There are children, and all of them run.
    AllRunning,
    /// There is no child at all.
    NoChild,
}

/// Reaps any one ended child, without waiting.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid destination.
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
    // SAFETY: a null pointer: the status is not wanted. Interrupted or not, a remaining child is inherited by
    // init in the end.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// Makes orphaned descendants children of this process, so that none can escape it.
pub fn become_subreaper() {
    // If it fails, descendants go to init, and only the final cleaning is lost.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Makes the kernel kill this process when its parent ends. `parent` is the parent that it must still have;
/// if that one is already gone, this process exits here.
pub fn die_with_parent(parent: Pid) {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if parent_pid() != parent {
        exit_now(128 + libc::SIGKILL);
    }
}

/// Separates this process from the job that it was forked from: a session and a name of its own, no signals,
/// no descriptors except `keep`, no directory.
///
/// # Safety
/// 1. Nothing in this process uses another descriptor from now on, except those that it opens itself (owed by
///    the caller).
pub unsafe fn stand_apart(keep: BorrowedFd<'_>, name: &std::ffi::CStr) {
    SignalSet::all().block();
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    let _ = rustix::thread::set_name(name);
    // SAFETY: obligation 1.
    unsafe { fd::close_others(&[keep], false) };
}

/// A handle of a process, which stays with the process even if its number is reused.
#[derive(Debug)]
pub struct Handle(OwnedFd);

impl Handle {
    /// A handle of the process that has this number now.
    pub fn of(pid: Pid) -> io::Result<Handle> {
        let pid = rustix::process::Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Handle(rustix::process::pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Kills the process, if it still exists.
    pub fn kill(&self) {
        self.signal(libc::SIGKILL);
    }

    /// Sends a signal. Returns whether the process still exists.
    pub fn signal(&self, signal: c_int) -> bool {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: a plain system call on an open descriptor.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, none, 0) == 0 }
    }
}

/// Ends this process at once, without exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` is always allowed.
    unsafe { libc::_exit(code) }
}

/// Number of threads of this process.
pub fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").map(|tasks| tasks.count()).unwrap_or(1)
}

/// The children of this process, if it has a single thread.
pub fn children() -> Vec<Pid> {
    children_of(pid())
}

fn children_of(parent: Pid) -> Vec<Pid> {
    match std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel without that file: look at the parents of all processes.
        Err(_) => std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &Pid| state_of(*pid).is_some_and(|(_, of)| of == parent))
            .collect(),
    }
}

/// State and parent of any process, from its `stat` (whose second field is a name with any characters).
fn state_of(pid: Pid) -> Option<(u8, Pid)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((*fields.next()?.as_bytes().first()?, fields.next()?.parse().ok()?))
}

/// Whether a process, or a descendant of it, has work: it runs, or waits for a processor or a disk.
pub fn has_work(pid: Pid) -> bool {
    state_of(pid).is_some_and(|(state, _)| b"RD".contains(&state))
        || children_of(pid).into_iter().any(has_work)
}

/// Whether a thread of this process is neither asleep nor stopped.
pub fn is_at_work(pid: Pid) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let number = |task: std::fs::DirEntry| task.file_name().to_str()?.parse().ok();
    tasks.filter_map(number).any(|task| state_of(task).is_some_and(|(state, _)| !b"SITt".contains(&state)))
}

/// Whether the caller may execute this file.
pub fn executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether the caller may write to this file.
pub fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The process in which [`fork`] returned.
pub enum Fork {
    /// The parent, with the child's id.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks. Refuses in a process with several threads: locks that the others hold would stay locked in the
/// child.
pub fn fork() -> io::Result<Fork> {
    if thread_count() > 1 {
        return Err(io::Error::other("the process has several threads"));
    }
    // SAFETY: the process has one thread (checked), so the child may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// The settings of a new process just before it becomes its program.
#[derive(Debug)]
pub struct BeforeExec {
    /// The process that starts it, and with which it ends.
    pub parent: Pid,
    /// Its signal mask.
    pub mask: SignalSet,
    /// Its limit on open descriptors.
    pub files: FileLimit,
    /// Its processors; `None` leaves them unchanged.
    pub cpus: Option<Vec<usize>>,
}

/// Starts a program with these descriptors, and with a new program's signal settings.
pub fn spawn_with(mut command: Command, keep: &[BorrowedFd<'_>], setup: BeforeExec) -> io::Result<Child> {
    // Borrowed until the child exists: `command`, which has these numbers, is dropped at the end of this
    // call.
    let keep: Vec<c_int> = keep.iter().map(|fd| fd.as_raw_fd()).collect();
    let hook = move || {
        die_with_parent(setup.parent);
        for fd in &keep {
            fd::keep_through_exec(*fd)?;
        }
        set_file_limit(setup.files);
        if let Some(cpus) = &setup.cpus {
            // A failed placement should not end the job (the mask may have shrunk meanwhile).
            processors::run_on(&processors::set_of(cpus.iter().copied()));
        }
        SignalAction::change(libc::SIGCHLD, false);
        setup.mask.set();
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
    command.spawn()
}

/// Becomes a program that keeps these descriptors. Returns only if that fails.
pub fn become_program(command: &mut Command, keep: &[BorrowedFd<'_>]) -> io::Error {
    for fd in keep {
        if let Err(why) = fd::keep_through_exec(fd.as_raw_fd()) {
            return why;
        }
    }
    std::os::unix::process::CommandExt::exec(command)
}

/// Makes a helper process end with this one, and gives it a new program's signal settings.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn a_program_gets_the_descriptors_that_it_is_to_keep() {
        let (from, to) = fd::pipe().unwrap();
        let number = to.as_raw_fd();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n >&{number}")]);
        let soft = crate::limits::raise_file_limit(0);
        let setup = BeforeExec {
            parent: pid(),
            mask: SignalSet::of(&[]),
            files: (soft.0 - 1, soft.1),
            cpus: Some(processors::numbers(&processors::allowed()).collect()),
        };
        let mut child = spawn_with(command, &[to.as_fd()], setup).unwrap();
        assert!(child.wait().unwrap().success());
        drop(to);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::fs::File::from(from), &mut text).unwrap();
        assert_eq!(text.trim(), (soft.0 - 1).to_string());
    }

    #[test]
    fn a_handle_kills_its_process_once() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let handle = Handle::of(child.id() as Pid).unwrap();
        assert!(children().contains(&(child.id() as Pid)) || thread_count() > 1);
        handle.kill();
        let mut input = child.stdin.take().unwrap();
        assert!(!child.wait().unwrap().success());
        handle.kill();
        assert!(input.write_all(b"x").is_err());
        assert!(Handle::of(0).is_err());
    }

    #[test]
    fn files_are_looked_at() {
        assert!(executable(Path::new("/bin/sh")) && !executable(Path::new("/proc/self/status")));
        assert!(!executable(Path::new("/no/such/file")) && writable(Path::new("/dev/null")));
    }
}
