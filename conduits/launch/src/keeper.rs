//! The keeper: sees to it that nothing stays when the monitor itself is killed.
//!
//! Ranks end with their monitor, which the kernel sees to. Programs that ranks have started do not: as long as the monitor lives their
//! orphans become its children, and with it they go to nobody. So a process is forked before the first rank that holds nothing but a pipe
//! from the monitor, in a session of its own, where signals for the job do not reach it. When the pipe ends, it kills whoever
//! has the job's [mark](MARK) in the environment that it was started with: ranks, and what they started, unless they cleaned
//! its environment.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sys::{self, Fork, Pid};

/// Variable of all ranks, and so of what they start.
pub const MARK: &str = "GASNETI_JOB";

/// How long it looks for what is left.
const SWEEP: Duration = Duration::from_secs(2);

/// The monitor's end.
#[derive(Debug)]
pub struct Keeper {
    /// Whatever becomes of this process, the keeper sees it here.
    pipe: Option<OwnedFd>,
    /// Its process, until that has ended.
    pid: Option<Pid>,
    mark: String,
}

impl Keeper {
    /// Starts a keeper for so many ranks, if that is possible: without one a job does no worse.
    ///
    /// Ranks that outnumber the processors do without. The system deals them to the processors beside whatever else is started, and as
    /// they are dealt so they stay: with one process more, in 3 of 4 jobs of 8 ranks on 2 processors peers were apart, and messages took
    /// 7 us instead of 2.5.
    pub fn start(ranks: u32) -> Keeper {
        let mark = format!("{:016x}{:016x}", sys::random(), sys::random());
        let mut keeper = Keeper { pipe: None, pid: None, mark };
        if std::thread::available_parallelism().is_ok_and(|all| ranks as usize > all.get()) {
            return keeper;
        }
        let Ok((reader, writer)) = sys::pipe() else { return keeper };
        match sys::fork() {
            Ok(Fork::Parent(pid)) => (keeper.pipe, keeper.pid) = (Some(writer), Some(pid)),
            Ok(Fork::Child) => {
                drop(writer);
                keep(&reader, &keeper.mark)
            }
            Err(_) => {}
        }
        keeper
    }

    /// The variable to be given to ranks.
    pub fn variable(&self) -> (&'static str, OsString) {
        (MARK, self.mark.clone().into())
    }

    /// A child of this process has ended and was reaped.
    pub fn reaped(&mut self, pid: Pid) {
        self.pid.take_if(|own| *own == pid);
    }

    /// Nothing is left to be watched over: the keeper is gone when this returns.
    pub fn dismiss(&mut self) {
        if let Some(pid) = self.pid.take() {
            sys::kill(pid, libc::SIGKILL);
            sys::reap_child(pid);
        }
    }
}

/// The keeper's life.
fn keep(pipe: &OwnedFd, mark: &str) -> ! {
    sys::stand_apart(pipe.as_raw_fd());
    // Nothing is ever written there.
    while let Err(e) = sys::read(pipe.as_fd(), &mut [0]) {
        if e.kind() != std::io::ErrorKind::Interrupted {
            break;
        }
    }
    sweep(format!("{MARK}={mark}").as_bytes());
    sys::exit_now(0)
}

/// Kills all processes with this line in their environment, and those that they have started meanwhile.
fn sweep(line: &[u8]) {
    let own = sys::pid();
    let until = Instant::now() + SWEEP;
    loop {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
        let found: Vec<Pid> = numbers.filter(|pid| *pid != own && has(*pid, line)).collect();
        for pid in &found {
            // Its number may have become another's; the handle stays with whom it was made for.
            if let Ok(handle) = sys::process_handle(*pid)
                && has(*pid, line)
            {
                sys::kill_by_handle(&handle);
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
    // One that is ending has none any more.
    let text = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    text.split(|b| *b == 0).any(|l| l == line)
}
