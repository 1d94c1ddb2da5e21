//! How messages call a rank: a program's language may have another word for it, and count from 1.

use gasnet_wire::boot::Blocked;

/// A word for a rank, and the number of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankName {
    word: &'static str,
    first: u32,
}

impl Default for RankName {
    fn default() -> RankName {
        RankName { word: "rank", first: 0 }
    }
}

impl RankName {
    /// In the messages of this command: those of `cafrun` are for Fortran programs.
    pub fn of(command: &str) -> RankName {
        if command == "cafrun" { RankName { word: "image", first: 1 } } else { RankName::default() }
    }

    /// The word: `rank`.
    pub fn word(self) -> &'static str {
        self.word
    }

    /// The word for several: `ranks`.
    pub fn several(self) -> String {
        format!("{}s", self.word)
    }

    /// The number of a rank.
    pub fn number(self, rank: u32) -> u32 {
        rank.saturating_add(self.first)
    }

    /// A rank: `rank 0`.
    pub fn rank(self, rank: impl TryInto<u32>) -> String {
        format!("{} {}", self.word, self.number(rank.try_into().unwrap_or(u32::MAX)))
    }

    /// The numbers of ranks: `0-3,5`.
    pub fn numbers(self, ranks: &[u32]) -> String {
        crate::ranges::ranges(&ranks.iter().map(|rank| self.number(*rank)).collect::<Vec<_>>())
    }

    /// A wait in words.
    pub fn wait(self, wait: &Blocked) -> String {
        wait.in_words_with(|peer| self.rank(peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_count_from_1() {
        let (ranks, images) = (RankName::of("gasnetrun"), RankName::of("cafrun"));
        assert_eq!((ranks.rank(0u32), images.rank(0u32)), ("rank 0".into(), "image 1".into()));
        assert_eq!(
            (ranks.numbers(&[0, 1, 2, 5]), images.numbers(&[0, 1, 2, 5])),
            ("0-2,5".into(), "1-3,6".into())
        );
    }
}
