//! Vector, indexed and strided transfers against a byte-by-byte oracle: random shapes on both sides, in all
//! three forms.

use crate::exported::exchange;
use crate::support::{Cx, Rng, same};
use gasnet::vis::{Piece, Shape};
use gasnet::{Event, GlobalPtr, Local, Modes};

/// A shape with the memory it points to.
#[derive(Debug, Clone)]
enum Owned {
    Vector(Vec<Piece>),
    Indexed(Vec<usize>, usize),
    Strided(usize, Vec<usize>, Vec<usize>),
}

impl Owned {
    fn shape(&self) -> Shape<'_> {
        match self {
            Owned::Vector(v) => Shape::Vector(v),
            Owned::Indexed(v, n) => Shape::Indexed(v, *n),
            Owned::Strided(at, strides, count) => Shape::Strided { at: *at, strides, count },
        }
    }

    /// Every byte's place, in order.
    fn places(&self) -> Vec<usize> {
        let run = |at: usize, n: usize| at..at + n;
        match self {
            Owned::Vector(v) => v.iter().flat_map(|p| run(p.at, p.len)).collect(),
            Owned::Indexed(v, n) => v.iter().flat_map(|&at| run(at, *n)).collect(),
            Owned::Strided(at, strides, count) => {
                let mut starts = vec![*at];
                for (s, c) in strides.iter().zip(&count[1..]).rev() {
                    let row = |b: usize| (0..*c).map(move |i| b.wrapping_add(i.wrapping_mul(*s)));
                    starts = starts.iter().flat_map(|b| row(*b)).collect();
                }
                starts.iter().flat_map(|&b| run(b, count[0])).collect()
            }
        }
    }

    fn moved(&self, by: usize) -> Owned {
        let mut m = self.clone();
        match &mut m {
            Owned::Vector(v) => v.iter_mut().for_each(|p| p.at += by),
            Owned::Indexed(v, _) => v.iter_mut().for_each(|at| *at += by),
            Owned::Strided(at, ..) => *at += by,
        }
        m
    }
}

fn shuffle<T>(rng: &mut Rng, v: &mut [T]) {
    for i in (1..v.len()).rev() {
        v.swap(i, rng.below(i + 1));
    }
}

/// Divisors of `n`, at random.
fn divisor(rng: &mut Rng, n: usize) -> usize {
    let all: Vec<usize> = (1..=n.max(1)).filter(|d| n.is_multiple_of(*d)).collect();
    *rng.pick(&all)
}

/// A random shape of `total` bytes without overlaps, from place 0 on.
fn random(rng: &mut Rng, total: usize) -> Owned {
    let gap = |rng: &mut Rng| if rng.below(3) == 0 { 0 } else { rng.below(40) };
    match rng.below(3) {
        0 => {
            let (mut at, mut left, mut v) = (0, total, Vec::new());
            while left > 0 {
                at += gap(rng);
                let most = if rng.below(8) == 0 { 9000 } else { 60 };
                let len = (1 + rng.below(most)).min(left);
                v.push(Piece { at, len });
                if rng.below(6) == 0 {
                    v.push(Piece { at, len: 0 });
                }
                (at, left) = (at + len, left - len);
            }
            if rng.below(2) == 0 {
                shuffle(rng, &mut v);
            }
            Owned::Vector(v)
        }
        1 => {
            let len = divisor(rng, total);
            let mut at = 0;
            let mut v: Vec<usize> = (0..total / len)
                .map(|_| {
                    at += gap(rng);
                    let here = at;
                    at += len;
                    here
                })
                .collect();
            shuffle(rng, &mut v);
            Owned::Indexed(v, len)
        }
        _ => {
            let mut count = vec![divisor(rng, total)];
            let mut left = total / count[0].max(1);
            for _ in 0..rng.below(3) {
                count.push(divisor(rng, left));
                left /= count[count.len() - 1];
            }
            count.push(left);
            let mut size = count[0];
            let mut strides = Vec::new();
            for c in &count[1..] {
                size += if rng.below(3) == 0 { 0 } else { rng.below(9) };
                strides.push(size);
                size *= (*c).max(1);
            }
            // Some dimensions backwards, and in another order.
            let mut at = 0;
            for (stride, c) in strides.iter_mut().zip(&count[1..]) {
                if *c > 0 && rng.below(3) == 0 {
                    at += *stride * (c - 1);
                    *stride = stride.wrapping_neg();
                }
            }
            if rng.below(2) == 0 && strides.len() > 1 {
                let (i, j) = (rng.below(strides.len()), rng.below(strides.len()));
                strides.swap(i, j);
                count.swap(i + 1, j + 1);
            }
            Owned::Strided(at, strides, count)
        }
    }
}

