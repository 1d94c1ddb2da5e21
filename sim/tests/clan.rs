//! The network CLAN in virtual time: packets without a length, turns at a switch, stores and the engine.

use gasnet_sim::{
    Arbitration, Bare, Burst, ClanCards, ClanCosts, ClanInputs, ClanStats, Immediate, Machine, Request, Rng,
    Time,
};

const BLOCKS: Arbitration = Arbitration { block: 512, cut_through: true };

fn cards(hosts: usize, switches: usize, arbitration: Arbitration) -> ClanCards {
    ClanCards::new(ClanCosts::new(&ClanInputs::PAPER), hosts, switches, arbitration)
}

fn octets(rng: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.word() as u8).collect()
}

/// Cuts a burst at random, again and again.
fn cut(rng: &mut Rng, burst: Burst) -> Vec<Burst> {
    let (mut pieces, mut rest) = (Vec::new(), Some(burst));
    while let Some(burst) = rest {
        let (piece, more) = burst.split(1 + rng.below(96) as usize);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

#[test]
fn clan_19_however_packets_are_cut_memory_is_the_same() {
    for seed in 1..=50 {
        let mut rng = Rng::new(seed);
        let bursts: Vec<Burst> = (0..20)
            .map(|_| {
                let (at, len) = (rng.below(8192), 1 + rng.below(1500) as usize);
                Burst::new(1, at, &octets(&mut rng, len))
            })
            .collect();
        let memory = |pieces: Vec<Burst>, block| {
            let arbitration = Arbitration { block, cut_through: true };
            let report = Bare::new(1, seed).run(cards(2, 1, arbitration), |m: &Machine<'_, ClanCards>| {
                m.device(|cards, clock| {
                    let now = clock.now();
                    pieces.iter().for_each(|piece| cards.send(clock, 0, piece.clone(), now));
                });
                m.work(Time::us(10_000.0));
                m.device(|cards, _| (cards.memory(1).to_vec(), cards.stats()))
            });
            report.unwrap().results.remove(0)
        };
        let (whole, _) = memory(bursts.clone(), 1 << 20);
        let pieces: Vec<Burst> = bursts.iter().flat_map(|b| cut(&mut rng, b.clone())).collect();
        let (pieced, stats) = memory(pieces.clone(), 1 + rng.below(512) as usize);
        assert!(whole == pieced, "seed {seed}");
        assert_ne!(whole.iter().filter(|b| **b != 0).count(), 0);
        // A piece that continues the one before needs no head: one for each burst, on both links.
        assert!(
            stats.heads <= 2 * bursts.len() as u64 && stats.blocks > stats.heads,
            "seed {seed}: {stats:?}"
        );
        // The pieces can be merged into the original bursts.
        let mut merged: Vec<Burst> = Vec::new();
        for piece in pieces {
            match merged.last_mut().map(|last| last.merge(piece.clone())) {
                Some(Ok(())) => {}
                _ => merged.push(piece),
            }
        }
        assert!(merged.len() <= bursts.len(), "seed {seed}");
        assert_eq!(merged.iter().flat_map(|b| b.octets.clone()).collect::<Vec<u8>>(), bursts.concat_octets());
    }
}

trait Octets {
    fn concat_octets(&self) -> Vec<u8>;
}

impl Octets for Vec<Burst> {
    fn concat_octets(&self) -> Vec<u8> {
        self.iter().flat_map(|b| b.octets.clone()).collect()
    }
}

/// Five ports that all send to one of them, one of them a block now and then.
fn contention(seed: u64, block: usize) -> (ClanStats, Time) {
    let report = Bare::new(5, seed).run(
        cards(5, 1, Arbitration { block, cut_through: true }),
        |m: &Machine<'_, ClanCards>| {
            let mut rng = Rng::new(seed * 5 + u64::from(m.id()));
            for _ in 0..40 {
                let len = if m.id() == 1 { 64 } else { 2048 };
                m.device(|cards, clock| {
                    let now = clock.now();
                    cards.send(clock, m.id(), Burst::new(0, 4096 * u64::from(m.id()), &vec![1; len]), now);
                });
                m.work(Time::us(20.0 + rng.unit() * 60.0));
            }
            m.device(|cards, _| cards.stats())
        },
    );
    let report = report.unwrap();
    (report.results[0], report.time)
}

#[test]
fn clan_19_the_wait_at_a_switch_is_bounded_by_a_block_of_each_other_port() {
    let most = (1..=20).map(|seed| contention(seed, 512).0.longest_wait).max().unwrap();
    assert!(most <= Time::us(4.0 * 512.0 * 0.008), "{most}");
    assert!(most > Time::us(12.3), "contention so slight shows nothing: {most}");
    // The bound is the block's.
    let less = (1..=20).map(|seed| contention(seed, 128).0.longest_wait).max().unwrap();
    assert!(less <= Time::us(4.0 * 128.0 * 0.008), "{less}");
}

#[test]
fn clan_19_cut_through_saves_a_packet_time_a_hop() {
    let arrival = |cut_through, octets: usize, switches| {
        let net = cards(2, switches, Arbitration { block: 512, cut_through });
        let report = Bare::new(1, 1).run(net, |m: &Machine<'_, ClanCards>| {
            m.device(|cards, clock| {
                let now = clock.now();
                cards.send(clock, 0, Burst::new(1, 0, &vec![7; octets]), now);
            });
            m.work(Time::us(1000.0));
            m.device(|cards, _| cards.arrivals(1).last().map(|a| a.1).unwrap())
        });
        report.unwrap().results[0]
    };
    for (octets, switches) in [(512, 2), (64, 2), (512, 1)] {
        let saved = arrival(false, octets, switches).since(arrival(true, octets, switches));
        assert_eq!(saved, Time::ns(8 * octets as u64 * switches as u64), "{octets} octets, {switches} hops");
    }
}

/// The data that the target sees first: the word behind a long request, written by the engine or stored.
fn first_to_arrive(stored: bool) -> Vec<u64> {
    let report = Bare::new(1, 1).run(cards(2, 1, BLOCKS), |m: &Machine<'_, ClanCards>| {
        let busy = m.device(|cards, clock| {
            cards.request(clock, 0, Request { to: 1, at: 1024, from: 0, len: 400 });
            if stored {
                return cards.store(clock, 0, Burst::new(1, 0, &1u32.to_le_bytes()));
            }
            cards.immediate(clock, 0, Immediate { to: 1, at: 0, word: 1 })
        });
        m.work(busy);
        m.work(Time::us(50.0));
        m.device(|cards, _| assert!(cards.engine_idle(0)));
        m.device(|cards, _| cards.arrivals(1).iter().map(|a| a.0).collect())
    });
    report.unwrap().results.remove(0)
}

#[test]
fn a_store_overtakes_the_engine_and_an_immediate_does_not() {
    assert_eq!(first_to_arrive(true), [0, 1024]);
    assert_eq!(first_to_arrive(false), [1024, 0]);
}

#[test]
fn fig_07_the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let report = Bare::new(5, seed).run(cards(5, 1, BLOCKS), |m: &Machine<'_, ClanCards>| {
            let mut rng = Rng::new(seed + u64::from(m.id()));
            for _ in 0..10 {
                m.device(|cards, clock| {
                    let now = clock.now();
                    cards.send(clock, m.id(), Burst::new(rng.below(5) as u32, 0, &[1; 700]), now);
                });
                m.work(Time::ns(rng.below(5000)));
            }
        });
        report.unwrap().trace
    };
    assert_eq!(trace(3), trace(3));
    assert_ne!(trace(3), trace(4));
}
