//! A segment all of whose pages are resident: the host half without a pager.

use crate::live::engine::{HostHalf, PORT};
use crate::live::modes::{Held, Holder};
use crate::live::region::Region;
use crate::live::sys;
use netvm_fw::host::{Host, HostAction, HostConfig, HostEvent, Segment};
use netvm_fw::nic::{HostReply, Interrupt};
use netvm_fw::shadow::{Geometry, NicTable, table};
use netvm_fw::{PAGE, PageMemory, Place, Vpn};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Frames that hold nothing, so that the cleaner has nothing to do.
const SPARE: u32 = 65;

pub(crate) struct Resident {
    host: Mutex<Host>,
    frames: Frames,
    reply: Box<dyn Fn(HostReply) + Send + Sync>,
}

/// Frame `i` is page `i`.
#[derive(Clone, Copy)]
pub(crate) struct Frames(Region);

impl PageMemory for Frames {
    fn read(&self, at: Place, into: &mut [u8]) {
        self.0.read(at.ppn.index() as u64 * u64::from(PAGE) + u64::from(at.offset), into);
    }
    fn write(&self, at: Place, from: &[u8]) {
        self.0.write(at.ppn.index() as u64 * u64::from(PAGE) + u64::from(at.offset), from);
    }
}

impl Resident {
    pub(crate) fn new(
        region: Region,
        pages: u32,
        seed: u64,
        reply: Box<dyn Fn(HostReply) + Send + Sync>,
    ) -> (Resident, NicTable, Segment) {
        let (host_table, nic_table) = table(Geometry::new(pages + SPARE), seed);
        let mut host = Host::new(HostConfig::new(pages), host_table, seed);
        let frames = Frames(region);
        let bytes = u64::from(pages) * u64::from(PAGE);
        let export = host.export(PORT, 0, 0, bytes, &mut Vec::new()).expect("whole pages, once");
        let mut out = Vec::new();
        for page in 0..u64::from(pages) {
            host.touch(Vpn::new(PORT, page), true, 0, &mut out);
            while let Some(action) = out.pop() {
                if let HostAction::PageIn { ppn, .. } = action {
                    host.handle(0, HostEvent::PagedIn(ppn), &frames, &mut out);
                }
            }
        }
        (Resident { host: Mutex::new(host), frames, reply }, nic_table, export)
    }

    pub(crate) fn memory(&self) -> Frames {
        self.frames
    }
}

impl Holder for Resident {
    fn hold(&self, pages: Range<u64>, pin: bool, done: Held) {
        let bytes = (pages.end - pages.start) as usize * PAGE as usize;
        let at = self.frames.0.at(pages.start * u64::from(PAGE), bytes);
        done(if pin { sys::pin(at, bytes) } else { Ok(()) });
    }

    fn release(&self, pages: Range<u64>, pin: bool) {
        let bytes = (pages.end - pages.start) as usize * PAGE as usize;
        if pin {
            sys::unpin(self.frames.0.at(pages.start * u64::from(PAGE), bytes), bytes);
        }
    }
}

impl HostHalf for Resident {
    fn interrupt(&self, interrupt: Interrupt) {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut todo = VecDeque::from([HostEvent::Interrupt(interrupt)]);
        let mut out = Vec::new();
        while let Some(event) = todo.pop_front() {
            host.handle(0, event, &self.frames, &mut out);
            for action in out.drain(..) {
                match action {
                    HostAction::Nic(reply) => (self.reply)(reply),
                    HostAction::PageIn { ppn, .. } => todo.push_back(HostEvent::PagedIn(ppn)),
                    HostAction::PageOut { ppn, .. } => todo.push_back(HostEvent::PagedOut(ppn)),
                    HostAction::Message { head, .. } => todo.push_back(HostEvent::Consumed(head)),
                    _ => {}
                }
            }
        }
    }
}
