//! Teams and collective operations against sequential oracles: random teams, roots, sizes, modes, buffers in
//! and out of segments, blocking and several at a time.

use crate::support::{Cx, Rng, mix, same};
use gasnet::coll::{ElementType, Reduction, SyncMode, When};
use gasnet::{Event, GlobalPtr, Team};
use std::sync::Arc;

/// Bytes that member `i` brings to operation `seed`.
fn input(seed: u64, i: usize, n: usize) -> Vec<u8> {
    Rng::new(mix(seed ^ (i as u64 + 1))).bytes(n)
}

/// A 2 x 2 matrix of bytes per element: associative, and the order counts.
fn multiply(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
    let e =
        |r: usize, c: usize| a[2 * r].wrapping_mul(b[c]).wrapping_add(a[2 * r + 1].wrapping_mul(b[2 + c]));
    [e(0, 0), e(0, 1), e(1, 0), e(1, 1)]
}

fn combine_matrices(a: &mut [u8], b: &[u8]) {
    for (a, b) in a.chunks_exact_mut(4).zip(b.chunks_exact(4)) {
        let product = multiply([a[0], a[1], a[2], a[3]], [b[0], b[1], b[2], b[3]]);
        a.copy_from_slice(&product);
    }
}

fn combine_bytes(a: &mut [u8], b: &[u8]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = a.wrapping_add(*b));
}

/// First, then second, into first.
type Fold = fn(&mut [u8], &[u8]);

fn reduction(ordered: bool) -> (Reduction, Fold) {
    let f: Fold = if ordered { combine_matrices } else { combine_bytes };
    #[expect(unsafe_code, reason = "the raw form of a reduction")]
    let combine = move |a: *mut u8, b: *const u8, n: usize| {
        // SAFETY: two vectors of `n` bytes.
        unsafe { f(std::slice::from_raw_parts_mut(a, n), std::slice::from_raw_parts(b, n)) }
    };
    (
        Reduction {
            combine: Arc::new(combine),
            commutes: !ordered,
            element: if ordered { 4 } else { 1 },
            element_type: ElementType::UNKNOWN,
            known: None,
        },
        f,
    )
}

/// One operation of a random program: what every member does and what has to come out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Broadcast,
    Scatter,
    Gather,
    GatherAll,
    Exchange,
    Reduce,
    ReduceAll,
    Scan,
    ScanExclusive,
    ScatterV,
    GatherV,
    GatherAllV,
    ExchangeV,
}

const KINDS: [Kind; 13] = [
    Kind::Broadcast,
    Kind::Scatter,
    Kind::Gather,
    Kind::GatherAll,
    Kind::Exchange,
    Kind::Reduce,
    Kind::ReduceAll,
    Kind::Scan,
    Kind::ScanExclusive,
    Kind::ScatterV,
    Kind::GatherV,
    Kind::GatherAllV,
    Kind::ExchangeV,
];

/// Places of blocks with these lengths: the last one first, with room between.
fn spread(lengths: impl DoubleEndedIterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut blocks: Vec<(usize, usize)> = lengths
        .rev()
        .map(|n| {
            at += n + 3;
            (at - n, n)
        })
        .collect();
    blocks.reverse();
    blocks
}

/// Bytes up to the end of the last of them.
fn extent(blocks: &[(usize, usize)]) -> usize {
    blocks.iter().map(|b| b.0 + b.1).max().unwrap_or(0)
}

#[derive(Debug, Clone, Copy)]
struct Case {
    kind: Kind,
    seed: u64,
    root: usize,
    n: usize,
    mode: SyncMode,
    ordered: bool,
    /// Bit 0: sources in segments, bit 1: destinations; bit 2: sources in their places of the destinations,
    /// where there is one.
    places: usize,
}

impl Case {
    fn random(rng: &mut Rng, size: usize, quick: bool) -> Case {
        let whens = [When::No, When::My, When::All];
        let large: &[usize] = if quick { &[9000] } else { &[8192, 8196, 9000, 40_000, 140_000, 300_004] };
        let n = match rng.below(6) {
            0 => 0,
            1 => 4 * rng.below(8),
            2 => 4 * rng.below(300),
            3 | 4 => 4 * rng.below(2100),
            _ => *rng.pick(large),
        };
        let kind = *rng.pick(&KINDS);
        // Blocks of all members must fit in the arena.
        let n = if n * size > 2 << 20 { n / size / 4 * 4 } else { n };
        Case {
            kind,
            seed: rng.next(),
            root: rng.below(size),
            n,
            mode: SyncMode { enter: *rng.pick(&whens), leave: *rng.pick(&whens) },
            ordered: rng.below(2) == 0,
            places: rng.below(8),
        }
    }

