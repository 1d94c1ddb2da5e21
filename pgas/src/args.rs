//! What travels with a call.

pub use gasnet::Shared as Plain;

/// Whatever can be an argument by value, or a result: `serde` writes it and reads it back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to another rank",
    label = "`serde` has to write and read it, and it has to be `'static`",
    note = "a type of one's own derives `serde::Serialize` and `serde::Deserialize`; addresses, locks and files mean nothing elsewhere"
)]
pub trait Data: serde::Serialize + serde::de::DeserializeOwned + 'static {}
impl<T: serde::Serialize + serde::de::DeserializeOwned + 'static> Data for T {}

/// Arguments of a remote function: how they are written, and what the function gets. All [`Data`] is, by
/// value, and what is [lent](lend).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a remote function",
    label = "`serde` has to write and read it, and it has to be `'static`",
    note = "a type of one's own derives `serde::Serialize` and `serde::Deserialize`; addresses, locks and files mean nothing elsewhere",
    note = "a `&str`, or a slice of plain data, is lent: `pgas::lend(&value)`"
)]
pub trait Args {
    /// What the function gets; it may borrow from the message.
    type Of<'a>;

    /// Appends the arguments to a message.
    ///
    /// # Errors
    /// They cannot be written.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), String>;

    /// Reads them back from a message that begins at a multiple of 8.
    ///
    /// # Errors
    /// The bytes are none.
    fn read(bytes: &[u8]) -> Result<Self::Of<'_>, String>;
}

/// Writes into a vector.
struct Into<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Into<'_> {
    type Output = ();
    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }
    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

impl<T: Data> Args for T {
    type Of<'a> = T;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        postcard::serialize_with_flavor(self, Into(out)).map_err(|e| unwritable::<T>(&e))
    }
    fn read(bytes: &[u8]) -> Result<T, String> {
        postcard::from_bytes(bytes)
            .map_err(|e| format!("a {} that cannot be read: {e}", core::any::type_name::<T>()))
    }
}

/// Arguments that are kept, to be written again.
pub(crate) struct Kept<'x, A>(pub(crate) &'x A);

impl<A: Args> Args for Kept<'_, A> {
    type Of<'a> = A::Of<'a>;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        self.0.write(out)
    }
    fn read(bytes: &[u8]) -> Result<A::Of<'_>, String> {
        A::read(bytes)
    }
}

#[cold]
fn unwritable<T>(e: &postcard::Error) -> String {
    format!("a {} cannot be written: {e}", core::any::type_name::<T>())
}

/// An argument that the function borrows from the message: see [`lend`].
#[derive(Debug, Clone, Copy)]
pub struct Lend<'x, B: ?Sized>(&'x B);

/// Sends a string, or a slice of plain data, without a copy of its own at either end: the function gets a
/// `&str` or `&[T]` into the message.
pub fn lend<B: ?Sized>(value: &B) -> Lend<'_, B> {
    Lend(value)
}

impl Args for Lend<'_, str> {
    type Of<'a> = &'a str;

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(())
    }
    fn read(bytes: &[u8]) -> Result<&str, String> {
        core::str::from_utf8(bytes).map_err(|e| format!("a string that is none: {e}"))
    }
}

impl<T: Plain> Args for Lend<'_, [T]> {
    type Of<'a> = &'a [T];

    fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        const { assert!(align_of::<T>() <= 8, "elements of a lent slice are aligned to at most 8 bytes") }
        out.extend_from_slice(bytemuck::cast_slice(self.0));
        Ok(())
    }
    fn read(bytes: &[u8]) -> Result<&[T], String> {
        bytemuck::try_cast_slice(bytes).map_err(|e| format!("a slice that is none: {e}"))
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
        round(&lend("grüße"), |back| assert_eq!(back, "grüße"));
        round(&lend(&[1.0f64, 2.0][..]), |back| assert_eq!(back, [1.0, 2.0]));
        assert!(<Lend<'_, str> as Args>::read(&[0xff]).is_err());
        assert!(<u64 as Args>::read(&[]).is_err());
    }
}
