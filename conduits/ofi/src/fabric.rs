//! An endpoint and the objects below it: fabric, domain, address table, completion queue. [`crate::offers`]
//! finds their provider.
//!
//! [`Port::open`] makes all objects, and `Drop` closes them. One thread at a time makes calls, which is the
//! threading model that was requested.
#![expect(unsafe_code, reason = "calls C; see the functions of ffi")]

use crate::checked::Checked;
use crate::choice::Offer;
use crate::ffi::{self, AGAIN};
use crate::offers::{self, Offers, Traits, Use};
use crate::pins::MAX_PIECES;
use crate::wire::MAX_MESSAGE_BYTES;
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

/// Completions taken from the queue in one call.
pub(crate) const COMPLETIONS_PER_BATCH: usize = 16;
/// The beginning of every operation in flight: the provider's part, then ours.
#[repr(C)]
pub(crate) struct Context {
    provider: [*mut c_void; 8],
    pub(crate) what: OperationKind,
    pub(crate) index: u32,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Receive,
    Send,
    OneSided,
}

impl Context {
    pub(crate) fn new(what: OperationKind, index: u32) -> Context {
        Context { provider: [ptr::null_mut(); 8], what, index }
    }
}

/// An atomic operation in the provider's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtomicCall {
    pub(crate) word: ffi::fi_datatype,
    pub(crate) op: ffi::fi_op,
    pub(crate) operand: u64,
    /// The value that a compare-and-swap compares with.
    pub(crate) expected: Option<u64>,
}

/// The result of an attempt.
#[derive(Debug)]
pub(crate) enum Answer {
    Started,
    /// There is no room: try again.
    Again,
    Failed(String),
}

impl Answer {
    fn of(code: isize) -> Answer {
        match code {
            0.. => Answer::Started,
            AGAIN => Answer::Again,
            _ => Answer::Failed(ffi::words(code)),
        }
    }
}

/// A completion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueEntry {
    pub(crate) what: OperationKind,
    pub(crate) index: u32,
    /// The provider has finished with a receive buffer.
    pub(crate) released: bool,
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
}

/// A failure.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The operation, if it is known.
    pub(crate) of: Option<(OperationKind, u32)>,
    pub(crate) cancelled: bool,
    pub(crate) text: String,
}

/// Local memory of an operation, with the descriptor of its registration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
    pub(crate) desc: *mut c_void,
}

impl Span {
    pub(crate) const NONE: Span = Span { at: ptr::null_mut(), len: 0, desc: ptr::null_mut() };
}

/// A registered memory region.
pub(crate) struct RegisteredRegion {
    mr: *mut ffi::fid_mr,
    pub(crate) desc: *mut c_void,
}

/// The key that a peer needs to reach a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryKey {
    /// Added to offsets.
    pub(crate) base: u64,
    pub(crate) key: u64,
}

/// The target of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remote {
    pub(crate) peer: u32,
    pub(crate) at: u64,
    pub(crate) key: u64,
}

/// An endpoint that can send, receive, and access memory.
pub(crate) struct Port {
    offer: Offers,
    fabric: *mut ffi::fid_fabric,
    domain: *mut ffi::fid_domain,
    av: *mut ffi::fid_av,
    cq: *mut ffi::fid_cq,
    ep: *mut ffi::fid_ep,
    /// Addresses by rank.
    peers: Vec<ffi::fi_addr_t>,
    /// The next key chosen by this side.
    next_key: u64,
    wait: Option<RawFd>,
    /// Counts operations of peers on local memory; and its last value.
    visits: *mut ffi::fid_cntr,
    visited: u64,
    /// In tests: the registered memory.
    checked: Option<Checked>,
    pub(crate) traits: Traits,
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: made here, closed once, dependent objects first. If a provider refuses, the object is
        // leaked.
        unsafe {
            let close = |object: *mut ffi::fid, there: bool| {
                if there {
                    ffi::close(object);
                }
            };
            close(self.ep.cast(), !self.ep.is_null());
            close(self.visits.cast(), !self.visits.is_null());
            close(self.cq.cast(), !self.cq.is_null());
            close(self.av.cast(), !self.av.is_null());
            close(self.domain.cast(), !self.domain.is_null());
            close(self.fabric.cast(), !self.fabric.is_null());
        }
    }
}