    /// The length of member i's block for member j, where lengths differ.
    fn len(&self, i: usize, j: usize) -> usize {
        let h = mix(self.seed ^ (i as u64) << 20 ^ j as u64);
        if h.is_multiple_of(5) { 0 } else { (h >> 8) as usize % (self.n + 1) }
    }

    /// Blocks of the root, or of all: by where they come from or go to.
    fn row(&self, size: usize) -> Vec<(usize, usize)> {
        spread((0..size).map(|i| self.len(i, 0)))
    }

    fn out(&self, me: usize, size: usize) -> Vec<(usize, usize)> {
        spread((0..size).map(|j| self.len(me, j)))
    }

    fn back(&self, me: usize, size: usize) -> Vec<(usize, usize)> {
        spread((0..size).map(|i| self.len(i, me)))
    }

    fn source(&self, i: usize, size: usize) -> Vec<u8> {
        let n = match self.kind {
            Kind::Scatter | Kind::Exchange => self.n * size,
            Kind::ScatterV => extent(&self.row(size)),
            Kind::GatherV | Kind::GatherAllV => self.len(i, 0),
            Kind::ExchangeV => extent(&self.out(i, size)),
            _ => self.n,
        };
        input(self.seed, i, n)
    }

    /// Where the source of member `me` is in its destination, if it is to be there.
    fn inside(&self, me: usize, size: usize) -> Option<usize> {
        let root = me == self.root;
        let at = match self.kind {
            Kind::Reduce if root => 0,
            Kind::ScanExclusive if me > 0 => 0,
            Kind::Broadcast | Kind::ReduceAll | Kind::Scan => 0,
            Kind::Gather if root => me * self.n,
            Kind::GatherV if root => self.row(size)[me].0,
            Kind::GatherAll => me * self.n,
            Kind::GatherAllV => self.row(size)[me].0,
            _ => return None,
        };
        (self.places & 4 != 0).then_some(at)
    }

    /// The expected contents of member `me`'s destination; empty if it has none.
    fn expected(&self, me: usize, size: usize) -> Vec<u8> {
        let (n, root) = (self.n, self.root);
        let all = || (0..size).flat_map(|i| self.source(i, size)).collect::<Vec<u8>>();
        let fold = |last: usize| {
            let f = reduction(self.ordered).1;
            let mut sum = self.source(0, size);
            (1..=last).for_each(|i| f(&mut sum, &self.source(i, size)));
            sum
        };
        match self.kind {
            Kind::Broadcast => self.source(root, size),
            Kind::Scatter => self.source(root, size)[me * n..][..n].to_vec(),
            Kind::Gather if me == root => all(),
            Kind::GatherAll => all(),
            Kind::Exchange => (0..size).flat_map(|i| self.source(i, size)[me * n..][..n].to_vec()).collect(),
            Kind::Reduce if me == root => fold(size - 1),
            Kind::ReduceAll => fold(size - 1),
            Kind::Scan => fold(me),
            Kind::ScanExclusive if me > 0 => fold(me - 1),
            Kind::ScatterV => {
                let (at, n) = self.row(size)[me];
                self.source(root, size)[at..][..n].to_vec()
            }
            Kind::GatherV | Kind::GatherAllV if self.kind == Kind::GatherAllV || me == root => {
                let blocks = self.row(size);
                let mut all = vec![0xee; extent(&blocks)];
                for (i, &(at, n)) in blocks.iter().enumerate() {
                    all[at..][..n].copy_from_slice(&self.source(i, size));
                }
                all
            }
            Kind::ExchangeV => {
                let blocks = self.back(me, size);
                let mut all = vec![0xee; extent(&blocks)];
                for (i, &(at, n)) in blocks.iter().enumerate() {
                    let from = self.out(i, size)[me].0;
                    all[at..][..n].copy_from_slice(&self.source(i, size)[from..][..n]);
                }
                all
            }
            _ => Vec::new(),
        }
    }

