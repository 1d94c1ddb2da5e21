//! Reads and writes through references: of components that are allocated or pointed to, and of whole arrays
//! into allocatable ones.
//!
//! On a near image the reference is followed from here. Elements in its segment are loads and stores; those
//! in its private memory the system copies, where it may and where they are few runs. Otherwise, and on far
//! images, the owner follows it ([`crate::owner`]).
#![expect(unsafe_code, reason = "copies between variables of compiled code, segments and processes")]

use crate::access::HeldElements;
use crate::assign::{Local, Way, assign, conversion, runs, same_shape};
use crate::coarray::Coarray;
use crate::descriptor::{Axis, Class, Descriptor, Element, Section};
use crate::image::Image;
use crate::owner::{Elements, Own, Target};
use crate::stat::Failure;
use crate::walk::{Bounds, Found, Miss, Reader, Reference, Step, Subscript, one, walk};
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
        let held = self.hold_by_path(&path.resolved()?, overlap)?;
        // SAFETY: (1); the others are elements of this type.
        unsafe { assign(to.shaped(&held.local.section.extents())?, held.local, Way::Load) }
    }

    /// What a resolved reference leads to: where it is mapped, unless `overlap` asks for a copy of what is
    /// this image's own; or a copy.
    fn hold_by_path(&self, path: &Path<'_>, overlap: bool) -> Result<HeldElements, Failure> {
        let target = self.target(path)?;
        let found = match self.follow(path, target).map_err(|miss| miss.on(target.rank.0 + 1))? {
            Lead::Mapped(section, bytes) => {
                let local = Local { section, element: path.element(bytes) };
                // SAFETY: the elements are mapped.
                return unsafe { HeldElements::of(local, overlap && target.rank == self.rank.id()) };
            }
            Lead::Private(found, near) => copy_private(&found, &near),
            Lead::Owner => None,
        };
        let Elements { bytes, extents, data } = found.map_or_else(|| target.read(self), Ok)?;
        Ok(HeldElements::packed(data, &extents, path.element(bytes)))
    }

    /// Where the steps of a resolved reference begin.
    fn target<'a>(&self, path: &'a Path<'_>) -> Result<Target<'a>, Failure> {
        let there = self.locate(path.coarray, 0, path.image)?;
        Ok(Target { rank: there.rank, offset: there.offset, steps: &path.steps })
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
        let target = self.target(&path)?;
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
            Lead::Owner => target.shape(self).ok()?,
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
        let lead = self.follow(path, target).map_err(|miss| miss.on(target.rank.0 + 1))?;
        let (bytes, extents) = match &lead {
            Lead::Mapped(section, bytes) => {
                let to = Local { section: section.clone(), element: path.element(*bytes) };
                // SAFETY: (1); the other elements are mapped.
                return unsafe {
                    let held = HeldElements::of(from.clone(), overlap && target.rank == self.rank.id())?;
                    assign(to, held.local, Way::Store)
                };
            }
            Lead::Private(found, _) => (found.bytes, found.section.extents()),
            Lead::Owner => {
                let one = from.section.axes.is_empty() && path.steps.iter().any(Step::is_ranked);
                let extents = if one { target.shape(self)? } else { from.section.extents() };
                (path.steps.last().map_or(0, Step::bytes), extents)
            }
        };
        // SAFETY: (1).
        let copy = unsafe { converted(path, from, bytes, extents) }?;
        match &lead {
            Lead::Private(found, near) if write_private(found, near, &copy.data) => Ok(()),
            _ => target.write(self, &copy),
        }
    }

    /// Assigns what one reference leads to to what another leads to.
    ///
    /// # One-sided
    /// # Errors
    /// As [`Image::get_by_path`], of both.
    pub fn transfer_by_path(&self, to: Path<'_>, from: Path<'_>) -> Result<(), Failure> {
        let from = self.hold_by_path(&from.resolved()?, false)?;
        // They may be the same elements.
        // SAFETY: elements of this type.
        unsafe {
            let copy = HeldElements::of(from.local.clone(), !from.is_copy())?;
            self.put_by_path(to, copy.local.clone(), false)
        }
    }

    /// Whether a reference leads to a component that is allocated or associated.
    ///
    /// # One-sided
    /// # Errors
    /// There is no such image.
    pub fn is_present(&self, path: Path<'_>) -> Result<bool, Failure> {
        let path = path.resolved()?;
        let target = self.target(&path)?;
        match self.follow(&path, target) {
            Ok(Lead::Owner) => target.is_present(self),
            Ok(_) => Ok(true),
            Err(_) => Ok(false),
        }
    }
}

/// A copy of elements in private memory of another process, if the system makes it with few calls.
fn copy_private(found: &Found, near: &Near<'_>) -> Option<Elements> {
    let mut data = vec![0u8; found.section.count() * found.bytes];
    let mut rest = &mut data[..];
    for (at, n) in few_runs(found)? {
        let (now, later) = rest.split_at_mut(n);
        if !near.copy(now, at) {
            return None;
        }
        rest = later;
    }
    Some(Elements { bytes: found.bytes, extents: found.section.extents(), data })
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
    runs(&found.section, found.bytes, |at, n| parts.push((at, n)));
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
    let section = Section::contiguous(data.as_mut_ptr().expose_provenance(), &extents, bytes);
    // SAFETY: room for so many; (1).
    unsafe { assign(Local { section, element }, from.clone(), Way::Load) }?;
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
        if !to.base().is_null() && (!self.reallocatable || same_shape(&to.extents(), extents).is_ok()) {
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
