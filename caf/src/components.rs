//! Reads and writes through references: of components that are allocated or pointed to, and of whole arrays
//! into allocatable ones.
//!
//! On a near image the reference is followed from here. Elements in its segment are loads and stores; those
//! in its private memory the system copies, where it may and where they are few runs. Otherwise, and on far
//! images, the owner follows it ([`crate::owner`]).
#![expect(unsafe_code, reason = "copies between variables of compiled code, segments and processes")]

use crate::access::{Local, Packed};
use crate::assign::{Way, assign, conversion, runs};
use crate::coarray::Coarray;
use crate::descriptor::{Axis, Class, Descriptor, Element, Section};
use crate::image::Image;
use crate::owner::{Elements, MAX_STEPS_BYTES, Own, Target, length, same_shape};
use crate::stat::Failure;
use crate::walk::{Bounds, Found, Miss, Reader, Reference, Step, Subscript, one, split, walk};
use gasnet::SegmentEntry;
use gasnet_sys::memory::{read_process, write_process};
use gasnet_sys::process::Pid;
use gasnet_wire::bytes;

/// Most runs for which the system is asked, each by a call.
const MAX_COPIED_RUNS: usize = 16;

/// Where elements that were read go.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// The variable.
    pub descriptor: Descriptor,
    /// Its kind.
    pub kind: i32,
    /// Whether it gets another shape if it has to.
    pub reallocatable: bool,
}

/// A reference, as compiled code has it: to which elements, of which type.
#[derive(Debug, Clone)]
pub struct Path<'a> {
    /// The coarray.
    pub coarray: &'a Coarray,
    /// The image, in the current team.
    pub image: i32,
    /// The steps from its first byte on.
    pub steps: Vec<Step>,
    /// The type of the elements.
    pub class: Class,
    /// Their kind.
    pub kind: i32,
}

/// The memory of an image that is mapped here.
struct Near<'a> {
    own: bool,
    segment: &'a SegmentEntry,
    process: Option<Pid>,
}

impl Near<'_> {
    /// Where an address of the owner is mapped here.
    fn mapped(&self, at: usize) -> Option<*mut u8> {
        if self.own {
            return Some(std::ptr::with_exposed_provenance_mut(at));
        }
        let offset = at.wrapping_sub(self.segment.addr);
        (offset < self.segment.size).then(|| self.segment.local.wrapping_add(offset))
    }

    /// The same elements where they are mapped here.
    fn section(&self, found: &Found) -> Option<Section> {
        let at = self.mapped(found.section.at)?.expose_provenance();
        Some(Section { at, axes: found.section.axes.clone() })
    }
}

impl Reader for Near<'_> {
    fn copy(&self, to: &mut [u8], from: usize) -> bool {
        let (at, n) = (to.as_mut_ptr(), to.len());
        if self.own {
            return Own.copy(to, from);
        }
        if let Some(from) = self.mapped(from) {
            // SAFETY: coarrays and their descriptors are whole in the segment.
            unsafe { bytes::load(at, from, n) };
            return true;
        }
        // SAFETY: so many bytes.
        self.process.is_some_and(|process| unsafe { read_process(process, from, at, n) }.is_ok())
    }
}

impl Path<'_> {
    fn element(&self, bytes: usize) -> Element {
        Element { class: self.class, kind: self.kind, bytes }
    }

    /// With the bounds of an allocatable coarray, which are the same on all images.
    ///
    /// # Errors
    /// They are not known.
    fn resolved(mut self) -> Result<Self, Failure> {
        if let Some(Step::Array { bounds: bounds @ Bounds::Descriptor, .. }) = self.steps.first_mut() {
            let shape = self.coarray.shape();
            let shape = shape.ok_or_else(|| Failure::other("a coarray whose bounds are not known"))?;
            *bounds = Bounds::Known(shape.to_vec());
        }
        Ok(self)
    }
}

/// Where a reference leads that was followed from here.
enum Lead<'a> {
    /// To elements at these addresses here.
    Mapped(Section, usize),
    /// To private memory of another process.
    Private(Found, Near<'a>),
    /// Only its owner can say.
    Owner,
}

