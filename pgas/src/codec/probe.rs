//! Finds types that cannot be read from bytes which do not say what they are.
//!
//! `#[serde(flatten)]`, `#[serde(untagged)]`, `#[serde(tag = "..")]` and types like `serde_json::Value`
//! decide by the data what they read. The reading rank would tell only when a value is there, and who sends
//! without waiting would never hear of it. So the sender asks the type before its first value leaves: it has
//! the type read samples. Each enum gives its variants one after the other, in one reading after the other. A
//! type that takes no sample (it checks what it reads) is not judged.

use super::{Error, Name, Names, error};
use core::any::TypeId;
use core::cell::{Cell, RefCell};
use serde::de::value::U32Deserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use std::collections::HashMap;

pub(crate) const ASKS: &str = "it, or a type in it, asks the bytes what they are, which they do not say: \
    `#[serde(flatten)]`, `#[serde(untagged)]`, `#[serde(tag = \"..\")]`, or a value of any type (JSON's); \
    write it as a string, or give it a type without";

/// Readings of a type, and values in one, at most: some types have no end.
const MOST_READINGS: usize = 64;
const MOST_VALUES: usize = 20_000;
/// From here on Options, sequences and maps are empty.
const DEEP: u32 = 8;
const DEEPEST: u32 = 64;

thread_local! {
    /// Results for the types that this thread has sent.
    static KNOWN: RefCell<HashMap<TypeId, bool>> = RefCell::default();
    /// The type that was sent last, if it can be.
    static LAST: Cell<Option<TypeId>> = const { Cell::new(None) };
}

/// Tells a type that cannot be read.
///
/// # Errors
/// It is none that bytes without names can carry.
#[inline]
pub(crate) fn check<T: DeserializeOwned + 'static>() -> Result<(), Error> {
    if LAST.get() == Some(TypeId::of::<T>()) { Ok(()) } else { look_up::<T>() }
}

fn look_up<T: DeserializeOwned + 'static>() -> Result<(), Error> {
    let id = TypeId::of::<T>();
    let known = KNOWN.with_borrow(|known| known.get(&id).copied());
    let asks = known.unwrap_or_else(|| {
        // Samples of names are names of nothing.
        let reading = gasnet_wire::context::set_reading(None);
        let asks = asks::<T>();
        gasnet_wire::context::set_reading(reading);
        KNOWN.with_borrow_mut(|known| known.insert(id, asks));
        asks
    });
    if asks {
        return Err(error(ASKS));
    }
    LAST.set(Some(id));
    Ok(())
}

/// Whether a type asks the bytes what they are.
fn asks<T: DeserializeOwned>() -> bool {
    let mut readings = 1;
    let mut reading = 0;
    while reading < readings.min(MOST_READINGS) {
        let mut probe = Probe { asks: false, reading, variants: 1, values: 0, depth: 0, in_key: false };
        // An error is no matter: the sample values are few, and types may reject values that they check.
        drop(T::deserialize(&mut probe));
        if probe.asks {
            return true;
        }
        readings = readings.max(probe.variants);
        reading += 1;
    }
    false
}

/// Gives samples.
struct Probe {
    asks: bool,
    /// The number of the variant that enums give, where they have one of that number.
    reading: usize,
    /// Most variants of an enum.
    variants: usize,
    values: usize,
    depth: u32,
    /// Whether a map's key is read.
    in_key: bool,
}

impl Probe {
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.values += 1;
        if self.depth == DEEPEST || self.values > MOST_VALUES || self.asks {
            return Err(error("enough was seen"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn some(&mut self, left: usize) -> Samples<'_> {
        Samples { probe: self, left }
    }
}

macro_rules! samples {
    ($($deserialize:ident $(($given:ty))* => $visit:ident($($sample:expr)?);)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, $(_: $given,)* visitor: V) -> Result<V::Value, Error> {
            visitor.$visit($($sample)?)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Probe {
    type Error = Error;

    samples! {
        deserialize_bool => visit_bool(false);
        deserialize_i8 => visit_i8(1);
        deserialize_i16 => visit_i16(1);
        deserialize_i32 => visit_i32(1);
        deserialize_i64 => visit_i64(1);
        deserialize_i128 => visit_i128(1);
        deserialize_u8 => visit_u8(1);
        deserialize_u16 => visit_u16(1);
        deserialize_u32 => visit_u32(1);
        deserialize_u64 => visit_u64(1);
        deserialize_u128 => visit_u128(1);
        deserialize_f32 => visit_f32(1.0);
        deserialize_f64 => visit_f64(1.0);
        deserialize_char => visit_char('a');
        deserialize_str => visit_str("a");
        deserialize_string => visit_str("a");
        deserialize_bytes => visit_bytes(b"a");
        deserialize_byte_buf => visit_bytes(b"a");
        deserialize_unit => visit_unit();
        deserialize_unit_struct(Name) => visit_unit();
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.depth >= DEEP { visitor.visit_none() } else { self.within(|probe| visitor.visit_some(probe)) }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: Name, visitor: V) -> Result<V::Value, Error> {
        self.within(|probe| visitor.visit_newtype_struct(probe))
    }
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = usize::from(self.depth < DEEP);
        self.within(|probe| visitor.visit_seq(probe.some(count)))
    }
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = usize::from(self.depth < DEEP);
        self.within(|probe| visitor.visit_map(probe.some(count)))
    }
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.within(|probe| visitor.visit_seq(probe.some(len)))
    }
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: Name,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.within(|probe| visitor.visit_seq(probe.some(len)))
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: Name,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.within(|probe| visitor.visit_seq(probe.some(fields.len())))
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: Name,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.variants = self.variants.max(variants.len());
        self.within(|probe| visitor.visit_enum(Variant { probe, of: variants.len() }))
    }
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.asks = true;
        Err(error(ASKS))
    }
    /// A key that is an identifier is a field of a flattened struct.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.in_key {
            return self.deserialize_any(visitor);
        }
        // Of how many, it does not say.
        self.variants = MOST_READINGS;
        visitor.visit_u64(self.reading as u64)
    }
    serde::forward_to_deserialize_any! { <V: Visitor<'de>> ignored_any }
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A number of samples.
struct Samples<'p> {
    probe: &'p mut Probe,
    left: usize,
}

impl Samples<'_> {
    fn next<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.probe).map(Some)
    }
}

impl<'de> de::SeqAccess<'de> for Samples<'_> {
    type Error = Error;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next(seed)
    }
}

impl<'de> de::MapAccess<'de> for Samples<'_> {
    type Error = Error;
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.probe.in_key = true;
        let key = self.next(seed);
        self.probe.in_key = false;
        key
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.probe)
    }
}

/// A variant of an enum, by its number.
struct Variant<'p> {
    probe: &'p mut Probe,
    of: usize,
}

impl<'de, 'p> de::EnumAccess<'de> for Variant<'p> {
    type Error = Error;
    type Variant = &'p mut Probe;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, &'p mut Probe), Error> {
        let number = self.probe.reading.min(self.of.saturating_sub(1)) as u32;
        let number: U32Deserializer<Error> = number.into_deserializer();
        Ok((seed.deserialize(number)?, self.probe))
    }
}

impl<'de> de::VariantAccess<'de> for &mut Probe {
    type Error = Error;
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.some(len))
    }
    fn struct_variant<V: Visitor<'de>>(self, fields: Names, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.some(fields.len()))
    }
}
