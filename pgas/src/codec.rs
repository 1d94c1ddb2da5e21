//! A binary format for `serde`. All ranks run the same executable, so the bytes do not describe themselves:
//! ```text
//! number                          its bytes, in the order of the machine
//! bool, char                      a byte 0 or 1; a u32
//! string, bytes, sequence, map    how many, then those
//! Option                          a byte 0; or 1 and the value
//! variant of an enum              its number as a count, two bytes made of its name, and what it has
//! tuple, array                    its elements
//! struct                          how many fields, then those
//!   some of which are left out    a byte 254; how many fields, as a count; their names, as strings; those
//! count                           a byte below 254; or 255 and a u64
//! ```
//! Numbers have a fixed width, so that a tuple or struct of numbers is written and read by a few moves each.
//! Padding is not written.
//!
//! Nothing says what a value is, and fields have names only where some are left out. So `serde`'s attributes
//! could make a value arrive as another one, or not at all: a field that is left out, a variant that only one
//! side knows, a type that asks the bytes what they are. So numbers of fields and names of variants are
//! compared, and types that ask are refused where they are sent ([`probe`]). The crate's front page has the
//! table.

use core::fmt::{self, Display};
use serde::de::value::BorrowedStrDeserializer;
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

/// Values in values, at most: Options, sequences, maps, variants. Each may take a few calls.
const DEEPEST: u32 = 1000;
/// Bytes of the stack that reading or writing a value may take: a half of what threads have at least.
const MOST_STACK_BYTES: usize = 1 << 20;

/// How deep in a value the codec is.
#[derive(Clone, Copy)]
struct Level {
    depth: u32,
    /// Where the stack was at the start.
    base: usize,
}

impl Level {
    #[inline]
    fn first() -> Level {
        Level { depth: 0, base: stack() }
    }

    #[inline]
    fn deeper(self) -> Result<Level, Error> {
        if self.depth == DEEPEST || self.base.abs_diff(stack()) > MOST_STACK_BYTES {
            return Err(too_deep());
        }
        Ok(Level { depth: self.depth + 1, ..self })
    }
}

#[cold]
fn too_deep() -> Error {
    Error(
        format!(
            "values lie in each other more than {DEEPEST} deep, or take more than {MOST_STACK_BYTES} bytes of stack: \
             send a list or a tree as a `Vec` of its nodes"
        )
        .into(),
    )
}

/// About where the stack is now.
#[inline]
fn stack() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

/// Appends a value to a message.
///
/// # Errors
/// Its type does not write it, writes other than it says, or is deeper than may be.
#[inline]
pub(crate) fn write<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Writer { out, level: Level::first() })
}

/// Reads a value, which may borrow from the bytes.
///
/// # Errors
/// The bytes are none of this type, or more than one.
#[inline]
pub(crate) fn read<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut reader = Reader { left: bytes, level: Level::first(), in_key: false };
    let value = T::deserialize(&mut reader)?;
    if reader.left.is_empty() { Ok(value) } else { Err(error("more bytes than a value has")) }
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

/// The count that says that fields are left out.
const LEFT_OUT: u8 = 254;

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    level: Level,
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    match u8::try_from(count) {
        Ok(count) if count < LEFT_OUT => out.push(count),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(&(count as u64).to_ne_bytes());
        }
    }
}

/// A check word made of a variant's name. Sender and receiver compute the same word if they know the same
/// variant.
#[inline]
fn sign(name: &str) -> u16 {
    let mix = |sum: u32, &byte: &u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let sum = name.as_bytes().iter().fold(0x811c_9dc5, mix);
    (sum >> 16 ^ sum) as u16
}

impl<'a> Writer<'a> {
    #[inline]
    fn count(self, count: usize) -> Self {
        push_count(self.out, count);
        self
    }
    #[inline]
    fn deeper(self) -> Result<Self, Error> {
        Ok(Writer { level: self.level.deeper()?, ..self })
    }
    #[inline]
    fn variant(self, number: u32, name: Name) -> Result<Self, Error> {
        let w = self.deeper()?.count(number as usize);
        w.out.extend_from_slice(&sign(name).to_ne_bytes());
        Ok(w)
    }
    /// Elements that follow, and how many were said to.
    #[inline]
    fn items(self, said: usize) -> Items<'a> {
        Items { out: self.out, level: self.level, said, at: None, written: 0 }
    }
    /// Fields that follow.
    #[inline]
    fn fields(self, name: Name, said: usize) -> Fields<'a> {
        let at = self.out.len();
        push_count(self.out, said);
        Fields { items: self.items(said), name, at, names: [""; MOST_NAMES], left_out: false }
    }
}

