//! The report of a statement that fails: `stat=`, `errmsg=`, or error termination.

use crate::image::Image;
use crate::stat::Failure;
use std::ffi::c_int;

/// Where a statement reports: its `stat=` and `errmsg=`, as far as it has them.
#[derive(Debug, Default)]
pub struct Report<'a> {
    /// The variable of `stat=`.
    pub stat: Option<&'a mut c_int>,
    /// The variable of `errmsg=`.
    pub message: Option<&'a mut [u8]>,
}

impl Report<'_> {
    /// Sets `stat=`; and `errmsg=` if the statement failed. Without `stat=` a failure is error termination.
    pub fn finish(self, image: &Image, result: Result<(), Failure>) {
        match (result, self.stat) {
            (Ok(()), None) => {}
            (Ok(()), Some(stat)) => *stat = 0,
            (Err(failure), None) => image.fail(&failure),
            (Err(failure), Some(stat)) => {
                *stat = failure.code;
                if let Some(message) = self.message {
                    blank_padded(message, failure.text.as_bytes());
                }
            }
        }
    }
}

/// Fortran's assignment of default characters.
fn blank_padded(to: &mut [u8], from: &[u8]) {
    let n = to.len().min(from.len());
    to[..n].copy_from_slice(&from[..n]);
    to[n..].fill(b' ');
}

#[cfg(test)]
mod tests {
    #[test]
    fn messages_are_padded_and_cut() {
        let mut message = *b"xxxxxx";
        super::blank_padded(&mut message, b"abc");
        assert_eq!(&message, b"abc   ");
        super::blank_padded(&mut message[..2], b"xyz");
        assert_eq!(&message, b"xyc   ");
    }
}
