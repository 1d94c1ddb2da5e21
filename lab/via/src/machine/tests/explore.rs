//! All calls in all orders, without going twice the way from the same situation.

use super::*;
use crate::terms::{ListenerId, RequestId};
use std::collections::HashSet;
use std::hash::BuildHasher;

/// A call, or something that arrives.
#[derive(Debug, Clone, Copy)]
enum Step {
    Ask,
    Accept,
    Reject,
    Disconnect(usize),
    Receive(usize),
    Send(usize),
    Take(usize, bool),
    Late,
    Arrive(usize),
}

#[derive(Clone)]
struct Model {
    net: Net,
    vis: [ViId; 2],
    listener: ListenerId,
    requests: Vec<RequestId>,
    memory: [MemoryId; 2],
    /// Sends and receives by rank: posted, taken.
    counts: [[(u8, u8); 2]; 2],
    path: Vec<Step>,
}

impl Model {
    fn new() -> Model {
        let mut net = Net::new();
        let vis = [0, 1].map(|r| net.vi(r, Reliability::Reception));
        let memory = [0, 1].map(|r| net.memory(r, vec![0; 4], false).0);
        let listener = net.machines[1].listen(net.nics[1], b"s").expect("a listener");
        Model {
            net,
            vis,
            listener,
            requests: Vec::new(),
            memory,
            counts: Default::default(),
            path: Vec::new(),
        }
    }

    fn states(&self) -> [ViState; 2] {
        [0, 1].map(|r| self.net.state(r, self.vis[r]))
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Ask, Step::Accept, Step::Reject, Step::Late];
        for r in 0..2 {
            steps.extend([Step::Disconnect(r), Step::Take(r, false), Step::Take(r, true)]);
            // Two of each kind show all that order can do.
            let [sends, receives] = self.counts[r];
            steps.extend((sends.0 < 2).then_some(Step::Send(r)));
            steps.extend((receives.0 < 2).then_some(Step::Receive(r)));
        }
        steps.extend((0..self.net.flying.len()).map(Step::Arrive));
        steps
    }

    /// False: the step has changed nothing.
    fn step(&mut self, step: Step) -> bool {
        self.path.push(step);
        let before = self.states();
        let work = |memory| Descriptor::message(vec![part(memory, 0, 2)]);
        let done = match step {
            Step::Ask => {
                let (local, remote) = (Address::new(0, *b"c"), Address::new(1, *b"s"));
                let until = Some(Duration::from_secs(1));
                let asked = self.net.machines[0].request(self.vis[0], local, remote, until, false);
                assert_eq!(asked.is_ok(), before[0] == ViState::Idle, "{:?}", self.path);
                asked.is_ok()
            }
            Step::Accept => {
                let Some(request) = self.requests.first().copied() else { return false };
                let accepted = self.net.machines[1].accept(request, self.vis[1]);
                if !matches!(accepted, Err(ViaError::State(_))) {
                    self.requests.remove(0);
                }
                assert!(accepted.is_err() || before[1] == ViState::Idle, "{:?}", self.path);
                accepted.is_ok()
            }
            Step::Reject => {
                let Some(request) = self.requests.pop() else { return false };
                let _ = self.net.machines[1].reject(request);
                true
            }
            Step::Disconnect(r) => {
                self.net.machines[r].disconnect(self.vis[r]).expect("a VI");
                assert_eq!(self.states()[r], ViState::Idle);
                before[r] != ViState::Idle
            }
            Step::Receive(r) => {
                self.net.receive(r, self.vis[r], work(self.memory[r]));
                self.counts[r][1].0 += 1;
                true
            }
            Step::Send(r) => {
                self.net.send(r, self.vis[r], work(self.memory[r]));
                self.counts[r][0].0 += 1;
                true
            }
            Step::Take(r, is_receive) => {
                let taken = self.net.taken(r, self.vis[r], is_receive).len() as u8;
                self.counts[r][usize::from(is_receive)].1 += taken;
                taken > 0
            }
            Step::Late => {
                self.net.machines[0].tick(Duration::from_secs(2));
                before != self.states()
            }
            Step::Arrive(at) => {
                self.net.deliver(at);
                true
            }
        };
        self.net.collect();
        while let Some(request) = self.net.machines[1].take_request(self.listener).expect("open") {
            self.requests.push(request.id);
        }
        self.check(step, before);
        done
    }

    /// No step leads outside the table, and no descriptor is lost.
    fn check(&self, step: Step, before: [ViState; 2]) {
        use ViState::{Connected, Error, Idle, Pending};
        let after = self.states();
        for r in 0..2 {
            let allowed = match (before[r], after[r]) {
                (before, after) if before == after => true,
                (Idle, Pending) => matches!(step, Step::Ask | Step::Accept),
                (Pending, Idle) => matches!(step, Step::Arrive(_) | Step::Late | Step::Disconnect(_)),
                (Connected | Error, Idle) => matches!(step, Step::Disconnect(_)),
                (Connected, Error) => matches!(step, Step::Arrive(_)),
                // The second: the end has overtaken the beginning, and waited for it.
                (Pending, Connected | Error) => matches!(step, Step::Arrive(_)),
                _ => false,
            };
            assert!(allowed, "rank {r}: {:?} to {:?} by {:?}", before[r], after[r], self.path);
            let status = self.net.machines[r].query_vi(self.vis[r]).expect("a VI");
            let left = self.counts[r].map(|(posted, taken)| usize::from(posted - taken));
            assert_eq!([status.sends, status.receives], left, "rank {r}: {:?}", self.path);
        }
    }

    /// A number for all that decides what can follow: the VIs, packets on their way, and the test's own
    /// counts.
    fn fingerprint(&self) -> u64 {
        let vis = [0, 1].map(|r| self.net.machines[r].vis.get(self.vis[r].0).expect("a VI"));
        let mut flying: Vec<String> = self
            .net
            .flying
            .iter()
            .map(|(from, action)| match action {
                Action::Packet { bytes, datagram, .. } => {
                    format!("{from} {:?}", wire::decode(bytes, *datagram).map(|(packet, _)| packet))
                }
                other => format!("{from} {other:?}"),
            })
            .collect();
        flying.sort();
        let doors = &self.net.machines[1].doors;
        let text = format!("{vis:?} {flying:?} {doors:?} {:?} {:?}", self.requests, self.counts);
        rustc_hash::FxBuildHasher.hash_one(text)
    }
}

/// VIA-2: two VIs, all calls, all orders of what is on its way; and deeper along random paths.
#[test]
fn via_02_all_calls_lead_along_the_table() {
    let (depth, paths) = (7, 3000);
    let mut level = vec![Model::new()];
    let mut seen: HashSet<u64> = HashSet::new();
    for _ in 0..depth {
        let mut next = Vec::new();
        for model in &level {
            for step in model.steps() {
                let mut after = model.clone();
                if after.step(step) && seen.insert(after.fingerprint()) {
                    next.push(after);
                }
            }
        }
        level = next;
    }
    println!("{} situations, {} of them {depth} steps deep", seen.len(), level.len());
    assert!(seen.len() > 1000, "{}", seen.len());
    let mut rng = fastrand::Rng::with_seed(1);
    let mut connected = 0;
    for _ in 0..paths {
        let mut model = Model::new();
        for _ in 0..60 {
            let steps = model.steps();
            model.step(steps[rng.usize(..steps.len())]);
        }
        connected += usize::from(model.states() == [ViState::Connected; 2]);
    }
    assert!(connected > 0, "random paths reach connections");
}
