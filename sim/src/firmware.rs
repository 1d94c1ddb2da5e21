//! The time that a NIC's firmware takes for each of its steps, and its host for the host half.

use crate::time::Time;
use netvm_fw::host::HostWork;
use netvm_fw::nic::NicWork;

/// Costs of the firmware's steps, of the DMA engine between NIC and host, and of the host half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirmwareCosts {
    /// Taking a command out of a queue.
    pub command: Time,
    /// Taking a packet.
    pub packet: Time,
    /// Noticing that a DMA has ended.
    pub dma_end: Time,
    /// Setting up a packet.
    pub send: Time,
    /// Finding and locking a page.
    pub lock: Time,
    /// Locking a page under a lease.
    pub lock_leased: Time,
    /// Searching for a page that is not there.
    pub lock_miss: Time,
    /// Unlocking.
    pub unlock: Time,
    /// Unlocking and marking dirty.
    pub unlock_dirty: Time,
    /// Advancing a window.
    pub window: Time,
    /// Counting a notification.
    pub raise: Time,
    /// Computing an atomic, without the words of its operand.
    pub compute: Time,
    /// Each word of the operand.
    pub compute_word: Time,
    /// Taking a reply of the host.
    pub reply: Time,
    /// Starting a DMA.
    pub dma: Time,
    /// Each byte from the host.
    pub dma_read: Time,
    /// Each byte to the host.
    pub dma_write: Time,
    /// Interrupting the host.
    pub interrupt: Time,
    /// The host: mapping a page.
    pub map: Time,
    /// The host: unmapping a page.
    pub unmap: Time,
    /// The host: trying to unmap a page that is in use.
    pub unmap_locked: Time,
    /// The host: a dirty test that finds a page clean.
    pub clean: Time,
    /// The host: a dirty test that finds a page dirty.
    pub dirty: Time,
    /// The host: bringing a page in.
    pub page_in: Time,
    /// The host: writing pages out together, without each page.
    pub page_out: Time,
    /// The host: each page that is written out.
    pub page_out_page: Time,
    /// Whether the paging thread makes one transfer after the other itself, and writes pages out together
    /// when there is nothing else to do, as the live conduit's does. Otherwise it starts transfers, and does
    /// other things meanwhile.
    pub synchronous: bool,
    /// Whether the firmware and the paging thread share one processor with their rank's program. The live
    /// conduit does this when there are few processors: the rank that polls does the work of its NIC.
    /// Otherwise each has a processor of its own.
    pub attended: bool,
    /// The host: seeing that something has happened.
    pub detect: Time,
    /// The host: an atomic's call, without posting it.
    pub atomic_call: Time,
    /// The host: posting a command.
    pub post: Time,
    /// The host: waking a process that sleeps.
    pub wake: Time,
    /// The host: delivering a signal to a process.
    pub signal: Time,
    /// The host: copying a byte.
    pub copy: Time,
    /// Bytes of a packet's head on the wire.
    pub head_bytes: u32,
    /// Most bytes of a fragment, if the library cuts pages
    /// ([`Library::split`](netvm_fw::library::Library::split)).
    pub split: Option<u32>,
    /// Operands of atomics that stay on the NIC. A look at them costs nothing beside the page's lock.
    pub operands: u32,
    /// Packets that the NIC can receive and store at the same time; others wait at their senders.
    pub receive_buffers: u32,
    /// Whether the NIC takes one packet after the other: the next one when the bytes of the one before are in
    /// memory.
    pub serial: bool,
}

/// Inputs of the LANai model: Table 24, DMA and wire rates, the interrupt, and three calibration rows (a
/// pinned write and a pinned read of 4 bytes, test-and-set).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanaiInputs {
    /// Table 24: lock, lock of a page that is not mapped, unlock, unlock and mark dirty; map, unmap, unmap of
    /// a locked page, dirty test clean and dirty.
    pub table_24: [f64; 9],
    /// MB/s from and to the host, and on the wire.
    pub rates: [f64; 3],
    /// A host interrupt.
    pub interrupt: f64,
    /// Calibration: latency and repetition time of a pinned 4-byte write, in microseconds.
    pub write: [f64; 2],
    /// Calibration: latency and repetition time of a pinned 4-byte read, in microseconds.
    pub read: [f64; 2],
    /// Calibration: latency of test-and-set, and the NIC's time for it, in microseconds.
    pub test_and_set: [f64; 2],
}

impl LanaiInputs {
    /// As published. Repetition times are 4 bytes divided by the published throughput.
    pub const PAPER: LanaiInputs = LanaiInputs {
        table_24: [0.33, 0.39, 0.13, 0.27, 0.31, 1.44, 0.73, 0.55, 0.60],
        rates: [437.0, 492.0, 160.0],
        interrupt: 2.31,
        write: [5.28, 4.0 / 1.51],
        read: [8.79, 4.0 / 0.88],
        test_and_set: [10.50, 4.20],
    };
}