    #[expect(unsafe_code, reason = "raw operations")]
    fn start(&self, team: &Team, dst: *mut u8, src: *const u8) -> Event {
        let (root, n, mode, how) = (self.root, self.n, self.mode, reduction(self.ordered).0);
        // SAFETY: `Running` keeps buffers of the right sizes until the event is done.
        unsafe {
            match self.kind {
                Kind::Broadcast => team.broadcast_raw_nb(root, dst, src, n, mode),
                Kind::Scatter => team.scatter_raw_nb(root, dst, src, n, mode),
                Kind::Gather => team.gather_raw_nb(root, dst, src, n, mode),
                Kind::GatherAll => team.gather_all_raw_nb(dst, src, n, mode),
                Kind::Exchange => team.exchange_raw_nb(dst, src, n, mode),
                Kind::Reduce => team.reduce_raw_nb(root, dst, src, n, how, mode),
                Kind::ReduceAll => team.reduce_all_raw_nb(dst, src, n, how, mode),
                Kind::Scan => team.scan_raw_nb(dst, src, n, true, how, mode),
                Kind::ScanExclusive => team.scan_raw_nb(dst, src, n, false, how, mode),
                Kind::ScatterV => {
                    let n = self.len(team.me(), 0);
                    team.scatter_v_raw_nb(root, dst, n, src, &self.row(team.size()), mode)
                }
                Kind::GatherV => {
                    let n = self.len(team.me(), 0);
                    team.gather_v_raw_nb(root, dst, src, n, &self.row(team.size()), mode)
                }
                Kind::GatherAllV => team.gather_all_v_raw_nb(dst, src, &self.row(team.size()), mode),
                Kind::ExchangeV => {
                    let (from, to) = (self.back(team.me(), team.size()), self.out(team.me(), team.size()));
                    team.exchange_v_raw_nb(dst, src, &from, &to, mode)
                }
            }
        }
    }

    #[expect(unsafe_code, reason = "raw operations")]
    fn run(&self, team: &Team, dst: *mut u8, src: *const u8) {
        let (root, n, mode, how) = (self.root, self.n, self.mode, reduction(self.ordered).0);
        // SAFETY: the caller's buffers have the right sizes.
        unsafe {
            match self.kind {
                Kind::Broadcast => team.broadcast_raw(root, dst, src, n, mode),
                Kind::Scatter => team.scatter_raw(root, dst, src, n, mode),
                Kind::Gather => team.gather_raw(root, dst, src, n, mode),
                Kind::GatherAll => team.gather_all_raw(dst, src, n, mode),
                Kind::Exchange => team.exchange_raw(dst, src, n, mode),
                Kind::Reduce => team.reduce_raw(root, dst, src, n, how, mode),
                Kind::ReduceAll => team.reduce_all_raw(dst, src, n, how, mode),
                Kind::Scan => team.scan_raw(dst, src, n, true, how, mode),
                Kind::ScanExclusive => team.scan_raw(dst, src, n, false, how, mode),
                Kind::ScatterV => {
                    let n = self.len(team.me(), 0);
                    team.scatter_v_raw(root, dst, n, src, &self.row(team.size()), mode);
                }
                Kind::GatherV => {
                    let n = self.len(team.me(), 0);
                    team.gather_v_raw(root, dst, src, n, &self.row(team.size()), mode);
                }
                Kind::GatherAllV => team.gather_all_v_raw(dst, src, &self.row(team.size()), mode),
                Kind::ExchangeV => {
                    let (from, to) = (self.back(team.me(), team.size()), self.out(team.me(), team.size()));
                    team.exchange_v_raw(dst, src, &from, &to, mode);
                }
            }
        }
    }
}

/// A buffer, in the segment or not.
enum Buffer {
    Own(Vec<u8>),
    Segment(u64, usize),
}

impl Buffer {
    fn new(cx: &Cx, segment: bool, content: &[u8]) -> Buffer {
        if !segment {
            return Buffer::Own(content.to_vec());
        }
        let at = cx.take(content.len() as u64 + 1);
        cx.rank.write_slice(GlobalPtr::new(cx.rank.id(), at), content);
        Buffer::Segment(at, content.len())
    }

    fn at(&mut self, cx: &Cx) -> *mut u8 {
        match self {
            Buffer::Own(v) => v.as_mut_ptr(),
            Buffer::Segment(at, _) => {
                cx.rank.table().get(cx.rank.id()).expect("attached").local.wrapping_add(*at as usize)
            }
        }
    }

