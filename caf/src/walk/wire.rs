//! Steps and numbers as bytes of messages.

use super::{Bounds, Step, Subscript};
use crate::descriptor::{Dimension, MAX_RANK};

/// Makes a message.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Adds a number.
    pub fn number(&mut self, n: u64) {
        self.0.extend(n.to_le_bytes());
    }

    fn signed(&mut self, n: isize) {
        self.number(n as u64);
    }

    /// Adds bytes, and how many.
    pub fn bytes(&mut self, all: &[u8]) {
        self.number(all.len() as u64);
        self.0.extend(all);
    }

    /// Adds numbers, and how many.
    pub fn numbers(&mut self, all: impl ExactSizeIterator<Item = u64>) {
        self.number(all.len() as u64);
        all.for_each(|n| self.number(n));
    }

    /// Adds steps.
    pub fn steps(&mut self, steps: &[Step]) {
        self.number(steps.len() as u64);
        for step in steps {
            match step {
                Step::Component { offset, indirect, bytes } => {
                    self.number(u64::from(*indirect));
                    self.signed(*offset);
                    self.number(*bytes as u64);
                }
                Step::Array { bounds, subscripts, bytes } => {
                    let (kind, known): (u64, &[Dimension]) = match bounds {
                        Bounds::None => (2, &[]),
                        Bounds::Descriptor => (3, &[]),
                        Bounds::Known(dimensions) => (4, dimensions),
                    };
                    self.number(kind);
                    self.number(*bytes as u64);
                    let words = known.iter().flat_map(|d| [d.stride, d.lower, d.upper]);
                    self.numbers(words.map(|w| w as u64).collect::<Vec<_>>().into_iter());
                    self.number(subscripts.len() as u64);
                    subscripts.iter().for_each(|s| self.subscript(s));
                }
            }
        }
    }

    fn subscript(&mut self, subscript: &Subscript) {
        let (mode, words): (u64, &[isize]) = match subscript {
            Subscript::Vector(list) => (1, list),
            Subscript::Full(stride) => (2, &[*stride]),
            Subscript::Range(first, last, stride) => (3, &[*first, *last, *stride]),
            Subscript::Single(i) => (4, &[*i]),
            Subscript::From(first, stride) => (5, &[*first, *stride]),
            Subscript::UpTo(last, stride) => (6, &[*last, *stride]),
        };
        self.number(mode);
        self.numbers(words.iter().map(|w| *w as u64));
    }
}

/// Reads a message; `None`: it ends early, or has what no message has.
#[derive(Debug)]
pub struct Parser<'a>(pub &'a [u8]);

impl<'a> Parser<'a> {
    /// The next number.
    pub fn number(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn size(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn signed(&mut self) -> Option<isize> {
        Some(self.number()? as isize)
    }

    /// The next numbers.
    pub fn numbers(&mut self) -> Option<Vec<u64>> {
        let count = self.size()?;
        if count > self.0.len() / 8 {
            return None;
        }
        (0..count).map(|_| self.number()).collect()
    }

    fn words(&mut self) -> Option<Vec<isize>> {
        Some(self.numbers()?.into_iter().map(|n| n as isize).collect())
    }

    /// The next bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.size()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The rest of the bytes.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next steps.
    pub fn steps(&mut self) -> Option<Vec<Step>> {
        let count = self.size()?;
        if count > self.0.len() {
            return None;
        }
        (0..count).map(|_| self.step()).collect()
    }

    fn step(&mut self) -> Option<Step> {
        let kind = self.number()?;
        if kind < 2 {
            let (offset, bytes) = (self.signed()?, self.size()?);
            return Some(Step::Component { offset, indirect: kind == 1, bytes });
        }
        let (bytes, words) = (self.size()?, self.words()?);
        let known =
            words.chunks_exact(3).map(|w| Dimension { stride: w[0], lower: w[1], upper: w[2] }).collect();
        let bounds = match kind {
            2 => Bounds::None,
            3 => Bounds::Descriptor,
            4 => Bounds::Known(known),
            _ => return None,
        };
        let count = self.size().filter(|n| *n <= MAX_RANK)?;
        let subscripts = (0..count).map(|_| self.subscript()).collect::<Option<_>>()?;
        Some(Step::Array { bounds, subscripts, bytes })
    }

    fn subscript(&mut self) -> Option<Subscript> {
        let (mode, words) = (self.number()?, self.words()?);
        Some(match (mode, &words[..]) {
            (1, _) => Subscript::Vector(words),
            (2, &[stride]) => Subscript::Full(stride),
            (3, &[first, last, stride]) => Subscript::Range(first, last, stride),
            (4, &[i]) => Subscript::Single(i),
            (5, &[first, stride]) => Subscript::From(first, stride),
            (6, &[last, stride]) => Subscript::UpTo(last, stride),
            _ => return None,
        })
    }
}
