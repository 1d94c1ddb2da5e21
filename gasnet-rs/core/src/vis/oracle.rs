//! Random transfers against a loop that copies byte by byte: what is mapped here, and the same pieces by
//! frames of random size.
#![expect(unsafe_code, reason = "copies between buffers")]

use super::far::tests::by_frames;
use super::near::{self, Window};
use super::side::Fault;
use super::{Piece, Shape};

/// Bytes of each side's memory.
const ROOM: usize = 20_000;

/// A shape with the lists that it points to; places from 0 to [`ROOM`].
#[derive(Debug, Clone)]
enum Owned {
    Vector(Vec<Piece>),
    Indexed(Vec<usize>, usize),
    Strided(usize, Vec<usize>, Vec<usize>),
}

impl Owned {
    /// The shape, moved.
    fn with<R>(&self, by: usize, use_it: impl FnOnce(Shape<'_>) -> R) -> R {
        let mut moved = self.clone();
        match &mut moved {
            Owned::Vector(list) => list.iter_mut().for_each(|piece| piece.at = piece.at.wrapping_add(by)),
            Owned::Indexed(list, _) => list.iter_mut().for_each(|at| *at = at.wrapping_add(by)),
            Owned::Strided(at, ..) => *at = at.wrapping_add(by),
        }
        use_it(match &moved {
            Owned::Vector(list) => Shape::Vector(list),
            Owned::Indexed(list, len) => Shape::Indexed(list, *len),
            Owned::Strided(at, strides, count) => Shape::Strided { at: *at, strides, count },
        })
    }

    /// Every byte's place, in order.
    fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        match self {
            Owned::Vector(list) => {
                list.iter().for_each(|piece| places.extend(piece.at..piece.at + piece.len))
            }
            Owned::Indexed(list, len) => list.iter().for_each(|at| places.extend(*at..at + len)),
            Owned::Strided(at, strides, count) => {
                for mut run in 0..count[1..].iter().product() {
                    let mut at = *at;
                    for (n, stride) in count[1..].iter().zip(strides) {
                        at = at.wrapping_add((run % n).wrapping_mul(*stride));
                        run /= n;
                    }
                    places.extend(at..at + count[0]);
                }
            }
        }
        places
    }
}

fn divisor(rng: &mut fastrand::Rng, n: usize) -> usize {
    let all: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
    rng.choice(all).unwrap_or(1)
}

/// A shape of `total` bytes. Pieces may overlap if `overlaps` says so.
fn random(rng: &mut fastrand::Rng, total: usize, overlaps: bool) -> Owned {
    loop {
        let shape = attempt(rng, total, overlaps);
        let places = shape.places();
        let mut seen = vec![false; ROOM];
        let fits = places.iter().all(|at| *at < ROOM);
        if fits && (overlaps || places.iter().all(|at| !core::mem::replace(&mut seen[*at], true))) {
            return shape;
        }
    }
}

fn attempt(rng: &mut fastrand::Rng, total: usize, overlaps: bool) -> Owned {
    let common = [1, 2, 4, 8, 16, 32, 64];
    let length = |rng: &mut fastrand::Rng| {
        let len = if rng.bool() { common[rng.usize(..7)] } else { divisor(rng, total) };
        if total.is_multiple_of(len) { len } else { divisor(rng, total) }
    };
    match rng.u32(..6) {
        0 => {
            let (mut left, mut list, mut at) = (total, Vec::new(), rng.usize(..50));
            while left > 0 {
                let most = if rng.u32(..8) == 0 { left } else { left.min(70) };
                let len = rng.usize(1..=most);
                list.push(Piece { at, len });
                if rng.u32(..6) == 0 {
                    list.push(Piece { at: rng.usize(..), len: 0 });
                }
                at += if overlaps { rng.usize(..len + 9) } else { len + rng.usize(..9) };
                left -= len;
            }
            if rng.bool() {
                rng.shuffle(&mut list);
            }
            Owned::Vector(list)
        }
        form @ 1..=2 => {
            let len = length(rng);
            let mut at = rng.usize(..50);
            let even = rng.bool().then(|| rng.usize(..20));
            let mut list: Vec<usize> = (0..total / len)
                .map(|_| {
                    let here = at;
                    at += even.unwrap_or_else(|| rng.usize(..20)) + if overlaps { 0 } else { len };
                    here
                })
                .collect();
            match rng.u32(..3) {
                0 => rng.shuffle(&mut list),
                1 => list.reverse(),
                _ => {}
            }
            if form == 1 {
                return Owned::Indexed(list, len);
            }
            Owned::Vector(list.into_iter().map(|at| Piece { at, len }).collect())
        }
        _ => {
            let mut count = vec![length(rng)];
            let mut left = total / count[0];
            let most = if rng.u32(..10) == 0 { 12 } else { 4 };
            for _ in 0..rng.usize(..most) {
                count.push(divisor(rng, left));
                left /= count[count.len() - 1];
            }
            count.push(left);
            let (mut low, mut size, mut strides) = (0, count[0], Vec::new());
            for n in &count[1..] {
                let gap = [0, 0, 1, 3, 8][rng.usize(..5)];
                let mut stride = size + gap;
                if overlaps && rng.u32(..3) == 0 {
                    stride = [0, 1, size / 2][rng.usize(..3)];
                }
                size += stride * n.saturating_sub(1);
                if rng.u32(..4) == 0 {
                    low += stride * n.saturating_sub(1);
                    stride = stride.wrapping_neg();
                }
                strides.push(stride);
            }
            if rng.bool() && strides.len() > 1 {
                let (i, j) = (rng.usize(..strides.len()), rng.usize(..strides.len()));
                strides.swap(i, j);
                count.swap(i + 1, j + 1);
            }
            Owned::Strided(low + rng.usize(..50), strides, count)
        }
    }
}

