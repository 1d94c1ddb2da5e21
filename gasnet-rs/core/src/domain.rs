//! Atomic domains: the words of one type that the ranks of a team change by a chosen set of functions.
//!
//! While a word belongs to a domain, everything that touches it goes through that domain, and such operations
//! are atomic with each other whoever starts them. A word may belong to one domain after the other:
//! operations on it are complete, and a barrier lies between. Where the word is mapped an operation is an
//! instruction here; elsewhere the owner's side does it ([`crate::atomics`]).
#![expect(unsafe_code, reason = "hands memory for old values to operations under way")]

use crate::atomics::{Function, Operation, WordType};
use crate::coll::Word;
use crate::rma::Pending;
use crate::team::Team;
use core::fmt;
use core::marker::PhantomData;
use gasnet_wire::event::Event;
use gasnet_wire::segment::GlobalPtr;

/// A set of functions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Functions(u32);

impl Functions {
    /// Whether it has this one.
    #[inline]
    pub fn has(self, function: Function) -> bool {
        self.0 >> function as u32 & 1 != 0
    }
}

impl FromIterator<Function> for Functions {
    fn from_iter<I: IntoIterator<Item = Function>>(all: I) -> Functions {
        Functions(all.into_iter().fold(0, |set, function| set | 1 << function as u32))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Function::ALL.into_iter().filter(|function| self.has(*function))).finish()
    }
}

/// A domain whose type of word is known when the program runs. Programs in Rust use [`AtomicDomain`].
#[derive(Debug)]
pub struct Domain {
    team: Team,
    word: WordType,
    functions: Functions,
}

impl Domain {
    /// Makes a domain. `also` is what else the members have to agree about, for layers above. Waits for all
    /// members.
    ///
    /// # Collective
    /// Over the team, with the same type and functions.
    ///
    /// # Panics
    /// Ends the job when members give different types or functions, or when the type lacks one of them.
    pub fn new(team: &Team, word: WordType, functions: Functions, also: u64) -> Domain {
        let (domain, mine) = Domain::alone(team, word, functions, also);
        domain.compare(mine, &team.gather_all(&[mine]));
        domain
    }

    /// [`Domain::new`] that does not wait for the other members: what they give is compared when it arrives,
    /// in a later call of the runtime. The domain can be used at once.
    ///
    /// # Collective
    /// # Panics
    /// As [`Domain::new`].
    pub fn start(team: &Team, word: WordType, functions: Functions, also: u64) -> Domain {
        let (domain, mine) = Domain::alone(team, word, functions, also);
        let same = Domain { team: team.clone(), word, functions };
        team.gather_all_nb(vec![mine]).then(move |all| same.compare(mine, &all));
        domain
    }

    /// A domain, and what all members have to give for it.
    fn alone(team: &Team, word: WordType, functions: Functions, also: u64) -> (Domain, [u64; 2]) {
        let lacks = |function: &Function| !Operation { function: *function, word }.is_defined();
        if let Some(wrong) = Function::ALL.into_iter().filter(|f| functions.has(*f)).find(lacks) {
            team.rank().fatal(&format!(
                "an atomic domain of {word:?} words cannot have {wrong:?}: for integers only"
            ));
        }
        let mine = [u64::from(functions.0) | (word as u64) << 32, also];
        (Domain { team: team.clone(), word, functions }, mine)
    }

    /// Ends the job if a member gave something else.
    fn compare(&self, mine: [u64; 2], all: &[[u64; 2]]) {
        let (team, word) = (&self.team, self.word);
        if let Some(other) = all.iter().position(|said| *said != mine) {
            let rank = team.rank_of(other).map_or(0, |rank| rank.0);
            let (said, own) = (all[other][0], self.functions);
            team.rank().fatal(&format!(
                "making an atomic domain: rank {} gives {word:?} and {own:?}, rank {rank} gives {:?} and {:?}{}: all members give the same",
                team.rank().id(),
                WordType::ALL[(said >> 32) as usize % WordType::ALL.len()],
                Functions(said as u32),
                if said == mine[0] { ", and other flags or operations" } else { "" },
            ));
        }
    }

    /// The team whose members use it.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The type of its words.
    pub fn word(&self) -> WordType {
        self.word
    }

    /// The functions that the domain allows.
    pub fn functions(&self) -> Functions {
        self.functions
    }

    /// The operation that a function is on its words.
    ///
    /// # Panics
    /// Ends the job when the domain was made without the function.
    #[inline]
    pub fn operation(&self, function: Function) -> Operation {
        if !self.functions.has(function) {
            self.refuse(function);
        }
        Operation { function, word: self.word }
    }

    #[cold]
    fn refuse(&self, function: Function) -> ! {
        self.team.rank().fatal(&format!(
            "{function:?} is not in the atomic domain, which was made for {:?}: name it where the domain is made",
            self.functions
        ))
    }
}