/// Elements of a sequence, or fields that none is left out of.
struct Items<'a> {
    out: &'a mut Vec<u8>,
    level: Level,
    said: usize,
    /// Where their number is to be written, if it was not said.
    at: Option<usize>,
    written: usize,
}

impl Items<'_> {
    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.written += 1;
        value.serialize(Writer { out: self.out, level: self.level })
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        match self.at {
            Some(at) => {
                self.out[at..at + 8].copy_from_slice(&(self.written as u64).to_ne_bytes());
                Ok(())
            }
            None if self.written == self.said => Ok(()),
            None => Err(other_count("a sequence, map or tuple", self.said, self.written)),
        }
    }
}

#[cold]
fn other_count(what: &str, said: usize, written: usize) -> Error {
    Error(format!("{what} that says it has {said} elements, and then writes {written}").into())
}

/// Fields of a struct of which some may be left out, at most.
const MOST_NAMES: usize = 64;

/// Fields of a struct, or of a variant.
struct Fields<'a> {
    items: Items<'a>,
    name: Name,
    /// Where their number is.
    at: usize,
    /// The first ones' names. Where none is ever left out the compiler sees that nobody reads them.
    names: [Name; MOST_NAMES],
    /// Whether some are left out (`skip_serializing_if`).
    left_out: bool,
}

impl Fields<'_> {
    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.items.add(value)
    }

    #[inline]
    fn add_named<T: Serialize + ?Sized>(&mut self, name: Name, value: &T) -> Result<(), Error> {
        if let Some(place) = self.names.get_mut(self.items.written) {
            *place = name;
        }
        self.items.add(value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        if self.items.written != self.items.said {
            return Err(other_count(self.name, self.items.said, self.items.written));
        }
        if self.left_out {
            return name_fields(self.items.out, self.at, self.items.written, &self.names);
        }
        Ok(())
    }
}

/// Says which fields there are, in the place of how many.
#[cold]
fn name_fields(out: &mut Vec<u8>, at: usize, written: usize, names: &[Name]) -> Result<(), Error> {
    let names = names.get(..written).ok_or_else(|| {
        Error(format!("`skip_serializing_if` in a struct of more than {MOST_NAMES} fields").into())
    })?;
    let mut mark = vec![LEFT_OUT];
    push_count(&mut mark, written);
    for name in names {
        push_count(&mut mark, name.len());
        mark.extend_from_slice(name.as_bytes());
    }
    let mut before = Vec::new();
    push_count(&mut before, written);
    out.splice(at..at + before.len(), mark);
    Ok(())
}

macro_rules! write_numbers {
    ($($number:ty: $serialize:ident $_deserialize:ident $_visit:ident;)*) => {$(
        #[inline]
        fn $serialize(self, number: $number) -> Result<(), Error> {
            self.out.extend_from_slice(&number.to_ne_bytes());
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

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Fields<'a>;
    type SerializeTupleVariant = Fields<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Fields<'a>;

    numbers!(write_numbers);
    write_kinds! {
        serialize_bool(w, value: bool) -> () { w.serialize_u8(value.into()) }
        serialize_char(w, value: char) -> () { w.serialize_u32(value.into()) }
        serialize_str(w, value: &str) -> () { w.serialize_bytes(value.as_bytes()) }
        serialize_bytes(w, bytes: &[u8]) -> () {
            w.count(bytes.len()).out.extend_from_slice(bytes);
            Ok(())
        }
        serialize_none(w) -> () { w.serialize_u8(0) }
        serialize_some<T>(w, value: &T) -> () {
            w.out.push(1);
            value.serialize(w.deeper()?)
        }
        serialize_unit(_w) -> () { Ok(()) }
        serialize_unit_struct(_w, _: Name) -> () { Ok(()) }
        serialize_newtype_struct<T>(w, _: Name, value: &T) -> () { value.serialize(w) }
        serialize_seq(w, len: Option<usize>) -> Items<'a> {
            let w = w.deeper()?;
            match len {
                Some(len) => Ok(w.count(len).items(len)),
                None => {
                    let w = w.count(usize::MAX);
                    let at = Some(w.out.len() - 8);
                    Ok(Items { at, ..w.items(0) })
                }
            }
        }
        serialize_map(w, len: Option<usize>) -> Items<'a> { w.serialize_seq(len) }
        serialize_tuple(w, len: usize) -> Items<'a> { Ok(w.items(len)) }
        serialize_tuple_struct(w, name: Name, len: usize) -> Fields<'a> { Ok(w.fields(name, len)) }
        serialize_struct(w, name: Name, len: usize) -> Fields<'a> { Ok(w.fields(name, len)) }
        serialize_unit_variant(w, _: Name, number: u32, name: Name) -> () { w.variant(number, name).map(drop) }
        serialize_newtype_variant<T>(w, _: Name, number: u32, name: Name, value: &T) -> () {
            value.serialize(w.variant(number, name)?)
        }
        serialize_tuple_variant(w, _: Name, number: u32, name: Name, len: usize) -> Fields<'a> {
            Ok(w.variant(number, name)?.fields(name, len))
        }
        serialize_struct_variant(w, _: Name, number: u32, name: Name, len: usize) -> Fields<'a> {
            Ok(w.variant(number, name)?.fields(name, len))
        }
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! write_parts {
    ($($of:ident for $what:ident: $part:ident $(($name:ident, $skip:ident))? by $add:ident;)*) => {$(
        impl ser::$of for $what<'_> {
            type Ok = ();
            type Error = Error;
            #[inline]
            fn $part<T: Serialize + ?Sized>(&mut self, $($name: Name,)? value: &T) -> Result<(), Error> {
                self.$add($($name,)? value)
            }
            $(
                #[inline]
                fn $skip(&mut self, _: Name) -> Result<(), Error> {
                    self.left_out = true;
                    Ok(())
                }
            )?
            #[inline]
            fn end(self) -> Result<(), Error> {
                $what::end(self)
            }
        }
    )*};
}

write_parts! {
    SerializeSeq for Items: serialize_element by add;
    SerializeTuple for Items: serialize_element by add;
    SerializeTupleStruct for Fields: serialize_field by add;
    SerializeTupleVariant for Fields: serialize_field by add;
    SerializeStruct for Fields: serialize_field(name, skip_field) by add_named;
    SerializeStructVariant for Fields: serialize_field(name, skip_field) by add_named;
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;
    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.add(key)
    }
    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        // Counted with its key.
        value.serialize(Writer { out: self.out, level: self.level })
    }
    #[inline]
    fn end(self) -> Result<(), Error> {
        Items::end(self)
    }
}