impl Image {
    /// Follows a reference from here, if that is possible.
    fn follow(&self, path: &Path<'_>, target: Target<'_>) -> Result<Lead<'_>, Miss> {
        let Some(segment) = self.rank.table().get(target.rank).filter(|s| !s.local.is_null()) else {
            // Nobody knows here where the reference leads.
            self.settle_bytes(target.rank, 0..u64::MAX);
            return Ok(Lead::Owner);
        };
        self.count_look();
        let process = self.processes.get(target.rank.0 as usize).copied().flatten();
        let near = Near { own: target.rank == self.rank.id(), segment, process };
        let start = if near.own { segment.local.expose_provenance() } else { segment.addr };
        match walk(&near, start.wrapping_add(target.offset as usize), &path.steps) {
            Ok(found) => Ok(match near.section(&found) {
                Some(section) => Lead::Mapped(section, found.bytes),
                None => Lead::Private(found, near),
            }),
            Err(Miss::Unreadable) => Ok(Lead::Owner),
            Err(miss) => Err(miss),
        }
    }

    /// Where the one element is mapped that a list leads to, if it is of so many bytes, and near with all
    /// that is on the way.
    ///
    /// # Safety
    /// 1. A list of compiled code (owed by the caller).
    pub unsafe fn near_element(
        &self,
        coarray: &Coarray,
        image: i32,
        list: *const Reference,
        bytes: usize,
    ) -> Option<*mut u8> {
        let there = self.locate(coarray, 0, image).ok()?;
        let segment = self.rank.table().get(there.rank).filter(|segment| !segment.local.is_null())?;
        let near = Near { own: there.rank == self.rank.id(), segment, process: None };
        let start = if near.own { segment.local.expose_provenance() } else { segment.addr };
        let read = |at: usize| {
            let mut word = 0usize;
            // SAFETY: a word; coarrays, components and their descriptors are whole in the segment.
            unsafe { bytes::load((&raw mut word).cast(), near.mapped(at)?, size_of::<usize>()) };
            Some(word)
        };
        // SAFETY: (1).
        let (at, found) = unsafe { one(list, start.wrapping_add(there.offset as usize), read) }?;
        if found == bytes { near.mapped(at) } else { None }
    }

    /// Reads what a reference leads to.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image or component, a subscript is out of bounds, or the shapes differ.
    ///
    /// # Safety
    /// 1. The destination is a variable of compiled code (owed by the caller).
    pub unsafe fn get_by_path(&self, to: Destination, path: Path<'_>, overlap: bool) -> Result<(), Failure> {
        let path = path.resolved()?;
        let there = self.locate(path.coarray, 0, path.image)?;
        let target = Target { rank: there.rank, offset: there.offset, steps: &path.steps };
        let (section, bytes, copy);
        match self.follow(&path, target).map_err(|miss| miss.on(there.rank.0 + 1))? {
            Lead::Mapped(mapped, n) => {
                // SAFETY: (1).
                let to = unsafe { to.shaped(&mapped.extents()) }?;
                if overlap && there.rank == self.rank.id() {
                    // SAFETY: elements of this image.
                    copy = unsafe { Packed::load(&Local { section: mapped, element: path.element(n) }) }?;
                    (section, bytes) = (copy.section(), n);
                } else {
                    (section, bytes) = (mapped, n);
                }
                // SAFETY: (1); the other elements are mapped.
                return unsafe {
                    assign((to.section, to.element), (section, path.element(bytes)), Way::Load)
                };
            }
            Lead::Private(found, near) => match copy_private(&found, &near) {
                Some(packed) => (copy, bytes) = (packed, found.bytes),
                None => (copy, bytes) = packed(self.ask_whole(target)?),
            },
            Lead::Owner => (copy, bytes) = packed(self.ask_whole(target)?),
        }
        // SAFETY: (1).
        let to = unsafe { to.shaped(copy.extents()) }?;
        // SAFETY: (1); the copy has elements of this type.
        unsafe { assign((to.section, to.element), (copy.section(), path.element(bytes)), Way::Load) }
    }

    /// All elements, whatever the length of the reference.
    fn ask_whole(&self, target: Target<'_>) -> Result<Elements, Failure> {
        if length(target.steps) <= MAX_STEPS_BYTES {
            return self.ask_all(target);
        }
        let Some((halves, axis)) = halves(target.steps) else {
            return Err(Failure::other("a reference that is too long"));
        };
        let [first, second] = halves.map(|steps| self.ask_whole(Target { steps: &steps, ..target }));
        let (first, second) = (first?, second?);
        // One after the other along this axis.
        let inner: usize = first.extents[..axis].iter().product::<usize>() * first.bytes;
        let (a, b) = (inner * first.extents[axis], inner * second.extents[axis]);
        let outer: usize = first.extents[axis + 1..].iter().product();
        let mut data = Vec::with_capacity(first.data.len() + second.data.len());
        for i in 0..outer {
            data.extend(&first.data[i * a..(i + 1) * a]);
            data.extend(&second.data[i * b..(i + 1) * b]);
        }
        let mut extents = first.extents;
        extents[axis] += second.extents[axis];
        Ok(Elements { bytes: first.bytes, extents, data })
    }

    /// Writes to what a reference leads to; one element to all if there is one only.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_by_path`].
    ///
    /// # Safety
    /// 1. The elements here are of that type (owed by the caller).
    pub unsafe fn put_by_path(&self, path: Path<'_>, from: Local, overlap: bool) -> Result<(), Failure> {
        let path = path.resolved()?;
        let there = self.locate(path.coarray, 0, path.image)?;
        let target = Target { rank: there.rank, offset: there.offset, steps: &path.steps };
        // SAFETY: (1).
        let Err(failure) = (unsafe { self.put_there(&path, target, &from, overlap) }) else { return Ok(()) };
        let Some(from) = self.shortened(&path, target, &from) else { return Err(failure) };
        self.warn(&failure.text);
        // SAFETY: (1); fewer elements than before.
        unsafe { self.put_there(&path, target, &from, overlap) }
    }

    /// The first elements along each dimension, as many as the section has that the reference leads to, if
    /// there are more than that: as where the compiler does not check bounds. Whole components are no
    /// sections.
    #[cold]
    fn shortened(&self, path: &Path<'_>, target: Target<'_>, from: &Local) -> Option<Local> {
        let part = |subscript: &Subscript| !matches!(subscript, Subscript::Full(1));
        if !matches!(path.steps.last(), Some(Step::Array { subscripts, .. }) if subscripts.iter().any(part)) {
            return None;
        }
        let extents = match self.follow(path, target).ok()? {
            Lead::Mapped(section, _) => section.extents(),
            Lead::Private(found, _) => found.section.extents(),
            Lead::Owner => self.ask_shape(target).ok()?,
        };
        let own = from.section.extents();
        let longer = own.len() == extents.len() && own.iter().zip(&extents).all(|(own, n)| own >= n);
        let wanted = longer && own != extents && !self.rank.config().check;
        wanted.then(|| Local { section: from.section.clone().first(&extents), element: from.element })
    }

    /// Writes to what a resolved reference leads to.
    ///
    /// # Errors
    /// As [`Image::put_by_path`].
    ///
    /// # Safety
    /// As [`Image::put_by_path`].
    unsafe fn put_there(
        &self,
        path: &Path<'_>,
        target: Target<'_>,
        from: &Local,
        overlap: bool,
    ) -> Result<(), Failure> {
        match self.follow(path, target).map_err(|miss| miss.on(target.rank.0 + 1))? {
            Lead::Mapped(section, bytes) => {
                let copy;
                let mut source = from.section.clone();
                if overlap && target.rank == self.rank.id() {
                    // SAFETY: (1).
                    copy = unsafe { Packed::load(&Local { section: source, element: from.element }) }?;
                    source = copy.section();
                }
                // SAFETY: (1); the other elements are mapped.
                unsafe { assign((section, path.element(bytes)), (source, from.element), Way::Store) }
            }
            Lead::Private(found, near) => {
                // SAFETY: (1).
                let copy = unsafe { converted(path, from, found.bytes, found.section.extents()) }?;
                if write_private(&found, &near, &copy.data) {
                    return Ok(());
                }
                self.ask_write_whole(target, &copy)
            }
            Lead::Owner => {
                let bytes = path.steps.last().map_or(0, Step::bytes);
                let ranked = path.steps.iter().any(Step::is_ranked);
                let one = from.section.axes.is_empty() && ranked;
                let extents = if one { self.ask_shape(target)? } else { from.section.extents() };
                // SAFETY: (1).
                let copy = unsafe { converted(path, from, bytes, extents) }?;
                self.ask_write_whole(target, &copy)
            }
        }
    }

    /// Has all elements written, whatever the length of the reference.
    fn ask_write_whole(&self, target: Target<'_>, all: &Elements) -> Result<(), Failure> {
        if length(target.steps) <= MAX_STEPS_BYTES {
            return self.ask_write(target, all);
        }
        let Some((halves, axis)) = halves(target.steps).filter(|(_, axis)| *axis < all.extents.len()) else {
            return Err(Failure::other("a reference that is too long"));
        };
        let inner: usize = all.extents[..axis].iter().product::<usize>() * all.bytes;
        let row = inner * all.extents[axis];
        let cut = all.extents[axis] / 2;
        for (steps, part) in halves.into_iter().zip([0..cut, cut..all.extents[axis]]) {
            let mut extents = all.extents.clone();
            extents[axis] = part.len();
            let rows = all.data.chunks(row.max(1));
            let data = rows.flat_map(|row| &row[part.start * inner..part.end * inner]).copied().collect();
            self.ask_write_whole(
                Target { steps: &steps, ..target },
                &Elements { bytes: all.bytes, extents, data },
            )?;
        }
        Ok(())
    }

    /// The extents of what a reference leads to.
    fn ask_shape(&self, target: Target<'_>) -> Result<Vec<usize>, Failure> {
        if length(target.steps) <= MAX_STEPS_BYTES {
            return Ok(self.ask_first(target, 0)?.extents);
        }
        let Some((halves, axis)) = halves(target.steps) else {
            return Err(Failure::other("a reference that is too long"));
        };
        let [first, second] = halves.map(|steps| self.ask_shape(Target { steps: &steps, ..target }));
        let mut extents = first?;
        extents[axis] += second?[axis];
        Ok(extents)
    }

    /// Assigns what one reference leads to to what another leads to.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_by_path`], of both.
    pub fn transfer_by_path(&self, to: Path<'_>, from: Path<'_>) -> Result<(), Failure> {
        let from = from.resolved()?;
        let there = self.locate(from.coarray, 0, from.image)?;
        let target = Target { rank: there.rank, offset: there.offset, steps: &from.steps };
        let (copy, bytes) = match self.follow(&from, target).map_err(|miss| miss.on(there.rank.0 + 1))? {
            Lead::Mapped(section, bytes) => {
                let element = from.element(bytes);
                // SAFETY: the elements are mapped.
                (unsafe { Packed::load(&Local { section, element }) }?, bytes)
            }
            Lead::Private(found, near) => match copy_private(&found, &near) {
                Some(packed) => (packed, found.bytes),
                None => packed(self.ask_whole(target)?),
            },
            Lead::Owner => packed(self.ask_whole(target)?),
        };
        let from = Local { section: copy.section(), element: from.element(bytes) };
        // SAFETY: the copy has elements of this type.
        unsafe { self.put_by_path(to, from, false) }
    }

    /// Whether a reference leads to a component that is allocated or associated.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image.
    pub fn is_present(&self, path: Path<'_>) -> Result<bool, Failure> {
        let path = path.resolved()?;
        let there = self.locate(path.coarray, 0, path.image)?;
        let target = Target { rank: there.rank, offset: there.offset, steps: &path.steps };
        match self.follow(&path, target) {
            Ok(Lead::Owner) => self.ask_present(target),
            Ok(_) => Ok(true),
            Err(_) => Ok(false),
        }
    }
}

