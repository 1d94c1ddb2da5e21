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
use serde::ser::{self, Serialize};

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
pub(crate) fn write<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
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

type Name = &'static str;
type Names = &'static [&'static str];

/// Gives a macro the types of numbers, and the methods that `serde` has for each.
macro_rules! numbers {
    ($each:ident) => {
        $each! {
            u8: serialize_u8 deserialize_u8 visit_u8; i8: serialize_i8 deserialize_i8 visit_i8;
            u16: serialize_u16 deserialize_u16 visit_u16; i16: serialize_i16 deserialize_i16 visit_i16;
            u32: serialize_u32 deserialize_u32 visit_u32; i32: serialize_i32 deserialize_i32 visit_i32;
            u64: serialize_u64 deserialize_u64 visit_u64; i64: serialize_i64 deserialize_i64 visit_i64;
            u128: serialize_u128 deserialize_u128 visit_u128; i128: serialize_i128 deserialize_i128 visit_i128;
            f32: serialize_f32 deserialize_f32 visit_f32; f64: serialize_f64 deserialize_f64 visit_f64;
        }
    };
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    #[inline]
    fn count(self, count: usize) -> Self {
        match u8::try_from(count) {
            Ok(count) if count < u8::MAX => self.0.push(count),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&(count as u64).to_ne_bytes());
            }
        }
        self
    }
}

macro_rules! write_numbers {
    ($($number:ty: $serialize:ident $_deserialize:ident $_visit:ident;)*) => {$(
        #[inline]
        fn $serialize(self, number: $number) -> Result<(), Error> {
            self.0.extend_from_slice(&number.to_ne_bytes());
            Ok(())
        }
    )*};
}

