//! The rank's side: a boot, a conduit and an overseer that ask the simulator.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::asker::{Asker, AtHand, class};
use crate::mailbox::{Facts, Mailbox, PART_BYTES, answer, ask};
use crate::outside::replace;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use core::time::Duration;
use gasnet_sys::{fd, process};
use gasnet_wire::boot::{Boot, Exchange, Overseer, ToMonitor};
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, FrameLine, Meanwhile, RawSlot, RemoteAddr, Rma, SegmentDesc,
};
use gasnet_wire::{Error, Gathered, RankId};
use std::sync::Arc;

/// Tells a process that it is a rank of a simulated job: the version of the protocol, the descriptor of the
/// mailboxes, and its rank, with colons between. Like the boot's variable it is no setting.
pub const SEAT: &str = "GASNETI_SIMULATED_RANK";
/// Tells a program that it is to become the simulator of all ranks, in the closure vessel, and what is to be
/// simulated. Like the boot's variable it is no setting.
pub const PLAN: &str = "GASNETI_SIMULATE";
/// Changes with the protocol.
pub(crate) const VERSION: u32 = 3;
/// Longest source of a put that goes with the question. The simulator fetches others.
const SHORT_BYTES: usize = 512;

/// A rank's place in a simulated job.
pub struct Seat {
    link: Arc<Asker>,
}

impl Seat {
    /// The value of [`SEAT`] for a rank whose mailboxes are under this descriptor.
    pub fn text(file: i32, rank: u32) -> String {
        format!("{VERSION}:{file}:{rank}")
    }

    /// This process's seat, if it is a rank of a simulated job.
    ///
    /// # Errors
    /// The simulator is of another version, or the system refuses its memory.
    pub fn given() -> Result<Option<Seat>, Error> {
        let Ok(text) = std::env::var(SEAT) else { return Ok(None) };
        let numbers: Vec<u32> = text.split(':').filter_map(|number| number.parse().ok()).collect();
        let [VERSION, file, rank] = numbers[..] else {
            return Err(Error::job(format!(
                "gasnetrun --simulate and this program are of different versions ({SEAT}={text}, and {VERSION} is known here): \
                 link it again, with the library that came with this gasnetrun"
            )));
        };
        let no_memory =
            |why| Error::job(format!("the memory that is shared with gasnetrun --simulate: {why}"));
        // SAFETY: the simulator has left the descriptor to this process, which comes here once: the
        // variable is taken away.
        let file = unsafe { fd::adopt(file as i32) }.map_err(no_memory)?;
        // SAFETY: the program's threads read the environment after this, if it has any: it is starting its
        // runtime.
        unsafe { std::env::remove_var(SEAT) };
        let mailbox = Mailbox::map(std::os::fd::AsFd::as_fd(&file), rank).map_err(no_memory)?;
        let facts = mailbox.facts();
        if facts.rank != rank {
            return Err(Error::job(format!("{SEAT}={text}: no simulator has a mailbox for this rank there")));
        }
        process::allow_access();
        mailbox.come(std::process::id());
        let link = Arc::new(Asker::new(mailbox, facts));
        link.explain_end();
        replace();
        Ok(Some(Seat { link }))
    }

    /// What the core needs to start the rank.
    ///
    /// # Errors
    /// The system's.
    pub fn boot(&self) -> Result<Boot, Error> {
        let file = |name| fd::memory_file(name).map_err(|why| Error::job(format!("a memory file: {why}")));
        let Facts { rank, size, .. } = self.link.facts;
        Ok(Boot {
            rank,
            size,
            host_ranks: vec![rank],
            exchange: Some(Box::new(Asked(self.link.clone()))),
            shm: file("gasnet")?.into(),
            segments: file("gasnet-segments")?.into(),
            link: None,
            overseer: Some(Box::new(Asked(self.link.clone()))),
            job_id: 1,
        })
    }

    /// Its conduit.
    pub fn conduit(&self) -> Box<dyn Conduit> {
        Box::new(Asked(self.link.clone()))
    }
}

/// Asks the simulator.
struct Asked(Arc<Asker>);

impl Asked {
    /// The buffer of a slot.
    ///
    /// # Safety
    /// 1. The slot is as `reserve` returned it, and comes back once (owed by the caller).
    unsafe fn buffer_of(slot: &RawSlot) -> Box<[FrameLine]> {
        let lines = core::ptr::slice_from_raw_parts_mut(slot.buf.as_ptr().cast(), 1 << class(slot.len));
        // SAFETY: (1): `reserve` has leaked a box of as many lines.
        unsafe { Box::from_raw(lines) }
    }
}

