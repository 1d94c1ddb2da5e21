//! A file in the memory of a server, read and written page after page through three interfaces.
//!
//! The network brings or takes one page after the other. The client's program runs in step with it: it keeps
//! a window of pages under way (read-ahead, or pages to be written that have not left yet), works in the
//! kernel and touches a share of each page.

use crate::bare::Machine;
use crate::device::{Clock, Device, Station};
use crate::time::Time;

/// How a program gets at its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// `read` and `write`, which copy.
    Stream,
    /// One mapping of the whole file.
    Mapped,
    /// Mapped blocks: the kernel knows which are coming, and which will be overwritten.
    Blocks,
}

/// The direction of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The program reads.
    Read,
    /// It writes.
    Write,
}

/// Costs of one page of 8 KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileCosts {
    /// The network's time for a page that comes in.
    pub page_in: Time,
    /// From asking for a page until it is here, with nothing else under way.
    pub fault: Time,
    /// The network's time for a page that goes out.
    pub page_out: Time,
    /// The kernel's work.
    pub kernel: Time,
    /// Copying the whole page, in `read` and `write`.
    pub copy: Time,
    /// The program's touching the whole page: in memory, and in the cache after a copy.
    pub touch: Time,
    /// See `touch`.
    pub touch_copied: Time,
    /// Pages under way at most.
    pub window: u64,
}

/// The network of a client that reads or writes a file.
#[derive(Debug)]
pub struct PageFile {
    costs: FileCosts,
    network: Station,
    /// Pages asked for, and pages that are here.
    asked: u64,
    here: u64,
    /// Pages given to the network to be written, and pages that have left.
    given: u64,
    left: u64,
}

/// Something that happens on the network.
#[derive(Debug, Clone, Copy)]
pub enum FileEvent {
    /// A page is here.
    Here,
    /// A page has left.
    Left,
}

impl PageFile {
    /// The network at such costs.
    pub fn new(costs: FileCosts) -> PageFile {
        PageFile { costs, network: Station::default(), asked: 0, here: 0, given: 0, left: 0 }
    }

    fn ask(&mut self, clock: &mut Clock<'_, FileEvent>) {
        self.asked += 1;
        let through = self.network.take(clock.now(), self.costs.page_in);
        clock.at(through + self.costs.fault.since(self.costs.page_in), FileEvent::Here);
    }

    fn give(&mut self, clock: &mut Clock<'_, FileEvent>) {
        self.given += 1;
        let through = self.network.take(clock.now(), self.costs.page_out);
        clock.at(through, FileEvent::Left);
    }
}

impl Device for PageFile {
    type Event = FileEvent;

    fn happen(&mut self, clock: &mut Clock<'_, FileEvent>, event: FileEvent) {
        match event {
            FileEvent::Here => self.here += 1,
            FileEvent::Left => self.left += 1,
        }
        clock.tell(0);
    }
}

impl FileCosts {
    /// Whether the page before an access has to be the old one.
    fn fetched(interface: Interface, access: Access, share: f64) -> bool {
        access == Access::Read || share < 1.0 || interface == Interface::Mapped
    }

    /// Whether the kernel knows which pages come next.
    fn ahead(interface: Interface, access: Access) -> bool {
        access == Access::Read || interface == Interface::Blocks
    }
}

impl Machine<'_, PageFile> {
    /// Goes through `pages` pages and touches a share of each; returns how long the kernel and the program
    /// worked.
    pub fn go_through(&self, interface: Interface, access: Access, pages: u64, share: f64) -> [Time; 2] {
        let costs = self.device(|file, _| file.costs);
        let of = |whole: Time| Time::ps((whole.as_ps() as f64 * share) as u64);
        let streams = interface == Interface::Stream;
        let kernel = costs.kernel + if streams { of(costs.copy) } else { Time::ZERO };
        let program = of(if streams { costs.touch_copied } else { costs.touch });
        let fetched = FileCosts::fetched(interface, access, share);
        let ahead = if FileCosts::ahead(interface, access) { costs.window } else { 1 };
        for page in 0..pages {
            if fetched {
                self.device(|file, clock| {
                    while file.asked < (page + ahead).min(pages) {
                        file.ask(clock);
                    }
                });
                self.until("a page", |file, _| (file.here > page).then_some(()));
            }
            self.work(kernel);
            self.work(program);
            if access == Access::Write {
                let window = costs.window;
                self.until("room for a page", |file, clock| {
                    (file.given < file.left + window).then(|| file.give(clock))
                });
            }
        }
        if access == Access::Write {
            self.until("the last page", |file, _| (file.left == pages).then_some(()));
        }
        [kernel * pages, program * pages]
    }
}