/// Methods of the serializer, which is called `$writer`.
macro_rules! write_kinds {
    ($($serialize:ident $(<$T:ident>)? ($writer:ident $(, $given:tt: $type:ty)*) -> $ok:ty $how:block)*) => {$(
        #[inline]
        fn $serialize $(<$T: Serialize + ?Sized>)? (self $(, $given: $type)*) -> Result<$ok, Error> {
            let $writer = self;
            $how
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

    numbers!(write_numbers);
    write_kinds! {
        serialize_bool(w, value: bool) -> () { w.serialize_u8(value.into()) }
        serialize_char(w, value: char) -> () { w.serialize_u32(value.into()) }
        serialize_str(w, value: &str) -> () { w.serialize_bytes(value.as_bytes()) }
        serialize_bytes(w, bytes: &[u8]) -> () {
            w.count(bytes.len()).0.extend_from_slice(bytes);
            Ok(())
        }
        serialize_none(w) -> () { w.serialize_u8(0) }
        serialize_some<T>(w, value: &T) -> () {
            w.0.push(1);
            value.serialize(w)
        }
        serialize_unit(_w) -> () { Ok(()) }
        serialize_unit_struct(_w, _: Name) -> () { Ok(()) }
        serialize_newtype_struct<T>(w, _: Name, value: &T) -> () { value.serialize(w) }
        serialize_seq(w, len: Option<usize>) -> Self {
            Ok(w.count(len.ok_or_else(|| error("a sequence that does not say how long it is"))?))
        }
        serialize_map(w, len: Option<usize>) -> Self { w.serialize_seq(len) }
        serialize_tuple(w, _: usize) -> Self { Ok(w) }
        serialize_tuple_struct(w, _: Name, _: usize) -> Self { Ok(w) }
        serialize_struct(w, _: Name, _: usize) -> Self { Ok(w) }
        serialize_unit_variant(w, _: Name, number: u32, _: Name) -> () {
            w.count(number as usize);
            Ok(())
        }
        serialize_newtype_variant<T>(w, _: Name, number: u32, _: Name, value: &T) -> () {
            value.serialize(w.count(number as usize))
        }
        serialize_tuple_variant(w, _: Name, number: u32, _: Name, _: usize) -> Self {
            Ok(w.count(number as usize))
        }
        serialize_struct_variant(w, _: Name, number: u32, _: Name, _: usize) -> Self {
            Ok(w.count(number as usize))
        }
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! write_parts {
    ($($of:ident: $($part:ident $(($key:ty))?),*;)*) => {$(
        impl ser::$of for Writer<'_> {
            type Ok = ();
            type Error = Error;
            $(
                #[inline]
                fn $part<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Error> {
                    value.serialize(Writer(self.0))
                }
            )*
            #[inline]
            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

write_parts! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
    SerializeMap: serialize_key, serialize_value;
    SerializeStruct: serialize_field(Name);
    SerializeStructVariant: serialize_field(Name);
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
    #[inline]
    fn character(&mut self) -> Result<char, Error> {
        char::from_u32(u32::from_ne_bytes(self.take()?)).ok_or_else(|| error("a char that is none"))
    }
    /// A byte that is 0 or 1.
    #[inline]
    fn truth(&mut self, otherwise: &str) -> Result<bool, Error> {
        match self.byte()? {
            byte @ (0 | 1) => Ok(byte == 1),
            _ => Err(error(otherwise)),
        }
    }
    #[inline]
    fn parts(&mut self, left: usize) -> Parts<'_, 'a> {
        Parts { reader: self, left }
    }
    #[inline]
    fn counted(&mut self) -> Result<Parts<'_, 'a>, Error> {
        let left = self.count()?;
        Ok(self.parts(left))
    }
}

macro_rules! read_numbers {
    ($($number:ty: $_serialize:ident $deserialize:ident $visit:ident;)*) => {$(
        #[inline]
        fn $deserialize<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(<$number>::from_ne_bytes(self.take()?))
        }
    )*};
}

/// Methods of a deserializer, which is called `$reader`, and what they give the visitor.
macro_rules! read_kinds {
    ($($deserialize:ident($reader:ident $(, $given:tt: $type:ty)*) $visit:ident($($what:expr)?);)*) => {$(
        #[inline]
        fn $deserialize<V: Visitor<'a>>(self, $($given: $type,)* visitor: V) -> Result<V::Value, Error> {
            let $reader = self;
            visitor.$visit($($what)?)
        }
    )*};
}

impl<'a> de::Deserializer<'a> for &mut Reader<'a> {
    type Error = Error;

    numbers!(read_numbers);
    read_kinds! {
        deserialize_bool(r) visit_bool(r.truth("a bool that is none")?);
        deserialize_char(r) visit_char(r.character()?);
        deserialize_str(r) visit_borrowed_str(r.text()?);
        deserialize_string(r) visit_borrowed_str(r.text()?);
        deserialize_bytes(r) visit_borrowed_bytes(r.bytes()?);
        deserialize_byte_buf(r) visit_borrowed_bytes(r.bytes()?);
        deserialize_unit(_r) visit_unit();
        deserialize_unit_struct(_r, _: Name) visit_unit();
        deserialize_newtype_struct(r, _: Name) visit_newtype_struct(r);
        deserialize_seq(r) visit_seq(r.counted()?);
        deserialize_map(r) visit_map(r.counted()?);
        deserialize_tuple(r, len: usize) visit_seq(r.parts(len));
        deserialize_tuple_struct(r, _: Name, len: usize) visit_seq(r.parts(len));
        deserialize_struct(r, _: Name, fields: Names) visit_seq(r.parts(fields.len()));
        deserialize_enum(r, _: Name, _: Names) visit_enum(r);
    }
    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.truth("an Option that is none of both")? {
            visitor.visit_some(self)
        } else {
            visitor.visit_none()
        }
    }
    fn deserialize_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Error> {
        Err(error("a type that wants the bytes to say what they are, which they do not"))
    }
    serde::forward_to_deserialize_any! { <V: Visitor<'a>> identifier ignored_any }
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

    read_kinds! {
        tuple_variant(r, len: usize) visit_seq(r.parts(len));
        struct_variant(r, fields: Names) visit_seq(r.parts(fields.len()));
    }
    #[inline]
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }
    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }
}

#[cfg(test)]
mod tests;
