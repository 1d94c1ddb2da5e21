//! Accessors: functions of the program that read and write an image's own elements, for other images.
//!
//! gfortran 15 and later compiles a function for each coindexed object, which every image registers before
//! the program begins. An access names it by its *hash*, and hands over the values that it needs, such as
//! subscripts. The owner of the elements calls it; an image calls it by itself for its own elements, and for
//! elements that are mapped here and have no pointers.
#![expect(unsafe_code, reason = "calls functions of compiled code, on its memory")]

use crate::coarray::Coarray;
use crate::descriptor::Descriptor;
use crate::image::{Image, lock};
use crate::questions::{ends_early, nonsense};
use crate::stat::Failure;
use crate::walk::wire::{Parser, Writer};
use gasnet::RankId;
use gasnet::am::FIRST_LIBRARY_HANDLER;
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

/// The handler of questions to accessors.
pub const HANDLER: u8 = FIRST_LIBRARY_HANDLER + 18;

/// Puts the address of the elements, or memory with a copy of them, to the third argument: a pointer, or a
/// descriptor. The fourth says whether the memory is to be freed; the last two are lengths of characters.
pub type Getter = unsafe extern "C" fn(
    *mut u8,
    *const c_int,
    *mut u8,
    *mut i32,
    *mut u8,
    *mut u8,
    usize,
    *mut usize,
    *const usize,
);
/// Says by the third argument whether a component is allocated or associated.
pub type Presence = unsafe extern "C" fn(*mut u8, *const c_int, *mut i32, *mut u8, *mut u8, usize);
/// Assigns the elements of the fourth argument to those of the third.
pub type Setter = unsafe extern "C" fn(
    *mut u8,
    *const c_int,
    *mut u8,
    *const u8,
    *mut u8,
    usize,
    *const usize,
    *const usize,
);

/// The kinds of an accessor's work.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Read.
    #[default]
    Get,
    /// Write.
    Set,
    /// Say whether the component is there.
    Presence,
}

/// An access, apart from where its elements are.
#[derive(Debug, Default, Clone)]
pub struct AccessorCall<'a> {
    /// The work to do.
    pub task: Task,
    /// The accessor.
    pub hash: c_int,
    /// The image that asks.
    pub image: c_int,
    /// Bytes of the elements in all; of characters those of one.
    pub bytes: usize,
    /// Characters of an element on the left and on the right side; 0: these are no characters.
    pub lengths: [usize; 2],
    /// The descriptor of the left side, or nothing.
    pub left: &'a [u8],
    /// Whether the left side takes any shape.
    pub reshape: bool,
    /// The descriptor of the right side, or nothing.
    pub right: &'a [u8],
    /// Values for the accessor.
    pub values: &'a [u8],
    /// Elements to be written, one after the other.
    pub data: &'a [u8],
}

/// The result of an access.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AccessOutcome {
    /// Characters of an element.
    pub length: usize,
    /// The descriptor of the elements, if they have one.
    pub descriptor: Vec<u8>,
    /// The elements that were read; whether a component is there.
    pub data: Vec<u8>,
}

/// Bytes at an alignment that all types have.
struct Aligned(Vec<u128>);

impl Aligned {
    fn of(bytes: &[u8]) -> Aligned {
        let mut words = vec![0u128; bytes.len().div_ceil(16).max(1)];
        for (word, part) in words.iter_mut().zip(bytes.chunks(16)) {
            let mut whole = [0; 16];
            whole[..part.len()].copy_from_slice(part);
            *word = u128::from_ne_bytes(whole);
        }
        Aligned(words)
    }