/// The same reference twice, each with a half of its longest vector; and the axis that was cut.
fn halves(steps: &[Step]) -> Option<([Vec<Step>; 2], usize)> {
    let (i, n, axis) = split(steps)?;
    let half = |first: bool| {
        let mut steps = steps.to_vec();
        if let Step::Array { subscripts, .. } = &mut steps[i]
            && let Subscript::Vector(list) = &mut subscripts[n]
        {
            let rest = list.split_off(list.len() / 2);
            if !first {
                *list = rest;
            }
        }
        steps
    };
    Some(([half(true), half(false)], axis))
}

/// Elements that came with an answer, and the bytes of one.
fn packed(elements: Elements) -> (Packed, usize) {
    (Packed::of(elements.data, elements.extents, elements.bytes), elements.bytes)
}

/// A copy of elements in private memory of another process, if the system makes it with few calls.
fn copy_private(found: &Found, near: &Near<'_>) -> Option<Packed> {
    let parts = few_runs(found)?;
    let mut data = vec![0u8; found.section.count() * found.bytes];
    let mut rest = &mut data[..];
    for (at, n) in parts {
        let (now, later) = rest.split_at_mut(n);
        if !near.copy(now, at) {
            return None;
        }
        rest = later;
    }
    Some(Packed::of(data, found.section.extents(), found.bytes))
}

