//! The process vessel: ranks that are processes of an executable, each in lock step with a coroutine here.
//!
//! The coroutine of a rank starts the rank's process, and then does with its own conduit what the process
//! asks for (`gasnet-vessel` has the protocol). So a rank gives its turn back, waits and is woken as any
//! other, and the rest of the cluster does not know in which vessel it lives.

use crate::cluster::{Cluster, Report, Vessel};
use crate::conduit::SimConduit;
use crate::event::Start;
use crate::failure::{Cause, Failure};
use crate::memory::{Home, RankMemory};
use crate::shared::Simulation;
use crate::time::Time;
use gasnet::RankId;
use gasnet_sys::process::{self, BeforeExec};
use gasnet_sys::signals::SignalSet;
use gasnet_sys::{clock, fd, limits, processors};
use gasnet_vessel::{Facts, Letter, Mailbox, PART_BYTES, PLAN, SEAT, Seat, View, answer, ask};
use gasnet_wire::boot::ToMonitor;
use gasnet_wire::conduit::{Channel, Completion, Conduit, Frame, MIN_FRAME, Meanwhile, RawSlot, Rma};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A program whose processes are ranks.
#[derive(Debug, Clone)]
pub struct Executable {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The rank that runs under gdb.
    pub debugged: Option<u32>,
}

/// How long a rank runs before somebody looks whether it still does; and once it has said that it ends.
const LOOK: Duration = Duration::from_millis(20);
const LOOK_AT_END: Duration = Duration::from_micros(200);
/// Longest that threads of a rank may work that have not called the runtime, before a deadlock is told.
const LONGEST_WORK: Duration = Duration::from_secs(10);
/// Longest that a rank sleeps at once: three hours.
const LONGEST_SLEEP_NANOSECONDS: u64 = 10_000_000_000_000;
/// Longest that a rank may take to say where it is when its turn does not end.
const LONGEST_ANSWER: Duration = Duration::from_secs(11);

/// The ranks of a job.
struct Processes<'a> {
    cluster: &'a Cluster,
    shared: &'a Arc<Simulation>,
    executable: &'a Executable,
    file: OwnedFd,
    ranks: Vec<Member>,
    /// A rank has ended the job, and all is well.
    is_over: Cell<bool>,
    /// A rank has left, and the job ends when the others have nothing to do.
    has_left: Cell<bool>,
}

/// A rank.
#[derive(Default)]
struct Member {
    mailbox: RefCell<Option<Mailbox>>,
    child: RefCell<Option<Child>>,
    /// Its runtime has started.
    began: Cell<bool>,
    /// What it has said about its end.
    said: RefCell<Option<ToMonitor>>,
    slots: RefCell<HashMap<u64, RawSlot>>,
    /// What it has noted and asked, and nobody has read yet.
    calls: RefCell<VecDeque<Asked>>,
    exchanges: Cell<u64>,
    /// News of the rank when it was answered last: what it knows of.
    told: Cell<u64>,
    /// The result of its last exchange.
    gathered: RefCell<Vec<u8>>,
}

/// A note or a question.
struct Asked {
    call: Letter,
    bytes: Vec<u8>,
    /// It is a question.
    waits: bool,
}

/// Why a service has ended.
enum Served {
    /// The frame that was delivered has been handled.
    Handled,
    /// The process has ended.
    Ended(ExitStatus),
}

/// An answer that is not borrowed.
struct Reply {
    kind: u32,
    words: [u64; 2],
    bytes: Vec<u8>,
}

impl Reply {
    fn yes(word: u64) -> Reply {
        Reply { kind: answer::YES, words: [word, 0], bytes: Vec::new() }
    }

    fn of(done: bool) -> Reply {
        Reply { kind: if done { answer::YES } else { answer::NO }, ..Reply::yes(0) }
    }

    fn with(bytes: Vec<u8>) -> Reply {
        Reply { bytes, ..Reply::yes(0) }
    }
}