    fn bytes(&self, cx: &Cx) -> Vec<u8> {
        match self {
            Buffer::Own(v) => v.clone(),
            Buffer::Segment(at, n) => {
                let mut v = vec![0; *n];
                cx.rank.read_slice(GlobalPtr::new(cx.rank.id(), *at), &mut v);
                v
            }
        }
    }
}

/// An operation under way, with its buffers.
struct Running {
    case: Case,
    event: Event,
    src: Buffer,
    dst: Buffer,
}

impl Running {
    fn new(cx: &Cx, team: &Team, case: Case, blocking: bool) -> Running {
        let (me, size) = (team.me(), team.size());
        let source = case.source(me, size);
        let mut src = Buffer::new(cx, case.places & 1 != 0, &source);
        let mut content = vec![0xee; case.expected(me, size).len()];
        let inside = case.inside(me, size);
        if let Some(at) = inside {
            content[at..][..source.len()].copy_from_slice(&source);
        }
        let mut dst = Buffer::new(cx, case.places & 2 != 0, &content);
        let (d, s) = (dst.at(cx), src.at(cx));
        let s = inside.map_or(s, |at| d.wrapping_add(at));
        let event = if blocking {
            case.run(team, d, s);
            Event::DONE
        } else {
            case.start(team, d, s)
        };
        Running { case, event, src, dst }
    }

    fn check(self, cx: &Cx, team: &Team) {
        cx.rank.wait(self.event);
        let (me, size) = (team.me(), team.size());
        let what = format!("{:?} as member {me} of {size}", self.case);
        same(&self.dst.bytes(cx), &self.case.expected(me, size), &what);
        same(&self.src.bytes(cx), &self.case.source(me, size), &format!("source of {what}"));
    }
}

/// Random operations on a team; all members draw the same ones.
fn program(cx: &Cx, team: &Team, rng: &mut Rng, own: &mut Rng, cases: usize) {
    let mut flying: Vec<Running> = Vec::new();
    for i in 0..cases {
        let case = Case::random(rng, team.size(), cx.quick);
        let blocking = own.below(2) == 0;
        let running = Running::new(cx, team, case, blocking);
        match own.below(3) {
            _ if blocking => running.check(cx, team),
            0 => running.check(cx, team),
            1 => {
                flying.push(running);
                cx.rank.poll();
            }
            _ => flying.push(running),
        }
        if i % 7 == 6 {
            while !flying.is_empty() {
                flying.swap_remove(own.below(flying.len())).check(cx, team);
            }
            // Nobody copies from this rank's segment any more.
            team.barrier();
            cx.reset();
        }
    }
    flying.into_iter().for_each(|r| r.check(cx, team));
    team.barrier();
    cx.reset();
}

/// The team of all ranks, then random teams of it and of those.
pub fn random(cx: &Cx) {
    let all = cx.rank.team_all();
    let mut rng = cx.rng_of("coll", 0);
    let mut own = cx.rng("coll");
    let cases = if cx.quick { 40 } else { 150 };
    program(cx, &all, &mut rng, &mut own, cases);
    for round in 0..if cx.quick { 3 } else { 8 } {
        let colors = 1 + rng.below(3) as u32;
        let seed = rng.next();
        // Every rank knows what all choose.
        let choice = |r: u64| {
            let h = mix(seed ^ (r + 1));
            ((!h.is_multiple_of(7)).then_some((h >> 8) as u32 % colors), (h >> 40) as u32 % 5)
        };
        let (color, key) = choice(cx.me().into());
        let team = all.split(color, key);
        assert_eq!(team.is_some(), color.is_some());
        let Some(team) = team else { continue };
        let mut expected: Vec<(u32, u64)> =
            (0..u64::from(cx.size())).filter(|r| choice(*r).0 == color).map(|r| (choice(r).1, r)).collect();
        expected.sort_unstable();
        let ranks: Vec<u64> =
            (0..team.size()).map(|m| u64::from(team.rank_of(m).expect("a member").0)).collect();
        assert_eq!(ranks, expected.iter().map(|e| e.1).collect::<Vec<_>>());
        assert_eq!(team.member(cx.rank.id()), Some(team.me()));
        let mut shared = Rng::new(mix(seed ^ u64::from(color.unwrap_or(0)) << 50));
        program(cx, &team, &mut shared, &mut own, cases / 3);
        if round % 2 == 0 {
            let half = team.split(Some((team.me() % 2) as u32), (team.size() - team.me()) as u32);
            let half = half.expect("a color was given");
            let mut shared =
                Rng::new(mix(seed ^ (team.me() as u64 % 2) << 60 ^ u64::from(color.unwrap_or(0))));
            program(cx, &half, &mut shared, &mut own, cases / 6);
            assert!(half.free().is_ok());
        }
    }
    assert!(all.free().is_err());
}

