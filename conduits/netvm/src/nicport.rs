//! The offloaded operations of the NIC, as the core requests them: commands with triggers, event counts,
//! atomics at their home. Boards are behind segments.

use crate::conduit::Live;
use crate::engine::FIRST_EVENT;

use core::ops::Range;
use gasnet_ops::Operation;
use gasnet_wire::RankId;
use gasnet_wire::port::{self, Command, CommandKind, EVENTS, HomeOp, Limits, Move, NicPort, inside};
use netvm_fw::library::{LibraryError, Trigger};
use netvm_fw::port::Counter;

impl Live {
    fn limits(&self) -> Limits {
        Limits::of(self, self.size)
    }

    /// Lets the NIC take its queued commands, or makes room for more.
    fn sent(&self, result: Option<Result<(), LibraryError>>) -> bool {
        self.card.work();
        match result {
            Some(Ok(())) => true,
            // The counter of a full queue is updated on request only.
            Some(Err(LibraryError::Busy)) | None => {
                self.side(|side| side.library.want(side.library.wait_for_room()));
                false
            }
            Some(Err(e)) => unreachable!("the core stays on its boards: {e}"),
        }
    }

    fn transfer(&self, when: Option<Trigger>, m: &Move, how: Option<Operation>) -> bool {
        let done = self.side(|side| {
            side.boards(&self.card.desks, m.to.0, |library, own, peer| {
                let (from, to) = ((own.0, own.1 + u64::from(m.from)), (peer.0, peer.1 + u64::from(m.at)));
                library.command(when, from, to, m.len, how, m.raise)
            })
        });
        self.sent(done)
    }
}

impl NicPort for Live {
    fn board(&self) -> u32 {
        port::BOARD
    }

    fn load(&self, at: u32, into: &mut [u8]) {
        inside(self.limits().bytes(at, into.len()));
        self.side(|side| side.region.read(side.behind(at.into()), into));
    }

    fn store(&self, at: u32, from: &[u8]) {
        inside(self.limits().bytes(at, from.len()));
        self.side(|side| side.region.write(side.behind(at.into()), from));
    }

    fn events(&self) -> Range<u32> {
        FIRST_EVENT..FIRST_EVENT + EVENTS
    }

    fn count(&self, event: u32) -> u32 {
        inside(self.limits().event(event));
        self.card.port.events.signals(event)
    }

    fn post(&self, command: &Command) -> bool {
        inside(self.limits().command(command));
        let when = command.when.map(|t| Trigger { event: t.event, count: t.count });
        match &command.what {
            CommandKind::Raise(event) => {
                let done = self.side(|side| side.library.raise(when, *event));
                self.sent(done)
            }
            CommandKind::Write(m) => self.transfer(when, m, None),
            CommandKind::Combine(m, op) => self.transfer(when, m, Some(*op)),
        }
    }

    fn posted(&self) -> u64 {
        self.side(|side| side.library.fence(Counter::Commands).count.into()).unwrap_or(0)
    }

    fn atomic(&self, home: RankId, offset: u64, op: HomeOp, args: [u32; 4]) -> Option<u32> {
        inside(self.limits().rank(home));
        let mut cookie = None;
        let done = self.side(|side| {
            side.boards(&self.card.desks, home.0, |library, _, peer| {
                // Boards are behind segments.
                inside(op.check(offset, peer.1));
                cookie = Some(library.atomic((peer.0, offset), op, args)?);
                Ok(())
            })
        });
        if self.sent(done) { cookie } else { None }
    }

    fn reply(&self, cookie: u32) -> Option<[u32; 3]> {
        // A refusal can only mean that the segment is gone.
        self.side(|side| side.library.reply(cookie)).flatten().map(Option::unwrap_or_default)
    }
}
