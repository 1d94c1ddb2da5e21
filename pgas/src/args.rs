//! Arguments and results of remote calls.

use crate::codec;
use core::any::Any;

pub use gasnet::Shared as Plain;

/// Whatever can be an argument, or a result: `serde` writes it and reads it back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to another rank",
    label = "`serde` has to write and read it, and it has to be `'static`",
    note = "a type of one's own needs `#[derive(serde::Serialize, serde::Deserialize)]`; addresses, locks and files mean nothing elsewhere",
    note = "a `&str`, or a slice of plain data, is lent to a function (`call_lent`, `send_lent`, `ask_lent`), or travels as a `String` or `Vec`: `.to_owned()`",
    note = "plain data without these derives (`bytemuck::Pod`) goes to collective calls as a slice: `gather_all_slice`, `broadcast_slice`, `reduce_slice`"
)]
pub trait Data: serde::Serialize + serde::de::DeserializeOwned + 'static {}
impl<T: serde::Serialize + serde::de::DeserializeOwned + 'static> Data for T {}

/// A value that may be passed for a parameter of type `A`: an `A` itself. For a `String` also a `&str` or a
/// `&String`, which is copied.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is given to a function that takes `{A}`",
    label = "arguments are given as the function takes them",
    note = "only a `&str` may be given where the function takes a `String`; of other borrowed values give a copy: `.to_owned()`, `.clone()`"
)]
pub trait Argument<A> {
    /// As the function takes it.
    fn into_argument(self) -> A;
}

impl<A> Argument<A> for A {
    #[inline]
    fn into_argument(self) -> A {
        self
    }
}

impl Argument<String> for &str {
    fn into_argument(self) -> String {
        self.to_owned()
    }
}

impl Argument<String> for &String {
    fn into_argument(self) -> String {
        self.clone()
    }
}

/// A value that may be lent to a remote function, which then reads it in the message itself: see
/// [`World::call_lent`](crate::World::call_lent).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a remote function",
    label = "strings and slices of plain data can",
    note = "anything else that `serde` writes and reads is an argument by value: `call`, `send`, `ask`"
)]
pub trait Lent: 'static {
    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// The value in these bytes, which begin at an address that is a multiple of 8.
    ///
    /// # Errors
    /// The bytes are no value of this type.
    fn of_bytes(bytes: &[u8]) -> Result<&Self, String>;
}

impl Lent for str {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
    fn of_bytes(bytes: &[u8]) -> Result<&str, String> {
        core::str::from_utf8(bytes).map_err(|e| format!("a string that is none: {e}"))
    }
}

impl<T: Plain> Lent for [T] {
    fn bytes(&self) -> &[u8] {
        const { assert!(align_of::<T>() <= 8, "elements of a lent slice are aligned to at most 8 bytes") }
        bytemuck::cast_slice(self)
    }
    fn of_bytes(bytes: &[u8]) -> Result<&[T], String> {
        bytemuck::try_cast_slice(bytes).map_err(|e| format!("a slice that is none: {e}"))
    }
}

/// Arguments of a remote function: how they are written, and the form in which the function receives them.
/// All [`Data`] is written and received by value; [lent](Lend) values are received as references.
pub(crate) trait Args {
    /// The type that the function receives. It may borrow from the message.
    type Of<'a>;

    /// Appends the arguments to a message.
    ///
    /// # Errors
    /// They cannot be written.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), String>;

    /// The bytes that [`Args::write`] would append, if they are those of a single number. Most calls have
    /// one number or no argument, and skip the general path.
    fn scalar(&self) -> Option<Scalar> {
        None
    }

    /// Reads them back from a message that begins at a multiple of 8.
    ///
    /// # Errors
    /// The bytes are none.
    fn read(bytes: &[u8]) -> Result<Self::Of<'_>, String>;
}

/// The bytes of a number, with their count; none for `()`. The codec writes the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar {
    bytes: [u8; 8],
    len: usize,
}