impl Cluster {
    /// Runs an executable of which each process is a rank, unmodified. The results are the exit codes of the
    /// ranks, 0 all. The program attaches its own segment; its ranks end with this call.
    ///
    /// # Errors
    /// As [`run`](Self::run); a program that cannot be started. A code other than 0 is [`Cause::Ended`].
    pub fn run_executable(&self, executable: &Executable) -> Result<Report<i32>, Failure> {
        let fail = |text: String| Failure::before_start(self.seed, Cause::Start(text));
        let shared = self.world();
        let file = fd::memory_file("mailboxes").map_err(|why| fail(why.to_string()))?;
        let bytes = u64::from(self.ranks) * gasnet_vessel::BYTES as u64;
        fd::grow(file.as_fd(), bytes).map_err(|why| fail(format!("mailboxes of the ranks: {why}")))?;
        let processes = Processes {
            cluster: self,
            shared: &shared,
            executable,
            file,
            ranks: (0..self.ranks).map(|_| Member::default()).collect(),
            is_over: Cell::new(false),
            has_left: Cell::new(false),
        };
        let _here = OneProcessor::begin();
        let report = self.drive(&shared, &processes)?;
        let codes = shared.codes();
        if let Some(rank) = codes.iter().position(|code| *code != 0) {
            let what = Cause::Ended { rank: rank as u32, code: codes[rank], text: String::new() };
            return Err(self.failure(&shared, what));
        }
        Ok(report.map(|_| codes))
    }
}

/// Has this thread, and the ranks that it starts meanwhile, on one processor: one of them runs at a time, and
/// a turn that goes to another processor takes several times as long.
struct OneProcessor(processors::Set);

impl OneProcessor {
    fn begin() -> OneProcessor {
        let before = processors::allowed();
        processors::run_on(&processors::set_of([processors::current() as usize]));
        OneProcessor(before)
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        processors::run_on(&self.0);
    }
}

impl Vessel for Processes<'_> {
    fn live(&self, rank: u32) -> Result<(), String> {
        self.start(rank)?;
        let conduit = self.cluster.conduit(self.shared, rank);
        loop {
            if let Served::Ended(status) = self.serve(rank, &conduit) {
                return self.end(rank, status);
            }
        }
    }

    fn place(&self, rank: u32) -> Option<String> {
        self.with_mailbox(rank, |mailbox| {
            mailbox.pid()?;
            mailbox.answer(answer::WHERE, &[], &[], self.view(rank));
            let call = self.next(rank).ok().filter(|call| call.kind == ask::PLACE);
            call.map(|_| String::from_utf8_lossy(mailbox.bytes()).into_owned())
        })
    }

    fn fallen(&self) -> Option<Cause> {
        (0..self.cluster.ranks).find_map(|rank| {
            let status = self.end_while_waiting(rank)?;
            let [text, place] = self.last_words(rank);
            Some(match status.signal() {
                Some(signal) => self.crash(rank, signal, text, place),
                None => {
                    let code = status.code().unwrap_or_default().max(1);
                    Cause::Ended { rank, code, text: with_place(&text, &place) }
                }
            })
        })
    }

    fn is_over(&self, stuck: bool) -> bool {
        self.is_over.get() || stuck && self.has_left.get()
    }
}

