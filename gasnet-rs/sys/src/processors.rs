//! The processors on which threads run.
#![expect(unsafe_code, reason = "sched_getaffinity and friends")]

/// Words of a [`Set`].
pub const SET_WORDS: usize = 16;

/// A set of processors, a bit each.
pub type Set = [u64; SET_WORDS];

/// The processors that the calling thread may run on; empty if the system does not tell.
pub fn allowed() -> Set {
    let mut set: Set = [0; SET_WORDS];
    // SAFETY: a query with room for the answer.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<Set>(), set.as_mut_ptr().cast()) };
    if result == 0 { set } else { [0; SET_WORDS] }
}

/// The numbers in a set, ascending.
pub fn numbers(set: &Set) -> impl Iterator<Item = usize> + '_ {
    (0..SET_WORDS * 64).filter(|cpu| set[cpu / 64] >> (cpu % 64) & 1 == 1)
}

/// The set of these numbers; numbers too large for a set are ignored.
pub fn set_of(numbers: impl IntoIterator<Item = usize>) -> Set {
    let mut set = [0; SET_WORDS];
    for cpu in numbers {
        if let Some(word) = set.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    set
}

/// Makes the calling thread run on these processors. Returns whether the system accepted.
pub fn run_on(set: &Set) -> bool {
    // SAFETY: a set of that size.
    unsafe { libc::sched_setaffinity(0, size_of::<Set>(), set.as_ptr().cast()) == 0 }
}

/// The processor that the calling thread runs on.
#[inline]
pub fn current() -> u32 {
    // SAFETY: a query; it fails on no kernel that is supported, and then returns -1.
    unsafe { libc::sched_getcpu() as u32 & 0xffff }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_is_told() {
        let before = allowed();
        for cpu in numbers(&before).take(4) {
            assert!(run_on(&set_of([cpu])));
            assert_eq!((current() as usize, allowed()), (cpu, set_of([cpu])));
        }
        assert!(run_on(&before) && !run_on(&set_of([])));
        assert_eq!(set_of([usize::MAX]), set_of([]));
    }
}
