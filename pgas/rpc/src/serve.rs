//! Incoming records. Handlers store batches as they arrive. The threads that serve take the batches, run
//! the services that records name, and forward records for other ranks.

use crate::calls::{self, Answered};
use crate::hand;
use crate::outbox;
use crate::payload::Payload;
use crate::reply::Reply;
use crate::service::{self, Service};
use crate::wire::{self, ArrivedRecord, Batch, Small, To};
use crate::{Engine, Incoming};
use core::any::Any;
use core::cell::Cell;
use gasnet::am::Kind;
use gasnet::{Message, RankId};
use gasnet_sys::mutex::lock;
use gasnet_wire::context;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Batches that one turn of serving takes at most.
const TURN_BATCHES: usize = 64;

thread_local! {
    /// The thread serves several records that came together: their answers travel together, too.
    pub(crate) static TOGETHER: Cell<bool> = const { Cell::new(false) };
}

/// A batch that has arrived.
pub(crate) struct ArrivedBatch {
    from: RankId,
    batch: Batch,
}

/// A record on its way to another rank.
pub(crate) struct Parked {
    /// Who has sent it here, and as how many bytes.
    by: RankId,
    bytes: usize,
    /// Who has sent it first, and whom it is for.
    from: RankId,
    to: RankId,
    service: [u32; 2],
    body: Vec<u8>,
}

impl Engine {
    /// Handler: a batch without answers, or with answers that are done with.
    pub(crate) fn keep(&self, from: RankId, bytes: &[u8]) {
        let mut buffer = outbox::buffer();
        buffer.copy_from(bytes);
        self.keep_batch(ArrivedBatch { from, batch: Batch::Large(buffer) });
    }

    #[inline]
    fn keep_batch(&self, batch: ArrivedBatch) {
        self.inbox.push(batch);
        self.servers.work();
    }

    /// Handler of messages without answers.
    #[inline]
    pub(crate) fn handle_records(&self, from: RankId, m: &Message<'_>) {
        match Small::from_arguments(m.args) {
            Some(small) if m.kind == Kind::Short => {
                if !hand::give(self.own, from, small) {
                    self.keep_batch(ArrivedBatch { from, batch: Batch::Small(small) });
                }
            }
            _ => self.keep(from, wire::bytes_of(m)),
        }
    }

    /// Handler of messages with answers. Most bring one, of few bytes.
    #[inline]
    pub(crate) fn handle_answers(&self, from: RankId, m: &Message<'_>) {
        if m.kind == Kind::Short
            && let Some(small) = Small::from_arguments(m.args)
            && let Some(record) = small.record()
            && let To::Call { answer, outcome: calls::ANSWERED } = record.to
            && answer.origin == self.rank.id()
        {
            self.calls.complete_short(answer, &small.body(record.body.len()));
            return self.servers.work();
        }
        self.receive(from, wire::bytes_of(m));
    }

    /// Handler: a batch.
    pub(crate) fn receive(&self, from: RankId, bytes: &[u8]) {
        let mut for_services = 0;
        for record in wire::records(bytes) {
            let record = self.checked(from, record);
            let To::Call { answer, outcome } = record.to else {
                for_services += 1;
                continue;
            };
            let came = if record.is_short() {
                Answered::new(record.body)
            } else {
                let (long_body, payloads) = self.take_payloads(from, &record);
                Answered::with_payloads(record.body, long_body, payloads)
            };
            self.calls.complete(from, answer, outcome, came);
        }
        if for_services > 0 {
            return self.keep(from, bytes);
        }
        // Tasks may have waited for these answers.
        self.servers.work();
    }

