//! `GASNET_PROGRESS=thread`: a thread that makes progress while the program computes.
//!
//! The thread sleeps until the conduit's descriptor is readable or its
//! [doorbell](crate::conduit::Conduit::doze) is rung, or for a short time if the conduit has neither. Then it
//! polls as the program would. While the program itself polls often, the thread does nothing. With the
//! thread, a rank of one thread takes locks that it otherwise does not need.
//!
//! **Polling after a message.** Waking the thread takes some microseconds of processor time and of the peer's
//! time. If the rank was given processors of its own, the thread therefore polls for about as long after each
//! message before it sleeps. A peer that sends one message after the other gets its answers as if this rank
//! waited for it, and the processor time is at most twice that of waking for each message. Without processors
//! of its own, the thread sleeps at once, because a thread that may run anywhere is woken on the processor of
//! the peer that waits for its answer.
//!
//! **Processor of the thread.** Suppose that there is a processor for each rank but not for each thread, and
//! ranks may run anywhere. A thread that was woken on the peer's processor would stay there, and each answer
//! would take two turns of that processor. So the thread checks from time to time on which processor the
//! thread that started the rank runs, and moves there. It then takes time from its own rank, and the peer
//! continues to run.
//!
//! **Handlers of a rank of one thread** ([`Threading::Serial`](crate::Threading)) run on that thread, inside
//! calls of the runtime. So the progress thread serves only the runtime's own messages: puts, gets, atomics,
//! barriers. It puts aside messages for handlers of libraries and programs, and the program's next poll
//! handles them. When very many of them wait, requests stay in the network until then.

use crate::Wire;
use crate::am::aside::{self, Progress};
use crate::prim::Ordering;
use crate::shm::map;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Number of messages put aside above which requests stay in the network.
const MAX_DEFERRED_MESSAGES: usize = 1024;
/// Length of a sleep if the conduit has no descriptor to wait for.
const SLEEP_WITHOUT_DESCRIPTOR: Duration = Duration::from_micros(20);
/// Time of polling after the last message before the thread sleeps. It is about the time to wake the thread.
const POLL_TIME_AFTER_MESSAGE: Duration = Duration::from_micros(10);
/// Time between two checks of the processor on which the program runs.
const TIME_BETWEEN_LOOKS_AT_PROCESSOR: Duration = Duration::from_millis(1);
/// Length of a sleep while the program itself polls.
const SLEEP_WHILE_PROGRAM_POLLS: Duration = Duration::from_micros(200);
/// Longest sleep on a descriptor.
const MAX_SLEEP_ON_DESCRIPTOR: Duration = Duration::from_millis(50);

/// The processor of the program's thread that started the rank.
struct Program {
    stat: std::fs::File,
    looked: Instant,
}

impl Program {
    /// The calling thread is that thread.
    fn here() -> Option<Program> {
        let stat = std::fs::File::open("/proc/thread-self/stat").ok()?;
        Some(Program { stat, looked: Instant::now() })
    }

    /// The processor on which the thread runs or ran last.
    fn processor(&self) -> Option<usize> {
        let mut text = [0u8; 1024];
        let len = self.stat.read_at(&mut text, 0).ok()?;
        processor_in(&text[..len])
    }

    /// Moves the calling thread to that processor, unless it was checked recently.
    fn follow(&mut self) {
        if self.looked.elapsed() < TIME_BETWEEN_LOOKS_AT_PROCESSOR {
            return;
        }
        self.looked = Instant::now();
        if let Some(processor) = self.processor().filter(|there| *there as u32 != map::this_processor()) {
            map::move_to(processor, &map::processors());
        }
    }
}

/// The 39th field of a thread's `stat` (proc_pid_stat(5)); its second one, the name, is in parentheses and
/// may have any letters.
fn processor_in(stat: &[u8]) -> Option<usize> {
    let name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(39 - 3)?.parse().ok()
}

impl Wire {
    /// Starts the thread.
    pub(crate) fn start_progress(&'static self) {
        let Some(progress) = &self.progress else { return };
        let free = progress.follows && !crate::wait::has_own_processors();
        let program = if free { Program::here() } else { None };
        let thread = std::thread::Builder::new().name("gasnet-progress".into());
        let work = move || {
            // It waits for nobody in particular, and ends with its world.
            let _ = crate::death::attempt(|| self.work(progress, program));
        };
        let made = gasnet_sys::thread::spawn_without_signals(thread, work);
        if let Err(e) = made {
            let why = crate::limits::thread_refused(&e);
            self.fatal(&format!("GASNET_PROGRESS=thread: cannot start a thread: {why}"));
        }
    }

    fn work(&self, progress: &Progress, mut program: Option<Program>) {
        aside::begin_work();
        gasnet_sys::thread::sleep_exactly();
        // Older kernels do not have this call and wake the thread in the usual way.
        let _ = gasnet_sys::thread::run_when_woken();
        let linger = if crate::wait::has_own_processors() { POLL_TIME_AFTER_MESSAGE } else { Duration::ZERO };
        let mut seen = 0;
        // The time of the last work, and whether there was work since the last sleep.
        let (mut last, mut useful) = (Instant::now(), true);
        while progress.stop.load(Ordering::Relaxed) == 0 {
            let polls = progress.polls.load(Ordering::Relaxed);
            if polls != seen {
                seen = polls;
                std::thread::sleep(SLEEP_WHILE_PROGRAM_POLLS);
                continue;
            }
            let full = progress.waiting.load(Ordering::Relaxed) as usize >= MAX_DEFERRED_MESSAGES;
            let done = match (full, progress.parallel) {
                (true, _) => self.poll_replies(),
                (false, true) => self.poll(),
                (false, false) => self.poll_beside_program(),
            };
            if done > 0 {
                (last, useful) = (Instant::now(), true);
                continue;
            }
            if last.elapsed() < linger {
                core::hint::spin_loop();
                continue;
            }
            // An event that the thread cannot handle (it waits for the program, which holds a lock) would
            // wake it again at once.
            let woken = useful && !full && self.sleep_until_woken();
            if woken {
                last = Instant::now();
                if let Some(program) = &mut program {
                    program.follow();
                }
            } else {
                std::thread::sleep(SLEEP_WITHOUT_DESCRIPTOR);
            }
            useful = !woken;
        }
    }

    /// Sleeps until the conduit reports work. Returns whether the conduit could wake the thread.
    fn sleep_until_woken(&self) -> bool {
        let Some(conduit) = &self.conduit else { return false };
        // Messages of neighbours do not wake the thread.
        let longest = if self.grid.is_none() { MAX_SLEEP_ON_DESCRIPTOR } else { SLEEP_WITHOUT_DESCRIPTOR };
        match conduit.descriptor() {
            Some(fd) if fd.as_raw_fd() >= 0 => map::wait_readable(fd, longest),
            _ => conduit.doze(longest),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads files of the kernel")]
    fn a_thread_is_found_where_it_runs() {
        let rest: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("17 (a name) (with) 9 9) {}\n", rest.join(" "));
        assert_eq!(processor_in(stat.as_bytes()), Some(39));
        assert_eq!((processor_in(b"17 (cut) S 1"), processor_in(b"")), (None, None));
        let allowed = map::processors();
        for cpu in (0..map::SET_WORDS * 64).filter(|cpu| allowed[cpu / 64] >> (cpu % 64) & 1 == 1).take(4) {
            let mut one = [0; map::SET_WORDS];
            one[cpu / 64] = 1 << (cpu % 64);
            map::run_on(&one);
            assert_eq!(Program::here().and_then(|program| program.processor()), Some(cpu));
        }
        map::run_on(&allowed);
    }
}