// SAFETY: 1. A slot is a boxed slice of 64-byte lines, at least as long as asked for, that only the slot
// knows. 2. A frame's buffer is taken from the pool for the delivery, and filled with as many bytes.
unsafe impl Conduit for Asked {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let link = &self.0;
        let filling = link.filling.load(Ordering::Relaxed);
        let slot = if link.noted[0].load(Ordering::Relaxed) + filling < link.view().room[0] {
            ask::NO_SLOT
        } else {
            let answer = link.ask(ask::RESERVE, &[to.0.into(), channel as u64, len as u64], &[]);
            if answer.kind != answer::YES {
                return Ok(None);
            }
            answer.words[0]
        };
        link.filling.store(filling + 1, Ordering::Relaxed);
        let buf = NonNull::new(Box::into_raw(link.buffer(len)).cast::<u8>());
        Ok(buf.map(|buf| RawSlot { buf, len, cookie: [slot, u64::from(to.0) << 1 | channel as u64] }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let link = &self.0;
        // SAFETY: the slot's bytes, which the caller has filled in.
        let frame = unsafe { core::slice::from_raw_parts(slot.buf.as_ptr(), slot.len) };
        let [number, to] = slot.cookie;
        let words = [number, to >> 1, to & 1];
        link.filling.store(link.filling.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        if !link.note(0, ask::COMMIT, &words, frame) {
            link.ask(ask::COMMIT, &words, frame);
        }
        // SAFETY: owed by the caller.
        link.give_back(unsafe { Asked::buffer_of(&slot) });
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let link = &self.0;
        link.filling.store(link.filling.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        if slot.cookie[0] != ask::NO_SLOT {
            link.ask(ask::CANCEL, &[slot.cookie[0]], &[]);
        }
        // SAFETY: owed by the caller.
        link.give_back(unsafe { Asked::buffer_of(&slot) });
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let link = &self.0;
        let mut delivered = 0;
        while delivered < budget {
            let AtHand { from, channel, mut buffer, len } = match link.take_at_hand(channel) {
                Some(frame) => frame,
                None if !link.has_frames(channel) && (delivered > 0 || link.looks_in_vain(channel)) => break,
                None => match link.ask_for_frame(channel) {
                    Some(frame) => frame,
                    None => break,
                },
            };
            deliver(Frame { from, channel, data: buffer.as_mut_ptr().cast::<u8>(), len });
            link.give_back(buffer);
            if !link.mailbox.note(ask::HANDLED, &[], &[]) {
                link.ask(ask::NOTHING, &[], &[]);
                link.mailbox.note(ask::HANDLED, &[], &[]);
            }
            delivered += 1;
        }
        Ok(delivered)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        self.0.ask(ask::ATTACH, &[segment.base.expose_provenance() as u64, segment.len as u64], &[]);
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        Some(self)
    }

    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        self.0.idle(what, meanwhile);
        true
    }

    fn clock(&self) -> Option<Duration> {
        if self.0.mailbox.has_notes() {
            self.0.ask(ask::NOTHING, &[], &[]);
        }
        Some(Duration::from_nanos(self.0.view().picoseconds / 1000))
    }
}

// SAFETY: the simulator reports what its own conduit reports, which keeps the promise; it fetches sources,
// and stores what was got, while this process sleeps.
unsafe impl Rma for Asked {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        // SAFETY: owed by the caller.
        let short = if len > SHORT_BYTES { &[] } else { unsafe { core::slice::from_raw_parts(src, len) } };
        let words = [to.rank.0.into(), to.offset, src.expose_provenance() as u64, len as u64, token];
        (short.len() == len && self.0.note(1, ask::PUT, &words, short))
            || self.0.ask(ask::PUT, &words, short).kind == answer::YES
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let words = [from.rank.0.into(), from.offset, dst.expose_provenance() as u64, len as u64, token];
        self.0.note(1, ask::GET, &words, &[]) || self.0.ask(ask::GET, &words, &[]).kind == answer::YES
    }

    fn copies_source(&self, len: usize) -> bool {
        !self.0.facts.explores || len as u64 <= self.0.facts.inline
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        if !self.0.view().completions {
            return 0;
        }
        self.0.ask(ask::COMPLETIONS, &[budget as u64], &[]);
        // `complete` calls nothing of the conduit, so the bytes stay.
        let (records, _) = self.0.mailbox.bytes().as_chunks::<16>();
        for record in records {
            let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
            let how = match word(8) {
                1 => Completion::Local,
                2 => Completion::Remote,
                _ => Completion::Both,
            };
            complete(word(0), how);
        }
        records.len()
    }
}

impl Asked {
    /// Gives to an exchange and returns what all have given; `serve` is called while `what` is waited for.
    fn exchange(
        &self,
        mine: &[u8],
        what: &str,
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Vec<Vec<u8>>, Error> {
        if mine.len() > PART_BYTES {
            return Err(Error::job("more than a part in an exchange between simulated ranks"));
        }
        self.0.ask(ask::GIVE, &[], mine);
        let total = loop {
            // Nothing may happen between the look and the wait.
            let served = serve();
            let answer = self.0.ask(ask::GATHERED, &[], &[]);
            if answer.kind == answer::YES {
                break answer.words[0] as usize;
            }
            if served == 0 {
                self.0.idle(what, Meanwhile::Nothing);
            }
        };
        let mut all = Vec::with_capacity(total);
        while all.len() < total {
            let part = self.0.ask(ask::PART, &[all.len() as u64], &[]);
            if part.bytes == 0 {
                return Err(Error::job("the simulator has lost a part of an exchange"));
            }
            all.extend_from_slice(self.0.mailbox.bytes());
        }
        let (mut parts, mut rest) = (Vec::with_capacity(self.0.facts.size as usize), all.as_slice());
        while let Some((len, behind)) = rest.split_first_chunk::<4>() {
            let (part, behind) = behind
                .split_at_checked(u32::from_le_bytes(*len) as usize)
                .ok_or_else(|| Error::job("the simulator has lost the end of an exchange"))?;
            parts.push(part.to_vec());
            rest = behind;
        }
        Ok(parts)
    }
}

impl Exchange for Asked {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange(mine, "all ranks to start", &|| 0)
    }

    fn all_gather_serving(
        &self,
        mine: &[u8],
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Arc<Gathered>, Error> {
        let all = self.exchange(mine, "all ranks to attach their segments", serve)?;
        Ok(Arc::new(Gathered::new(all)))
    }
}

impl Overseer for Asked {
    fn takes_turns(&self) -> bool {
        true
    }

    fn hear(&self, said: &ToMonitor) {
        use ToMonitor::{Abort, Attached, Done, GlobalExit, Leaves, Refused};
        if matches!(said, Abort(..) | Attached | Done(_) | GlobalExit(_) | Leaves(_) | Refused(_)) {
            self.0.ask(ask::SAID, &[], &said.encode());
        }
    }
}
