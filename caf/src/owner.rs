//! Questions to the owner of a component, who follows the reference in its own memory.
#![expect(unsafe_code, reason = "the owner follows pointers of its program")]

use crate::assign::{HeldElements, runs, same_shape};
use crate::descriptor::{Element, Section};
use crate::image::Image;
use crate::near::Near;
use crate::questions::{ends_early, nonsense};
use crate::stat::Failure;
use crate::walk::wire::{Parser, Writer};
use crate::walk::{Reference, Step, walk};
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

/// A reference to elements of another image.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Whose.
    pub rank: RankId,
    /// Where its steps begin, from the start of the segment.
    pub offset: u64,
    /// The steps.
    pub steps: Reference<'a>,
}

impl Target<'_> {
    /// Bytes of an element; 0 if only the owner knows.
    pub fn bytes(self) -> usize {
        self.steps.iter().last().map_or(0, Step::bytes)
    }

    fn ask(self, image: &Image, question: u64, written: Option<&HeldElements>) -> Result<Vec<u8>, Failure> {
        let mut message = Writer::default();
        message.number(self.offset);
        message.steps(self.steps);
        message.number(question);
        if let Some(HeldElements { local, .. }) = written {
            message.number(local.element.bytes as u64);
            message.numbers(local.section.extents().iter().map(|n| *n as u64));
        }
        image.ask(self.rank, HANDLER, &message.0, written.map_or(&[], HeldElements::data))
    }

    /// The elements; `like` says of which type.
    ///
    /// # Errors
    /// What the owner found wrong, as of all these.
    pub fn read(self, image: &Image, like: Element) -> Result<HeldElements, Failure> {
        let (bytes, extents, data) = elements(self.ask(image, question::READ, None)?)?;
        if data.len() != extents.iter().product::<usize>() * bytes {
            return Err(ends_early());
        }
        Ok(HeldElements::packed(data, &extents, Element { bytes, ..like }))
    }

    /// Their extents.
    ///
    /// # Errors
    /// See above.
    pub fn shape(self, image: &Image) -> Result<Vec<usize>, Failure> {
        Ok(elements(self.ask(image, question::SHAPE, None)?)?.1)
    }

    /// Has a copy of elements written: as many as the reference leads to, of the same extents.
    ///
    /// # Errors
    /// See above; or another shape there.
    pub fn write(self, image: &Image, elements: &HeldElements) -> Result<(), Failure> {
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

/// An answer with elements: bytes of one, extents, and what they hold.
fn elements(mut answer: Vec<u8>) -> Result<(usize, Vec<usize>, Vec<u8>), Failure> {
    let mut parser = Parser(&answer);
    let (bytes, extents) = parser.number().zip(parser.numbers()).ok_or_else(ends_early)?;
    let extents = extents.into_iter().map(|n| n as usize).collect();
    let head = answer.len() - parser.rest().len();
    answer.drain(..head);
    Ok((bytes as usize, extents, answer))
}

/// Answers a question about the own memory.
pub fn serve(image: &Image, question: &[u8], answer: &mut Vec<u8>) -> Result<(), Failure> {
    let mut parser = Parser(question);
    let (offset, steps) = parser.number().zip(parser.steps()).ok_or_else(nonsense)?;
    let what = parser.number().ok_or_else(nonsense)?;
    let segment = image.rank.table().get(image.rank.id()).filter(|own| offset < own.size as u64);
    let own = Near { own: true, segment: segment.ok_or_else(nonsense)?, process: None };
    let mut section = Section::scalar(own.start() + offset as usize);
    let found = walk(&own, &mut section, steps.steps());
    let mut message = Writer::default();
    if what == question::PRESENT {
        message.number(found.is_ok().into());
        *answer = message.0;
        return Ok(());
    }
    let bytes = found.map_err(|miss| miss.on(image.rank.id().0 + 1))?;
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
            // SAFETY: addresses of the program, which lets its components be written.
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
            let from = std::ptr::with_exposed_provenance(at);
            // SAFETY: addresses of the program; the answer has room for all elements.
            unsafe { bytes::load(answer[next..next + n].as_mut_ptr(), from, n) };
            next += n;
        });
    }
    Ok(())
}