/// Operations of several teams under way at a time, with split-phase barriers of the job and of the teams
/// between their beginnings and ends.
pub fn several_teams(cx: &Cx) {
    use gasnet::barrier::Outcome;
    let all = cx.rank.team_all();
    let (me, size) = (cx.me(), cx.size());
    // Halves in turn, halves in one piece, all in another order, alone; and all. NICs may work for the first
    // three and the last.
    let colors = [me % 2, u32::from(me < size / 2), 0, me];
    let mut teams: Vec<(u32, Team)> =
        colors.map(|c| (c, all.split(Some(c), size - me).expect("a color was given"))).into();
    teams.push((0, all.clone()));
    let (mut rng, mut own) = (cx.rng_of("teams", 0), cx.rng("teams"));
    let mut flying: Vec<(usize, Running)> = Vec::new();
    // Whether barriers have been entered: the teams', that of all ranks is the job's.
    let mut entered = vec![false; teams.len()];
    for step in 0..if cx.quick { 120 } else { 600 } {
        let which = rng.below(teams.len());
        let (color, team) = &teams[which];
        let seed = rng.next();
        if rng.below(4) == 0 {
            // Each enters, or leaves, its own at the same step.
            if entered[which] {
                assert_eq!(team.split_barrier().wait(which as i32, 0), Outcome::Agreed);
            } else {
                team.split_barrier().notify(which as i32, 0);
            }
            entered[which] = !entered[which];
        } else {
            let mut rng = Rng::new(mix(seed ^ u64::from(*color) << 40));
            let case = Case::random(&mut rng, team.size(), true);
            let blocking = own.below(4) == 0;
            flying.push((which, Running::new(cx, team, case, blocking)));
        }
        while flying.len() > 12 || (own.below(3) == 0 && !flying.is_empty()) {
            let (which, running) = flying.swap_remove(own.below(flying.len()));
            running.check(cx, &teams[which].1);
        }
        if step % 15 == 14 {
            flying.drain(..).for_each(|(which, running)| running.check(cx, &teams[which].1));
            all.barrier();
            cx.reset();
        }
    }
    for (i, (_, team)) in teams.iter().enumerate().filter(|(i, _)| entered[*i]) {
        assert_eq!(team.split_barrier().wait(i as i32, 0), Outcome::Agreed);
    }
    all.barrier();
}

/// Teams made of lists: of all ranks backwards, and disjoint ones at a time, some ranks in none; many
/// barriers and reductions under way in each.
pub fn created(cx: &Cx) {
    use gasnet::RankId;
    let all = cx.rank.team_all();
    let mut rng = cx.rng_of("created", 0);
    for round in 0..if cx.quick { 4 } else { 20 } {
        // The part that each rank is in, equal on all ranks. The last part has no team.
        let parts = 1 + rng.below(3);
        let part: Vec<usize> = (0..cx.size()).map(|_| rng.below(parts + 1)).collect();
        let mut lists: Vec<Vec<RankId>> = vec![Vec::new(); parts];
        for rank in (0..cx.size()).rev() {
            if let Some(list) = lists.get_mut(part[rank as usize]) {
                list.push(RankId(rank));
            }
        }
        let mine = part[cx.me() as usize];
        let list = lists.get(mine).cloned().unwrap_or_default();
        let team = all.create(&list);
        assert_eq!(team.is_some(), mine < parts);
        let Some(team) = team else { continue };
        assert_eq!((0..team.size()).map(|m| team.rank_of(m).expect("a member")).collect::<Vec<_>>(), list);
        for rank in cx.rank.ranks().chain([RankId(cx.size()), RankId(u32::MAX)]) {
            assert_eq!(team.member(rank), list.iter().position(|r| *r == rank), "rank {rank}");
        }
        let mut flying = Vec::new();
        for k in 0..20u64 {
            let barrier = team.barrier_nb();
            flying.push((k, barrier, team.reduce_all_nb(vec![k + team.me() as u64; 3], |a: u64, b| a + b)));
        }
        let n = team.size() as u64;
        while !flying.is_empty() {
            let (k, barrier, sum) = flying.swap_remove((round * 7 + flying.len() * 5) % flying.len());
            cx.rank.wait(barrier);
            assert_eq!(sum.wait(), [k * n + n * (n - 1) / 2; 3]);
        }
        if team.size() > 1 {
            let turned =
                [team.rank_of(team.size() - 1).expect("a member"), team.rank_of(0).expect("a member")];
            let two = team.create(if turned.contains(&cx.rank.id()) { &turned } else { &[] });
            assert_eq!(two.map(|two| two.gather_all(&[cx.me()])), {
                let ranks = vec![turned[0].0, turned[1].0];
                turned.contains(&cx.rank.id()).then_some(ranks)
            });
        }
        assert!(team.free().is_ok());
    }
    all.barrier();
}