/// One hop between two hosts, in microseconds.
pub(crate) const HOP_US: f64 = 0.1;
/// Bytes of a head.
const HEAD_BYTES: f64 = 80.0;
/// The host's time to post a command: the published extra time of an insertQ that links itself, in
/// microseconds.
const POST_US: f64 = 0.6;
/// The host's time to see a cache line change, in microseconds.
const DETECT_US: f64 = 0.1;
/// The time to start a DMA, in microseconds. It is short, since 8 bytes are already faster by DMA than by
/// programmed output.
const DMA_START_US: f64 = 0.1;

impl FirmwareCosts {
    /// LANai 9.2 at 132 MHz.
    ///
    /// The steps that are not published follow from six equations of the calibration rows:
    /// ```text
    /// write = post + (command + send) + wire(84) + hop + packet + dma + detect
    ///     repeated: packet + dma + dma_end + window
    /// read - write = wire(80) + hop + packet + dma + dma_end + send
    ///     repeated: command + send + packet + dma + dma_end + window
    /// test_and_set's NIC time = packet + lock + 2 dma_end + compute + send + unlock_dirty + window
    /// test_and_set = what its call takes + request, fetch, compute, reply
    /// ```
    /// In a ping-pong a NIC still advances its window while its host detects and posts. At best both take the
    /// same time, which gives one more equation.
    pub fn lanai(i: &LanaiInputs) -> FirmwareCosts {
        let us = |v: f64| Time::us(v.max(0.0));
        let [read_rate, write_rate, wire_rate] = i.rates;
        let wire = |bytes: f64| bytes / wire_rate;
        // The initiator of reads is its own bottleneck: its work for the reply is that for a write.
        let issue = i.read[1] - i.write[1];
        let packet = i.write[1] - DMA_START_US - 4.0 / write_rate - POST_US - DETECT_US;
        let end_and_send =
            i.read[0] - i.write[0] - (wire(HEAD_BYTES) + HOP_US + packet + DMA_START_US + 4.0 / read_rate);
        let end = end_and_send * 0.47;
        let send = end_and_send - end;
        let window = i.write[1] - packet - DMA_START_US - 4.0 / write_rate - end;
        let [lock, lock_miss, unlock, unlock_dirty, map, unmap, unmap_locked, clean, dirty] = i.table_24;
        let compute = i.test_and_set[1] - (packet + lock + 2.0 * end + send + unlock_dirty + window);
        // Request and reply, each with its head. The fetch of the operand is between them, the write back is
        // not.
        let atomic = POST_US
            + issue
            + 2.0 * (wire(HEAD_BYTES) + HOP_US + packet)
            + lock
            + DMA_START_US
            + 4.0 / read_rate
            + end
            + compute.max(0.0)
            + send
            + DMA_START_US
            + DETECT_US;
        FirmwareCosts {
            command: us(issue - send),
            packet: us(packet),
            dma_end: us(end),
            send: us(send),
            lock: us(lock),
            lock_leased: us(lock / 3.0),
            lock_miss: us(lock_miss),
            unlock: us(unlock),
            unlock_dirty: us(unlock_dirty),
            window: us(window),
            // A count in memory costs about as much as an unlock.
            raise: us(unlock),
            compute: us(compute),
            compute_word: Time::ns(8),
            reply: us(window),
            dma: us(DMA_START_US),
            dma_read: us(1.0 / read_rate),
            dma_write: us(1.0 / write_rate),
            interrupt: us(i.interrupt),
            map: us(map),
            unmap: us(unmap),
            unmap_locked: us(unmap_locked),
            clean: us(clean),
            dirty: us(dirty),
            page_in: Time::us(10_000.0),
            page_out: Time::us(10_000.0),
            page_out_page: Time::ZERO,
            synchronous: false,
            attended: false,
            detect: us(DETECT_US),
            atomic_call: us(i.test_and_set[0] - atomic),
            post: us(POST_US),
            wake: us(5.0),
            signal: us(10.0),
            copy: Time::ns(3),
            head_bytes: netvm_fw::wire::HEAD_BYTES as u32,
            split: None,
            operands: 0,
            // 4100 bytes are slower than 4096 because the second fragment waits for the first one's DMA, and
            // both buffers are taken in the meantime.
            receive_buffers: 2,
            serial: true,
        }
    }

