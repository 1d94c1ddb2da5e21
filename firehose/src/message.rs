//! The messages between nodes, and their form on the wire.
//!
//! Little endian: a byte that names the kind, then its fields. A list begins with its length. All input is
//! checked while it is read, and no length is trusted before the bytes are there.

use crate::registrar::PinError;
use crate::request::Direction;
use crate::run::{BUCKET_BITS, Held, Keys, Run};

/// Why a node asks a peer to pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// For one transfer; a [`Message::Finish`] follows.
    Once,
    /// For all later transfers.
    Keep,
}

/// The answer for a list of buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Keys in the order of the buckets asked for. The keys of failed buckets mean nothing.
    pub keys: Keys,
    /// Buckets that could not be pinned.
    pub failed: Vec<(u64, PinError)>,
}

/// A message between nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Firehose: drop some firehoses, take others.
    Move {
        /// The sender's id for it.
        id: u64,
        /// Buckets whose firehoses the sender drops.
        release: Vec<Held>,
        /// Buckets that the sender wants.
        acquire: Vec<Run>,
    },
    /// Answers `Move`.
    Moved {
        /// The id from the `Move`.
        id: u64,
        /// Its buckets.
        granted: Granted,
    },
    /// These registrations of the sender are void.
    Invalidate {
        /// Buckets and keys.
        held: Vec<Held>,
    },
    /// Rendezvous: pin, so that I can transfer.
    Ask {
        /// The sender's id for it.
        id: u64,
        /// Buckets that the sender wants.
        run: Run,
        /// Purpose of the pin.
        purpose: Purpose,
    },
    /// Answers `Ask`.
    Answer {
        /// The id from the `Ask`.
        id: u64,
        /// Its buckets.
        granted: Granted,
    },
    /// The transfer that `Ask` was for is over.
    Finish {
        /// The buckets.
        run: Run,
        /// Their keys.
        keys: Keys,
    },
    /// Bounce: store the data that comes with this message.
    Store {
        /// The sender's id for it.
        id: u64,
        /// Address of the destination.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Bounce: send me data.
    Load {
        /// The sender's id for it.
        id: u64,
        /// Address of the data.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Answers `Store`, or `Load` with the data.
    Bounced {
        /// The id from the `Store` or `Load`.
        id: u64,
        /// Which of the two is answered.
        direction: Direction,
    },
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message is cut short.
    #[error("message cut short")]
    Short,
    /// A field has an impossible value.
    #[error("message with an impossible field")]
    Field,
    /// Bytes follow the message.
    #[error("{0} bytes after a message")]
    Rest(usize),
}

impl Message {
    /// Appends the wire form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer(out);
        match self {
            Message::Move { id, release, acquire } => {
                w.byte(0);
                w.word(*id);
                w.held(release);
                w.length(acquire.len());
                acquire.iter().for_each(|run| w.run(*run));
            }
            Message::Moved { id, granted } => {
                w.byte(1);
                w.word(*id);
                w.granted(granted);
            }
            Message::Invalidate { held } => {
                w.byte(2);
                w.held(held);
            }
            Message::Ask { id, run, purpose } => {
                w.byte(3);
                w.word(*id);
                w.run(*run);
                w.byte(matches!(purpose, Purpose::Keep).into());
            }
            Message::Answer { id, granted } => {
                w.byte(4);
                w.word(*id);
                w.granted(granted);
            }
            Message::Finish { run, keys } => {
                w.byte(5);
                w.run(*run);
                w.keys(keys);
            }
            Message::Store { id, addr, len } => {
                w.byte(6);
                [id, addr, len].into_iter().for_each(|word| w.word(*word));
            }
            Message::Load { id, addr, len } => {
                w.byte(7);
                [id, addr, len].into_iter().for_each(|word| w.word(*word));
            }
            Message::Bounced { id, direction } => {
                w.byte(8);
                w.word(*id);
                w.byte(matches!(direction, Direction::Get).into());
            }
        }
    }

    /// Reads a message that fills all of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let mut r = Reader(bytes);
        let message = match r.byte()? {
            0 => Message::Move { id: r.word()?, release: r.held()?, acquire: r.list(16, |r| r.run())? },
            1 => Message::Moved { id: r.word()?, granted: r.granted()? },
            2 => Message::Invalidate { held: r.held()? },
            3 => Message::Ask {
                id: r.word()?,
                run: r.run()?,
                purpose: if r.flag()? { Purpose::Keep } else { Purpose::Once },
            },
            4 => Message::Answer { id: r.word()?, granted: r.granted()? },
            5 => Message::Finish { run: r.run()?, keys: r.keys()? },
            6 => Message::Store { id: r.word()?, addr: r.word()?, len: r.word()? },
            7 => Message::Load { id: r.word()?, addr: r.word()?, len: r.word()? },
            8 => Message::Bounced {
                id: r.word()?,
                direction: if r.flag()? { Direction::Get } else { Direction::Put },
            },
            _ => return Err(DecodeError::Field),
        };
        if r.0.is_empty() { Ok(message) } else { Err(DecodeError::Rest(r.0.len())) }
    }

    /// Length of the wire form in bytes.
    pub fn wire_bytes(&self) -> usize {
        let keys = |keys: &Keys| match keys {
            Keys::Uniform(_) => 9,
            Keys::Each(keys) => 9 + 8 * keys.len(),
        };
        let granted = |granted: &Granted| keys(&granted.keys) + 8 + 13 * granted.failed.len();
        1 + match self {
            Message::Move { release, acquire, .. } => 8 + 8 + 24 * release.len() + 8 + 16 * acquire.len(),
            Message::Moved { granted: g, .. } | Message::Answer { granted: g, .. } => 8 + granted(g),
            Message::Invalidate { held } => 8 + 24 * held.len(),
            Message::Ask { .. } => 8 + 16 + 1,
            Message::Finish { keys: k, .. } => 16 + keys(k),
            Message::Store { .. } | Message::Load { .. } => 24,
            Message::Bounced { .. } => 9,
        }
    }
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn word(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.word(length as u64);
    }

    fn run(&mut self, run: Run) {
        self.word(run.first);
        self.word(run.count);
    }

    fn held(&mut self, held: &[Held]) {
        self.length(held.len());
        for one in held {
            self.run(one.run);
            self.word(one.key);
        }
    }

    fn keys(&mut self, keys: &Keys) {
        match keys {
            Keys::Uniform(key) => {
                self.byte(0);
                self.word(*key);
            }
            Keys::Each(keys) => {
                self.byte(1);
                self.length(keys.len());
                keys.iter().for_each(|key| self.word(*key));
            }
        }
    }

    fn granted(&mut self, granted: &Granted) {
        self.keys(&granted.keys);
        self.length(granted.failed.len());
        for (bucket, error) in &granted.failed {
            self.word(*bucket);
            let (kind, number) = match error {
                PinError::Unmapped => (0, 0),
                PinError::Limit => (1, 0),
                PinError::System(number) => (2, *number),
            };
            self.byte(kind);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Field),
        }
    }

    fn word(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A list of things of at least `bytes` bytes each.
    fn list<T>(
        &mut self,
        bytes: usize,
        mut one: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let length = self.word()?;
        if length > (self.0.len() / bytes) as u64 {
            return Err(DecodeError::Short);
        }
        (0..length).map(|_| one(self)).collect()
    }

    fn run(&mut self) -> Result<Run, DecodeError> {
        let run = Run { first: self.word()?, count: self.word()? };
        let end = run.first.checked_add(run.count).ok_or(DecodeError::Field)?;
        if run.count == 0 || end >= 1 << BUCKET_BITS {
            return Err(DecodeError::Field);
        }
        Ok(run)
    }

    fn held(&mut self) -> Result<Vec<Held>, DecodeError> {
        self.list(24, |r| Ok(Held { run: r.run()?, key: r.word()? }))
    }

    fn keys(&mut self) -> Result<Keys, DecodeError> {
        Ok(match self.flag()? {
            false => Keys::Uniform(self.word()?),
            true => Keys::Each(self.list(8, |r| r.word())?.into()),
        })
    }

    fn granted(&mut self) -> Result<Granted, DecodeError> {
        let keys = self.keys()?;
        let failed = self.list(13, |r| {
            let (bucket, kind, number) = (r.word()?, r.byte()?, i32::from_le_bytes(r.array()?));
            let error = match (kind, number) {
                (0, 0) => PinError::Unmapped,
                (1, 0) => PinError::Limit,
                (2, number) => PinError::System(number),
                _ => return Err(DecodeError::Field),
            };
            Ok((bucket, error))
        })?;
        Ok(Granted { keys, failed })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run() -> impl Strategy<Value = Run> {
        (0..1u64 << 40, 1..1u64 << 20).prop_map(|(first, count)| Run { first, count })
    }

    fn held() -> impl Strategy<Value = Vec<Held>> {
        prop::collection::vec((run(), any::<u64>()).prop_map(|(run, key)| Held { run, key }), 0..5)
    }

    fn keys() -> impl Strategy<Value = Keys> {
        let each = prop::collection::vec(any::<u64>(), 0..5).prop_map(|keys| Keys::Each(keys.into()));
        prop_oneof![any::<u64>().prop_map(Keys::Uniform), each]
    }

    fn granted() -> impl Strategy<Value = Granted> {
        let error = prop_oneof![
            Just(PinError::Unmapped),
            Just(PinError::Limit),
            any::<i32>().prop_map(PinError::System)
        ];
        let failed = prop::collection::vec((any::<u64>(), error), 0..4);
        (keys(), failed).prop_map(|(keys, failed)| Granted { keys, failed })
    }

    fn message() -> impl Strategy<Value = Message> {
        let id = any::<u64>;
        let purpose = prop_oneof![Just(Purpose::Once), Just(Purpose::Keep)];
        let direction = prop_oneof![Just(Direction::Put), Just(Direction::Get)];
        let words = || (id(), id(), id());
        prop_oneof![
            (id(), held(), prop::collection::vec(run(), 0..5))
                .prop_map(|(id, release, acquire)| Message::Move { id, release, acquire }),
            (id(), granted()).prop_map(|(id, granted)| Message::Moved { id, granted }),
            held().prop_map(|held| Message::Invalidate { held }),
            (id(), run(), purpose).prop_map(|(id, run, purpose)| Message::Ask { id, run, purpose }),
            (id(), granted()).prop_map(|(id, granted)| Message::Answer { id, granted }),
            (run(), keys()).prop_map(|(run, keys)| Message::Finish { run, keys }),
            words().prop_map(|(id, addr, len)| Message::Store { id, addr, len }),
            words().prop_map(|(id, addr, len)| Message::Load { id, addr, len }),
            (id(), direction).prop_map(|(id, direction)| Message::Bounced { id, direction }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]

        #[test]
        fn what_is_read_is_what_was_written(message in message(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), message.wire_bytes());
            prop_assert_eq!(Message::decode(&bytes), Ok(message));
            prop_assert!(Message::decode(&bytes[..cut.index(bytes.len())]).is_err());
            bytes.push(0);
            prop_assert!(Message::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            message in message(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            // The encoding of what was accepted is what was read.
            if let Ok(message) = Message::decode(&bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