#[test]
fn all_shapes_are_copied_as_byte_by_byte() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..if cfg!(miri) { 20 } else { 4000 } {
        let total = if rng.u32(..20) == 0 { 0 } else { rng.usize(..if cfg!(miri) { 200 } else { 3000 }) };
        let (get, overlaps) = (rng.bool(), rng.u32(..4) == 0);
        let remote = random(&mut rng, total, overlaps);
        let local = random(&mut rng, total, overlaps);
        let random_bytes = |rng: &mut fastrand::Rng| (0..ROOM).map(|_| rng.u8(..)).collect::<Vec<u8>>();
        let (far, here) = (random_bytes(&mut rng), random_bytes(&mut rng));
        let (mut far_after, mut here_after) = (far.clone(), here.clone());
        for (there, at) in remote.places().into_iter().zip(local.places()) {
            if get { here_after[at] = far[there] } else { far_after[there] = here[at] }
        }
        let origin = if rng.bool() { 0 } else { 0x7000_0000_0000 };
        for frame in [None, Some(rng.usize(100..1500))] {
            let (mut segment, mut buffer) = (far.clone(), here.clone());
            let window = Window { origin, size: ROOM, at: segment.as_mut_ptr().expose_provenance() };
            let at = buffer.as_mut_ptr().expose_provenance();
            let done = remote.with(origin, |remote| {
                // SAFETY: all places are inside both.
                local.with(at, |local| unsafe {
                    match frame {
                        None => near::copy(&window, remote, local, get),
                        Some(most) => by_frames(&window, remote, local, get, most),
                    }
                })
            });
            assert_eq!(done, Ok(()));
            let what =
                format!("seed {seed}, round {round}, get {get}, frame {frame:?}, {remote:?} {local:?}");
            assert!(segment == far_after, "remote: {what}");
            assert!(buffer == here_after, "local: {what}");
        }
    }
}

/// Segments that end just before or behind the last byte, or begin behind the first one.
#[test]
fn what_is_outside_is_refused_and_nothing_copied() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..if cfg!(miri) { 10 } else { 2000 } {
        let total = rng.usize(1..400);
        let remote = random(&mut rng, total, false);
        let places = remote.places();
        let (first, end) = (*places.iter().min().unwrap(), *places.iter().max().unwrap() + 1);
        let mut memory = vec![7u8; ROOM];
        let mut buffer = vec![9u8; total];
        let local = Owned::Vector(vec![Piece { at: 0, len: total }]);
        let at = buffer.as_mut_ptr().expose_provenance();
        let memory_at = memory.as_mut_ptr().expose_provenance();
        for (origin, size, inside) in [
            (first, end - first, true),
            (0, end, true),
            (0, end - 1, false),
            (first + 1, end - first, false),
            (first + 1, usize::MAX, false),
        ] {
            let window = Window { origin, size, at: memory_at.wrapping_add(origin) };
            let done = remote.with(0, |remote| {
                local.with(at, |local| {
                    // SAFETY: all places are inside both, where they are inside the window.
                    unsafe { near::copy(&window, remote, local, false) }
                })
            });
            let what = format!("seed {seed}, round {round}, [{origin}, +{size}), {remote:?}");
            assert_eq!(done, if inside { Ok(()) } else { Err(Fault::Outside) }, "{what}");
            assert_eq!(memory.contains(&9), inside, "{what}");
            memory.fill(7);
        }
    }
}

/// Extents and distances whose products leave the numbers there are.
#[test]
fn what_cannot_be_is_refused_without_being_tried() {
    let mut memory = [1u8; 64];
    let mut buffer = [2u8; 64];
    let window = Window { origin: 0, size: 64, at: memory.as_mut_ptr().expose_provenance() };
    let at = buffer.as_mut_ptr().expose_provenance();
    let go = |remote: &[usize], local: &[usize], count: &[usize], get| {
        let remote = Shape::Strided { at: 0, strides: remote, count };
        let local = Shape::Strided { at, strides: local, count };
        // SAFETY: what is not refused is inside both.
        let near = unsafe { near::copy(&window, remote, local, get) };
        // SAFETY: as above.
        assert_eq!(near, unsafe { by_frames(&window, remote, local, get, 500) });
        near
    };
    let huge = 1 << 40;
    // Too many bytes to count, or for any memory.
    assert_eq!(go(&[8, 8], &[8, 8], &[8, huge, huge], false), Err(Fault::Bytes));
    assert_eq!(go(&[0, 0], &[0, 0], &[8, 1 << 30, 1 << 30], true), Err(Fault::Bytes));
    assert_eq!(go(&[0], &[0], &[1, usize::MAX], true), Err(Fault::Bytes));
    // The last piece is outside, or its place is no number.
    assert_eq!(go(&[8], &[0], &[8, huge], false), Err(Fault::Outside));
    assert_eq!(go(&[usize::MAX / 2], &[8], &[8, 4], true), Err(Fault::Outside));
    assert_eq!(go(&[8usize.wrapping_neg()], &[8], &[8, 2], true), Err(Fault::Outside));
    // The same piece again and again, to the same place or a few: once.
    assert_eq!(go(&[0], &[0], &[8, huge], false), Ok(()));
    assert_eq!(go(&[0, 8], &[0, 8], &[8, huge, 2], false), Ok(()));
    assert_eq!(memory[..20], [[2; 16].as_slice(), &[1; 4]].concat());
    assert_eq!(go(&[0], &[0], &[8, huge], true), Ok(()));
}