/// Bytes that each side has room for.
const ROOM: usize = 2 << 20;

#[expect(unsafe_code, reason = "raw transfers")]
pub fn shapes(cx: &Cx) {
    let mut rng = cx.rng("vis");
    let region = cx.take(ROOM as u64 * u64::from(cx.size()));
    let rank = cx.rank;
    // Every rank has its own part of every segment.
    let mine = region as usize + cx.me() as usize * ROOM;
    for round in 0..if cx.quick { 60 } else { 400 } {
        let to = *rng.pick(&cx.targets());
        let most = if rng.below(10) == 0 { 60_000 } else { 3000 };
        let total = rng.below(most);
        let (remote, local) = (random(&mut rng, total), random(&mut rng, total));
        let (there, here) = (remote.places(), local.places());
        assert_eq!((there.len(), here.len()), (total, total));
        let span = |p: &[usize]| p.iter().max().map_or(0, |m| m + 1);
        let (far, near) = (span(&there), span(&here));
        assert!(far <= ROOM && near <= ROOM, "{remote:?} {local:?}");
        let (mut buffer, mut image) = (rng.bytes(near), rng.bytes(far));
        rank.write_slice(GlobalPtr::new(to, mine as u64), &image);
        let put = rng.below(2) == 0;
        let mut expected = buffer.clone();
        for (t, h) in there.iter().zip(&here) {
            if put { image[*t] = buffer[*h] } else { expected[*h] = image[*t] }
        }
        // Places on the remote side are offsets, or offsets from some address.
        let origin = if rng.below(2) == 0 { 0 } else { 0x7000_0000 };
        let r = remote.moved(mine + origin);
        let l = local.moved(buffer.as_mut_ptr() as usize);
        let (r, l) = (r.shape(), l.shape());
        // SAFETY: the shapes are inside the buffer and this rank's part of the segment.
        unsafe {
            let event = match (rng.below(4), put) {
                (0, true) => rank.shapes().put_nb(
                    to,
                    r,
                    origin,
                    l,
                    *rng.pick(&[Local::Defer, Local::Now, Local::Leaf]),
                ),
                (0, false) => rank.shapes().get_nb(l, to, r, origin),
                (1, true) => {
                    rank.shapes().put_nbi(
                        to,
                        r,
                        origin,
                        l,
                        *rng.pick(&[Local::Defer, Local::Now, Local::Group]),
                    );
                    Event::DONE
                }
                (1, false) => {
                    rank.shapes().get_nbi(l, to, r, origin);
                    Event::DONE
                }
                (2, _) => {
                    rank.implicit().begin_access_region();
                    if put {
                        rank.shapes().put_nbi(to, r, origin, l, *rng.pick(&[Local::Defer, Local::Group]))
                    } else {
                        rank.shapes().get_nbi(l, to, r, origin)
                    }
                    rank.implicit().end_access_region()
                }
                (_, true) => {
                    rank.shapes().put(to, r, origin, l);
                    Event::DONE
                }
                (_, false) => {
                    rank.shapes().get(l, to, r, origin);
                    Event::DONE
                }
            };
            rank.wait(event);
            rank.implicit().wait(gasnet::Categories::ALL);
        }
        let mut got = vec![0; far];
        rank.read_slice(GlobalPtr::new(to, mine as u64), &mut got);
        let what = format!("round {round}, put {put}, {remote:?} {local:?}");
        same(&got, &image, &what);
        same(&buffer, &expected, &what);
    }
    rank.barrier();
}

/// Bytes of a region that one rank uses.
const PART: usize = 256 << 10;

