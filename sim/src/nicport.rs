//! The offloaded operations of the simulated NIC, as the core requests them: commands with triggers, event
//! counts, atomics at their home.
//!
//! The board is behind the library's slots, in the memory that a rank exports beside its segment.

use crate::card::{EVENT_COUNTS, FIRST_EVENT};
use crate::conduit::SimConduit;
use crate::paging::{ALL_SLOTS_BYTES, Paging};
use crate::sim_nic::SimNic;
use core::ops::Range;
use gasnet::RankId;
use gasnet::atomics::Operation;
use gasnet::sync::port::{BOARD, Command, CommandKind, HomeOp, Limits, Move, NicPort, inside};
use netvm_fw::library::{LibraryError, Trigger};

impl SimConduit {
    fn limits(&self) -> Limits {
        Limits::of(self, self.at.shared.size)
    }

    fn paging(&self) -> &Paging {
        match &self.nic {
            SimNic::Paging(paging) => paging,
            _ => unreachable!("asked for a NIC that works by itself"),
        }
    }

    fn sent(&self, result: Result<(), LibraryError>) -> bool {
        match result {
            Ok(()) => {
                self.paging().post(&self.at.shared, self.at.rank, 1);
                true
            }
            Err(LibraryError::Busy) => false,
            Err(e) => unreachable!("the core stays on its boards: {e}"),
        }
    }

    fn transfer(&self, when: Option<Trigger>, m: &Move, how: Option<Operation>) -> Result<(), LibraryError> {
        self.paging().with_boards(&self.at, m.to.0, |library, own, peer| {
            let (from, to) = ((own.0, own.1 + u64::from(m.from)), (peer.0, peer.1 + u64::from(m.at)));
            library.command(when, from, to, m.len, how, m.raise)
        })
    }
}

impl NicPort for SimConduit {
    fn board(&self) -> u32 {
        BOARD
    }

    fn load(&self, at: u32, into: &mut [u8]) {
        inside(self.limits().bytes(at, into.len()));
        self.paging()
            .board(|window, start| into.copy_from_slice(&window.read(start + u64::from(at), into.len())));
    }

    fn store(&self, at: u32, from: &[u8]) {
        inside(self.limits().bytes(at, from.len()));
        self.paging().board(|window, start| window.write(start + u64::from(at), from));
    }

    fn events(&self) -> Range<u32> {
        FIRST_EVENT..EVENT_COUNTS
    }

    fn count(&self, event: u32) -> u32 {
        inside(self.limits().event(event));
        let port = self.paging().port();
        port.events.want_mirror(event, true);
        port.events.signals(event)
    }

    fn post(&self, command: &Command) -> bool {
        inside(self.limits().command(command));
        self.at.shared.alive();
        let when = command.when.map(|t| Trigger { event: t.event, count: t.count });
        let result = match &command.what {
            CommandKind::Raise(event) => self.paging().with_library(|library| library.raise(when, *event)),
            CommandKind::Write(m) => self.transfer(when, m, None),
            CommandKind::Combine(m, op) => self.transfer(when, m, Some(*op)),
        };
        self.sent(result)
    }

    fn posted(&self) -> u64 {
        self.paging().with_library(|library| library.fence(netvm_fw::port::Counter::Commands).count.into())
    }

    fn atomic(&self, home: RankId, offset: u64, op: HomeOp, args: [u32; 4]) -> Option<u32> {
        self.at.shared.alive();
        inside(self.limits().rank(home));
        let mut cookie = None;
        let result = self.paging().with_boards(&self.at, home.0, |library, _, peer| {
            // Slots and boards are behind segments.
            inside(op.check(offset, peer.1 - ALL_SLOTS_BYTES));
            cookie = Some(library.atomic((peer.0, offset), op, args)?);
            Ok(())
        });
        if self.sent(result) { cookie } else { None }
    }

    fn reply(&self, cookie: u32) -> Option<[u32; 3]> {
        // A refusal can only mean that the segment is gone.
        self.paging().with_library(|library| library.reply(cookie)).map(Option::unwrap_or_default)
    }
}
