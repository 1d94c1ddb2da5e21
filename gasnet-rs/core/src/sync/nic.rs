//! The NIC of a rank, for programs: what they ask of it is checked.

use super::port::{Command, HomeOp, Limits, NicPort};
use crate::{Rank, RankId};
use core::ops::Range;

impl Rank {
    /// The operations that the conduit's NIC carries out, if it has a processor. Requests are checked.
    pub fn nic(&self) -> Option<Nic<'_>> {
        Some(Nic { rank: self, port: self.wire.nic_port()? })
    }
}

/// The NIC of a rank, as programs use it ([`crate::Rank::nic`]): a call that would leave the board, a segment
/// or the core's events, and one before [`crate::Rank::attach`], ends the job with a message.
#[derive(Clone, Copy)]
pub struct Nic<'r> {
    rank: &'r Rank,
    port: &'r dyn NicPort,
}

impl core::fmt::Debug for Nic<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the NIC of rank {}", self.rank.id())
    }
}

impl<'r> Nic<'r> {
    fn check(&self, f: impl FnOnce(&Limits) -> Result<(), String>) {
        // Whether there are segments at all.
        self.rank.table();
        if let Err(why) = f(&Limits::of(self.port, self.rank.size())) {
            self.rank.fatal(&format!("work for a NIC: {why}"));
        }
    }
}

impl NicPort for Nic<'_> {
    fn board(&self) -> u32 {
        self.port.board()
    }

    fn load(&self, at: u32, into: &mut [u8]) {
        self.check(|limits| limits.bytes(at, into.len()));
        self.port.load(at, into);
    }

    fn store(&self, at: u32, from: &[u8]) {
        self.check(|limits| limits.bytes(at, from.len()));
        self.port.store(at, from);
    }

    fn events(&self) -> Range<u32> {
        self.port.events()
    }

    fn count(&self, event: u32) -> u32 {
        self.check(|limits| limits.event(event));
        self.port.count(event)
    }

    fn post(&self, command: &Command) -> bool {
        self.check(|limits| limits.command(command));
        self.port.post(command)
    }

    fn posted(&self) -> u64 {
        self.port.posted()
    }

    fn atomic(&self, home: RankId, offset: u64, op: HomeOp, args: [u32; 4]) -> Option<u32> {
        self.check(|limits| {
            limits.rank(home)?;
            let segment = self.rank.table().get(home).map_or(0, |entry| entry.size as u64);
            op.check(offset, segment).map_err(|why| format!("{why}, of rank {home}"))
        });
        self.port.atomic(home, offset, op, args)
    }

    fn reply(&self, cookie: u32) -> Option<[u32; 3]> {
        self.port.reply(cookie)
    }
}
