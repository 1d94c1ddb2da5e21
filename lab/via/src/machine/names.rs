//! Names of ranks: each keeps its own, and is asked for them.

use super::{Machine, send};
use crate::memory::Region;
use crate::table::Table;
use crate::terms::{NicId, ViaError};
use crate::wire::Packet;
use std::collections::{BTreeMap, BTreeSet};

/// Names by rank.
pub(crate) type Known = BTreeMap<u32, Vec<String>>;

#[derive(Debug, Clone, Default)]
struct Question {
    /// Ranks that have not answered.
    open: BTreeSet<u32>,
    known: Known,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    own: Vec<(NicId, String)>,
    questions: Table<Question>,
}

impl<R: Region> Machine<R> {
    /// This rank is known by one more name.
    pub(crate) fn publish(&mut self, nic: NicId, name: String) -> Result<(), ViaError> {
        self.check_nic(nic)?;
        self.names.own.push((nic, name));
        Ok(())
    }

    /// It is not known by the names of a NIC handle any more.
    pub(crate) fn unpublish(&mut self, nic: NicId) {
        self.names.own.retain(|(of, _)| *of != nic);
    }

    /// Asks ranks for their names. Returns the question's number.
    pub(crate) fn ask_names(&mut self, ranks: impl Iterator<Item = u32>) -> u32 {
        self.slow_calls += 1;
        let open: BTreeSet<u32> = ranks.collect();
        let question = self.names.questions.add(Question { open: open.clone(), known: Known::new() });
        open.into_iter().for_each(|rank| send(&mut self.out, rank, &Packet::Names { question }));
        question
    }

    /// The answers, once all ranks have answered that have not left. Then the question is forgotten.
    pub(crate) fn answered(&mut self, question: u32) -> Option<Known> {
        self.names.questions.get(question).filter(|q| q.open.is_empty())?;
        self.names.questions.remove(question).map(|q| q.known)
    }

    /// Ranks that have not answered.
    pub(super) fn asked(&self) -> impl Iterator<Item = u32> {
        self.names.questions.iter().flat_map(|(_, question)| question.open.iter().copied())
    }

    /// A rank has left, and does not answer.
    pub(super) fn answers_no_more(&mut self, rank: u32) {
        self.names.questions.each(|question| {
            question.open.remove(&rank);
        });
    }

    pub(super) fn handle_names(&mut self, from: u32, packet: Packet) -> bool {
        match packet {
            Packet::Names { question } => {
                let names = self.names.own.iter().map(|(_, name)| name.clone()).collect();
                send(&mut self.out, from, &Packet::Named { question, names });
                true
            }
            Packet::Named { question, names } => {
                let Some(asked) = self.names.questions.get_mut(question) else { return false };
                let waited_for = asked.open.remove(&from);
                if waited_for {
                    asked.known.insert(from, names);
                }
                waited_for
            }
            _ => false,
        }
    }
}
