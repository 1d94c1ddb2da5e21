//! Whether the process of another rank is still there, among ranks that share memory.

use gasnet::{GlobalPtr, Rank, RankId};
use std::time::Duration;

/// Interval at which a blocked end checks whether the other's process is alive.
pub(crate) const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// The start time of a process of this host, if it lives.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(started)
}

/// A process of this host. Its start time tells it from a later one of the same number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pid: u32,
    started: u64,
}

impl Process {
    /// This one.
    pub(crate) fn own() -> Process {
        let pid = std::process::id();
        Process { pid, started: started(pid).unwrap_or(0) }
    }

    /// Says in a rank's segment which process it is.
    pub(crate) fn publish(self, rank: &Rank, at: GlobalPtr<u64>) {
        rank.write_slice(at, &[self.pid.into(), self.started]);
    }

    /// The process of a peer that shares memory with this rank, from where it said so.
    pub(crate) fn of(rank: &Rank, peer: RankId, at: GlobalPtr<u64>) -> Option<Process> {
        (rank.is_neighbour(peer) && peer != rank.id())
            .then(|| Process { pid: rank.atomics().load(at) as u32, started: rank.atomics().load(at.add(1)) })
    }

    /// Whether it has ended.
    pub(crate) fn is_dead(self) -> bool {
        started(self.pid) != Some(self.started)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn processes_are_seen_to_live_and_die() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep exists");
        let process = Process { pid: child.id(), started: started(child.id()).expect("it lives") };
        assert!(!process.is_dead() && !Process::own().is_dead());
        child.kill().expect("a child");
        let dead = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            process.is_dead()
        });
        assert!(dead, "a zombie is dead");
        child.wait().expect("it ended");
    }
}