impl Scalar {
    /// The number that a value is.
    #[inline]
    fn of<T: 'static>(value: &T) -> Option<Scalar> {
        let value: &dyn Any = value;
        macro_rules! one_of {
            ($($number:ty)*) => {$(
                if let Some(number) = value.downcast_ref::<$number>() {
                    let (mut bytes, own) = ([0; 8], number.to_ne_bytes());
                    bytes[..own.len()].copy_from_slice(&own);
                    return Some(Scalar { bytes, len: own.len() });
                }
            )*};
        }
        one_of! { u64 u32 i64 i32 f64 usize isize f32 u16 i16 u8 i8 }
        value.is::<()>().then_some(Scalar { bytes: [0; 8], len: 0 })
    }

    /// The bytes, and zeros, as a word; and how many they are.
    #[inline]
    pub(crate) fn word(self) -> (u64, usize) {
        (u64::from_ne_bytes(self.bytes), self.len)
    }
}

impl<T: Data> Args for T {
    type Of<'a> = T;

    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let written = codec::probe::check::<T>().and_then(|()| codec::write(self, out));
        written.map_err(|e| unwritable::<T>(&e))
    }
    #[inline]
    fn scalar(&self) -> Option<Scalar> {
        Scalar::of(self)
    }
    #[inline]
    fn read(bytes: &[u8]) -> Result<T, String> {
        codec::read(bytes).map_err(|e| unreadable::<T>(&e))
    }
}

#[cold]
fn unwritable<T>(e: &codec::Error) -> String {
    format!("a {} cannot be written: {e}", core::any::type_name::<T>())
}

#[cold]
fn unreadable<T>(e: &codec::Error) -> String {
    format!("a {} that cannot be read: {e}", core::any::type_name::<T>())
}

/// An argument that the function borrows from the message.
pub(crate) struct Lend<'x, B: ?Sized>(pub(crate) &'x B);

impl<B: Lent + ?Sized> Args for Lend<'_, B> {
    type Of<'a> = &'a B;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(self.0.bytes());
        Ok(())
    }
    fn read(bytes: &[u8]) -> Result<&B, String> {
        B::of_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<A: Args>(args: &A, check: impl Fn(A::Of<'_>)) {
        let mut bytes = Vec::new();
        args.write(&mut bytes).unwrap();
        let mut aligned = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut aligned)[..bytes.len()].copy_from_slice(&bytes);
        check(A::read(&bytemuck::cast_slice(&aligned)[..bytes.len()]).unwrap());
    }

    #[test]
    fn arguments_come_back() {
        round(&(1u8, -5i64, 2.5f64, "a".to_string(), Some(vec![1u16, 2])), |back| {
            assert_eq!(back, (1, -5, 2.5, "a".to_string(), Some(vec![1, 2])));
        });
        round(&(), |()| {});
        round(&Lend("grüße"), |back| assert_eq!(back, "grüße"));
        round(&Lend(&[1.0f64, 2.0][..]), |back| assert_eq!(back, [1.0, 2.0]));
        assert!(<Lend<'_, str> as Args>::read(&[0xff]).is_err());
        assert!(<u64 as Args>::read(&[]).is_err());
    }

    #[test]
    fn numbers_come_back() {
        fn one<T: Data + PartialEq + core::fmt::Debug>(value: T) {
            round(&value, |back| assert_eq!(back, value));
            let mut bytes = Vec::new();
            value.write(&mut bytes).unwrap();
            let (word, len) = value.scalar().unwrap().word();
            assert_eq!((&word.to_ne_bytes()[..len], len), (&bytes[..], size_of::<T>()));
            bytes.push(0);
            assert!(size_of::<T>() == 0 || T::read(&bytes).is_err());
        }
        one(());
        one(u8::MAX);
        one(i8::MIN);
        one(0x1234u16);
        one(i16::MIN);
        one(u32::MAX - 1);
        one(i32::MIN);
        one(u64::MAX - 1);
        one(i64::MIN);
        one(usize::MAX / 3);
        one(isize::MIN);
        one(-0.1f32);
        one(f64::MIN_POSITIVE);
        assert!((1u8, 2u8).scalar().is_none() && true.scalar().is_none() && 'a'.scalar().is_none());
    }
}