/// Removes what the provider shm left of a killed process with the same number as this one. The provider
/// names its memory by that number, and takes leftover memory for that of a living process. Memory that is
/// older than this process is a leftover.
fn clear_remains() {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let age = || {
        let (uptime, stat) = (text("/proc/uptime")?, text("/proc/self/stat")?);
        // The 22nd field (proc_pid_stat(5)), in ticks since the start of the system; the name before it may
        // have any characters.
        let begun: f64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
        // SAFETY: a plain question.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        Some(uptime.split_ascii_whitespace().next()?.parse::<f64>().ok()? - begun / ticks)
    };
    let (Some(age), Ok(entries)) = (age(), std::fs::read_dir("/dev/shm")) else { return };
    let own = format!("{}:", std::process::id());
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(&own)) {
        let since = entry.metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
        if since.is_some_and(|since| since.as_secs_f64() > age + 1.0) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl Port {
    /// Opens an endpoint as offered.
    pub(crate) fn open(chosen: &Offer, wanted: Use, ranks: usize) -> Result<Port, String> {
        let (offer, traits) = offers::choose(chosen, wanted)?;
        let mut port = Port {
            offer,
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            av: ptr::null_mut(),
            cq: ptr::null_mut(),
            ep: ptr::null_mut(),
            peers: Vec::new(),
            next_key: 1,
            wait: None,
            visits: ptr::null_mut(),
            visited: 0,
            checked: Checked::from_environment(),
            traits,
        };
        let info = port.offer.first();
        // SAFETY: objects are made one from the other, as the manual requires.
        unsafe {
            let code = ffi::fi_fabric((*info).fabric_attr, &mut port.fabric, ptr::null_mut());
            ffi::check("fi_fabric", code as isize)?;
            ffi::check("fi_domain", ffi::domain(port.fabric, info, &mut port.domain))?;
            let mut av: ffi::fi_av_attr = std::mem::zeroed();
            av.type_ = (*(*info).domain_attr).av_type;
            av.count = ranks;
            ffi::check("fi_av_open", ffi::av_open(port.domain, &mut av, &mut port.av))?;
            port.open_queue()?;
            ffi::check("fi_endpoint", ffi::endpoint(port.domain, info, &mut port.ep))?;
            let bind = |to: *mut ffi::fid, flags| ffi::check("fi_ep_bind", ffi::ep_bind(port.ep, to, flags));
            bind(port.av.cast(), 0)?;
            bind(port.cq.cast(), ffi::FI_TRANSMIT | ffi::FI_RECV)?;
            if port.wait.is_none() && port.traits.rma {
                port.count_visits();
            }
            if port.traits.name.contains("shm") {
                clear_remains();
            }
            ffi::check("fi_enable", ffi::enable(port.ep))?;
            // Only now: rxm accepts it earlier but forgets it, and shm has no memory for it yet.
            port.traits.multi = port.traits.multi && ffi::set_least_room(port.ep, MAX_MESSAGE_BYTES);
        }
        Ok(port)
    }

    /// # Safety
    /// 1. The domain is open (owed by the caller).
    unsafe fn open_queue(&mut self) -> Result<(), String> {
        // Timers of a layer that repairs losses run in calls only: a thread that sleeps on a descriptor would
        // not run them.
        let timers = self.traits.name.contains("ofi_rxd");
        for wait in [ffi::FI_WAIT_FD, ffi::FI_WAIT_NONE] {
            if timers && wait == ffi::FI_WAIT_FD {
                continue;
            }
            // SAFETY: (1); all zeros are valid attributes.
            unsafe {
                let mut attr: ffi::fi_cq_attr = std::mem::zeroed();
                attr.format = ffi::FI_CQ_FORMAT_DATA;
                attr.wait_obj = wait;
                attr.size = 1 << 14;
                let code = ffi::cq_open(self.domain, &mut attr, &mut self.cq);
                if code < 0 {
                    if wait == ffi::FI_WAIT_NONE {
                        ffi::check("fi_cq_open", code)?;
                    }
                    continue;
                }
                let mut fd: c_int = -1;
                if wait == ffi::FI_WAIT_FD && ffi::wait_descriptor(self.cq, &mut fd) >= 0 && fd >= 0 {
                    self.wait = Some(fd);
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Counts operations of peers, if the provider can: a rank that waits without a descriptor would not
    /// notice any.
    ///
    /// # Safety
    /// 1. The endpoint is made, and not enabled yet (owed by the caller).
    unsafe fn count_visits(&mut self) {
        // SAFETY: (1); all zeros are valid attributes: count, and nobody waits.
        unsafe {
            let mut attr: ffi::fi_cntr_attr = std::mem::zeroed();
            attr.wait_obj = ffi::FI_WAIT_NONE;
            let mut counter = ptr::null_mut();
            if ffi::counter_open(self.domain, &mut attr, &mut counter) < 0 {
                return;
            }
            let flags = ffi::FI_REMOTE_READ | ffi::FI_REMOTE_WRITE;
            if ffi::ep_bind(self.ep, counter.cast(), flags) < 0 {
                ffi::close(counter.cast());
                return;
            }
            self.visits = counter;
        }
    }

    /// Whether peers have put here or got from here since the last call, as far as is known. Makes progress.
    pub(crate) fn was_visited(&mut self) -> bool {
        if self.visits.is_null() {
            return false;
        }
        // SAFETY: an open counter.
        let now = unsafe { ffi::counter_read(self.visits) };
        std::mem::replace(&mut self.visited, now) != now
    }

    /// Closes the endpoint: nothing is under way any more, and memory can be deregistered.
    pub(crate) fn stop(&mut self) {
        if !self.ep.is_null() {
            // SAFETY: open, and not used again.
            unsafe { ffi::close(self.ep.cast()) };
            self.ep = ptr::null_mut();
        }
    }

    /// The endpoint's address.
    pub(crate) fn address(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0u8; 256];
        let mut len = bytes.len();
        // SAFETY: room for `len` bytes.
        unsafe { ffi::check("fi_getname", ffi::name(self.ep, bytes.as_mut_ptr(), &mut len))? };
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Inserts the addresses of all ranks.
    pub(crate) fn learn(&mut self, addresses: &[Vec<u8>]) -> Result<(), String> {
        let len = addresses.iter().map(Vec::len).max().unwrap_or(0);
        // One after the other; shorter addresses (texts) are padded with zeros.
        let all: Vec<u8> =
            addresses.iter().flat_map(|a| a.iter().copied().chain(std::iter::repeat(0)).take(len)).collect();
        self.peers = vec![0; addresses.len()];
        for (rank, address) in all.chunks(len.max(1)).enumerate() {
            // SAFETY: an address from fi_getname.
            let code = unsafe { ffi::av_insert(self.av, address, 1, &mut self.peers[rank..=rank]) };
            if code != 1 {
                return Err(format!("fi_av_insert: the address of rank {rank} is not understood"));
            }
        }
        Ok(())
    }

    /// A descriptor that becomes readable when the queue has completions, if the provider guarantees that
    /// now.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let fd = self.wait?;
        // SAFETY: the queue's own descriptor, open as long as the queue.
        unsafe { (ffi::try_wait(self.fabric, self.cq) == 0).then(|| BorrowedFd::borrow_raw(fd)) }
    }

    /// Whether the queue has a descriptor at all.
    pub(crate) fn has_descriptor(&self) -> bool {
        self.wait.is_some()
    }

    /// Takes up to [`COMPLETIONS_PER_BATCH`] completions. Makes progress.
    pub(crate) fn completions(&self, take: &mut dyn FnMut(QueueEntry)) -> Result<usize, Failure> {
        // SAFETY: room for the entries; contexts are ours, and alive while their operation is under way.
        unsafe {
            let mut entries: [ffi::fi_cq_data_entry; COMPLETIONS_PER_BATCH] = std::mem::zeroed();
            let count = ffi::cq_read(self.cq, entries.as_mut_ptr(), COMPLETIONS_PER_BATCH);
            if count == AGAIN || count == 0 {
                return Ok(0);
            }
            if count == -(ffi::FI_EAVAIL as isize) {
                return Err(self.failure());
            }
            if count < 0 {
                return Err(Failure { of: None, cancelled: false, text: ffi::words(count) });
            }
            for entry in &entries[..count as usize] {
                let Some(context) = entry.op_context.cast::<Context>().as_ref() else { continue };
                take(QueueEntry {
                    what: context.what,
                    index: context.index,
                    released: entry.flags & ffi::FI_MULTI_RECV != 0,
                    at: entry.buf.cast(),
                    len: entry.len,
                });
            }
            Ok(count as usize)
        }
    }

    /// # Safety
    /// 1. The queue reports an error (owed by the caller).
    unsafe fn failure(&self) -> Failure {
        // SAFETY: (1); as in `completions`.
        unsafe {
            let mut entry: ffi::fi_cq_err_entry = std::mem::zeroed();
            let code = ffi::cq_read_error(self.cq, &mut entry);
            if code < 0 {
                return Failure { of: None, cancelled: code == AGAIN, text: ffi::words(code) };
            }
            let of = entry.op_context.cast::<Context>().as_ref().map(|c| (c.what, c.index));
            let own = ffi::cq_words(self.cq, &entry);
            let mut text = ffi::words(entry.err as isize);
            if !own.is_empty() && own != text {
                text = format!("{text} ({own})");
            }
            Failure { of, cancelled: entry.err == ffi::FI_ECANCELED as c_int, text }
        }
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// 1. The memory is valid and used by nobody else until the receive is released; the context stays valid
    ///    (owed by the caller).
    pub(crate) unsafe fn receive(
        &self,
        at: *mut u8,
        len: usize,
        desc: *mut c_void,
        of: &mut Context,
    ) -> Answer {
        if let Some(stray) = self.stray(&[Span { at, len, desc }]) {
            return stray;
        }
        let iov = ffi::iovec { iov_base: at.cast(), iov_len: len };
        let mut descs = [desc];
        let message = ffi::fi_msg {
            msg_iov: &iov,
            desc: descs.as_mut_ptr(),
            iov_count: 1,
            addr: ffi::ANY_ADDRESS,
            context: ptr::from_mut(of).cast(),
            data: 0,
        };
        let flags = ffi::FI_COMPLETION | if self.traits.multi { ffi::FI_MULTI_RECV } else { 0 };
        // SAFETY: (1).
        Answer::of(unsafe { ffi::receive(self.ep, &message, flags) })
    }

    /// Sends; with `through` the send completes only when the target has the message.
    ///
    /// # Safety
    /// 1. The memory does not change until the send is complete; the context stays valid (owed by the
    ///    caller).
    pub(crate) unsafe fn send(
        &self,
        to: u32,
        at: *const u8,
        len: usize,
        desc: *mut c_void,
        of: &mut Context,
        through: bool,
    ) -> Answer {
        if let Some(stray) = self.stray(&[Span { at: at.cast_mut(), len, desc }]) {
            return stray;
        }
        let iov = ffi::iovec { iov_base: at.cast_mut().cast(), iov_len: len };
        let mut descs = [desc];
        let message = ffi::fi_msg {
            msg_iov: &iov,
            desc: descs.as_mut_ptr(),
            iov_count: 1,
            addr: self.peers[to as usize],
            context: ptr::from_mut(of).cast(),
            data: 0,
        };
        let how = if through { ffi::FI_TRANSMIT_COMPLETE } else { ffi::FI_INJECT_COMPLETE };
        // SAFETY: (1).
        Answer::of(unsafe { ffi::send(self.ep, &message, ffi::FI_COMPLETION | how) })
    }

    /// Sends at most `traits.inject` bytes, which are read before the call returns.
    pub(crate) fn inject(&self, to: u32, message: &[u8]) -> Answer {
        // SAFETY: read before the call returns.
        Answer::of(unsafe { ffi::inject(self.ep, message.as_ptr(), message.len(), self.peers[to as usize]) })
    }

    /// Starts a put, which is complete when the data is in place at the target.
    ///
    /// # Safety
    /// 1. The source stays valid until the put is complete, unless `inject` is set; the context stays valid;
    ///    the target is inside a region (owed by the caller).
    pub(crate) unsafe fn write(&self, to: Remote, from: &[Span], of: &mut Context, inject: bool) -> Answer {
        if !inject && let Some(stray) = self.stray(from) {
            return stray;
        }
        let flags = ffi::FI_COMPLETION | ffi::FI_DELIVERY_COMPLETE | if inject { ffi::FI_INJECT } else { 0 };
        // SAFETY: (1).
        Answer::of(unsafe { self.transfer(to, from, of, |message| ffi::write(self.ep, message, flags)) })
    }

    /// Starts a get.
    ///
    /// # Safety
    /// 1. The destination is valid and used by nobody else until the get is complete; the context stays
    ///    valid; the source is inside a region (owed by the caller).
    pub(crate) unsafe fn read(&self, to: &[Span], from: Remote, of: &mut Context) -> Answer {
        if let Some(stray) = self.stray(to) {
            return stray;
        }
        // SAFETY: (1).
        Answer::of(unsafe {
            self.transfer(from, to, of, |message| ffi::read(self.ep, message, ffi::FI_COMPLETION))
        })
    }

    /// Starts an atomic operation.
    ///
    /// # Safety
    /// 1. The operation owns the three words (operand, expected value, old value) until it is complete; the
    ///    context stays valid; the target is inside a region (owed by the caller).
    pub(crate) unsafe fn atomic(
        &self,
        to: Remote,
        call: &AtomicCall,
        words: *mut u64,
        desc: *mut c_void,
        of: &mut Context,
    ) -> Answer {
        if let Some(stray) = self.stray(&[Span { at: words.cast(), len: 3 * size_of::<u64>(), desc }]) {
            return stray;
        }
        let target = ffi::atomics::Target {
            to: self.peers[to.peer as usize],
            at: to.at,
            key: to.key,
            word: call.word,
            op: call.op,
        };
        let context = ptr::from_mut(of).cast();
        // SAFETY: (1).
        Answer::of(unsafe {
            let (operand, expected, old) = (words, words.add(1), words.add(2));
            operand.write(call.operand);
            old.write(0);
            match call.expected {
                None => ffi::atomics::fetch(self.ep, &target, operand, old, desc, context),
                Some(value) => {
                    expected.write(value);
                    ffi::atomics::compare(self.ep, &target, operand, expected, old, desc, context)
                }
            }
        })
    }

    /// The endpoint, for queries.
    pub(crate) fn endpoint(&self) -> *mut ffi::fid_ep {
        self.ep
    }

    /// # Safety
    /// As `write` and `read`.
    unsafe fn transfer(
        &self,
        remote: Remote,
        local: &[Span],
        of: &mut Context,
        start: impl FnOnce(&ffi::fi_msg_rma) -> isize,
    ) -> isize {
        let mut iov = [ffi::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; MAX_PIECES];
        let mut descs = [ptr::null_mut(); MAX_PIECES];
        for ((iov, desc), span) in iov.iter_mut().zip(&mut descs).zip(local) {
            (*iov, *desc) = (ffi::iovec { iov_base: span.at.cast(), iov_len: span.len }, span.desc);
        }
        let len = local.iter().map(|span| span.len).sum();
        let there = ffi::fi_rma_iov { addr: remote.at, len, key: remote.key };
        start(&ffi::fi_msg_rma {
            msg_iov: iov.as_ptr(),
            desc: descs.as_mut_ptr(),
            iov_count: local.len(),
            addr: self.peers[remote.peer as usize],
            rma_iov: &there,
            rma_iov_count: 1,
            context: ptr::from_mut(of).cast(),
            data: 0,
        })
    }

    /// In tests, the result of an operation on memory that is not registered.
    fn stray(&self, spans: &[Span]) -> Option<Answer> {
        let checked = self.checked.as_ref()?;
        let stray = spans.iter().find(|s| !checked.has(s.at as usize, s.len, s.desc as usize))?;
        Some(Answer::Failed(format!("{} bytes at {:p} are not registered as said", stray.len, stray.at)))
    }

    /// Registers memory for operations of this side, and for those of others if `shared`.
    ///
    /// # Safety
    /// 1. The memory is valid as long as the region (owed by the caller).
    pub(crate) unsafe fn register(
        &mut self,
        at: *mut u8,
        len: usize,
        shared: bool,
    ) -> Result<RegisteredRegion, String> {
        let mut access = ffi::FI_SEND | ffi::FI_RECV;
        if self.traits.rma {
            access |= ffi::FI_READ | ffi::FI_WRITE;
            if shared {
                access |= ffi::FI_REMOTE_READ | ffi::FI_REMOTE_WRITE;
            }
        }
        let mut mr = ptr::null_mut();
        self.next_key += 1;
        // SAFETY: (1).
        unsafe {
            let code = ffi::mr_register(self.domain, at, len, access, self.next_key, &mut mr);
            ffi::check("fi_mr_reg", code)?;
            if self.traits.mr_enable {
                ffi::check("fi_mr_enable", ffi::mr_enable(mr, self.ep)).inspect_err(|_| {
                    ffi::close(mr.cast());
                })?;
            }
            let desc = (*mr).mem_desc;
            if let Some(checked) = &mut self.checked {
                checked.add(mr as usize, at as usize, len, desc as usize, shared).inspect_err(|_| {
                    ffi::close(mr.cast());
                })?;
            }
            Ok(RegisteredRegion { mr, desc })
        }
    }

    /// Deregisters a region. No operation uses it any more.
    pub(crate) fn forget(&mut self, region: &RegisteredRegion) {
        if let Some(checked) = &mut self.checked {
            checked.remove(region.mr as usize);
        }
        // SAFETY: closed once: only the owner of the region calls this.
        unsafe { ffi::close(region.mr.cast()) };
    }

    /// A note for peers with the key of a region that begins at `base`.
    pub(crate) fn key_note(&self, region: &RegisteredRegion, base: *const u8) -> Result<Vec<u8>, String> {
        // SAFETY: an open region.
        let key = unsafe { (*region.mr).key };
        let mut start = if self.traits.mr_virtual { base as u64 } else { 0 };
        let mut raw = [0u8; crate::wire::MAX_NOTE_BYTES - 16];
        let mut len = raw.len();
        if self.traits.mr_raw {
            // SAFETY: as above; room for `len` bytes.
            let code = unsafe { ffi::mr_raw_key(region.mr, &mut start, &mut raw, &mut len) };
            ffi::check("fi_mr_raw_attr", code)?;
        } else {
            len = 0;
        }
        Ok([&start.to_le_bytes()[..], &key.to_le_bytes(), &raw[..len]].concat())
    }

    /// Reads the key in a peer's note.
    pub(crate) fn read_key(&self, note: &[u8]) -> Result<MemoryKey, String> {
        let word = |at: usize| {
            let bytes = note.get(at..at + 8).and_then(|b| b.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or_else(|| "a key is too short".to_string())
        };
        let (base, mut key) = (word(0)?, word(8)?);
        let mut raw = note[16..].to_vec();
        if self.traits.mr_raw {
            // SAFETY: a raw key from the same provider.
            unsafe { ffi::check("fi_mr_map_raw", ffi::mr_map_raw(self.domain, base, &mut raw, &mut key))? };
        }
        Ok(MemoryKey { base, key })
    }
}
