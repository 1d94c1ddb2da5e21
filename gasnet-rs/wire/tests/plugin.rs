//! Conduits, exchanges and overseers behind their C tables do what they do without.
#![expect(unsafe_code, reason = "implements and calls the unsafe traits of conduits")]

use gasnet_wire::boot::{Exchange, Overseer, ToMonitor};
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, Limits, Meanwhile, OpenContext, RawSlot, RemoteAddr, Rma,
    SegmentDesc,
};
use gasnet_wire::plugin::{self, EmbedTable, OpenTable};
use gasnet_wire::{Boot, Config, Error, OneThread, RankId, Threading};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Writes down what it is asked, and answers something that depends on it.
struct Mock {
    said: Arc<Mutex<Vec<String>>>,
    alive: Arc<AtomicUsize>,
    pipe: (std::io::PipeReader, std::io::PipeWriter),
    rma: bool,
}

#[repr(align(64))]
struct Room([u8; 256]);

impl Mock {
    fn say(&self, text: String) {
        self.said.lock().unwrap().push(text);
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
    }
}

// SAFETY: slots are leaked, frames are locals of poll.
unsafe impl Conduit for Mock {
    fn name(&self) -> &'static str {
        "mock"
    }
    fn limits(&self, to: RankId, nargs: usize) -> Limits {
        Limits::new(1000 * to.0 as usize + nargs)
    }
    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        self.say(format!("reserve {to:?} {channel:?} {len} {immediate}"));
        match len {
            0 => Ok(None),
            1 => Err(Error::Peer(RankId(9), "is gone".into())),
            2 => Err(Error::Conduit("is broken".into())),
            3 => Err(Error::op("no such thing")),
            4 => Err(Error::job("over")),
            _ => {
                let room = Box::leak(Box::new(Room([0; 256])));
                Ok(Some(RawSlot {
                    buf: NonNull::new(room.0.as_mut_ptr()).unwrap(),
                    len,
                    cookie: [len as u64, 7],
                }))
            }
        }
    }
    unsafe fn commit(&self, slot: RawSlot) {
        // SAFETY: one of the slots above.
        let bytes = unsafe { std::slice::from_raw_parts(slot.buf.as_ptr(), slot.len) };
        self.say(format!("commit {bytes:?} {:?}", slot.cookie));
    }
    unsafe fn cancel(&self, slot: RawSlot) {
        self.say(format!("cancel {} {:?}", slot.len, slot.cookie));
    }
    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        if budget == 99 {
            return Err(Error::Conduit("cannot poll".into()));
        }
        for i in 0..budget {
            let mut room = Room([i as u8; 256]);
            let from = RankId(i as u32);
            deliver(Frame { from, channel, data: room.0.as_mut_ptr(), len: 10 + i });
        }
        Ok(budget)
    }
    fn polls_both(&self) -> bool {
        self.rma
    }
    fn sends_before_attach(&self) -> bool {
        !self.rma
    }
    fn attach(&self, s: &SegmentDesc) -> Result<(), Error> {
        self.say(format!("attach {:?} {}", s.base, s.len));
        if s.len == 0 { Err(Error::job("empty")) } else { Ok(()) }
    }
    fn rma(&self) -> Option<&dyn Rma> {
        self.rma.then_some(self)
    }
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.rma.then(|| self.pipe.0.as_fd())
    }
    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        self.say(format!("idle {what} {meanwhile:?} {:p}", what.as_ptr()));
        what == "a reply"
    }
    fn close(&self) {
        self.say("close".to_string());
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("frames", 7), ("", u64::MAX), ("naps", 0)]
    }
    fn clock(&self) -> Option<Duration> {
        self.rma.then_some(Duration::from_nanos(12_345_678_901))
    }
}

// SAFETY: nothing is really transferred.
unsafe impl Rma for Mock {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        self.say(format!("put {to:?} {src:?} {len} {token}"));
        len > 8
    }
    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        self.say(format!("get {dst:?} {from:?} {len} {token}"));
        len > 8
    }
    fn copies_source(&self, len: usize) -> bool {
        len < 64
    }
    fn max_transfer(&self) -> usize {
        4096
    }
    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        for token in 0..budget as u64 {
            complete(token << 40, if token % 2 == 0 { Completion::Local } else { Completion::Remote });
        }
        budget
    }
}

