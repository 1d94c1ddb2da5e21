//! The keeper: a process that cleans up when the monitor itself is killed.
//!
//! The kernel ends ranks when their monitor ends. It does not end the programs that ranks have started: as
//! long as the monitor lives, their orphans become its children, and when it dies they become nobody's. So a
//! process is forked before the first rank. It holds nothing but a pipe from the monitor, and runs in a
//! session of its own, where signals for the job do not reach it. When the pipe ends, it kills every process
//! that has the job's [mark](MARK_VARIABLE) in the environment it was started with: ranks, and the programs
//! they started, unless they cleared the environment.

#![expect(unsafe_code, reason = "leaves all descriptors of the process that it was forked from")]

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use gasnet_sys::fd;
use gasnet_sys::process::{self, Fork, Handle, Pid};

/// Environment variable of all ranks, inherited by the programs they start.
pub const MARK_VARIABLE: &str = "GASNETI_JOB";

/// How long the keeper searches for remaining processes.
const SWEEP_TIME: Duration = Duration::from_secs(2);

/// The monitor's end of the keeper.
#[derive(Debug)]
pub struct Keeper {
    /// When this process ends for any reason, the keeper sees the pipe end.
    pipe: Option<OwnedFd>,
    /// The keeper's process, until it has ended.
    pid: Option<Pid>,
    mark: String,
}

impl Keeper {
    /// Starts a keeper for `ranks` ranks, if that is possible; a job can run without one.
    ///
    /// Jobs whose ranks outnumber the processors get none. The system distributes the ranks over the
    /// processors along with every other process it starts, and they stay there. With one process more, peers
    /// were on different processors in 3 of 4 jobs of 8 ranks on 2 processors, and messages took 7 us instead
    /// of 2.5.
    pub fn start(ranks: u32) -> Keeper {
        let mark = format!("{:016x}{:016x}", gasnet_sys::random(), gasnet_sys::random());
        let mut keeper = Keeper { pipe: None, pid: None, mark };
        if std::thread::available_parallelism().is_ok_and(|all| ranks as usize > all.get()) {
            return keeper;
        }
        let Ok((reader, writer)) = fd::pipe() else { return keeper };
        match process::fork() {
            Ok(Fork::Parent(pid)) => (keeper.pipe, keeper.pid) = (Some(writer), Some(pid)),
            Ok(Fork::Child) => {
                drop(writer);
                keep(&reader, &keeper.mark)
            }
            Err(_) => {}
        }
        keeper
    }

    /// The variable to set for ranks.
    pub fn variable(&self) -> (&'static str, OsString) {
        (MARK_VARIABLE, self.mark.clone().into())
    }

    /// A child of this process has ended and was reaped.
    pub fn reaped(&mut self, pid: Pid) {
        self.pid.take_if(|own| *own == pid);
    }

    /// Ends the keeper because nothing is left to watch; it is gone when this returns.
    pub fn dismiss(&mut self) {
        if let Some(pid) = self.pid.take() {
            process::kill(pid, libc::SIGKILL);
            process::reap_child(pid);
        }
    }
}

/// The keeper's main function.
fn keep(pipe: &OwnedFd, mark: &str) -> ! {
    // SAFETY: 1. The process was forked for this function only, which uses the pipe and files that it opens
    // itself.
    unsafe { process::stand_apart(pipe.as_fd(), c"gasnet-keeper") };
    // Nothing is ever written to it.
    while let Err(e) = fd::read(pipe.as_fd(), &mut [0]) {
        if e.kind() != std::io::ErrorKind::Interrupted {
            break;
        }
    }
    sweep(format!("{MARK_VARIABLE}={mark}").as_bytes());
    process::exit_now(0)
}

/// Kills all processes with this line in their environment, and those that they have started meanwhile.
fn sweep(line: &[u8]) {
    let own = process::pid();
    let until = Instant::now() + SWEEP_TIME;
    loop {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
        let found: Vec<Pid> = numbers.filter(|pid| *pid != own && has(*pid, line)).collect();
        for pid in &found {
            // Its number may have been reused; the handle stays with the process it was made for.
            if let Ok(handle) = Handle::of(*pid)
                && has(*pid, line)
            {
                handle.kill();
            }
        }
        if found.is_empty() || Instant::now() >= until {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process was started with this line in its environment.
fn has(pid: Pid, line: &[u8]) -> bool {
    // A process that is ending has no environment.
    let text = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    text.split(|b| *b == 0).any(|l| l == line)
}
