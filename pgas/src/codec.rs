//! What `serde` writes, as bytes, and back. All ranks run the same executable, so nothing says what follows:
//! ```text
//! number                          its bytes, in the order of the machine
//! bool, char                      a byte 0 or 1; a u32
//! string, bytes, sequence, map    how many, then those
//! Option                          a byte 0; or 1 and the value
//! variant of an enum              its number as a count, and what it has
//! tuple, array, struct            its fields
//! count                           a byte; or 255 and a u64
//! ```
//! Numbers have a fixed width, so that a tuple or struct of numbers is written and read by a few moves each.
//! Padding is not written.

use core::fmt::{self, Display};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use serde::ser;

/// Why a value cannot be written, or bytes are none.
#[derive(Debug)]
pub(crate) struct Error(Box<str>);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl core::error::Error for Error {}
impl ser::Error for Error {
    #[cold]
    fn custom<T: Display>(why: T) -> Error {
        Error(why.to_string().into())
    }
}
impl de::Error for Error {
    #[cold]
    fn custom<T: Display>(why: T) -> Error {
        Error(why.to_string().into())
    }
}

#[cold]
fn error(why: &str) -> Error {
    Error(why.into())
}

/// Appends a value to a message.
///
/// # Errors
/// Its type does not write it, or writes a sequence without saying how long.
#[inline]
pub(crate) fn write<T: serde::Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Writer(out))
}

/// Reads a value, which may borrow from the bytes.
///
/// # Errors
/// The bytes are none of this type, or more than one.
#[inline]
pub(crate) fn read<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut reader = Reader(bytes);
    let value = T::deserialize(&mut reader)?;
    if reader.0.is_empty() { Ok(value) } else { Err(error("more bytes than a value has")) }
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    #[inline]
    fn count(&mut self, count: usize) {
        match u8::try_from(count) {
            Ok(count) if count < u8::MAX => self.0.push(count),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&(count as u64).to_ne_bytes());
            }
        }
    }
}

macro_rules! write_numbers {
    ($($name:ident $number:ty;)*) => {$(
        #[inline]
        fn $name(self, number: $number) -> Result<(), Error> {
            self.0.extend_from_slice(&number.to_ne_bytes());
            Ok(())
        }
    )*};
}

impl ser::Serializer for Writer<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    write_numbers! {
        serialize_u8 u8; serialize_u16 u16; serialize_u32 u32; serialize_u64 u64; serialize_u128 u128;
        serialize_i8 i8; serialize_i16 i16; serialize_i32 i32; serialize_i64 i64; serialize_i128 i128;
        serialize_f32 f32; serialize_f64 f64;
    }
    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.serialize_u8(value.into())
    }
    #[inline]
    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_u32(value.into())
    }
    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.serialize_bytes(value.as_bytes())
    }
    #[inline]
    fn serialize_bytes(mut self, bytes: &[u8]) -> Result<(), Error> {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_u8(0)
    }
    #[inline]
    fn serialize_some<T: ser::Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.push(1);
        value.serialize(self)
    }
    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }
    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        Ok(())
    }
    #[inline]
    fn serialize_unit_variant(mut self, _: &'static str, number: u32, _: &'static str) -> Result<(), Error> {
        self.count(number as usize);
        Ok(())
    }
    #[inline]
    fn serialize_newtype_struct<T: ser::Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }
    #[inline]
    fn serialize_newtype_variant<T: ser::Serialize + ?Sized>(
        mut self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.count(number as usize);
        value.serialize(self)
    }
    #[inline]
    fn serialize_seq(mut self, len: Option<usize>) -> Result<Self, Error> {
        self.count(len.ok_or_else(|| error("a sequence that does not say how long it is"))?);
        Ok(self)
    }
    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Self, Error> {
        self.serialize_seq(len)
    }
    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }
    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }
    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }
    #[inline]
    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        self.count(number as usize);
        Ok(self)
    }
    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        number: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self, Error> {
        self.serialize_tuple_variant(name, number, variant, len)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! write_parts {
    ($($of:ident $part:ident $($key:ty)?;)*) => {$(
        impl ser::$of for Writer<'_> {
            type Ok = ();
            type Error = Error;
            #[inline]
            fn $part<T: ser::Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Error> {
                value.serialize(Writer(self.0))
            }
            #[inline]
            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

write_parts! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
    SerializeStruct serialize_field &'static str;
    SerializeStructVariant serialize_field &'static str;
}

impl ser::SerializeMap for Writer<'_> {
    type Ok = ();
    type Error = Error;
    #[inline]
    fn serialize_key<T: ser::Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(Writer(self.0))
    }
    #[inline]
    fn serialize_value<T: ser::Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Writer(self.0))
    }
    #[inline]
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(|| error("bytes that end early"))?;
        self.0 = rest;
        Ok(*first)
    }
    #[inline]
    fn byte(&mut self) -> Result<u8, Error> {
        self.take().map(|[byte]| byte)
    }
    #[inline]
    fn count(&mut self) -> Result<usize, Error> {
        match self.byte()? {
            u8::MAX => usize::try_from(u64::from_ne_bytes(self.take()?)).map_err(de::Error::custom),
            count => Ok(count.into()),
        }
    }
    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| error("bytes that end early"))?;
        self.0 = rest;
        Ok(bytes)
    }
    #[inline]
    fn text(&mut self) -> Result<&'a str, Error> {
        core::str::from_utf8(self.bytes()?).map_err(de::Error::custom)
    }
}