/// Writes elements to private memory of another process, if the system does it with few calls.
fn write_private(found: &Found, near: &Near<'_>, data: &[u8]) -> bool {
    let (Some(parts), Some(process)) = (few_runs(found), near.process) else { return false };
    let mut rest = data;
    parts.into_iter().all(|(at, n)| {
        let (now, later) = rest.split_at(n);
        rest = later;
        // SAFETY: so many bytes; the program of the other image lets its components be written.
        unsafe { write_process(process, at, now.as_ptr(), n) }.is_ok()
    })
}

/// The runs of elements, if they are few.
fn few_runs(found: &Found) -> Option<Vec<(usize, usize)>> {
    let mut parts = Vec::new();
    let rows = found.section.axes.iter().skip_while(|axis| match axis {
        Axis::Regular { count, step } => *count == 1 || *step == found.bytes as isize,
        Axis::Listed(_) => false,
    });
    if rows.map(Axis::count).product::<usize>() > MAX_COPIED_RUNS {
        return None;
    }
    runs(&found.section, found.bytes, 0..found.section.count() * found.bytes, |at, n| parts.push((at, n)));
    Some(parts)
}

/// Elements here as those of a path, of these extents.
///
/// # Safety
/// 1. The elements here are of that type (owed by the caller).
unsafe fn converted(
    path: &Path<'_>,
    from: &Local,
    bytes: usize,
    extents: Vec<usize>,
) -> Result<Elements, Failure> {
    let element = path.element(bytes);
    conversion(element, from.element)?;
    if !from.section.axes.is_empty() {
        same_shape(&extents, &from.section.extents())?;
    }
    let mut data = vec![0u8; extents.iter().product::<usize>() * bytes];
    let to = Section::contiguous(data.as_mut_ptr().expose_provenance(), &extents, bytes);
    // SAFETY: room for so many; (1).
    unsafe { assign((to, element), (from.section.clone(), from.element), Way::Load) }?;
    Ok(Elements { bytes, extents, data })
}

