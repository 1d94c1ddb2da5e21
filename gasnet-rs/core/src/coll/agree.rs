//! Whether the members of a team mean the same operation.
//!
//! All members start the operations of a team in the same order, with the same kinds, sizes, roots and modes.
//! If a member does not, the job ends with a message that has the ranks, kinds and sizes of both sides. Each
//! rank has a [`Record`] of every team, which contains its last operations.
//!
//! - *Messages* say which operation they belong to ([`Signature::short`]). It is compared with the record
//!   when a message arrives, or when the operation is started here, if that is later.
//! - *Tables* count the members that arrive. The word of the count also contains the sum of what they are
//!   doing ([`Table::arrive`](super::table::Table::arrive)). Each member compares the sum of those before it
//!   with its own value.
//! - *NICs* send a word before each block, and as each signal. Hosts compare the words when the operation is
//!   over, before they use the data ([`nic`](super::nic)).
//! - *Waits* that take longer than a second [ask](crate::Rank::ask_about_collectives) a member on which they
//!   depend, and send the whole record. So members that wait in different places, at different operations or
//!   by different paths get an error instead of a hang: in a chain of members that wait for each other, two
//!   neighbours disagree. A member is not asked again before it has answered, nor before either side has
//!   started another operation.
#![expect(unsafe_code, reason = "sends the words of a record")]

use super::mail;
use super::record::{About, Record, Signature};
use crate::coll::members::Members;
use crate::{Rank, RankId};
use core::sync::atomic::Ordering::Relaxed;
use gasnet_wire::am::{Kind, Message, Outgoing, Served, Token, join, nonsense};
use gasnet_wire::conduit::Channel;
use gasnet_wire::shm::map;
use std::time::Duration;

/// Numbers of this module's messages among the core's own messages.
pub(crate) const FIRST: u8 = mail::LAST + 1;
const ASK: u8 = FIRST;
const TOLD: u8 = FIRST + 1;
/// The last of them.
pub(crate) const LAST: u8 = TOLD;

/// Who serves the messages of this module.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, _| wire.note_lost(to),
};

/// Serves a question or its answer.
fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    // Relaxed: a hint for waits.
    rank.wire.questions.fetch_add(1, Relaxed);
    match (index, m.args) {
        (ASK, &[team, started, member, operation, step, lo, hi]) if token.is_request() => {
            let record = rank.coll.mail.record(team);
            record.compare(rank, token.source(), started, m.bytes());
            rank.coll.mail.compare_length(
                rank,
                token.source(),
                [team, operation, step, member],
                join(lo, hi) as usize,
            );
            if let Err(e) = token.answer(TOLD, &[team, record.started()]) {
                rank.fatal(&e.to_string());
            }
        }
        (TOLD, &[team, started]) if !token.is_request() => {
            rank.coll.mail.record(team).answered(token.source(), started);
        }
        _ => nonsense(token, "a question about collectives that is none"),
    }
}

/// Sends a record to a peer, which compares it with its own.
fn ask(rank: &Rank, record: &Record, peer: RankId, about: About) {
    let Some((started, words)) = record.question(peer, about) else { return };
    let (payload, len) = (words.as_flattened(), about.len as u64);
    let args =
        [record.team(), started, about.member, about.operation, about.step, len as u32, (len >> 32) as u32];
    let (src, len) = (payload.as_ptr(), payload.len());
    let out = Outgoing { kind: Kind::Medium, handler: ASK, args: &args, src, len, dst: 0 };
    // SAFETY: a slice is valid for its length.
    if let Err(e) = unsafe { rank.wire.send(Channel::Request, peer, out) } {
        rank.fatal(&e.to_string());
    }
}

/// Length of a wait before it asks other members, and time between its questions.
const TIME_BEFORE_QUESTION: Duration = Duration::from_secs(1);

impl Rank {
    /// Called by waits that take long: asks the members on whom this rank's collective operations depend
    /// whether they do the same.
    #[cold]
    pub(crate) fn ask_about_collectives(&self, waited: Duration) {
        let now = map::last_tick().as_millis() as u64;
        let due = self.coll.ask_at.load(Relaxed);
        if waited < TIME_BEFORE_QUESTION || now < due {
            return;
        }
        let next = now + TIME_BEFORE_QUESTION.as_millis() as u64;
        // Relaxed: that one thread does it is all.
        if self.coll.ask_at.compare_exchange(due, next, Relaxed, Relaxed).is_err() {
            return;
        }
        let (mails, teams) = (self.coll.mail.awaited(), self.coll.teams());
        for team in teams {
            for (peer, about) in mails.iter().filter(|m| m.0 == team.id).map(|m| (m.1, m.2)) {
                if let Some(peer) = team.ranks.get(peer as usize) {
                    ask(self, &team.record, peer, About { member: team.me as u32, ..about });
                }
            }
            if team.takes_turns() {
                let right = team.ranks.of((team.me + 1) % team.ranks.len());
                ask(self, &team.record, right, About { member: team.me as u32, ..About::default() });
            }
        }
    }

    /// Members that do different things have met at a table. One of the other members finds out which ones.
    #[cold]
    pub(crate) fn part(&self, team: &Members, number: u32, what: Signature, other: (RankId, Signature)) -> ! {
        for peer in team.ranks.iter().filter(|r| *r != self.id()) {
            ask(self, &team.record, peer, About { member: team.me as u32, ..About::default() });
        }
        let since = map::monotonic();
        self.wait_until("the reason why collective operations do not match", || {
            map::monotonic().saturating_sub(since) > 5 * TIME_BEFORE_QUESTION
        });
        // Those members do not look for messages.
        team.record.differ(self, number, (self.id(), what), other)
    }
}
