//! Processes that have ended.

use std::time::Instant;

use gasnet_sys::process::Ended;
use gasnet_sys::signals;

use super::{Job, JobAction, Phase};

impl Job {
    /// Records the code of a rank that left in order.
    pub(super) fn record(&mut self, code: i32) {
        if self.first_code.is_none() && code & 255 != 0 {
            self.first_code = Some(code);
        }
    }

    /// The process of a rank has ended.
    pub(super) fn ended(&mut self, now: Instant, rank: u32, how: Ended, actions: &mut Vec<JobAction>) {
        let state = &mut self.ranks[rank as usize];
        state.gone = true;
        if state.told {
            return;
        }
        let excused = state.done.is_some() || state.ending;
        match how {
            Ended::Signal(signal) => {
                // A single rank writes to the job's output itself: its reader has left, which needs no
                // message.
                if signal != libc::SIGPIPE || self.ranks.len() > 1 {
                    let name = signals::signal_name(signal);
                    let hint = match signal {
                        libc::SIGKILL => "; the system does that when memory runs out (dmesg says so)",
                        libc::SIGBUS => "; memory that it touched could not be had, perhaps there is no more",
                        _ => "",
                    };
                    let text = format!("{} terminated with signal {signal} ({name}){hint}", self.name(rank));
                    self.say(actions, text);
                }
                self.fails(now, rank, 128 + signal, Some(how), actions);
            }
            Ended::Code(code) if excused => self.record(code),
            // It leaves with the others, without a word.
            Ended::Code(0) if self.phase != Phase::Running => {}
            Ended::Code(0) => {
                if self.ranks.iter().any(|r| r.joined) {
                    self.left_silently(now, rank, actions);
                } else {
                    self.silent.get_or_insert(rank);
                }
            }
            Ended::Code(code) => {
                let when =
                    if state.joined { "without leaving the job in order" } else { "before joining the job" };
                self.say(actions, format!("{} exited with code {code} {when}", self.name(rank)));
                self.fails(now, rank, code, Some(how), actions);
            }
        }
    }

    /// A rank exited with 0 and without `Done`, in a job that others have joined.
    pub(super) fn left_silently(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let state = &self.ranks[rank as usize];
        let when = if state.joined { "without leaving the job in order" } else { "before joining the job" };
        let text = format!("{} exited with code 0 {when}", self.name(rank));
        self.say(actions, text);
        self.fails(now, rank, 1, Some(Ended::Code(0)), actions);
    }
}
