//! Questions to the owner of a component, who follows the reference in its own memory.
#![expect(unsafe_code, reason = "the owner follows pointers of its program")]

use crate::assign::{runs, same_shape};
use crate::image::Image;
use crate::questions::{ends_early, nonsense};
use crate::stat::Failure;
use crate::walk::wire::{Parser, Writer};
use crate::walk::{Found, Reader, Step, walk};
use gasnet::RankId;
use gasnet::am::FIRST_LIBRARY_HANDLER;
use gasnet_wire::bytes;

/// The handler of these questions.
pub const HANDLER: u8 = FIRST_LIBRARY_HANDLER + 16;

/// What is asked, as a number of the question.
mod question {
    /// What the elements hold.
    pub const READ: u64 = 0;
    /// That elements be written.
    pub const WRITE: u64 = 1;
    /// Whether the component is there.
    pub const PRESENT: u64 = 2;
    /// The extents of the elements.
    pub const SHAPE: u64 = 3;
}

/// The elements that a reference leads to.
#[derive(Debug)]
pub struct Elements {
    /// Bytes of one.
    pub bytes: usize,
    /// Extents of the dimensions.
    pub extents: Vec<usize>,
    /// What they hold, one after the other.
    pub data: Vec<u8>,
}

/// A reference to elements of another image.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Whose.
    pub rank: RankId,
    /// Where its steps begin, from the start of the segment.
    pub offset: u64,
    /// The steps.
    pub steps: &'a [Step],
}

impl Target<'_> {
    fn ask(self, image: &Image, question: u64, written: Option<&Elements>) -> Result<Vec<u8>, Failure> {
        let mut message = Writer::default();
        message.number(self.offset);
        message.steps(self.steps);
        message.number(question);
        if let Some(elements) = written {
            message.number(elements.bytes as u64);
            message.numbers(elements.extents.iter().map(|n| *n as u64));
        }
        image.ask(self.rank, HANDLER, &message.0, written.map_or(&[], |elements| &elements.data))
    }

    /// The elements.
    ///
    /// # Errors
    /// What the owner found wrong, as of all these.
    pub fn read(self, image: &Image) -> Result<Elements, Failure> {
        elements(self.ask(image, question::READ, None)?)
    }

    /// Their extents.
    ///
    /// # Errors
    /// See above.
    pub fn shape(self, image: &Image) -> Result<Vec<usize>, Failure> {
        Ok(elements(self.ask(image, question::SHAPE, None)?)?.extents)
    }

    /// Has them written: as many as the reference leads to, of the same extents.
    ///
    /// # Errors
    /// See above; or another shape there.
    pub fn write(self, image: &Image, elements: &Elements) -> Result<(), Failure> {
        self.ask(image, question::WRITE, Some(elements)).map(|_| ())
    }

    /// Whether the component is allocated or associated.
    ///
    /// # Errors
    /// See above.
    pub fn is_present(self, image: &Image) -> Result<bool, Failure> {
        Ok(Parser(&self.ask(image, question::PRESENT, None)?).number() == Some(1))
    }
}

/// An answer with elements.
fn elements(mut answer: Vec<u8>) -> Result<Elements, Failure> {
    let mut parser = Parser(&answer);
    let (bytes, extents) = parser.number().zip(parser.numbers()).ok_or_else(ends_early)?;
    let extents = extents.into_iter().map(|n| n as usize).collect();
    let head = answer.len() - parser.rest().len();
    answer.drain(..head);
    Ok(Elements { bytes: bytes as usize, extents, data: answer })
}

/// Own memory.
pub struct Own;

impl Reader for Own {
    fn copy(&self, to: &mut [u8], from: usize) -> bool {
        let from = std::ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: descriptors and pointers of the program lead to memory of the program.
        unsafe { bytes::load(to.as_mut_ptr(), from, to.len()) };
        true
    }
}

/// Answers a question about the own memory.
pub fn serve(image: &Image, question: &[u8], answer: &mut Vec<u8>) -> Result<(), Failure> {
    let mut parser = Parser(question);
    let (offset, steps) = parser.number().zip(parser.steps()).ok_or_else(nonsense)?;
    let what = parser.number().ok_or_else(nonsense)?;
    let own = image.rank.table().get(image.rank.id()).filter(|own| offset < own.size as u64);
    let base = own.ok_or_else(nonsense)?.local.expose_provenance() + offset as usize;
    let found = walk(&Own, base, &steps);
    let mut message = Writer::default();
    if what == question::PRESENT {
        message.number(found.is_ok().into());
        *answer = message.0;
        return Ok(());
    }
    let Found { section, bytes } = found.map_err(|miss| miss.on(image.rank.id().0 + 1))?;
    let whole = section.count() * bytes;
    if what == question::WRITE {
        let (theirs, extents) = parser.number().zip(parser.numbers()).ok_or_else(nonsense)?;
        let extents: Vec<usize> = extents.into_iter().map(|n| n as usize).collect();
        same_shape(&section.extents(), &extents)?;
        let mut rest = parser.rest();
        if theirs != bytes as u64 || rest.len() != whole {
            return Err(nonsense());
        }
        runs(&section, bytes, |at, n| {
            let (now, later) = rest.split_at(n);
            // SAFETY: as in `Own`; the program lets its components be written.
            unsafe { bytes::store(std::ptr::with_exposed_provenance_mut(at), now.as_ptr(), n) };
            rest = later;
        });
        return Ok(());
    }
    message.number(bytes as u64);
    message.numbers(section.extents().into_iter().map(|n| n as u64));
    *answer = message.0;
    if what == question::READ {
        let mut next = answer.len();
        answer.resize(next + whole, 0);
        runs(&section, bytes, |at, n| {
            Own.copy(&mut answer[next..next + n], at);
            next += n;
        });
    }
    Ok(())
}