    /// A record that a rank has sent, if it is one, and names ranks of this job.
    #[inline]
    fn checked<'a>(
        &self,
        from: RankId,
        record: Result<ArrivedRecord<'a>, &'static str>,
    ) -> ArrivedRecord<'a> {
        let named = |record: &ArrivedRecord<'a>| record.is_possible(self.rank.id(), self.rank.size());
        match record {
            Ok(record) if named(&record) => record,
            Ok(_) => {
                self.garbled(from, "a record that names a rank that there is not, or another one's call")
            }
            Err(why) => self.garbled(from, why),
        }
    }

    /// The long body and the other payloads of a record.
    #[inline]
    fn take_payloads(&self, from: RankId, record: &ArrivedRecord<'_>) -> (Option<Payload>, Vec<Payload>) {
        if record.is_short() { Default::default() } else { self.take_rooms(from, record) }
    }

    fn take_rooms(&self, from: RankId, record: &ArrivedRecord<'_>) -> (Option<Payload>, Vec<Payload>) {
        let mut payloads = Vec::new();
        for key in record.keys() {
            let Some(payload) = self.payloads.take(from, key) else {
                self.garbled(from, "a record whose payload is not here");
            };
            self.outbox.has_served(from, payload.bytes().len());
            payloads.push(payload);
        }
        match record.whole {
            false => (None, payloads),
            true if payloads.is_empty() => self.garbled(from, "a record without its body"),
            true => (Some(payloads.remove(0)), payloads),
        }
    }

    /// Serves what has arrived, gives tasks that can go on a turn, and sends what is queued. Returns how many
    /// batches and tasks had their turn; nothing when the thread is serving already, or all ranks have left.
    pub fn serve(&'static self) -> usize {
        if context::serving() || self.calls.is_closed() {
            return 0;
        }
        let mut done = self.serve_hand();
        while done < TURN_BATCHES
            && let Some(batch) = self.servers.take(&self.inbox)
        {
            self.serve_batch(batch);
            done += 1;
        }
        if self.tasks.can_go_on() {
            done += Engine::without_waiting(|| self.tasks.run());
        }
        done += self.advance_payloads();
        self.go_on_with_parked();
        self.flush();
        self.tell_served();
        done
    }

    /// Serves what the thread has in hand; how many records.
    #[inline]
    pub(crate) fn serve_hand(&'static self) -> usize {
        if context::serving() {
            return 0;
        }
        let Some((from, small)) = hand::take(self.own) else { return 0 };
        // After the end of all ranks nothing is served.
        if self.calls.is_closed() {
            return 0;
        }
        let bytes = Engine::without_waiting(|| self.serve_small(from, &small));
        self.outbox.has_served(from, bytes);
        1
    }

    /// The thread does not wait any more: what it has in hand is for whoever serves next.
    #[inline]
    pub(crate) fn put_down(&self) {
        if let Some((from, small)) = hand::take(self.own) {
            self.keep_batch(ArrivedBatch { from, batch: Batch::Small(small) });
        }
    }

    /// Whether there is something for [`Engine::serve`] to do, as far as can be told without locks.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        // Relaxed: hints; who relies on them has a fence.
        !self.inbox.is_empty()
            || self.parked_count.load(Ordering::Relaxed) > 0
            || self.tasks.can_go_on()
            || self.payloads.is_busy()
            || self.outbox.is_dirty()
            || self.outbox.owes()
    }

    fn serve_batch(&'static self, batch: ArrivedBatch) {
        let own_bytes = Engine::without_waiting(|| match &batch.batch {
            Batch::Small(small) => self.serve_small(batch.from, small),
            Batch::Large(buffer) => self.serve_records(batch.from, buffer.bytes()),
        });
        self.outbox.has_served(batch.from, own_bytes);
        if let Batch::Large(buffer) = batch.batch {
            outbox::recycle(buffer);
        }
    }

    /// Serves a record that came alone, as most calls do; the bytes of those that do not go on.
    #[inline]
    fn serve_small(&'static self, from: RankId, small: &Small) -> usize {
        let possible = |record: &ArrivedRecord<'_>| record.is_possible(self.rank.id(), self.rank.size());
        let Some(ArrivedRecord { to: To::Service { service, answer }, body, .. }) =
            small.record().filter(possible)
        else {
            return self.serve_records(from, small.bytes());
        };
        let reading = context::set_reading(self.context());
        self.run(from, self.find(from, service), answer, body, Vec::new());
        context::set_reading(reading);
        self.have_served(1);
        Small::BYTES
    }

    /// Serves the records of a batch; the bytes of those that do not go on to other ranks.
    fn serve_records(&'static self, sender: RankId, all: &[u8]) -> usize {
        let (mut bytes, mut served) = (all.len(), 0);
        let before = TOGETHER.get();
        let reading = context::set_reading(self.context());
        // Records of a batch often name the same function.
        let mut known: Option<([u32; 2], &'static Service)> = None;
        for record in wire::records(all) {
            let record = self.checked(sender, record);
            TOGETHER.set(record.size() < all.len());
            let (service, from, answer) = match record.to {
                To::Service { service, answer } => (service, sender, answer),
                To::From { service, from } => (service, from, None),
                To::Onward { service, from, to } => {
                    let own = record.size();
                    bytes -= own;
                    self.go_on(Parked {
                        by: sender,
                        bytes: own,
                        from,
                        to,
                        service,
                        body: record.body.to_vec(),
                    });
                    continue;
                }
                // The handler has seen to it.
                To::Call { .. } => continue,
            };
            let service = match known {
                Some((number, known)) if number == service => known,
                _ => known.insert((service, self.find(sender, service))).1,
            };
            let (long_body, payloads) = self.take_payloads(sender, &record);
            let body = long_body.as_ref().map_or(record.body, Payload::bytes);
            self.run(from, service, answer, body, payloads);
            served += 1;
        }
        context::set_reading(reading);
        TOGETHER.set(before);
        self.have_served(served);
        bytes
    }

    /// The service of a number that a rank has sent.
    #[inline]
    fn find(&self, sender: RankId, number: [u32; 2]) -> &'static Service {
        match service::find(number) {
            Some(service) => service,
            None => self.garbled(sender, "a record for a function that this program does not have"),
        }
    }

    /// Runs a service.
    #[inline]
    fn run(
        &'static self,
        from: RankId,
        service: &'static Service,
        answer: Option<wire::Answer>,
        body: &[u8],
        payloads: Vec<Payload>,
    ) {
        let reply = answer.map(|answer| Reply::new(self, answer));
        let incoming = Incoming { engine: self, from, service, reply, body, payloads };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| service.run(incoming))) {
            self.has_panicked(from, service, &*panic);
        }
    }

    /// Nobody waits for the function: there is nobody to tell but all.
    #[cold]
    fn has_panicked(&self, from: RankId, service: &Service, panic: &(dyn Any + Send)) -> ! {
        self.rank.fatal(&format!(
            "a function that rank {from} has sent to rank {} has panicked there: {} ({})",
            self.rank.id(),
            calls::panic_text(panic),
            service.name()
        ));
    }

    /// Sends a record on, or keeps it until there is room.
    fn go_on(&self, record: Parked) {
        if !self.outbox.has_room(record.to) {
            let mut parked = lock(&self.parked);
            parked.push_back(record);
            // Relaxed: a hint; the lock hands the records over.
            self.parked_count.store(parked.len(), Ordering::Relaxed);
            return;
        }
        let Parked { by, bytes, from, to, service, body } = record;
        if self.outbox.append(to, &To::From { service, from }, &[], false, &body) {
            self.flush_to(to);
        }
        self.outbox.has_served(by, bytes);
    }

    /// Looks again whether there is room for records on their way to others.
    fn go_on_with_parked(&self) {
        // Relaxed: a hint, as where it is stored.
        if self.parked_count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let parked = {
            let mut parked = lock(&self.parked);
            self.parked_count.store(0, Ordering::Relaxed);
            core::mem::take(&mut *parked)
        };
        parked.into_iter().for_each(|record| self.go_on(record));
    }
}
