//! Steps and numbers as bytes of messages.

use super::{Array, Component, Range, Reference, Step, Subscripts, Vector, Which, mode, step};
use crate::descriptor::{Dimension, MAX_RANK};
use std::marker::PhantomData;

/// Makes a message.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Adds a number.
    pub fn number(&mut self, n: u64) {
        self.0.extend(n.to_le_bytes());
    }

    fn words(&mut self, all: &[isize]) {
        self.numbers(all.iter().map(|word| *word as u64));
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
    pub fn steps(&mut self, steps: Reference<'_>) {
        let bounds = steps.bounds.iter().flat_map(|d| [d.stride, d.lower, d.upper]);
        self.words(&bounds.collect::<Vec<_>>());
        self.number(steps.iter().count() as u64);
        for step in steps.iter() {
            self.number(step.what as u64);
            self.number(step.bytes as u64);
            let Some(array) = step.array() else {
                // SAFETY: any step has these words.
                let Component { offset, token_offset } = unsafe { step.which.component };
                self.words(&[offset, token_offset]);
                continue;
            };
            self.number(array.dimensions().count() as u64);
            for (mode, subscripts) in array.dimensions() {
                self.number(mode.into());
                // SAFETY: the variant is that of the mode; (1) of `Reference::of`.
                unsafe {
                    if mode == mode::VECTOR {
                        self.words(&subscripts.vector.list());
                    } else {
                        self.words(&subscripts.range.said(mode, step.what));
                    }
                }
            }
        }
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

    /// The next numbers.
    pub fn numbers(&mut self) -> Option<Vec<u64>> {
        let count = self.size()?;
        if count > self.0.len() / 8 {
            return None;
        }
        (0..count).map(|_| self.number()).collect()
    }

    /// As many numbers as are expected.
    fn words<const N: usize>(&mut self) -> Option<[isize; N]> {
        let words: [u64; N] = self.numbers()?.try_into().ok()?;
        Some(words.map(|word| word as isize))
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
    pub fn steps(&mut self) -> Option<ReceivedReference<'a>> {
        let bounds = self.numbers()?;
        let (bounds, []) = bounds.as_chunks() else { return None };
        let dimension = |&[stride, lower, upper]: &[u64; 3]| Dimension {
            stride: stride as isize,
            lower: lower as isize,
            upper: upper as isize,
        };
        let bounds = bounds.iter().map(dimension).collect();
        let steps = (0..self.number()?).map(|_| self.step()).collect::<Option<Vec<_>>>()?;
        Some(ReceivedReference::new(steps, bounds))
    }

    fn step(&mut self) -> Option<Step> {
        let (what, bytes) = (self.size()?, self.size()?);
        let what = what.try_into().ok()?;
        let which = match what {
            step::DESCRIBED | step::FIXED => Which { array: self.array()? },
            _ => {
                let [offset, token_offset] = self.words()?;
                Which { component: Component { offset, token_offset } }
            }
        };
        Some(Step { next: std::ptr::null(), what, bytes, which })
    }

    fn array(&mut self) -> Option<Array> {
        let none = Subscripts { range: Range { start: 0, end: 0, stride: 0 } };
        let mut array = Array { mode: [mode::END; MAX_RANK], _class: 0, subscripts: [none; MAX_RANK] };
        for i in 0..self.size().filter(|n| *n <= MAX_RANK)? {
            array.mode[i] = self.number()?.try_into().ok()?;
            array.subscripts[i] = if array.mode[i] == mode::VECTOR {
                let count = self.size()?;
                let (words, rest) = self.0.split_at_checked(count.checked_mul(size_of::<isize>())?)?;
                self.0 = rest;
                // The machine's words are those of messages.
                Subscripts {
                    vector: Vector { vector: words.as_ptr(), count, kind: size_of::<isize>() as i32 },
                }
            } else {
                let [start, end, stride] = self.words()?;
                Subscripts { range: Range { start, end, stride } }
            };
        }
        Some(array)
    }
}

/// A reference in a message, which has its vectors.
pub struct ReceivedReference<'a> {
    steps: Vec<Step>,
    bounds: Vec<Dimension>,
    message: PhantomData<&'a [u8]>,
}

impl ReceivedReference<'_> {
    /// Of steps one behind the other.
    pub(super) fn new(mut steps: Vec<Step>, bounds: Vec<Dimension>) -> Self {
        let (first, count) = (steps.as_mut_ptr(), steps.len());
        for i in 1..count {
            // SAFETY: both are among them.
            unsafe { (*first.add(i - 1)).next = first.add(i) };
        }
        ReceivedReference { steps, bounds, message: PhantomData }
    }

    /// The steps.
    pub fn steps(&self) -> Reference<'_> {
        Reference { first: self.steps.first(), bounds: &self.bounds }
    }
}