impl Processes<'_> {
    fn member(&self, rank: u32) -> &Member {
        &self.ranks[rank as usize]
    }

    fn with_mailbox<R>(&self, rank: u32, f: impl FnOnce(&Mailbox) -> Option<R>) -> Option<R> {
        f(self.member(rank).mailbox.borrow().as_ref()?)
    }

    /// Starts a rank's process, which has the turn.
    fn start(&self, rank: u32) -> Result<(), String> {
        let mailbox = Mailbox::map(self.file.as_fd(), rank).map_err(|why| format!("a mailbox: {why}"))?;
        let explores = self.shared.world().chooser.is_some();
        let inline = self.cluster.model.inline as u64;
        mailbox.prepare(Facts { rank, size: self.cluster.ranks, explores, inline, seed: self.cluster.seed });
        let Executable { program, arguments, debugged } = self.executable;
        let mut command = if *debugged == Some(rank) {
            let mut gdb = Command::new("gdb");
            gdb.arg("--args").arg(program);
            gdb
        } else {
            Command::new(program)
        };
        command.args(arguments).env_remove(PLAN).env(SEAT, Seat::text(self.file.as_raw_fd(), rank));
        let setup = BeforeExec {
            parent: process::pid(),
            mask: SignalSet::of(&[]),
            files: limits::raise_file_limit(0),
            cpus: None,
        };
        let child = process::spawn_with(command, &[self.file.as_fd()], setup)
            .map_err(|why| format!("{}: {why}", program.display()))?;
        *self.member(rank).mailbox.borrow_mut() = Some(mailbox);
        *self.member(rank).child.borrow_mut() = Some(child);
        Ok(())
    }

    /// A rank's next question, or the end of its process.
    fn next(&self, rank: u32) -> Result<Letter, ExitStatus> {
        let member = self.member(rank);
        let look = if member.said.borrow().is_some() { LOOK_AT_END } else { LOOK };
        let mut used = None;
        loop {
            if let Some(call) = self.with_mailbox(rank, |mailbox| mailbox.next(look)) {
                return Ok(call);
            }
            let now = {
                let mut child = member.child.borrow_mut();
                let Some(child) = child.as_mut() else { return Err(ExitStatus::default()) };
                match child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => return Err(status),
                    Err(_) => return Err(ExitStatus::default()),
                }
                clock::processor_time_of(child.id()).unwrap_or_default()
            };
            let Some(most) = self.cluster.longest_turn else { continue };
            if now >= *used.get_or_insert(now) + most && self.executable.debugged != Some(rank) {
                self.interrupt(rank);
            }
        }
    }

    /// Has a rank whose turn does not end say where it is, and ends it.
    fn interrupt(&self, rank: u32) -> ! {
        // Taken out first: this coroutine never goes on, and would never give it back.
        let child = self.member(rank).child.borrow_mut().take();
        if let Some(mut child) = child {
            process::kill(child.id() as process::Pid, libc::SIGTRAP);
            let since = Instant::now();
            while let Ok(None) = child.try_wait()
                && since.elapsed() < LONGEST_ANSWER
            {
                std::thread::sleep(LOOK_AT_END);
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let [_, place] = self.last_words(rank);
        self.shared.fall(rank, Cause::Endless { rank, place })
    }

    /// The end of a rank's process that does not have the turn: another thread of it has ended it. As long
    /// as one of these is at work, it may.
    fn end_while_waiting(&self, rank: u32) -> Option<ExitStatus> {
        let mut child = self.member(rank).child.try_borrow_mut().ok()?;
        let child = child.as_mut()?;
        let since = Instant::now();
        loop {
            if let Some(status) = child.try_wait().ok()? {
                return Some(status);
            }
            if !process::is_at_work(child.id() as process::Pid) || since.elapsed() > LONGEST_WORK {
                return None;
            }
            std::thread::sleep(LOOK_AT_END);
        }
    }

    /// A rank's process has ended by a signal.
    fn crash(&self, rank: u32, signal: i32, text: String, place: String) -> Cause {
        let text = if text.is_empty() { crate::crash::name(signal) } else { text };
        Cause::Crash { rank, signal, text, place }
    }

    fn last_words(&self, rank: u32) -> [String; 2] {
        self.with_mailbox(rank, |mailbox| Some(mailbox.read_last_words())).unwrap_or_default()
    }

    /// What a rank may know of the world while it has the turn.
    fn view(&self, rank: u32) -> View {
        let w = self.shared.world();
        let r = &w.ranks[rank as usize];
        // A frame to anybody finds room if all that are under way would leave room to one peer.
        let limit = u32::from(w.hardships.frames);
        let frames = limit.saturating_sub(r.untaken.sum());
        View {
            picoseconds: w.now.as_ps(),
            frames: [0, 1].map(|channel| r.inbox[channel].len() as u32),
            completions: !r.done.is_empty(),
            empty_polls: r.empty_polls,
            room: [frames, w.hardships.operations.saturating_sub(r.ops)],
        }
    }

    fn answer(&self, rank: u32, kind: u32, words: &[u64], bytes: &[u8]) {
        let mut view = self.view(rank);
        if kind == answer::FRAME {
            // As it is when the poll that finds the frame is over.
            view.empty_polls = 0;
        }
        self.with_mailbox(rank, |mailbox| {
            mailbox.answer(kind, words, bytes, view);
            Some(())
        });
    }

    /// The next of a rank's notes, or its question; or the end of its process.
    fn take(&self, rank: u32) -> Result<Asked, ExitStatus> {
        let member = self.member(rank);
        let calls = &member.calls;
        let looked = |asked: Asked| {
            let mut w = self.shared.world();
            let r = &mut w.ranks[rank as usize];
            r.empty_polls = r.empty_polls.saturating_add(asked.call.looks);
            r.looks = r.looks.saturating_add(asked.call.looks);
            drop(w);
            asked
        };
        if let Some(asked) = calls.borrow_mut().pop_front() {
            return Ok(looked(asked));
        }
        let call = self.next(rank)?;
        {
            // Nothing has happened since the last answer.
            let mut w = self.shared.world();
            let explores = w.chooser.is_some();
            let r = &mut w.ranks[rank as usize];
            member.told.set(r.news);
            if call.saw && !explores {
                r.seen = r.news;
            }
        }
        let mut calls = calls.borrow_mut();
        self.with_mailbox(rank, |mailbox| {
            let notes = mailbox.notes();
            calls.extend(notes.map(|(call, bytes)| Asked { call, bytes: bytes.to_vec(), waits: false }));
            calls.push_back(Asked { call, bytes: mailbox.bytes().to_vec(), waits: true });
            Some(())
        });
        calls.pop_front().map(looked).ok_or_else(ExitStatus::default)
    }

    /// Does what a rank notes and asks, until it has handled the frame that it was given, or ends.
    fn serve(&self, rank: u32, conduit: &SimConduit) -> Served {
        loop {
            let asked = match self.take(rank) {
                Ok(asked) => asked,
                Err(status) => return Served::Ended(status),
            };
            let reply = match asked.call.kind {
                ask::HANDLED => return Served::Handled,
                ask::POLL | ask::TAKE => match self.poll(rank, conduit, &asked) {
                    Ok(true) => continue,
                    Ok(false) => Some(Reply::of(false)),
                    Err(status) => return Served::Ended(status),
                },
                _ => self.reply(rank, conduit, &asked),
            };
            // A note has no answer, so what it asks for must succeed.
            let done = reply.filter(|reply| asked.waits || reply.kind == answer::YES);
            let Some(reply) = done else {
                let text = format!("rank {rank} asks for what is no question: {:?}", asked.call);
                self.shared.fall(rank, Cause::Start(text))
            };
            if asked.waits {
                self.answer(rank, reply.kind, &reply.words, &reply.bytes);
            }
        }
    }

    /// Polls for a rank: gives it a frame, if there is one and it does not have it, and serves it until it
    /// has handled that.
    fn poll(&self, rank: u32, conduit: &SimConduit, asked: &Asked) -> Result<bool, ExitStatus> {
        let channel = asked.call.words[0];
        let of = if channel == 0 { Channel::Request } else { Channel::Reply };
        let mut ended = None;
        let mut deliver = |frame: Frame| {
            #[expect(unsafe_code, reason = "a frame's bytes are an address and a length")]
            // SAFETY: valid and initialised during the delivery, by the promise of conduits.
            let bytes = unsafe { core::slice::from_raw_parts(frame.data, frame.len) };
            if asked.waits {
                self.answer(rank, answer::FRAME, &[frame.from.0.into(), channel], bytes);
            } else {
                // It has not seen what has come since it was answered.
                self.shared.world().ranks[rank as usize].seen = self.member(rank).told.get();
            }
            if let Served::Ended(status) = self.serve(rank, conduit) {
                ended = Some(status);
            }
        };
        let delivered = Conduit::poll(conduit, of, 1, &mut deliver).unwrap_or(0);
        ended.map_or(Ok(delivered > 0), Err)
    }

    /// The answer to a question; `None` if it is none.
    fn reply(&self, rank: u32, conduit: &SimConduit, asked: &Asked) -> Option<Reply> {
        let member = self.member(rank);
        let Asked { call, bytes, .. } = asked;
        let [a, b, c, d, token] = call.words;
        let peer = |number: u64| u32::try_from(number).ok().filter(|peer| *peer < self.cluster.ranks);
        Some(match call.kind {
            ask::RESERVE => {
                let channel = if b == 0 { Channel::Request } else { Channel::Reply };
                let len = usize::try_from(c).ok().filter(|len| *len <= MIN_FRAME)?;
                match conduit.reserve(RankId(peer(a)?), channel, len, false) {
                    Ok(Some(slot)) => {
                        let number = slot.cookie[0];
                        member.slots.borrow_mut().insert(number, slot);
                        Reply::yes(number)
                    }
                    _ => Reply::of(false),
                }
            }
            ask::COMMIT => {
                let slot = if a == ask::NO_SLOT {
                    let channel = if c == 0 { Channel::Request } else { Channel::Reply };
                    let len = Some(bytes.len()).filter(|len| *len <= MIN_FRAME)?;
                    conduit.reserve(RankId(peer(b)?), channel, len, false).ok()??
                } else {
                    member.slots.borrow_mut().remove(&a)?
                };
                let len = bytes.len().min(slot.len);
                #[expect(unsafe_code, reason = "fills in a slot")]
                // SAFETY: the slot has as many bytes, is ours since `reserve`, and goes back once.
                unsafe {
                    core::ptr::copy_nonoverlapping(bytes.as_ptr(), slot.buf.as_ptr(), len);
                    conduit.commit(slot);
                }
                Reply::yes(0)
            }
            ask::CANCEL => {
                let slot = member.slots.borrow_mut().remove(&a)?;
                #[expect(unsafe_code, reason = "gives a slot back")]
                // SAFETY: it goes back once.
                unsafe {
                    conduit.cancel(slot);
                }
                Reply::yes(0)
            }
            ask::ATTACH => {
                let Home::Process(process) = self.home(rank)? else { return None };
                let segment = RankMemory::of(process, a as usize, b as usize);
                self.shared.world().ranks[rank as usize].segment = segment;
                Reply::yes(0)
            }
            ask::PUT => {
                let len = d as usize;
                let fetched;
                let source = if bytes.len() == len {
                    bytes
                } else {
                    fetched = self.home(rank)?.load(c as usize, len).unwrap_or_else(|_| self.no_memory(rank));
                    &fetched
                };
                let start = Start::put(peer(a)?, b, c as usize, source, token);
                Reply::of(self.is_inside(a, b, len).then(|| conduit.start(start))?)
            }
            ask::GET => {
                let start = Start::get(peer(a)?, b, c as usize, d as usize, token);
                Reply::of(self.is_inside(a, b, d as usize).then(|| conduit.start(start))?)
            }
            ask::COMPLETIONS => {
                let mut records = Vec::new();
                let budget = (a as usize).min(PART_BYTES / 16);
                Rma::poll(conduit, budget, &mut |token, how| {
                    let how: u64 = match how {
                        Completion::Local => 1,
                        Completion::Remote => 2,
                        _ => 3,
                    };
                    records.extend_from_slice(&token.to_le_bytes());
                    records.extend_from_slice(&how.to_le_bytes());
                });
                Reply::with(records)
            }
            ask::NOTHING => Reply::yes(0),
            ask::PASS => {
                self.shared.work(rank, Time::ns(a.min(LONGEST_SLEEP_NANOSECONDS)));
                Reply::yes(0)
            }
            ask::LOOK => {
                let channel = if a == 0 { Channel::Request } else { Channel::Reply };
                let looks = u32::try_from(b).unwrap_or(u32::MAX);
                let mut w = self.shared.world();
                let r = &mut w.ranks[rank as usize];
                r.empty_polls = r.empty_polls.saturating_add(looks);
                r.looks = r.looks.saturating_add(looks);
                drop(w);
                // What comes meanwhile is not seen.
                conduit.after_poll(0, channel);
                Reply::yes(0)
            }
            ask::IDLE => {
                let why = self.shared.name(&String::from_utf8_lossy(bytes));
                // Processes have no neighbours.
                let meanwhile = match Meanwhile::from_number(a) {
                    Meanwhile::Looked => Meanwhile::Looked,
                    _ => Meanwhile::Nothing,
                };
                conduit.idle(why, meanwhile);
                self.first_frame(rank).unwrap_or(Reply::yes(0))
            }
            ask::GIVE => {
                self.shared.give(rank, member.exchanges.get(), bytes);
                Reply::yes(0)
            }
            ask::GATHERED => {
                let round = member.exchanges.get();
                let Some(gathered) = self.shared.gathered(round).ok()? else { return Some(Reply::of(false)) };
                member.exchanges.set(round + 1);
                let mut all = Vec::new();
                for part in gathered.parts() {
                    all.extend_from_slice(&(part.len() as u32).to_le_bytes());
                    all.extend_from_slice(part);
                }
                let total = all.len() as u64;
                *member.gathered.borrow_mut() = all;
                Reply::yes(total)
            }
            ask::PART => {
                let all = member.gathered.borrow();
                let rest = all.get(usize::try_from(a).ok()?..)?;
                Reply::with(rest[..rest.len().min(PART_BYTES)].to_vec())
            }
            ask::SAID => {
                match ToMonitor::decode(bytes)? {
                    ToMonitor::Attached if !member.began.replace(true) => self.shared.begin(rank),
                    ToMonitor::Attached => {}
                    said => *member.said.borrow_mut() = Some(said),
                }
                Reply::yes(0)
            }
            _ => return None,
        })
    }

    /// The frame that a rank's next poll is going to find, if nothing but the costs chooses what comes first.
    fn first_frame(&self, rank: u32) -> Option<Reply> {
        let w = self.shared.world();
        // A rank that looks for both looks for replies first.
        let frames =
            || [Channel::Reply, Channel::Request].map(|on| w.ranks[rank as usize].inbox[on as usize].front());
        let frame = frames().into_iter().flatten().next().filter(|_| w.chooser.is_none())?;
        let words = [frame.from.into(), frame.channel as u64];
        let bytes = frame.lines.iter().flat_map(|line| line.0).take(frame.len).collect();
        Some(Reply { kind: answer::FRAME, words, bytes })
    }

    /// Whether an access is inside of its target's segment: the runtime of the rank has checked that, if it
    /// is sound.
    fn is_inside(&self, rank: u64, offset: u64, len: usize) -> bool {
        self.shared.world().ranks[rank as usize].segment.has(offset, len)
    }

    fn home(&self, rank: u32) -> Option<Home> {
        self.with_mailbox(rank, |mailbox| mailbox.pid()).map(|pid| Home::Process(pid as process::Pid))
    }

    /// The end of a rank that gives its NIC an address where nothing is.
    fn no_memory(&self, rank: u32) -> ! {
        self.shared.fall(rank, Cause::no_memory(rank))
    }

    /// A rank's process has ended: ends the rank, or the job.
    fn end(&self, rank: u32, status: ExitStatus) -> Result<(), String> {
        let member = self.member(rank);
        let came = self.home(rank).is_some();
        let [text, place] = self.last_words(rank);
        *member.child.borrow_mut() = None;
        if !member.began.replace(true) {
            self.shared.never_begins();
        }
        let said = member.said.borrow_mut().take();
        let code = status.code().unwrap_or_default();
        if let (Some(signal), None | Some(ToMonitor::Done(_))) = (status.signal(), &said) {
            self.shared.fall(rank, self.crash(rank, signal, text, place));
        }
        let code = match said {
            Some(ToMonitor::Refused(text)) => self.shared.fall(rank, Cause::Start(text)),
            Some(ToMonitor::Abort(code, text)) => self.shared.fall(rank, Cause::Ended { rank, code, text }),
            Some(ToMonitor::GlobalExit(101)) if !text.is_empty() => {
                self.shared.fall(rank, Cause::Panic { rank, text, place })
            }
            Some(ToMonitor::GlobalExit(0)) => {
                self.is_over.set(true);
                0
            }
            Some(ToMonitor::Leaves(0)) => {
                self.has_left.set(true);
                0
            }
            Some(ToMonitor::GlobalExit(code) | ToMonitor::Leaves(code)) => {
                self.shared.fall(rank, Cause::Ended { rank, code, text })
            }
            Some(ToMonitor::Done(said)) => {
                if said != 0 {
                    said
                } else {
                    code
                }
            }
            _ if came => {
                let text = with_place(&text, &place);
                self.shared.fall(rank, Cause::Ended { rank, code: code.max(1), text })
            }
            // It has ended before it started the runtime, as for a wrong argument.
            _ => code,
        };
        self.shared.set_code(rank, code);
        Ok(())
    }
}

/// The last words of a rank whose process has ended before its time.
fn with_place(text: &str, place: &str) -> String {
    match (text, place) {
        ("", _) => "its process has ended without ending the job".into(),
        (text, "") => text.into(),
        (text, place) => format!("{text} ({place})"),
    }
}

impl Drop for Processes<'_> {
    fn drop(&mut self) {
        let children = || self.ranks.iter().filter_map(|member| member.child.borrow_mut().take());
        let all: Vec<Child> = children().collect();
        for mut child in all {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