    fn at(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl AccessorCall<'_> {
    /// Calls the accessor for elements that lie at `base`.
    ///
    /// # Errors
    /// It is not known here.
    ///
    /// # Safety
    /// 1. `base` is the first byte of the coarray that the accessor is for, in memory of this process. 2. The
    ///    other parts are as compiled code has handed them over (both owed by the caller).
    pub unsafe fn run(&self, image: &Image, base: *mut u8) -> Result<AccessOutcome, Failure> {
        let found = lock(&image.accessors).iter().find(|(hash, _)| *hash == self.hash).copied();
        let (_, function) = found.ok_or_else(|| {
            Failure::other(format!(
                "the accessor {:#x} is not known: images run different programs",
                self.hash
            ))
        })?;
        let function: *const u8 = std::ptr::with_exposed_provenance(function);
        let [mut left, mut right, mut values, mut data] =
            [self.left, self.right, self.values, self.data].map(Aligned::of);
        let lengths = self.lengths;
        // Accessors reach other images by this; here it leads nowhere.
        let nobody = std::ptr::null_mut();
        // A descriptor has its own address, or the elements have none.
        // SAFETY: (2): descriptors of compiled code.
        let described = |descriptor: &mut Aligned, bytes: &[u8], base: *mut u8| unsafe {
            if bytes.is_empty() {
                return base;
            }
            Descriptor::at(descriptor.at()).set_base(base);
            descriptor.at()
        };
        // SAFETY: (1), (2): the program has registered the function for this task, with these arguments.
        unsafe {
            match self.task {
                Task::Presence => {
                    let f: Presence = std::mem::transmute(function);
                    let mut result = 0;
                    f(values.at(), &self.image, &mut result, base, nobody, 0);
                    Ok(AccessOutcome { data: vec![u8::from(result != 0)], ..AccessOutcome::default() })
                }
                Task::Set => {
                    let f: Setter = std::mem::transmute(function);
                    let to = described(&mut left, self.left, base);
                    let elements = data.at();
                    let from = described(&mut right, self.right, elements);
                    f(values.at(), &self.image, to, from, nobody, 0, &lengths[0], &lengths[1]);
                    Ok(AccessOutcome::default())
                }
                Task::Get => {
                    let f: Getter = std::mem::transmute(function);
                    let from = described(&mut right, self.right, base);
                    let mut address: *mut u8 = std::ptr::null_mut();
                    let has_descriptor = !self.left.is_empty();
                    let to = match has_descriptor {
                        true => described(&mut left, self.left, std::ptr::null_mut()),
                        false => (&raw mut address).cast(),
                    };
                    let (mut free, mut length) = (0, lengths[0].max(1));
                    f(values.at(), &self.image, to, &mut free, from, nobody, 0, &mut length, &lengths[1]);
                    let (mut descriptor, mut bytes) = (Vec::new(), length.saturating_mul(self.bytes));
                    if has_descriptor {
                        let it = Descriptor::at(to);
                        address = it.base();
                        let count: usize = it.extents().iter().product();
                        bytes = match (self.reshape, lengths[1] > 0) {
                            (true, _) => it.span() as usize * count,
                            (false, true) => bytes * count,
                            (false, false) => self.bytes,
                        };
                        descriptor = std::slice::from_raw_parts(to, self.left.len()).to_vec();
                    }
                    let mut data = vec![0; if address.is_null() { 0 } else { bytes }];
                    gasnet_wire::bytes::load(data.as_mut_ptr(), address, data.len());
                    if free != 0 {
                        libc::free(address.cast());
                    }
                    Ok(AccessOutcome { length, descriptor, data })
                }
            }
        }
    }

    /// The bytes of a message, to which the data is to be added.
    fn write(&self, message: &mut Writer) {
        let AccessorCall { task, hash, image, bytes, lengths, left, reshape, right, values, data } = self;
        let numbers = [*task as u64, *hash as u64, *image as u64, *bytes as u64, u64::from(*reshape)];
        let lengths = lengths.map(|n| n as u64);
        numbers.into_iter().chain(lengths).for_each(|n| message.number(n));
        [left, right, values].into_iter().for_each(|part| message.bytes(part));
        message.number(data.len() as u64);
    }

    fn read<'a>(message: &mut Parser<'a>) -> Option<AccessorCall<'a>> {
        let tasks = [Task::Get, Task::Set, Task::Presence];
        let task = *tasks.get(message.number()? as usize)?;
        let (hash, image) = (message.number()? as c_int, message.number()? as c_int);
        let (bytes, reshape) = (message.number()? as usize, message.number()? != 0);
        let lengths = [message.number()? as usize, message.number()? as usize];
        let [left, right, values, data] =
            [message.bytes()?, message.bytes()?, message.bytes()?, message.bytes()?];
        Some(AccessorCall { task, hash, image, bytes, lengths, left, reshape, right, values, data })
    }
}