/// The typed methods, and operations under way while their ranks are busy with barriers of the job.
pub fn typed(cx: &Cx) {
    let team = cx.rank.team_all();
    let (me, size) = (team.me(), team.size());
    let last = size - 1;
    let mut v = [me as u64; 3];
    team.broadcast(last, &mut v);
    assert_eq!(v, [last as u64; 3]);
    assert_eq!(team.broadcast_nb(0, vec![me as u32 + 7]).wait(), [7]);
    let table: Vec<u32> = (0..2 * size as u32).collect();
    let mut mine = [0; 2];
    team.scatter(last, if me == last { &table } else { &[] }, &mut mine);
    assert_eq!(mine, [2 * me as u32, 2 * me as u32 + 1]);
    assert_eq!(team.scatter_nb(0, table.clone(), 2).wait(), mine);
    assert_eq!(team.gather(last, &mine), if me == last { table.clone() } else { vec![] });
    assert_eq!(team.gather_nb(0, mine.to_vec()).wait(), if me == 0 { table.clone() } else { vec![] });
    assert_eq!(team.gather_all(&mine), table);
    assert_eq!(team.gather_all_nb(mine.to_vec()).wait(), table);
    let to: Vec<u64> = (0..size).map(|j| (me * 1000 + j) as u64).collect();
    let from: Vec<u64> = (0..size).map(|i| (i * 1000 + me) as u64).collect();
    assert_eq!(team.exchange(&to), from);
    assert_eq!(team.exchange_nb(to).wait(), from);
    let sum = (0..size as u64).sum::<u64>();
    let add = |a: u64, b: u64| a + b;
    let at_root = if me == last { vec![sum] } else { vec![] };
    assert_eq!(team.reduce(last, &[me as u64], add), at_root);
    assert_eq!(team.reduce_commutative(last, &[me as u64], add), at_root);
    assert_eq!(team.reduce_nb(last, vec![me as u64], add).wait(), at_root);
    assert_eq!(team.reduce_all(&[me as u64], add), [sum]);
    assert_eq!(team.reduce_all_commutative(&[me as u64, 1], add), [sum, size as u64]);
    assert_eq!(team.reduce_all_nb(vec![me as u64], u64::max).wait(), [last as u64]);
    assert_eq!(team.scan(&[me as u64], add), [(0..=me as u64).sum::<u64>()]);
    assert_eq!(
        team.scan_exclusive(&[me as u64], &[99], add),
        [if me == 0 { 99 } else { (0..me as u64).sum() }]
    );
    assert_eq!(team.scan_nb(vec![me as u64], add).wait(), [(0..=me as u64).sum::<u64>()]);
    // Parts of different lengths: member i has i + 1 of them, or for j: (i + j) % 3.
    let counts: Vec<usize> = (1..=size).collect();
    let parts: Vec<u32> = (0..size as u32).flat_map(|i| (0..=i).map(move |k| i << 16 | k)).collect();
    let own: Vec<u32> = (0..=me as u32).map(|k| (me as u32) << 16 | k).collect();
    let mut got = vec![0; me + 1];
    team.scatter_v(last, if me == last { &parts } else { &[] }, &counts, &mut got);
    assert_eq!(got, own);
    let all = if me == 0 { parts.clone() } else { vec![] };
    assert_eq!(team.scatter_v_nb(0, all.clone(), &counts, me + 1).wait(), own);
    assert_eq!(team.gather_v(0, &own, &counts), all);
    assert_eq!(team.gather_v_nb(0, own.clone(), &counts).wait(), all);
    assert_eq!(team.gather_all_v(&own, &counts), parts);
    assert_eq!(team.gather_all_v_nb(own, &counts).wait(), parts);
    let count = |i: usize, j: usize| (i + j) % 3;
    let block = |i: usize, j: usize| (0..count(i, j)).map(move |k| (i * 100 + j * 10 + k) as u16);
    let to: Vec<u16> = (0..size).flat_map(|j| block(me, j)).collect();
    let from: Vec<u16> = (0..size).flat_map(|i| block(i, me)).collect();
    let counts: Vec<usize> = (0..size).map(|i| count(me, i)).collect();
    assert_eq!(team.exchange_v(&to, &counts, &counts), from);
    assert_eq!(team.exchange_v_nb(to, &counts, &counts).wait(), from);
    // Functions that the core knows.
    use gasnet::atomics::Function;
    let mine = [me as f64 + 0.5];
    assert_eq!(team.reduce_all_with(&mine, Function::Max), [last as f64 + 0.5]);
    assert_eq!(
        team.reduce_with(last, &[me as i32 - 1], Function::Min),
        if me == last { vec![-1] } else { vec![] }
    );
    assert_eq!(team.reduce_all_nb_with(vec![1u32; 300], Function::Add).wait(), [size as u32; 300]);
    // A rank in a barrier of the job still passes messages on.
    for round in 0..50u64 {
        let pending = team.reduce_all_nb(vec![round + me as u64], add);
        if me.is_multiple_of(2) {
            cx.rank.barrier();
            assert_eq!(pending.wait(), [sum + round * size as u64]);
        } else {
            assert_eq!(pending.wait(), [sum + round * size as u64]);
            cx.rank.barrier();
        }
    }
    // Dropping waits; testing ends.
    drop(team.gather_all_nb(vec![me as u8; 20_000]));
    let mut pending = team.gather_all_nb(vec![me as u8; 20_000]);
    cx.rank.wait_until("a test", || pending.test());
    assert!(pending.wait().chunks(20_000).enumerate().all(|(i, c)| c.iter().all(|b| *b == i as u8)));
    team.barrier();
}

