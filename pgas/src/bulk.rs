//! Much plain data, sent in place.

use crate::args::Plain;
use crate::body;
use core::marker::PhantomData;
use core::ops::Deref;
use gasnet_rpc::{Payload, Source};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Fewer bytes travel within the message: to put them in place takes a round trip more.
const LEAST_IN_PLACE: usize = 4096;

/// Much plain data as an argument or a result, or as a part of one. It is sent from the memory it lies in and
/// arrives in the memory it is read from, without a copy between, whatever its size. Clones share the data,
/// so one can be sent to many ranks.
///
/// ```no_run
/// use pgas::Bulk;
/// # pgas::run(|world| {
/// let field = Bulk::from(vec![1.5f64; 1 << 20]);
/// let doubled = world.call(1, |_, field: Bulk<f64>| Bulk::from(field.iter().map(|x| 2.0 *
/// x).collect::<Vec<_>>()), field).wait(); assert_eq!(doubled[17], 3.0);
/// # })
/// ```
pub struct Bulk<T: Plain>(Arc<Inner<T>>);

enum Inner<T> {
    Own(Vec<T>),
    /// Words, and how many bytes of them.
    Came(Vec<u64>, usize),
}

impl<T: Plain> Inner<T> {
    fn values(&self) -> &[T] {
        match self {
            Inner::Own(values) => values,
            Inner::Came(words, len) => bytemuck::cast_slice(&bytemuck::cast_slice::<u64, u8>(words)[..*len]),
        }
    }
}

impl<T: Plain + Sync> Source for Inner<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.values())
    }
}

impl<T: Plain> Clone for Bulk<T> {
    fn clone(&self) -> Self {
        Bulk(self.0.clone())
    }
}

impl<T: Plain> core::fmt::Debug for Bulk<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Bulk({} x {})", self.len(), core::any::type_name::<T>())
    }
}

impl<T: Plain> From<Vec<T>> for Bulk<T> {
    fn from(values: Vec<T>) -> Self {
        const {
            assert!(
                align_of::<T>() <= 8 && size_of::<T>() > 0,
                "elements of 1 byte or more, aligned to 8 at most"
            )
        }
        Bulk(Arc::new(Inner::Own(values)))
    }
}

impl<T: Plain> Deref for Bulk<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.0.values()
    }
}

impl<T: Plain> Bulk<T> {
    /// The values as a vector: without a copy if they were made here and no clone is left.
    pub fn into_vec(self) -> Vec<T> {
        match Arc::try_unwrap(self.0) {
            Ok(Inner::Own(values)) => values,
            Ok(inner) => inner.values().to_vec(),
            Err(shared) => shared.values().to_vec(),
        }
    }
}

/// Bytes as `serde` calls them.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// A pair: 0 and the bytes, or the number of a payload, from 1, and nothing.
impl<T: Plain + Sync + 'static> Serialize for Bulk<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.bytes();
        let place = if bytes.len() < LEAST_IN_PLACE { None } else { body::attach(|| self.0.clone()) };
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&place.map_or(0, |place| place + 1))?;
        pair.serialize_element(&Bytes(if place.is_some() { &[] } else { bytes }))?;
        pair.end()
    }
}

impl<'de, T: Plain + Sync + 'static> Deserialize<'de> for Bulk<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, Pair(PhantomData))
    }
}

struct Pair<T>(PhantomData<T>);

impl<'de, T: Plain> Visitor<'de> for Pair<T> {
    type Value = Bulk<T>;
    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the number of a payload, and bytes")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Bulk<T>, A::Error> {
        let number = pair.next_element::<u32>()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let Words(words, len) = pair.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        let (words, len) = match number.checked_sub(1) {
            None => (words, len),
            Some(place) => body::detach(place)
                .map(Payload::into_words)
                .ok_or_else(|| de::Error::custom("a payload that did not come"))?,
        };
        if !len.is_multiple_of(size_of::<T>()) {
            return Err(de::Error::custom("a payload of other elements"));
        }
        Ok(Bulk(Arc::new(Inner::Came(words, len))))
    }
}

/// Bytes, from an address that is a multiple of 8, and their number.
struct Words(Vec<u64>, usize);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Here;
        impl<'de> Visitor<'de> for Here {
            type Value = Words;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Words, E> {
                let mut words = vec![0u64; bytes.len().div_ceil(8)];
                bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
                Ok(Words(words, bytes.len()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Words, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = all.next_element()? {
                    bytes.push(byte);
                }
                self.visit_bytes(&bytes)
            }
        }
        deserializer.deserialize_bytes(Here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    #[test]
    fn without_a_call_it_is_bytes() {
        for len in [0, 3, 10_000] {
            let sent = Bulk::from((0..len).collect::<Vec<u32>>());
            let mut bytes = Vec::new();
            codec::write(&sent, &mut bytes).unwrap();
            let came: Bulk<u32> = codec::read(&bytes).unwrap();
            assert_eq!(came[..], sent[..]);
            assert_eq!(came.into_vec(), sent.clone().into_vec());
            assert!(len == 0 || codec::read::<Bulk<[u8; 7]>>(&bytes).is_err());
        }
        // The number of a payload that did not come.
        assert!(codec::read::<Bulk<u8>>(&[1, 0, 0, 0, 0]).is_err());
    }
}