    /// A present-day NIC: the same steps in on-chip memory, and a page fault of the host served from memory.
    pub fn modern() -> FirmwareCosts {
        let ns = Time::ns;
        FirmwareCosts {
            command: ns(60),
            packet: ns(60),
            dma_end: ns(15),
            send: ns(30),
            lock: ns(30),
            lock_leased: ns(10),
            lock_miss: ns(35),
            unlock: ns(12),
            unlock_dirty: ns(20),
            window: ns(10),
            raise: ns(12),
            compute: ns(20),
            compute_word: ns(1),
            reply: ns(20),
            dma: ns(250),
            dma_read: Time::ps(40),
            dma_write: Time::ps(40),
            interrupt: Time::us(1.5),
            map: ns(100),
            unmap: ns(300),
            unmap_locked: ns(150),
            clean: ns(50),
            dirty: ns(60),
            page_in: Time::us(60.0),
            page_out: Time::us(60.0),
            page_out_page: Time::ZERO,
            synchronous: false,
            attended: false,
            detect: ns(50),
            atomic_call: ns(20),
            post: ns(100),
            wake: Time::us(2.0),
            signal: Time::us(3.0),
            copy: Time::ps(100),
            head_bytes: netvm_fw::wire::HEAD_BYTES as u32,
            split: None,
            operands: 0,
            receive_buffers: 256,
            serial: false,
        }
    }

    /// The same NIC for pinned memory: it uses addresses as they are and locks nothing.
    pub fn pinned(self) -> FirmwareCosts {
        let (lock, unlock, unlock_dirty) = (Time::ZERO, Time::ZERO, Time::ZERO);
        FirmwareCosts { lock, unlock, unlock_dirty, ..self }
    }

    /// The NIC of the thesis's Appendix A: DMA at the rates of the inputs, each engine taking one fragment
    /// after the other. Processors take no time, and packets have no heads.
    pub fn stages(inputs: &LanaiInputs) -> FirmwareCosts {
        let none = FirmwareCosts::lanai(inputs).scaled(0.0);
        let zero = Time::ZERO;
        FirmwareCosts {
            interrupt: zero,
            map: zero,
            unmap: zero,
            unmap_locked: zero,
            clean: zero,
            dirty: zero,
            wake: zero,
            signal: zero,
            copy: zero,
            head_bytes: 0,
            serial: false,
            ..none
        }
    }

    /// A NIC whose steps, and whose host's commands, take `factor` times as long.
    pub fn scaled(self, factor: f64) -> FirmwareCosts {
        let by = |time: Time| Time::us(time.as_us() * factor);
        FirmwareCosts {
            command: by(self.command),
            packet: by(self.packet),
            dma_end: by(self.dma_end),
            send: by(self.send),
            lock: by(self.lock),
            lock_leased: by(self.lock_leased),
            lock_miss: by(self.lock_miss),
            unlock: by(self.unlock),
            unlock_dirty: by(self.unlock_dirty),
            window: by(self.window),
            raise: by(self.raise),
            compute: by(self.compute),
            compute_word: by(self.compute_word),
            reply: by(self.reply),
            dma: by(self.dma),
            detect: by(self.detect),
            post: by(self.post),
            atomic_call: by(self.atomic_call),
            ..self
        }
    }

    /// The cost of a step of the firmware.
    pub(crate) fn work(&self, work: NicWork) -> Time {
        match work {
            NicWork::Command => self.command,
            NicWork::Packet => self.packet,
            NicWork::Dma => self.dma_end,
            NicWork::Send => self.send,
            NicWork::Lock => self.lock,
            NicWork::LockLeased => self.lock_leased,
            NicWork::LockMiss => self.lock_miss,
            NicWork::Unlock => self.unlock,
            NicWork::UnlockDirty => self.unlock_dirty,
            NicWork::Window => self.window,
            // Both count in memory of the NIC.
            NicWork::Raise | NicWork::Append => self.raise,
            NicWork::Compute(op) => self.compute + self.compute_word * op.operand_words() as u64,
            NicWork::Fold(bytes) => self.compute + self.compute_word * u64::from(bytes.div_ceil(4)),
            // Two memories are looked at besides the table; the simulated hosts have no such memory to copy.
            NicWork::Region(_) => self.lock,
            NicWork::Host => self.reply,
        }
    }

    /// The cost of a step of the host half.
    pub(crate) fn host_work(&self, work: HostWork) -> Time {
        match work {
            // Charged when the NIC interrupts.
            HostWork::Interrupt => Time::ZERO,
            HostWork::Map => self.map,
            HostWork::Unmap => self.unmap,
            HostWork::UnmapLocked => self.unmap_locked,
            HostWork::TestDirty(true) => self.dirty,
            HostWork::TestDirty(false) => self.clean,
            HostWork::Copy(bytes) => self.copy.bytes(bytes as usize),
        }
    }
}