struct Made {
    conduit: Box<dyn Conduit>,
    said: Arc<Mutex<Vec<String>>>,
    alive: Arc<AtomicUsize>,
}

fn mock(rma: bool) -> Made {
    let (said, alive) = (Arc::default(), Arc::new(AtomicUsize::new(1)));
    let conduit = Box::new(Mock {
        said: Arc::clone(&said),
        alive: Arc::clone(&alive),
        pipe: std::io::pipe().unwrap(),
        rma,
    });
    Made { conduit, said, alive }
}

/// Everything that can be asked of a conduit, and all answers, as text.
fn examine(conduit: &dyn Conduit) -> Vec<String> {
    let mut answers = vec![conduit.name().to_string()];
    let to = RankId(2);
    answers.push(format!("{:?}", conduit.limits(to, 5)));
    for len in [0, 1, 2, 3, 4, 5, 100] {
        let slot = conduit.reserve(to, Channel::Reply, len, len == 5);
        match slot {
            Ok(Some(slot)) => {
                assert_eq!(slot.buf.as_ptr() as usize % 64, 0);
                answers.push(format!("slot of {} {:?}", slot.len, slot.cookie));
                // SAFETY: a slot of that many bytes, just reserved; each is given back once.
                unsafe {
                    slot.buf.as_ptr().write_bytes(len as u8, len);
                    if len == 5 { conduit.cancel(slot) } else { conduit.commit(slot) }
                }
            }
            other => answers.push(format!("{:?}", other.map(|_| ()))),
        }
    }
    for len in [0, 1, 100] {
        answers
            .push(format!("{:?}", conduit.send(to, Channel::Request, &vec![len as u8; len], len % 2 == 0)));
    }
    answers.push(format!("{} {}", conduit.polls_both(), conduit.sends_before_attach()));
    for (channel, budget) in
        [(Channel::Request, 3), (Channel::Reply, 0), (Channel::Reply, 1), (Channel::Request, 99)]
    {
        let mut frames = Vec::new();
        let polled = conduit.poll(channel, budget, &mut |f| {
            // SAFETY: lent for this call.
            let bytes = unsafe { std::slice::from_raw_parts(f.data, f.len) }.to_vec();
            frames.push(format!("{:?} {:?} {bytes:?}", f.from, f.channel));
        });
        answers.push(format!("{polled:?} {frames:?}"));
    }
    for len in [4096, 1, 0] {
        let segment = SegmentDesc { base: std::ptr::without_provenance_mut(64), len };
        answers.push(format!("{:?}", conduit.attach(&segment)));
    }
    answers.push(format!("{:?}", conduit.clock()));
    let file = conduit
        .descriptor()
        .map(|fd| std::fs::metadata(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap());
    answers.push(format!("descriptor {:?}", file.map(|f| f.file_type())));
    if conduit.clock().is_some() {
        answers.push(format!(
            "{} {}",
            conduit.idle("a reply", Meanwhile::Nothing),
            conduit.idle("a barrier", Meanwhile::Looked)
        ));
    }
    answers.push(format!("{:?} {:?}", conduit.counters(), conduit.counters()));
    conduit.close();
    let Some(rma) = conduit.rma() else { return answers };
    let at = RemoteAddr { rank: to, offset: 1 << 40 };
    for len in [8, 9] {
        // SAFETY: the mock touches nothing.
        let (put, get) = unsafe {
            let dangling = std::ptr::without_provenance_mut(128);
            (rma.put(at, dangling, len, 77), rma.get(dangling, at, len, u64::MAX))
        };
        answers.push(format!("{put} {get} {} {}", rma.copies_source(len), rma.max_transfer()));
    }
    let mut completions = Vec::new();
    let n = rma.poll(4, &mut |token, how| completions.push((token, how)));
    answers.push(format!("{n} {completions:?}"));
    answers
}

/// The calls that were recorded, without the addresses of the names of waits.
fn heard(said: &Mutex<Vec<String>>) -> Vec<String> {
    let strip = |line: &String| match line.strip_prefix("idle ") {
        Some(rest) => rest.rsplit_once(' ').unwrap().0.to_string(),
        None => line.clone(),
    };
    said.lock().unwrap().iter().map(strip).collect()
}

#[test]
fn a_conduit_behind_a_table_is_the_same() {
    for rma in [false, true] {
        let (plain, crossed) = (mock(rma), mock(rma));
        // SAFETY: from export, imported once.
        let far = unsafe { plugin::export(crossed.conduit).import() }.unwrap();
        assert_eq!(examine(&*plain.conduit), examine(&*far));
        assert_eq!(heard(&plain.said), heard(&crossed.said));
        assert!(heard(&plain.said).len() > 10);
        assert_eq!(crossed.alive.load(Relaxed), 1);
        drop(far);
        assert_eq!(crossed.alive.load(Relaxed), 0, "the import owns the conduit");
    }
}

/// A wait is named once, however often it comes.
#[test]
fn names_of_waits_are_kept_once() {
    let made = mock(true);
    // SAFETY: from export, imported once.
    let far = unsafe { plugin::export(made.conduit).import() }.unwrap();
    for _ in 0..3 {
        far.idle("a reply", Meanwhile::Stored);
    }
    let said = made.said.lock().unwrap();
    assert!(said.len() == 3 && said.iter().all(|line| *line == said[0]), "{said:?}");
}

struct Table(u32);

impl Exchange for Table {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        if mine.is_empty() {
            return Err(Error::job("the launcher is gone"));
        }
        Ok((0..self.0).map(|r| mine.repeat(r as usize)).collect())
    }
}

