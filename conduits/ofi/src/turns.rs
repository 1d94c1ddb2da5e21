//! Who makes progress: one look at the network serves all three kinds of polls.
//!
//! A look costs system calls with some providers, and brings requests, replies and completions alike. The core polls for each of
//! them in turn; a poll that follows one of another kind's look need not look again.

/// Which kinds of polls came since the last look.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    seen: u8,
}

impl Turns {
    /// Whether a poll of this kind, which found nothing, has to look.
    pub(crate) fn is_mine(&mut self, kind: usize) -> bool {
        let bit = 1 << kind;
        let again = self.seen == 0 || self.seen & bit != 0;
        self.seen = if again { bit } else { self.seen | bit };
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_a_round() {
        let mut turns = Turns::default();
        let looks = |turns: &mut Turns, kinds: &[usize]| kinds.iter().filter(|k| turns.is_mine(**k)).count();
        assert_eq!(looks(&mut turns, &[1, 0, 2, 1, 0, 2, 1, 0, 2]), 3);
        assert_eq!(looks(&mut turns, &[1, 1, 1, 1]), 4, "a wait for room to reply looks each time");
        assert_eq!(looks(&mut turns, &[0, 2, 0, 2]), 1);
    }
}
