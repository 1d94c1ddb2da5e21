//! Traces the operations of a conduit.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use gasnet_ops::Operation;
use gasnet_wire::conduit::regions::RegionRma;
use gasnet_wire::conduit::{Channel, Completion, Conduit, Frame, RawSlot, RemoteAddr, Rma};
use gasnet_wire::{Error, RankId};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A conduit that writes a line for every operation: seconds, operation, channel, peer, bytes.
///
/// ```text
/// 0.000131 send request 1 32
/// 0.000190 take reply 1 16
/// 0.000412 put - 1 65536 at 0x1000
/// ```
/// `full` marks a frame for which there was no room. Lines are flushed when the rank leaves, and after every
/// 8 KiB.
pub struct Traced {
    inner: Box<dyn Conduit>,
    out: Mutex<Box<dyn Write + Send>>,
    start: Instant,
}

fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Request => "request",
        Channel::Reply => "reply",
    }
}

impl Traced {
    /// Traces to `out`.
    pub fn new(inner: Box<dyn Conduit>, out: Box<dyn Write + Send>) -> Traced {
        Traced { inner, out: Mutex::new(out), start: Instant::now() }
    }

    /// Traces to the file `path.RANK`, or `path` with every `%` replaced by the rank.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn to_file(inner: Box<dyn Conduit>, path: &str, rank: RankId) -> Result<Traced, Error> {
        let path =
            if path.contains('%') { path.replace('%', &rank.to_string()) } else { format!("{path}.{rank}") };
        let file = File::create(&path).map_err(|e| Error::job(format!("GASNET_TRACED: {path}: {e}")))?;
        Ok(Traced::new(inner, Box::new(BufWriter::new(file))))
    }

    fn line(&self, what: &str, channel: &str, peer: RankId, len: usize, rest: core::fmt::Arguments<'_>) {
        let time = self.inner.clock().unwrap_or_else(|| self.start.elapsed()).as_secs_f64();
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk ends the trace, not the job.
        let _ = writeln!(out, "{time:.6} {what} {channel} {peer} {len}{rest}");
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: slots and frames are those of the inner conduit.
unsafe impl Conduit for Traced {
    forward!();

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let slot = self.inner.reserve(to, channel, len, immediate)?;
        let what = if slot.is_some() { "send" } else { "full" };
        self.line(what, name(channel), to, len, format_args!(""));
        Ok(slot)
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        let sent = self.inner.send(to, channel, frame, immediate)?;
        let what = if sent { "send" } else { "full" };
        self.line(what, name(channel), to, frame.len(), format_args!(""));
        Ok(sent)
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        self.inner.poll(channel, budget, &mut |frame| {
            self.line("take", name(frame.channel), frame.from, frame.len, format_args!(""));
            deliver(frame);
        })
    }

    fn polls_both(&self) -> bool {
        self.inner.polls_both()
    }

    fn rma(&self) -> Option<&dyn Rma> {
        self.inner.rma().map(|_| self as &dyn Rma)
    }

    /// Regions are accessed by messages, which are seen here.
    fn regions(&self) -> Option<&dyn RegionRma> {
        None
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn doze(&self, longest: Duration) -> bool {
        self.inner.doze(longest)
    }

    fn close(&self) {
        self.inner.close();
        let _ = self.out.lock().unwrap_or_else(PoisonError::into_inner).flush();
    }
}

impl Traced {
    fn one_sided(&self) -> &dyn Rma {
        self.inner.rma().expect("`rma` gives this out only if the inner conduit has one")
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: that of the inner conduit.
unsafe impl Rma for Traced {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        // SAFETY: owed by the caller.
        let started = unsafe { self.one_sided().put(to, src, len, token) };
        let what = if started { "put" } else { "full" };
        self.line(what, "-", to.rank, len, format_args!(" at {:#x}", to.offset));
        started
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        // SAFETY: owed by the caller.
        let started = unsafe { self.one_sided().get(dst, from, len, token) };
        let what = if started { "get" } else { "full" };
        self.line(what, "-", from.rank, len, format_args!(" at {:#x}", from.offset));
        started
    }

    unsafe fn atomic(
        &self,
        at: RemoteAddr,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
        token: u64,
    ) -> Option<bool> {
        // SAFETY: owed by the caller.
        let started = unsafe { self.one_sided().atomic(at, what, operands, old, token) }?;
        let word = if started { "atomic" } else { "full" };
        self.line(word, "-", at.rank, what.width(), format_args!(" at {:#x}", at.offset));
        Some(started)
    }

    fn copies_source(&self, len: usize) -> bool {
        self.one_sided().copies_source(len)
    }

    fn max_transfer(&self) -> usize {
        self.one_sided().max_transfer()
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        self.one_sided().poll(budget, complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_wire::port::{Command, HomeOp, NicPort};
    use std::ops::Range;
    use std::sync::Arc;

    /// Accepts everything, and delivers one frame.
    struct Sink;

    // SAFETY: the slot is leaked memory, the frame is on the stack during the delivery.
    unsafe impl Conduit for Sink {
        fn name(&self) -> &'static str {
            "sink"
        }
        fn reserve(&self, _: RankId, _: Channel, len: usize, _: bool) -> Result<Option<RawSlot>, Error> {
            let buf = core::ptr::NonNull::from(Box::leak(Box::new([0u64; 8]))).cast();
            Ok((len <= 64).then_some(RawSlot { buf, len, cookie: [0; 2] }))
        }
        unsafe fn commit(&self, _: RawSlot) {}
        unsafe fn cancel(&self, _: RawSlot) {}
        fn poll(&self, channel: Channel, _: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
            let mut bytes = [0u64; 2];
            let from = RankId(3);
            deliver(Frame { from, channel, data: bytes.as_mut_ptr().cast(), len: 16 });
            Ok(1)
        }
        fn nic(&self) -> Option<&dyn NicPort> {
            Some(self)
        }
    }

    impl NicPort for Sink {
        fn board(&self) -> u32 {
            77
        }
        fn load(&self, _: u32, _: &mut [u8]) {}
        fn store(&self, _: u32, _: &[u8]) {}
        fn events(&self) -> Range<u32> {
            0..0
        }
        fn count(&self, _: u32) -> u32 {
            0
        }
        fn post(&self, _: &Command) -> bool {
            false
        }
        fn posted(&self) -> u64 {
            0
        }
        fn atomic(&self, _: RankId, _: u64, _: HomeOp, _: [u32; 4]) -> Option<u32> {
            None
        }
        fn reply(&self, _: u32) -> Option<[u32; 3]> {
            None
        }
    }

    /// The NIC's offloaded operations work under every decorator.
    #[test]
    fn nics_are_reached_through_decorators() {
        let plan = crate::FaultRates::parse("drop=1%").unwrap();
        let faulty = crate::Faulty::new(Box::new(Sink), plan);
        assert_eq!(faulty.nic().map(|nic| nic.board()), Some(77));
        let traced = Traced::new(Box::new(faulty), Box::new(std::io::sink()));
        assert_eq!(traced.nic().map(|nic| nic.board()), Some(77));
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_leaves_a_line() {
        let lines = Lines::default();
        let traced = Traced::new(Box::new(Sink), Box::new(lines.clone()));
        let to = RankId(2);
        let slot = traced.reserve(to, Channel::Request, 40, false).unwrap().unwrap();
        // SAFETY: the slot just reserved.
        unsafe { traced.commit(slot) };
        assert!(traced.reserve(to, Channel::Reply, 100, false).unwrap().is_none());
        assert!(traced.send(to, Channel::Reply, &[1; 30], false).unwrap());
        let mut seen = 0;
        assert_eq!(Conduit::poll(&traced, Channel::Reply, 9, &mut |f| seen += f.len).unwrap(), 1);
        assert_eq!(seen, 16);
        assert!(traced.rma().is_none());
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let without_time: Vec<&str> = text.lines().filter_map(|l| Some(l.split_once(' ')?.1)).collect();
        assert_eq!(
            without_time,
            ["send request 2 40", "full reply 2 100", "send reply 2 30", "take reply 3 16"]
        );
    }
}