#[derive(Default)]
struct Listener(Mutex<Vec<ToMonitor>>);

impl Overseer for Listener {
    fn hear(&self, said: &ToMonitor) {
        self.0.lock().unwrap().push(said.clone());
    }
}

fn memory_file() -> OwnedFd {
    std::io::pipe().unwrap().0.into()
}

gasnet_wire::export_conduit!(open_mock);

fn open_mock(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    assert_eq!((cx.rank, cx.size, cx.shm_offset), (RankId(1), 4, 8192));
    assert!(matches!(cx.threading, Threading::Serial(promise) if promise.is_always_the_same()));
    assert_eq!((cx.host, cx.neighbours), (&[0, 1, 3][..], &[1][..]));
    assert_eq!(cx.exchange().all_gather(b"ab").unwrap(), [&b""[..], b"ab", b"abab", b"ababab"]);
    let gone = cx.exchange().all_gather(b"").unwrap_err();
    if gone.to_string() != "the launcher is gone" {
        return Err(gone);
    }
    Ok(Some(mock(true).conduit))
}

#[test]
fn a_plugin_opens_with_what_the_loader_has() {
    let shm = memory_file();
    let (config, exchange) = (Config::default(), Table(4));
    let cx = OpenContext {
        rank: RankId(1),
        size: 4,
        config: &config,
        // SAFETY: nothing here has threads.
        threading: Threading::Serial(unsafe { OneThread::always_the_same() }),
        shm: shm.as_fd(),
        shm_offset: 8192,
        host: &[0, 1, 3],
        neighbours: &[1],
        exchange: &exchange,
    };
    // SAFETY: the entry made above.
    let conduit = unsafe { OpenTable::call(&cx, gasnet_conduit_v1) }.unwrap().unwrap();
    assert_eq!(conduit.name(), "mock");
}

#[test]
fn a_program_is_given_its_rank() {
    let boot = Boot {
        rank: 2,
        size: 5,
        host_ranks: vec![2],
        exchange: None,
        shm: memory_file().into(),
        segments: memory_file().into(),
        link: None,
        overseer: None,
        job_id: 0x1234_5678_9abc_def0,
    };
    let listener = Listener::default();
    let (exchange, overseer): (&dyn Exchange, &dyn Overseer) = (&Table(5), &listener);
    let table = EmbedTable::new(&boot, &exchange, &overseer, mock(false).conduit);
    // SAFETY: what it borrows outlives the rank, which never starts.
    let (given, conduit) = unsafe { table.accept() }.unwrap();
    assert_eq!((given.rank, given.size, given.job_id), (2, 5, boot.job_id));
    assert_eq!((given.host_ranks, conduit.name()), (vec![2], "mock"));
    assert_eq!(given.exchange.unwrap().all_gather(b"x").unwrap()[4], b"xxxx");
    let said = [ToMonitor::Attached, ToMonitor::Abort(3, "why".into()), ToMonitor::Done(0)];
    let far = given.overseer.unwrap();
    said.iter().for_each(|packet| far.hear(packet));
    assert_eq!(*listener.0.lock().unwrap(), said);
}