/// A reader of the bytes that are left.
struct Reader<'a> {
    left: &'a [u8],
    level: Level,
    /// Whether a map's key is read.
    in_key: bool,
}

impl<'a> Reader<'a> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (first, rest) = self.left.split_first_chunk().ok_or_else(|| error("bytes that end early"))?;
        self.left = rest;
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
        let (bytes, rest) = self.left.split_at_checked(count).ok_or_else(|| error("bytes that end early"))?;
        self.left = rest;
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
    /// Reads what lies in a value.
    #[inline]
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let level = self.level;
        self.level = level.deeper()?;
        let value = read(self)?;
        self.level = level;
        Ok(value)
    }
    /// Reads fields: as many as were written, or it is told.
    #[inline]
    fn fields<V: Visitor<'a>>(&mut self, what: &str, visitor: V) -> Result<V::Value, Error> {
        let written = match self.byte()? {
            u8::MAX => u64::from_ne_bytes(self.take()?),
            LEFT_OUT => return self.named_fields(visitor),
            written => written.into(),
        };
        let mut left = i64::try_from(written).unwrap_or(i64::MAX);
        let value = visitor.visit_seq(Counted { reader: self, left: &mut left });
        // Asked for more, the visitor has an error of its own, or takes defaults.
        if left < 0 || (left > 0 && value.is_ok()) {
            return Err(other_fields(what, written, (written as i64).saturating_sub(left)));
        }
        value
    }
    /// Reads fields that have names, since some are left out.
    #[cold]
    fn named_fields<V: Visitor<'a>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let count = self.count()?;
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.text()?);
        }
        visitor.visit_map(NamedFields { reader: self, names: names.into_iter() })
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
        deserialize_tuple(r, len: usize) visit_seq(r.parts(len));
    }
    #[inline]
    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = self.count()?;
        self.within(|r| visitor.visit_seq(r.parts(count)))
    }
    #[inline]
    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = self.count()?;
        self.within(|r| visitor.visit_map(r.parts(count)))
    }
    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        name: Name,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.fields(name, visitor)
    }
    #[inline]
    fn deserialize_struct<V: Visitor<'a>>(self, name: Name, _: Names, visitor: V) -> Result<V::Value, Error> {
        self.fields(name, visitor)
    }
    #[inline]
    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: Name,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.within(|reader| visitor.visit_enum(Variant { reader, name, variants }))
    }
    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.truth("an Option that is none of both")? {
            self.within(|r| visitor.visit_some(r))
        } else {
            visitor.visit_none()
        }
    }
    fn deserialize_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Error> {
        Err(error(probe::ASKS))
    }
    /// Only fields that have names are passed over.
    fn deserialize_ignored_any<V: Visitor<'a>>(self, _: V) -> Result<V::Value, Error> {
        Err(error("a field of another name than the reading side knows: `rename` for one side"))
    }
    /// The variant of an enum with `tag` and `content`, which is written as one. A key that is an identifier
    /// is a field of a flattened struct.
    fn deserialize_identifier<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.in_key {
            return Err(error(probe::ASKS));
        }
        let number = self.count()?;
        let _signed: [u8; 2] = self.take()?;
        visitor.visit_u64(number as u64)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A known number of values that follow.
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
        // The receiver allocates room for this many values. The number comes from the message, so it is
        // limited to the bytes that are left.
        Some(self.left.min(self.reader.left.len()))
    }
}