impl Destination {
    /// The variable with a shape: its own, if that is the same or one element, else the new one if it may
    /// have it.
    ///
    /// # Errors
    /// It may not, or there is no memory.
    ///
    /// # Safety
    /// 1. A variable of compiled code (owed by the caller).
    unsafe fn shaped(self, extents: &[usize]) -> Result<Local, Failure> {
        let to = self.descriptor;
        let own: Vec<usize> = (0..to.rank()).map(|i| to.dimension(i).extent()).collect();
        if !to.base().is_null() && (!self.reallocatable || same_shape(&own, extents).is_ok()) {
            return Ok(Local::of(to, self.kind));
        }
        if !self.reallocatable {
            return Err(Failure::other("a variable that is not allocated is assigned to"));
        }
        if to.rank() != extents.len() {
            return Err(Failure::other(format!(
                "{} dimensions are assigned to {}",
                extents.len(),
                to.rank()
            )));
        }
        let bytes = extents.iter().product::<usize>() * to.elem_len();
        // SAFETY: memory that compiled code has from the same allocator; (1).
        unsafe {
            let base = libc::realloc(to.base().cast(), bytes.max(1));
            if base.is_null() {
                return Err(Failure::other(format!("not enough memory for {bytes} bytes")));
            }
            to.set_contiguous(base.cast(), extents);
        }
        Ok(Local::of(to, self.kind))
    }
}