/// An atomic domain of words of a type.
///
/// ```no_run
/// # fn demo(rank: &'static gasnet::Rank) -> Result<(), gasnet::Error> {
/// use gasnet::atomics::Function::{Add, Get};
/// let counter = rank.allocate_array::<u64>(1)?.on(gasnet::RankId(0));
/// let domain = gasnet::AtomicDomain::<u64>::new(&rank.team_all(), &[Add, Get]);
/// let mine = domain.apply(counter, Add, 1, 0);
/// # let _ = mine; Ok(()) }
/// ```
#[derive(Debug)]
pub struct AtomicDomain<T: Word> {
    domain: Domain,
    _type: PhantomData<T>,
}

fn bits<T: Word>(value: T) -> u64 {
    let mut word = [0; 8];
    let bytes = bytemuck::bytes_of(&value);
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

impl<T: Word> AtomicDomain<T> {
    /// Makes a domain for these functions. The word types are those of [`Word`].
    ///
    /// # Collective
    /// Over the team, with the same functions.
    ///
    /// # Panics
    /// Ends the job when members differ, or when the type lacks one of the functions.
    pub fn new(team: &Team, functions: &[Function]) -> AtomicDomain<T> {
        let domain = Domain::new(team, T::TYPE, functions.iter().copied().collect(), 0);
        AtomicDomain { domain, _type: PhantomData }
    }

    /// The team whose members use it.
    pub fn team(&self) -> &Team {
        self.domain.team()
    }

    fn check(&self, at: GlobalPtr<T>) {
        if self.domain.team.member(at.rank()).is_none() {
            let rank = self.domain.team.rank();
            rank.fatal(&format!(
                "an atomic operation on rank {}, which is not in the team of the domain ({:?})",
                at.rank(),
                self.domain.team
            ));
        }
    }

    /// Does a function to a word, and returns what the word was.
    ///
    /// # One-sided
    /// # Completion
    /// On return it is done.
    ///
    /// # Panics
    /// Ends the job when the word is outside the segment, not aligned, or of a rank outside the team, or when
    /// the domain lacks the function.
    #[inline]
    pub fn apply(&self, at: GlobalPtr<T>, function: Function, a: T, b: T) -> T {
        self.check(at);
        let op = self.domain.operation(function);
        let old = self.domain.team.rank().atomics().apply(at.rank(), at.offset(), op, bits(a), bits(b));
        bytemuck::pod_read_unaligned(&old.to_le_bytes()[..size_of::<T>()])
    }

    /// Starts [`apply`](Self::apply).
    pub fn start(&self, at: GlobalPtr<T>, function: Function, a: T, b: T) -> PendingWord<'_, T> {
        self.check(at);
        let op = self.domain.operation(function);
        let rank = self.domain.team.rank();
        let mut old = vec![T::zeroed()];
        let to = old.as_mut_ptr().cast();
        // SAFETY: the buffer lives in the handle, which gives it up only when the operation is complete, and
        // leaks it if forgotten.
        let event = unsafe { rank.atomics().apply_nb(at.rank(), at.offset(), op, [bits(a), bits(b)], to) };
        PendingWord(Pending::of(rank, event, old))
    }

    /// Starts [`apply`](Self::apply) for nothing but its effect; the event is done when that is there.
    pub fn update(&self, at: GlobalPtr<T>, function: Function, a: T, b: T) -> Event {
        self.check(at);
        let op = self.domain.operation(function);
        let rank = self.domain.team.rank();
        // SAFETY: no memory of the caller.
        unsafe {
            rank.atomics().apply_nb(at.rank(), at.offset(), op, [bits(a), bits(b)], core::ptr::null_mut())
        }
    }
}

/// An atomic operation under way. Dropping it waits.
#[must_use = "dropping the handle waits for the operation"]
#[derive(Debug)]
pub struct PendingWord<'a, T: Word>(Pending<'a, T>);

impl<T: Word> PendingWord<'_, T> {
    /// Waits; what the word was before.
    pub fn wait(self) -> T {
        self.0.wait()[0]
    }

    /// Polls once and says whether the operation is done; [`PendingWord::wait`] then returns at once.
    pub fn test(&mut self) -> bool {
        self.0.test()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sets_name_their_functions() {
        let set: Functions = [Function::Add, Function::CompareSwap].into_iter().collect();
        assert_eq!(format!("{set:?}"), "{Add, CompareSwap}");
        assert!(set.has(Function::Add) && !set.has(Function::Sub));
        assert_eq!(bits(-1i32), u64::from(u32::MAX));
        assert_eq!(bits(1.5f64), 1.5f64.to_bits());
    }
}
