//! Who asks the network: one look serves all kinds of polls.
//!
//! A look can cost system calls, and brings requests, replies and completions alike. The core polls for each
//! of them in turn; a poll that follows one of another kind's look need not look again.

/// Which kinds of polls came since the last look.
#[derive(Debug, Default)]
pub struct Looks {
    seen: u8,
}

impl Looks {
    /// Whether a poll of this kind (a small number), which found nothing, has to look.
    #[inline]
    pub fn is_due(&mut self, kind: usize) -> bool {
        let bit = 1 << kind;
        let again = self.seen == 0 || self.seen & bit != 0;
        self.seen = if again { bit } else { self.seen | bit };
        again
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_look_a_round() {
        let mut all = Looks::default();
        let looks = |all: &mut Looks, kinds: &[usize]| kinds.iter().filter(|k| all.is_due(**k)).count();
        assert_eq!(looks(&mut all, &[1, 0, 2, 1, 0, 2, 1, 0, 2]), 3);
        assert_eq!(looks(&mut all, &[1, 1, 1, 1]), 4, "a wait for room to reply looks each time");
        assert_eq!(looks(&mut all, &[0, 2, 0, 2]), 1);
    }
}
