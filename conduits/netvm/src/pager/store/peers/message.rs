//! Messages between the stores of ranks.

/// The longest message.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32;

/// A batch's key, and where the first slot of its rank is. A batch has another key each time it is lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) key: u64,
    pub(crate) at: u64,
}

/// A message; the table in the module's docs says what each means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Offer { free: u32, at: u64 },
    Ask,
    Grant { batch: u32, free: u32, key: u64 },
    Refuse,
    Recall { batch: u32 },
    Return { batch: u32 },
    Leave,
    Gone,
}

impl Message {
    /// Its bytes.
    pub(crate) fn encode(self) -> [u8; MAX_MESSAGE_BYTES] {
        let words: [u64; 4] = match self {
            Message::Offer { free, at } => [1, free.into(), at, 0],
            Message::Ask => [2, 0, 0, 0],
            Message::Grant { batch, free, key } => [3, batch.into(), free.into(), key],
            Message::Refuse => [4, 0, 0, 0],
            Message::Recall { batch } => [5, batch.into(), 0, 0],
            Message::Return { batch } => [6, batch.into(), 0, 0],
            Message::Leave => [7, 0, 0, 0],
            Message::Gone => [8, 0, 0, 0],
        };
        let mut bytes = [0; MAX_MESSAGE_BYTES];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// The message of these bytes, if they are one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Message> {
        let word = |i: usize| bytes.get(8 * i..8 * i + 8)?.try_into().ok().map(u64::from_le_bytes);
        let number = |i: usize| u32::try_from(word(i)?).ok();
        Some(match word(0)? {
            1 => Message::Offer { free: number(1)?, at: word(2)? },
            2 => Message::Ask,
            3 => Message::Grant { batch: number(1)?, free: number(2)?, key: word(3)? },
            4 => Message::Refuse,
            5 => Message::Recall { batch: number(1)? },
            6 => Message::Return { batch: number(1)? },
            7 => Message::Leave,
            8 => Message::Gone,
            _ => return None,
        })
    }
}
