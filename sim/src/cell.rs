//! Locks, wait queues, monitors and semaphores between simulated ranks: [`netvm_fw::sync`] over a rank's NIC.

use crate::paging::Netvm;
use netvm_fw::sync::{Answer, Fabric, Need, Process, SyncObject, Word};

/// A process's cell of a synchronization object, and the location of the object. All ranks have the cell at
/// the same offset.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// The rank whose memory the object is in.
    pub home: u32,
    /// The object there; a monitor's condition comes 32 bytes later.
    pub object: u64,
    /// The cell in every rank's memory: 64 bytes.
    pub cell: u64,
    /// The notification that wakes the process; a monitor's condition has the next one.
    pub notification: u32,
}

impl Cell {
    /// Binds the cell to a NIC.
    pub fn on(self, netvm: &Netvm) -> Bound<'_> {
        Bound { cell: self, netvm }
    }
}

/// A cell and the NIC that serves it. Process `r + 1` is rank `r`.
#[derive(Debug)]
pub struct Bound<'a> {
    cell: Cell,
    netvm: &'a Netvm,
}

impl Bound<'_> {
    fn place(&self, part: SyncObject, word: Word) -> u64 {
        let word = if word == Word::Next { 0 } else { 4 };
        self.cell.cell + word + if part == SyncObject::Condition { 32 } else { 0 }
    }

    fn number(&self, part: SyncObject) -> u32 {
        self.cell.notification + u32::from(part == SyncObject::Condition)
    }

    /// Writes a word to another process's cell.
    fn send(&self, part: SyncObject, to: Process, place: u64, value: u32, notify: bool) -> Answer {
        // The word is sent from a scratch location beside the cell.
        let source = self.cell.cell + 16;
        self.netvm.store(source, value);
        self.netvm.write(to - 1, place, source, 4, if notify { self.number(part) } else { 0 });
        Answer::default()
    }
}

impl Fabric for Bound<'_> {
    fn meet(&mut self, need: Need) -> Answer {
        let one = |value| [value, 0, 0];
        match need {
            Need::Atomic(part, op, args) => {
                let object = self.cell.object + if part == SyncObject::Condition { 32 } else { 0 };
                self.netvm.atomic(self.cell.home, object, op, args)
            }
            Need::Store(part, word, value) => {
                self.netvm.store(self.place(part, word), value);
                Answer::default()
            }
            Need::Load(part, word) => one(self.netvm.load(self.place(part, word))),
            Need::Spin(part, word) => {
                let place = self.place(part, word);
                self.netvm.spin_until(place, |value| value != 0);
                one(self.netvm.load(place))
            }
            Need::Write(part, to, word, value) => self.send(part, to, self.place(part, word), value, false),
            Need::WriteNotify(part, to, word, value) => {
                self.send(part, to, self.place(part, word), value, true)
            }
            Need::Notify(part, to) => self.send(part, to, self.cell.cell + 20, 0, true),
            Need::Wait(part) => {
                self.netvm.notify_spin(self.number(part));
                Answer::default()
            }
            Need::Done(_) => Answer::default(),
        }
    }
}