/// The split-phase barrier of teams: names, and nobody early.
pub fn team_barriers(cx: &Cx) {
    use gasnet::barrier::{ANONYMOUS, Consensus, MISMATCH, Outcome};
    let all = cx.rank.team_all();
    let team = all.split(Some(cx.me() % 2), cx.me()).expect("a color was given");
    let (me, size) = (team.me(), team.size());
    for phase in 0..if cx.quick { 20 } else { 100 } {
        let odd = phase as usize % size;
        let (id, flags, expected) = match phase % 5 {
            0 => (phase, 0, Consensus::Named(phase)),
            1 => (phase, ANONYMOUS, Consensus::Anonymous),
            2 => (phase, if me == odd { 0 } else { ANONYMOUS }, Consensus::Named(phase)),
            3 => (phase, if me == odd { MISMATCH } else { 0 }, Consensus::Mismatch),
            _ if size > 1 => (if me == odd { -1 } else { phase }, 0, Consensus::Mismatch),
            _ => (phase, 0, Consensus::Named(phase)),
        };
        team.split_barrier().notify(id, flags);
        assert_eq!(team.split_barrier().result(), None);
        // Operations of the team go on in between.
        assert_eq!(team.reduce_all(&[1u32], |a, b| a + b), [size as u32]);
        let outcome = team.split_barrier().wait(id, flags);
        assert_eq!(team.split_barrier().result(), Some(expected));
        assert_eq!(outcome == Outcome::Agreed, expected != Consensus::Mismatch);
    }
}