impl AccessOutcome {
    fn write(&self, message: &mut Writer) {
        message.number(self.length as u64);
        message.bytes(&self.descriptor);
        message.bytes(&self.data);
    }

    fn read(message: &mut Parser<'_>) -> Option<AccessOutcome> {
        let length = message.number()? as usize;
        Some(AccessOutcome { length, descriptor: message.bytes()?.to_vec(), data: message.bytes()?.to_vec() })
    }
}

impl Image {
    /// Adds an accessor; returns its index here.
    pub fn add_accessor(&self, hash: c_int, function: usize) {
        lock(&self.accessors).push((hash, function));
    }

    /// The index of an accessor, or -1.
    pub fn accessor_index(&self, hash: c_int) -> c_int {
        lock(&self.accessors).iter().position(|(known, _)| *known == hash).map_or(-1, |at| at as c_int)
    }

    /// The hash of the accessor with an index.
    ///
    /// # Errors
    /// There is none.
    pub fn accessor_hash(&self, index: c_int) -> Result<c_int, Failure> {
        let found = usize::try_from(index).ok().and_then(|at| lock(&self.accessors).get(at).copied());
        found
            .map(|(hash, _)| hash)
            .ok_or_else(|| Failure::other(format!("the accessor {index} is not known")))
    }

    /// Carries out an access to elements of a coarray on an image.
    ///
    /// # One-sided
    /// # Errors
    /// The owner does not know the accessor.
    ///
    /// # Safety
    /// 1. `access` is as compiled code has handed it over, for this coarray (owed by the caller).
    pub unsafe fn access(
        &self,
        coarray: &Coarray,
        rank: RankId,
        mapped: *mut u8,
        access: &AccessorCall<'_>,
    ) -> Result<AccessOutcome, Failure> {
        self.count_look();
        let bare = coarray.is_bare && !coarray.has_components.load(Relaxed);
        if rank == self.rank.id() || bare && !mapped.is_null() {
            // SAFETY: (1); the elements are mapped, and lead nowhere else.
            return unsafe { access.run(self, mapped) };
        }
        self.settle_bytes(rank, coarray.offset..coarray.offset + coarray.bytes);
        let mut message = Writer::default();
        message.number(coarray.offset);
        access.write(&mut message);
        let answer = self.ask(rank, HANDLER, &message.0, access.data)?;
        AccessOutcome::read(&mut Parser(&answer)).ok_or_else(ends_early)
    }
}

/// Answers a question: calls the accessor for elements of this image.
pub fn serve(image: &Image, question: &[u8], answer: &mut Vec<u8>) -> Result<(), Failure> {
    let mut question = Parser(question);
    let offset = question.number().ok_or_else(nonsense)?;
    let access = AccessorCall::read(&mut question).ok_or_else(nonsense)?;
    let own = image.rank.table().get(image.rank.id()).filter(|own| offset < own.size as u64);
    let base = own.ok_or_else(nonsense)?.local.wrapping_add(offset as usize);
    let mut message = Writer::default();
    // SAFETY: a coarray at this place, and what its image has handed over.
    unsafe { access.run(image, base) }?.write(&mut message);
    *answer = message.0;
    Ok(())
}