/// The same with exported regions: memory of the program, and memory that NICs may reach.
#[expect(unsafe_code, reason = "raw transfers")]
pub fn region_shapes(cx: &Cx) {
    let (rank, mut rng) = (cx.rank, cx.rng("vis-regions"));
    let bytes = PART * cx.size() as usize;
    let mut own = vec![0u64; bytes / 8];
    let (at, len) = (own.as_mut_ptr().cast(), bytes);
    // SAFETY: the vector stays until the region is dropped, and nobody else uses it.
    let raw = unsafe { rank.regions().export_raw(at, len, Modes::ALL) }.unwrap();
    let served = rank.regions().export_vec(vec![0u8; bytes], Modes::ALL).unwrap();
    let keys = [exchange(cx, raw.key()), exchange(cx, served.key())];
    let first = cx.me() as usize * PART;
    for round in 0..if cx.quick { 60 } else { 400 } {
        let to = *rng.pick(&cx.targets());
        let key = &rng.pick(&keys)[to.0 as usize];
        let total = rng.below(3000);
        let (remote, local) = (random(&mut rng, total), random(&mut rng, total));
        let (there, here) = (remote.places(), local.places());
        let span = |p: &[usize]| p.iter().max().map_or(0, |m| m + 1);
        let (far, near) = (span(&there), span(&here));
        assert!(far <= PART && near <= PART, "{remote:?} {local:?}");
        let (mut buffer, mut image) = (rng.bytes(near), rng.bytes(far));
        rank.region(key).write(first as u64, &image).unwrap();
        let put = rng.below(2) == 0;
        let mut expected = buffer.clone();
        for (t, h) in there.iter().zip(&here) {
            if put { image[*t] = buffer[*h] } else { expected[*h] = image[*t] }
        }
        let origin = if rng.below(2) == 0 { 0 } else { 0x7000_0000 };
        let r = remote.moved(first + origin);
        let l = local.moved(buffer.as_mut_ptr() as usize);
        let (r, l) = (r.shape(), l.shape());
        // SAFETY: the shapes are inside the buffer and this rank's part of the region.
        unsafe {
            let event = match (rng.below(2), put) {
                (0, true) => rank.region(key).put_shape_nb(r, origin, l),
                (0, false) => rank.region(key).get_shape_nb(l, r, origin),
                (_, true) => {
                    rank.region(key).put_shape_nbi(r, origin, l);
                    Event::DONE
                }
                (_, false) => {
                    rank.region(key).get_shape_nbi(l, r, origin);
                    Event::DONE
                }
            };
            if put {
                // The source may be reused on return.
                buffer.fill(0);
                expected.fill(0);
            }
            rank.wait(event);
            rank.implicit().wait(gasnet::Categories::ALL);
        }
        let mut got = vec![0; far];
        rank.region(key).read(first as u64, &mut got).unwrap();
        let what = format!("round {round}, put {put}, {remote:?} {local:?}");
        same(&got, &image, &what);
        same(&buffer, &expected, &what);
    }
    rank.barrier();
}

/// The typed calls: rows of elements, and columns, beside a loop over elements.
pub fn rows(cx: &Cx) {
    let mut rng = cx.rng("rows");
    let region = cx.take(ROOM as u64 * u64::from(cx.size()));
    let rank = cx.rank;
    let mine = region + u64::from(cx.me()) * ROOM as u64;
    for round in 0..if cx.quick { 60 } else { 400 } {
        let to = *rng.pick(&cx.targets());
        let base: GlobalPtr<u64> = GlobalPtr::new(to, mine);
        let most = *rng.pick(&[2, 9, 700]);
        let (height, width) = (rng.below(20), 1 + rng.below(most));
        let step = width + rng.below(30);
        let at = rng.below(50);
        let mut image: Vec<u64> = (0..at + height * step + width).map(|_| rng.next()).collect();
        rank.write_slice(base, &image);
        let element = |i: usize| at + i / width * step + i % width;
        let mut values = vec![0; height * width];
        rank.shapes().read_rows(base.add(at), step, width, &mut values);
        let expected: Vec<u64> = (0..height * width).map(|i| image[element(i)]).collect();
        assert_eq!(values, expected, "round {round}: {height} rows of {width}, {step} apart");
        for (i, value) in values.iter_mut().enumerate() {
            *value = rng.next();
            image[element(i)] = *value;
        }
        rank.shapes().write_rows(base.add(at), step, width, &values);
        let mut got = vec![0; image.len()];
        rank.read_slice(base, &mut got);
        assert_eq!(got, image, "round {round}: {height} rows of {width}, {step} apart");
    }
    rank.shapes().write_rows(GlobalPtr::<u64>::new(cx.rank.id(), mine), 0, 0, &[]);
    rank.barrier();
}