/// Where NICs carry out operations by themselves: between entry and exit no host gives its NIC a command, or
/// runs a handler.
pub fn by_nics(cx: &Cx) {
    use gasnet::atomics::Function;
    use gasnet::sync::port::NicPort;
    let Some(nic) = cx.rank.nic().filter(|_| cx.rank.config().coll_nic && cx.size() > 1) else { return };
    let team = cx.rank.team_all();
    let (me, size) = (team.me(), team.size());
    // Commands given, and messages whose handlers have run.
    let done = || {
        let taken = cx.rank.counters().into_iter().find(|(name, _)| *name == "messages taken");
        (nic.posted(), taken.expect("this network counts them").1)
    };
    let idle = |what: &str, end: &mut dyn FnMut()| {
        let before = done();
        end();
        assert_eq!(done(), before, "{what}: commands given, or messages taken, between entry and exit");
    };
    let mut rng = cx.rng("nics");
    for i in 0..if cx.quick { 40 } else { 400 } {
        (0..rng.below(2000)).for_each(|_| std::hint::spin_loop());
        // A few words, a page of them, a few pages.
        let n = [2, 512, 1500][i as usize % 3];
        let (mut mine, total) = (vec![me as u64, i], (0..size as u64).sum::<u64>());
        mine.resize(n, 1);
        let mut sum = Some(team.reduce_all_nb_with(mine, Function::Add));
        idle("reduce_all", &mut || {
            let got = sum.take().expect("once").wait();
            assert_eq!((got[0], got[1], got.len()), (total, i * size as u64, n));
            assert!(got[2..].iter().all(|v| *v == size as u64));
        });
        let root = i as usize % size;
        let mut all = Some(team.broadcast_nb(root, vec![me as u64 ^ i; n]));
        idle("broadcast", &mut || {
            assert_eq!(all.take().expect("once").wait(), vec![root as u64 ^ i; n]);
        });
        let counts: Vec<usize> = (0..size).map(|m| (m + i as usize) % 3).collect();
        let mut all = Some(team.gather_all_v_nb(vec![me as u64; counts[me]], &counts));
        idle("gather_all of blocks that differ", &mut || {
            let want = (0..size).flat_map(|m| vec![m as u64; counts[m]]);
            assert!(all.take().expect("once").wait().into_iter().eq(want));
        });
        // The length of a block depends on its two members: none, some words or some pages, within the
        // space that there is.
        let most = if size > 31 { 64 } else { 31 / size * 512 };
        let of = |a: usize, b: usize| [0, 3, 0, 600, 1, 1500][(a * 3 + b + i as usize) % 6].min(most);
        let block = |a: usize, b: usize| vec![(a << 32 | b << 16) as u64 + i; of(a, b)];
        let row: Vec<u64> = (0..size).flat_map(|m| block(root, m)).collect();
        let counts: Vec<usize> = (0..size).map(|m| of(root, m)).collect();
        let (all, known) = if me == root { (row.clone(), &*counts) } else { (vec![], &[][..]) };
        let mut scattered = Some(team.scatter_v_nb(root, all.clone(), known, counts[me]));
        idle("scatter of blocks that differ", &mut || {
            assert_eq!(scattered.take().expect("once").wait(), block(root, me));
        });
        let mut gathered = Some(team.gather_v_nb(root, block(root, me), known));
        idle("gather of blocks that differ", &mut || {
            assert_eq!(gathered.take().expect("once").wait(), all);
        });
        let (to, from): (Vec<_>, Vec<_>) = (0..size).map(|m| (of(me, m), of(m, me))).unzip();
        let values = (0..size).flat_map(|m| block(me, m)).collect();
        let mut exchanged = Some(team.exchange_v_nb(values, &to, &from));
        idle("exchange of blocks that differ", &mut || {
            let want = (0..size).flat_map(|m| block(m, me));
            assert!(exchanged.take().expect("once").wait().into_iter().eq(want));
        });
        // A function that no NIC knows.
        let mut last = Some(team.reduce_all_nb(vec![[me as u64, i]; n / 8], |_, b| b));
        idle("reduce_all by a function of the program", &mut || {
            assert_eq!(last.take().expect("once").wait(), vec![[size as u64 - 1, i]; n / 8]);
        });
        // The job's own barrier, by name.
        let (name, differ) = (i as i32 - 7, i % 5 == 4);
        cx.rank.split_barrier().notify(if differ { me as i32 } else { name }, 0);
        idle("the job's barrier", &mut || {
            let outcome = cx.rank.split_barrier().wait(name, 0);
            assert_eq!(outcome == gasnet::barrier::Outcome::Mismatched, differ);
        });
    }
    team.barrier();
}