impl<'a> de::MapAccess<'a> for Parts<'_, 'a> {
    type Error = Error;
    #[inline]
    fn next_key_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.reader.in_key = true;
        let key = self.next(seed);
        self.reader.in_key = false;
        key
    }
    #[inline]
    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
    #[inline]
    fn size_hint(&self) -> Option<usize> {
        // Limited as above.
        Some(self.left.min(self.reader.left.len()))
    }
}

#[cold]
fn other_fields(what: &str, written: u64, known: i64) -> Error {
    Error(
        format!(
            "`{what}` is written with {written} fields and read with {known}: `skip_serializing`, `skip_deserializing`, or \
             `skip_serializing_if` in a tuple struct, leaves one out on one side, and a message does not say which"
        )
        .into(),
    )
}

/// Fields that follow: how many more there are than were asked for.
struct Counted<'r, 'a> {
    reader: &'r mut Reader<'a>,
    left: &'r mut i64,
}

impl<'a> de::SeqAccess<'a> for Counted<'_, 'a> {
    type Error = Error;
    #[inline]
    fn next_element_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        *self.left -= 1;
        if *self.left < 0 { Ok(None) } else { seed.deserialize(&mut *self.reader).map(Some) }
    }
}

/// Fields that follow, and the names of those that were not asked for yet.
struct NamedFields<'r, 'a> {
    reader: &'r mut Reader<'a>,
    names: std::vec::IntoIter<&'a str>,
}

impl<'a> de::MapAccess<'a> for NamedFields<'_, 'a> {
    type Error = Error;
    fn next_key_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(name) = self.names.next() else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }
    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// A variant that follows, of those that the reading side knows by name.
struct Variant<'r, 'a> {
    reader: &'r mut Reader<'a>,
    name: Name,
    variants: Names,
}

impl Variant<'_, '_> {
    /// The name of that number and sign. The names that `serde` gives have aliases among them, and not those
    /// of variants that are never read: the sign decides.
    #[inline]
    fn named(&self, number: usize, signed: u16) -> Result<Name, Error> {
        match self.variants.get(number) {
            Some(name) if sign(name) == signed => Ok(name),
            _ => self.look_for(number, signed),
        }
    }

    #[cold]
    fn look_for(&self, number: usize, signed: u16) -> Result<Name, Error> {
        let mut same = self.variants.iter().filter(|name| sign(name) == signed);
        match (same.next(), same.next()) {
            (Some(name), None) => Ok(name),
            _ => Err(Error(
                format!(
                    "variant {number} of `{}` is none where it is read: `skip_deserializing`, or a `rename` for one side",
                    self.name
                )
                .into(),
            )),
        }
    }
}

impl<'r, 'a> de::EnumAccess<'a> for Variant<'r, 'a> {
    type Error = Error;
    type Variant = &'r mut Reader<'a>;
    #[inline]
    fn variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<(S::Value, &'r mut Reader<'a>), Error> {
        let number = self.reader.count()?;
        let signed = u16::from_ne_bytes(self.reader.take()?);
        if self.variants.is_empty() {
            // A type that reads itself, and names none.
            let number = u32::try_from(number).map_err(|_| error("a variant that there is not"))?;
            let variant: de::value::U32Deserializer<Error> = number.into_deserializer();
            return Ok((seed.deserialize(variant)?, self.reader));
        }
        let variant = BorrowedStrDeserializer::<Error>::new(self.named(number, signed)?);
        Ok((seed.deserialize(variant)?, self.reader))
    }
}

impl<'a> de::VariantAccess<'a> for &mut Reader<'a> {
    type Error = Error;

    #[inline]
    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.fields("a variant", visitor)
    }
    #[inline]
    fn struct_variant<V: Visitor<'a>>(self, _: Names, visitor: V) -> Result<V::Value, Error> {
        self.fields("a variant", visitor)
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

pub(crate) mod probe;
#[cfg(test)]
mod tests;
