//! The contributions of all ranks to an exchange, and values derived from them.
//!
//! Usually a process has one rank. Where it has thousands (simulations), they share one [`Gathered`] for each
//! exchange, and what each of them needs of it: the first one makes it ([`Gathered::derive`]).

use crate::{Error, RankId};
use core::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// The contributions of all ranks to one exchange.
#[derive(Debug)]
pub struct Gathered {
    bytes: Box<[u8]>,
    /// Where the part of each rank ends.
    ends: Box<[usize]>,
    /// Whether several ranks have it.
    common: bool,
    derived: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl Gathered {
    /// Of the parts of all ranks, by rank.
    pub fn new<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Gathered {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for part in parts {
            bytes.extend_from_slice(part.as_ref());
            ends.push(bytes.len());
        }
        Gathered { bytes: bytes.into(), ends: ends.into(), common: false, derived: Mutex::default() }
    }

    /// The same, said to be common to ranks of this process.
    pub fn in_common(mut self) -> Gathered {
        self.common = true;
        self
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.ends.len()
    }

    /// The contribution of a rank; empty for ranks that do not exist.
    pub fn of(&self, rank: RankId) -> &[u8] {
        let at = rank.0 as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        self.ends.get(at).map_or(&[], |end| &self.bytes[begin..*end])
    }

    /// The contributions of all ranks, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// A value that is derived from the contributions and is the same for every rank. The first rank that
    /// asks for a `T` makes it.
    ///
    /// # Errors
    /// Those of `make`; the next rank tries again.
    pub fn derive<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Gathered) -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = derived.iter().find_map(|made| made.clone().downcast::<T>().ok()) {
            return Ok(made);
        }
        let made = Arc::new(make(self)?);
        derived.push(made.clone());
        Ok(made)
    }

    /// The numbers of eight bytes that all gave.
    ///
    /// # Errors
    /// Some part is none, or there are not `size` parts.
    pub fn numbers(&self, size: u32) -> Result<Arc<Vec<u64>>, Error> {
        self.derive(|all| {
            let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
            let numbers: Option<Vec<u64>> = all.parts().map(number).collect();
            numbers
                .filter(|all| all.len() == size as usize)
                .ok_or_else(|| Error::job("an exchange at start gave an invalid result"))
        })
    }

    /// Whether ranks of this process have it in common.
    pub fn is_common(&self) -> bool {
        self.common
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_that_were_given() {
        let all = Gathered::new([&b"ab"[..], b"", b"cde"]);
        assert_eq!((all.ranks(), all.of(RankId(0)), all.of(RankId(1))), (3, &b"ab"[..], &b""[..]));
        assert_eq!((all.of(RankId(2)), all.of(RankId(3))), (&b"cde"[..], &b""[..]));
        assert_eq!(all.parts().collect::<Vec<_>>(), [&b"ab"[..], b"", b"cde"]);
        assert!(all.numbers(3).is_err(), "a part that is no number");
        assert_eq!(Gathered::new([] as [&[u8]; 0]).ranks(), 0);
    }

    #[test]
    fn what_follows_is_made_once() {
        let all = Gathered::new([7u64.to_le_bytes(), 9u64.to_le_bytes()]);
        let first = all.numbers(2).unwrap();
        assert!(*first == [7, 9] && Arc::ptr_eq(&first, &all.numbers(2).unwrap()));
        assert!(Gathered::new([[0; 8]]).numbers(2).is_err(), "too few");
    }
}