macro_rules! read_numbers {
    ($($name:ident $visit:ident $number:ty;)*) => {$(
        #[inline]
        fn $name<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(<$number>::from_ne_bytes(self.take()?))
        }
    )*};
}

impl<'a> de::Deserializer<'a> for &mut Reader<'a> {
    type Error = Error;

    read_numbers! {
        deserialize_u8 visit_u8 u8; deserialize_u16 visit_u16 u16; deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64; deserialize_u128 visit_u128 u128;
        deserialize_i8 visit_i8 i8; deserialize_i16 visit_i16 i16; deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64; deserialize_i128 visit_i128 i128;
        deserialize_f32 visit_f32 f32; deserialize_f64 visit_f64 f64;
    }
    #[inline]
    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.byte()? {
            byte @ (0 | 1) => visitor.visit_bool(byte == 1),
            _ => Err(error("a bool that is none")),
        }
    }
    #[inline]
    fn deserialize_char<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let code = u32::from_ne_bytes(self.take()?);
        visitor.visit_char(char::from_u32(code).ok_or_else(|| error("a char that is none"))?)
    }
    #[inline]
    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text()?)
    }
    #[inline]
    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }
    #[inline]
    fn deserialize_bytes<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_bytes(self.bytes()?)
    }
    #[inline]
    fn deserialize_byte_buf<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }
    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.byte()? {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            _ => Err(error("an Option that is none of both")),
        }
    }
    #[inline]
    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
    #[inline]
    fn deserialize_unit_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }
    #[inline]
    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.count()?;
        visitor.visit_seq(Parts { reader: self, left })
    }
    #[inline]
    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.count()?;
        visitor.visit_map(Parts { reader: self, left })
    }
    #[inline]
    fn deserialize_tuple<V: Visitor<'a>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left })
    }
    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left })
    }
    #[inline]
    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left: fields.len() })
    }
    #[inline]
    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }
    fn deserialize_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Error> {
        Err(error("a type that wants the bytes to say what they are, which they do not"))
    }
    fn deserialize_identifier<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many values that follow.
struct Parts<'r, 'a> {
    reader: &'r mut Reader<'a>,
    left: usize,
}

impl<'a> Parts<'_, 'a> {
    /// The next, if one is left.
    #[inline]
    fn next<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        match self.left.checked_sub(1) {
            None => Ok(None),
            Some(left) => {
                self.left = left;
                seed.deserialize(&mut *self.reader).map(Some)
            }
        }
    }
}

impl<'a> de::SeqAccess<'a> for Parts<'_, 'a> {
    type Error = Error;
    #[inline]
    fn next_element_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next(seed)
    }
    #[inline]
    fn size_hint(&self) -> Option<usize> {
        // Who makes room for so many shall not believe any number.
        Some(self.left.min(self.reader.0.len()))
    }
}

impl<'a> de::MapAccess<'a> for Parts<'_, 'a> {
    type Error = Error;
    #[inline]
    fn next_key_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next(seed)
    }
    #[inline]
    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
    #[inline]
    fn size_hint(&self) -> Option<usize> {
        // Who makes room for so many shall not believe any number.
        Some(self.left.min(self.reader.0.len()))
    }
}

impl<'a> de::EnumAccess<'a> for &mut Reader<'a> {
    type Error = Error;
    type Variant = Self;
    #[inline]
    fn variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let number = u32::try_from(self.count()?).map_err(|_| error("a variant that there is not"))?;
        let variant: de::value::U32Deserializer<Error> = number.into_deserializer();
        Ok((seed.deserialize(variant)?, self))
    }
}

impl<'a> de::VariantAccess<'a> for &mut Reader<'a> {
    type Error = Error;
    #[inline]
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }
    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }
    #[inline]
    fn tuple_variant<V: Visitor<'a>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left })
    }
    #[inline]
    fn struct_variant<V: Visitor<'a>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left: fields.len() })
    }
}

#[cfg(test)]
mod tests;
