use super::hangs::{REPORTS_UNTIL_COMPARED, REPORTS_UNTIL_STUCK};
use super::*;
use gasnet_wire::boot::MeetingPlace;

fn job(ranks: u32) -> (Job, Instant) {
    let pids: Vec<Pid> = (0..ranks as Pid).map(|r| 100 + r).collect();
    let mut job = Job::new(&pids);
    let now = Instant::now();
    for rank in 0..ranks {
        assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Joined)), []);
    }
    (job, now)
}

#[test]
fn a_lost_host_ends_the_job() {
    let now = Instant::now();
    let mut job = Job::on_hosts(["a", "a", "b"].map(String::from).into_iter());
    job.started(2, 7);
    assert_eq!(job.name(2), "rank 2 (pid 7 on b)");
    let actions = job.handle(now, JobEvent::HostLost("a".into(), "silence".into()));
    assert_eq!(actions, [vec![JobAction::Say("host a is lost: silence".into())], tells([2])].concat());
    assert!(!job.over(now));
    assert_eq!(job.handle(now, JobEvent::HostLost("b".into(), "silence".into())), []);
    assert!(job.over(now));
    assert_eq!(job.status(), 1);
}

fn tells(ranks: impl IntoIterator<Item = u32>) -> Vec<JobAction> {
    ranks.into_iter().map(JobAction::Tell).collect()
}

#[test]
fn orderly_end_takes_the_first_non_zero_code() {
    let (mut job, now) = job(3);
    for (rank, code) in [(1, 0), (2, 0x105), (0, 3)] {
        assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Done(code))), []);
    }
    for rank in 0..3 {
        assert!(!job.over(now));
        assert_eq!(job.handle(now, JobEvent::Ended(rank, Ended::Code(0))), []);
    }
    assert!(job.over(now));
    assert_eq!(job.status(), 5);
}

#[test]
fn global_exit_ends_the_peers_and_its_code_wins() {
    for code in [0, 5] {
        let (mut job, now) = job(2);
        let actions = job.handle(now, JobEvent::Packet(1, ToMonitor::GlobalExit(code)));
        assert_eq!(actions, tells([0]));
        assert_eq!(job.handle(now, JobEvent::Packet(0, ToMonitor::GlobalExit(4))), []);
        assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(1))), []);
        assert_eq!(job.handle(now, JobEvent::Ended(1, Ended::Code(code))), []);
        assert!(job.over(now));
        assert_eq!(job.status(), code);
    }
}

fn leaves(job: &mut Job, now: Instant, rank: u32) {
    assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Leaves(0))), []);
}

#[test]
fn ranks_that_leave_together_are_left_alone() {
    let (mut job, now) = job(3);
    (0..3).for_each(|rank| leaves(&mut job, now, rank));
    for _ in 0..9 {
        assert_eq!(job.tick(job.deadline().unwrap_or(now)), []);
    }
    assert_eq!(job.deadline(), None);
    // Wrappers end long after.
    let later = now + Duration::from_secs(1000);
    for (rank, code) in [(0, 0), (1, 3), (2, 4)] {
        assert!(!job.over(later) && !job.ending());
        assert_eq!(job.handle(later, JobEvent::Ended(rank, Ended::Code(code))), []);
    }
    assert!(job.over(later));
    assert_eq!(job.status(), 3);
}

#[test]
fn who_does_not_leave_with_the_others_is_told_and_killed() {
    let (mut job, now) = job(4);
    leaves(&mut job, now, 1);
    assert_eq!(job.handle(now, JobEvent::Ended(3, Ended::Code(0))), []);
    let late = job.deadline().unwrap();
    assert_eq!((job.tick(now), job.tick(late)), (vec![], tells([0, 2])));
    assert_eq!(job.handle(late, JobEvent::Packet(0, ToMonitor::Abort(1, "x".into()))), []);
    // The program of rank 0 ends as told, and its wrapper goes on; rank 2 stays.
    assert_eq!(job.handle(late, JobEvent::LinkClosed(0)), []);
    let later = job.deadline().unwrap();
    assert_eq!(job.tick(later), [JobAction::KillProgram(2)]);
    assert_eq!(job.handle(later, JobEvent::Ended(2, Ended::Signal(9))), []);
    assert_eq!(job.handle(later, JobEvent::Ended(1, Ended::Code(0))), []);
    assert_eq!(job.tick(job.deadline().unwrap()), []);
    assert!(!job.over(later));
    assert_eq!(job.handle(later, JobEvent::Ended(0, Ended::Code(1))), []);
    assert!(job.over(later));
    assert_eq!(job.status(), 0);
}

#[test]
fn late_ranks_that_cannot_be_killed_do_not_hold_the_monitor() {
    let (mut job, now) = job(2);
    leaves(&mut job, now, 0);
    job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
    for _ in 0..3 {
        assert!(!job.over(now));
        job.tick(job.deadline().unwrap());
    }
    assert!(job.over(now));
    assert_eq!(job.status(), 0);
}

#[test]
fn a_crash_while_all_leave_counts() {
    let (mut two, now) = job(2);
    leaves(&mut two, now, 0);
    leaves(&mut two, now, 1);
    let text = "rank 1 (pid 101) terminated with signal 11 (SIGSEGV)".to_string();
    let actions = two.handle(now, JobEvent::Ended(1, Ended::Signal(11)));
    assert_eq!(actions, [vec![JobAction::Say(text)], tells([0])].concat());
    assert_eq!(two.status(), 139);

    let (mut other, now) = job(2);
    leaves(&mut other, now, 0);
    assert_eq!(other.handle(now, JobEvent::Packet(1, ToMonitor::Leaves(7))), tells([0]));
    assert_eq!(other.status(), 7);
}

/// Waits for what ended ranks have missed last for ever; a rank that reports no wait may still end the
/// job.
#[test]
fn a_job_whose_rest_waits_for_ranks_that_left_ends() {
    let (mut job, now) = job(3);
    let tell = |job: &mut Job, rank, packet| job.handle(now, JobEvent::Packet(rank, packet));
    let wait = |number, barrier| {
        ToMonitor::Waits(
            number,
            Blocked {
                barrier,
                what: "a collective operation".into(),
                for_others: true,
                ..Blocked::default()
            },
        )
    };
    for _ in 0..REPORTS_UNTIL_STUCK {
        for rank in 0..3 {
            assert_eq!(tell(&mut job, rank, wait(1, None)), [], "nobody has left");
        }
    }
    tell(&mut job, 0, ToMonitor::Barriers(4));
    tell(&mut job, 0, ToMonitor::Done(0));
    for _ in 0..100 {
        assert_eq!(tell(&mut job, 1, wait(2, Some(3))), [], "all are in barrier 3");
        assert_eq!(tell(&mut job, 1, wait(3, Some(4))), [], "rank 2 may end the job");
    }
    let mut actions = tell(&mut job, 2, wait(7, Some(4)));
    let JobAction::Say(text) = actions.remove(0) else { panic!("{actions:?}") };
    assert!(text.starts_with(
        "1 of 3 ranks have left in order, and nobody else can go on: rank 1 waits in barrier 4"
    ));
    assert!(text.contains("which rank 0 did not join"), "{text}");
    assert_eq!(actions, tells([0, 1, 2]));
    assert_eq!(job.status(), 1);
}

#[test]
fn waits_that_may_end_are_given_time() {
    let (mut job, now) = job(2);
    job.handle(now, JobEvent::Packet(1, ToMonitor::Done(0)));
    let wait = |number| {
        JobEvent::Packet(
            0,
            ToMonitor::Waits(
                number,
                Blocked { peer: Some(1), what: "x".into(), for_others: true, ..Blocked::default() },
            ),
        )
    };
    for number in 0..3 {
        for _ in 0..REPORTS_UNTIL_STUCK {
            assert_eq!(job.handle(now, wait(number)), []);
        }
    }
    assert_eq!(job.handle(now, wait(2)).len(), 3);
    assert_eq!(job.status(), 1);
}

/// The same whatever a third rank does.
#[test]
fn a_wait_for_a_rank_that_left_ends_the_job() {
    let (mut job, now) = job(4);
    let wait = |peer| {
        let wait = Blocked { peer: Some(peer), what: "x".into(), for_others: true, ..Blocked::default() };
        JobEvent::Packet(0, ToMonitor::Waits(peer, wait))
    };
    job.handle(now, JobEvent::Packet(1, ToMonitor::Done(0)));
    for _ in 0..100 {
        assert_eq!(job.handle(now, wait(2)), [], "rank 2 is there");
    }
    for _ in 0..REPORTS_UNTIL_STUCK {
        assert_eq!(job.handle(now, wait(1)), [], "an answer may be on its way");
    }
    let text = "rank 0 waits for rank 1: x, for 0 s, and rank 1 has left in order".to_string();
    assert_eq!(job.handle(now, wait(1)), [vec![JobAction::Say(text)], tells([0, 1, 2, 3])].concat());
    assert_eq!(job.status(), 1);
}

fn waits_at(rank: u32, meeting: (MeetingPlace, u32), reached: [u32; 3]) -> JobEvent {
    let wait = Blocked {
        what: format!("{meeting:?}"),
        for_others: true,
        meeting: Some(meeting),
        reached,
        ..Blocked::default()
    };
    JobEvent::Packet(rank, ToMonitor::Waits(1, wait))
}

/// Whatever a third rank does.
#[test]
fn ranks_that_cannot_meet_end_the_job() {
    use MeetingPlace::{Attach, Barrier, Collective};
    // (the place of rank 0, what it has reached, the same of rank 1, whether they can go on)
    for (one, reached, two, others, meet) in [
        ((Barrier, 3), [4, 7, 1], (Collective, 7), [3, 8, 1], false),
        // Rank 1 has joined the barrier already.
        ((Barrier, 3), [4, 7, 1], (Collective, 7), [4, 8, 1], true),
        // Rank 0 has passed the operation in which rank 1 waits for news.
        ((Barrier, 3), [4, 8, 1], (Collective, 7), [3, 8, 1], true),
        ((Barrier, 0), [1, 0, 0], (Attach, 0), [0, 0, 1], false),
        ((Barrier, 3), [4, 7, 1], (Barrier, 4), [5, 7, 1], true),
        // Numbers wrap.
        ((Barrier, u32::MAX), [0, 7, 1], (Collective, 7), [u32::MAX, 8, 1], false),
    ] {
        let (mut job, now) = job(3);
        for _ in 0..REPORTS_UNTIL_COMPARED {
            assert_eq!(job.handle(now, waits_at(0, one, reached)), []);
            assert_eq!(job.handle(now, waits_at(1, two, others)), []);
        }
        job.handle(now, waits_at(0, one, reached));
        let actions = job.handle(now, waits_at(1, two, others));
        assert_eq!(job.ending(), !meet, "{one:?} {two:?} {actions:?}");
    }
}

#[test]
fn a_job_in_which_all_wait_is_asked_once() {
    let (mut job, mut now) = job(3);
    let place = (MeetingPlace::Barrier, 3);
    let told = |job: &mut Job, now, rank| job.handle(now, waits_at(rank, place, [4, 0, 1]));
    for second in 0..60 {
        now += Duration::from_secs(1);
        // The last rank computes, tells one wait, and computes again.
        let ranks = if second == 20 { 3 } else { 2 };
        for rank in 0..ranks {
            assert_eq!(told(&mut job, now, rank), [], "rank 2 computes");
        }
    }
    let mut asked = 0;
    for _ in 0..60 {
        now += Duration::from_secs(1);
        for rank in 0..3 {
            asked += told(&mut job, now, rank).iter().filter(|action| **action == JobAction::Ask).count();
        }
    }
    assert_eq!(asked, 1);
    assert!(!job.ending(), "that is no proof");
}

#[test]
fn death_by_signal_names_rank_and_signal() {
    let (mut job, now) = job(3);
    let actions = job.handle(now, JobEvent::Ended(1, Ended::Signal(11)));
    let text = "rank 1 (pid 101) terminated with signal 11 (SIGSEGV)".to_string();
    assert_eq!(actions, [vec![JobAction::Say(text)], tells([0, 2])].concat());
    assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Signal(3))), []);
    let later = job.deadline().unwrap();
    assert!(later - now < Duration::from_secs(1));
    assert_eq!(job.tick(now), []);
    assert_eq!(job.tick(later), [JobAction::Kill(2)]);
    assert_eq!(job.handle(later, JobEvent::Ended(2, Ended::Signal(9))), []);
    assert!(job.over(later));
    assert_eq!(job.status(), 139);
}

#[test]
fn unkillable_ranks_do_not_hold_the_monitor() {
    let (mut job, now) = job(1);
    job.handle(now, JobEvent::Signal(15));
    let kill = job.deadline().unwrap();
    job.tick(kill);
    let give_up = job.deadline().unwrap();
    assert!(!job.over(kill));
    assert!(job.over(give_up));
    assert_eq!(job.status(), 143);
}

#[test]
fn leaving_without_a_word_is_an_error() {
    let (mut job, now) = job(2);
    let actions = job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
    assert!(
        matches!(&actions[0], JobAction::Say(text) if text.contains("rank 0") && text.contains("in order"))
    );
    assert_eq!(actions[1..], tells([1]));
    job.handle(now, JobEvent::Ended(1, Ended::Signal(9)));
    assert_eq!(job.status(), 1);
}

#[test]
fn plain_programs_may_exit_but_not_beside_ranks_that_join() {
    let now = Instant::now();
    let mut job = Job::new(&[7, 8]);
    assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(0))), []);
    assert_eq!(job.handle(now, JobEvent::Ended(1, Ended::Code(0))), []);
    assert!(job.over(now));
    assert_eq!(job.status(), 0);

    let mut job = Job::new(&[7, 8]);
    assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(0))), []);
    let actions = job.handle(now, JobEvent::Packet(1, ToMonitor::Joined));
    assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("rank 0 (pid 7)")));
    assert_eq!(actions[1..], tells([1]));
    job.handle(now, JobEvent::Ended(1, Ended::Code(0)));
    assert_eq!(job.status(), 1);
}

#[test]
fn failing_before_joining_ends_the_job() {
    let now = Instant::now();
    let mut job = Job::new(&[7, 8]);
    let actions = job.handle(now, JobEvent::Ended(1, Ended::Code(42)));
    assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("code 42 before joining")));
    assert_eq!(actions[1..], tells([0]));
    job.handle(now, JobEvent::Ended(0, Ended::Signal(15)));
    assert_eq!(job.status(), 42);
}

#[test]
fn abort_is_quiet_and_never_a_success() {
    let (mut job, now) = job(2);
    assert_eq!(job.handle(now, JobEvent::Packet(1, ToMonitor::Abort(0, "bad".into()))), tells([0]));
    job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
    job.handle(now, JobEvent::Ended(1, Ended::Signal(6)));
    assert_eq!(job.status(), 1);
}

#[test]
fn what_all_refuse_is_said_once() {
    let (mut job, now) = job(3);
    let refused = || ToMonitor::Refused("no such network".into());
    let actions = job.handle(now, JobEvent::Packet(1, refused()));
    assert_eq!(
        actions,
        [vec![JobAction::Say("rank 1 (pid 101): no such network".into())], tells([0, 2])].concat()
    );
    for rank in [0, 2] {
        assert_eq!(job.handle(now, JobEvent::Packet(rank, refused())), []);
    }
    for rank in 0..3 {
        assert_eq!(job.handle(now, JobEvent::Ended(rank, Ended::Code(1))), []);
    }
    assert_eq!(job.status(), 1);
}

#[test]
fn a_rank_that_replaced_itself_is_noticed() {
    let (mut job, now) = job(2);
    job.handle(now, JobEvent::LinkClosed(1));
    let later = job.deadline().unwrap();
    let actions = job.tick(later);
    assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("rank 1 (pid 101) has closed")));
    assert_eq!(actions[1..], tells([0, 1]));
}

#[test]
fn a_second_signal_cuts_the_grace() {
    let (mut job, now) = job(1);
    assert_eq!(job.handle(now, JobEvent::Signal(2)), tells([0]));
    assert_eq!(job.tick(now), []);
    assert_eq!(job.handle(now, JobEvent::Signal(2)), []);
    assert_eq!(job.tick(now), [JobAction::Kill(0)]);
    assert_eq!(job.status(), 130);
}

#[test]
fn a_closed_output_ends_the_job_without_a_word() {
    let (mut two, now) = job(2);
    assert_eq!(two.handle(now, JobEvent::OutputClosed), tells([0, 1]));
    assert_eq!(two.status(), 141);

    let (mut one, now) = job(1);
    assert_eq!(one.handle(now, JobEvent::Ended(0, Ended::Signal(libc::SIGPIPE))), []);
    assert_eq!(one.status(), 141);
}

fn survivors(ranks: u32, most: u32) -> (Job, Instant) {
    let (mut job, now) = job(ranks);
    job.on_death(OnDeath::Shrink(most));
    (job, now)
}

fn asks(job: &mut Job, now: Instant, rank: u32, epoch: u32) -> Vec<JobAction> {
    job.handle(now, JobEvent::Packet(rank, ToMonitor::NextWorld(epoch, false)))
}

const KILLED: Ended = Ended::Signal(libc::SIGKILL);

#[test]
fn survivors_of_a_death_go_on() {
    let (mut job, now) = survivors(3, u32::MAX);
    let actions = job.handle(now, JobEvent::Ended(1, KILLED));
    let [JobAction::Say(text), JobAction::TellDeath(1, Some(KILLED))] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(text.starts_with("rank 1 (pid 101) terminated with signal 9 (SIGKILL)"), "{text}");
    assert_eq!(asks(&mut job, now, 2, 0), []);
    let world = JobWorld { epoch: 1, members: vec![0, 2], incarnations: vec![0, 0], takes_over: true };
    assert_eq!(asks(&mut job, now, 0, 0), [JobAction::Start(world)]);
    // Ranks have new numbers, in what they say and in what they are told.
    let wait = Blocked { peer: Some(1), ..Blocked::default() };
    assert_eq!(job.in_first_numbers(wait).peer, Some(2));
    let actions = job.handle(now, JobEvent::Ended(2, Ended::Code(3)));
    assert_eq!(actions[1..], [JobAction::TellDeath(1, Some(Ended::Code(3)))]);
    assert_eq!(
        asks(&mut job, now, 0, 1),
        [JobAction::Start(JobWorld { epoch: 2, members: vec![0], incarnations: vec![0], takes_over: true })]
    );
    assert_eq!(job.handle(now, JobEvent::Packet(0, ToMonitor::Done(0))), []);
    assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(0))), []);
    assert!(job.over(now) && !job.ending());
    assert_eq!(job.status(), 0);
}

#[test]
fn who_leaves_or_dies_while_others_ask_is_not_waited_for() {
    let (mut job, now) = survivors(4, u32::MAX);
    job.handle(now, JobEvent::Ended(3, KILLED));
    assert_eq!((asks(&mut job, now, 0, 0), asks(&mut job, now, 1, 0)), (vec![], vec![]));
    job.handle(now, JobEvent::Ended(1, KILLED));
    let start =
        JobAction::Start(JobWorld { epoch: 1, members: vec![0], incarnations: vec![0], takes_over: false });
    assert_eq!(job.handle(now, JobEvent::Packet(2, ToMonitor::Done(0))), [start]);
    // Who has left in order and is killed then is told, and nobody else is concerned.
    let actions = job.handle(now, JobEvent::Ended(2, KILLED));
    assert!(matches!(&actions[..], [JobAction::Say(_)]), "{actions:?}");
}

#[test]
fn too_many_deaths_end_the_job_and_so_does_the_last() {
    let (mut job, now) = survivors(3, 1);
    job.handle(now, JobEvent::Ended(0, Ended::Code(5)));
    let actions = job.handle(now, JobEvent::Ended(1, KILLED));
    assert_eq!(
        actions[1..],
        [vec![JobAction::Say("more than 1 ranks have died (--max-deaths 1)".into())], tells([2])].concat()
    );
    assert_eq!((job.ending(), job.status()), (true, 137));
    let (mut job, now) = survivors(2, u32::MAX);
    job.handle(now, JobEvent::Ended(1, KILLED));
    job.handle(now, JobEvent::Ended(0, Ended::Code(5)));
    assert!(job.over(now) && !job.ending());
    assert_eq!(job.status(), 5);
}

/// Statements of a rank about the whole job count as ever.
#[test]
fn a_rank_may_still_end_a_job_that_survives_it() {
    let (mut job, now) = survivors(2, u32::MAX);
    assert_eq!(job.handle(now, JobEvent::Packet(1, ToMonitor::GlobalExit(101))), tells([0]));
    assert_eq!(job.status(), 101);
}

/// Nobody is dead who could still write: a rank that closes its link is killed, and has died then.
#[test]
fn who_keeps_others_waiting_for_the_next_world_is_named() {
    let (mut job, now) = survivors(4, u32::MAX);
    job.handle(now, JobEvent::Ended(1, KILLED));
    assert_eq!(job.deadline(), None);
    assert_eq!(asks(&mut job, now, 0, 0), []);
    let due = job.deadline().unwrap();
    let later = now + Duration::from_secs(3);
    assert_eq!((asks(&mut job, later, 3, 0), job.deadline(), job.tick(later)), (vec![], Some(due), vec![]));
    let actions = job.tick(due);
    let [JobAction::Say(text)] = &actions[..] else { panic!("{actions:?}") };
    assert!(
        text.starts_with("ranks 0,3 have waited 10 s for the next world, and rank 2 (pid 102) "),
        "{text}"
    );
    // It is no error, and is said once.
    assert_eq!((job.deadline(), job.tick(due)), (None, vec![]));
    assert!(matches!(&asks(&mut job, due, 2, 0)[..], [JobAction::Start(_)]));
    // The next world has a time of its own, which ends when it has started.
    job.handle(due, JobEvent::Ended(2, KILLED));
    asks(&mut job, due, 3, 1);
    assert!(job.deadline() > Some(due));
    assert!(matches!(&asks(&mut job, due, 0, 1)[..], [JobAction::Start(_)]));
    assert_eq!(job.deadline(), None);
}

#[test]
fn a_rank_without_a_link_is_killed() {
    let (mut job, now) = survivors(2, u32::MAX);
    job.handle(now, JobEvent::LinkClosed(1));
    let actions = job.tick(job.deadline().unwrap());
    assert!(matches!(&actions[..], [JobAction::Say(_), JobAction::Kill(1)]), "{actions:?}");
    assert_eq!(job.deadline(), None);
    let actions = job.handle(now, JobEvent::Ended(1, KILLED));
    assert_eq!(actions[1..], [JobAction::TellDeath(1, Some(KILLED))]);
}

#[test]
fn who_asks_for_a_world_by_mistake_ends_the_job() {
    let (mut shrinks, now) = survivors(2, u32::MAX);
    let (mut ends, _) = job(2);
    for (job, epoch) in [(&mut shrinks, 7), (&mut ends, 0)] {
        let actions = asks(job, now, 1, epoch);
        assert_eq!(actions[1..], tells([0, 1]), "{epoch}");
    }
}

fn heals(ranks: u32, most: u32) -> (Job, Instant) {
    let (mut job, now) = job(ranks);
    job.on_death(OnDeath::Heal(most));
    (job, now)
}

#[test]
fn another_process_takes_the_place_of_the_dead() {
    let (mut job, now) = heals(3, u32::MAX);
    let actions = job.handle(now, JobEvent::Ended(1, KILLED));
    assert_eq!(actions[1..], [JobAction::TellDeath(1, Some(KILLED)), JobAction::Replace(1, 0)]);
    job.started(1, 777);
    assert_eq!((job.name(1).as_str(), job.incarnation(1), job.over(now)), ("rank 1 (pid 777)", 1, false));
    assert_eq!((asks(&mut job, now, 0, 0), asks(&mut job, now, 2, 0)), (vec![], vec![]));
    assert_eq!(job.handle(now, JobEvent::Packet(1, ToMonitor::Joined)), []);
    let world = JobWorld { epoch: 1, members: vec![0, 1, 2], incarnations: vec![0, 1, 0], takes_over: true };
    assert_eq!(asks(&mut job, now, 1, 0), [JobAction::Start(world)]);
    for rank in 0..3 {
        job.handle(now, JobEvent::Packet(rank, ToMonitor::Done(0)));
        assert_eq!(job.handle(now, JobEvent::Ended(rank, Ended::Code(0))), []);
    }
    assert_eq!((job.over(now), job.status()), (true, 0));
}

#[test]
fn who_dies_when_all_is_done_is_not_replaced() {
    let (mut job, now) = heals(3, u32::MAX);
    job.handle(now, JobEvent::Ended(1, KILLED));
    job.started(1, 777);
    assert_eq!(asks(&mut job, now, 2, 0), []);
    let finished = JobEvent::Packet(0, ToMonitor::Finished(0));
    assert_eq!(job.handle(now, finished), [JobAction::TellDone(vec![2])]);
    assert_eq!(asks(&mut job, now, 1, 0), [JobAction::TellDone(vec![1])]);
    let actions = job.handle(now, JobEvent::Ended(2, KILLED));
    assert_eq!(actions[1..], [JobAction::TellDeath(2, Some(KILLED))]);
}

#[test]
fn a_program_that_cannot_start_is_not_started_for_ever() {
    let (mut job, now) = heals(2, u32::MAX);
    for time in 0..5 {
        let actions = job.handle(now, JobEvent::Ended(1, KILLED));
        assert_eq!(actions.last(), Some(&JobAction::Replace(1, 0)), "{time}");
    }
    let actions = job.handle(now, JobEvent::Ended(1, KILLED));
    let JobAction::Say(text) = &actions[1] else { panic!("{actions:?}") };
    assert_eq!(text, "rank 1 has died 6 times without having been in a world between");
    assert_eq!((job.ending(), job.status()), (true, 137));
}

#[test]
fn a_world_without_all_its_ranks_does_not_start() {
    let (mut job, now) = heals(3, u32::MAX);
    job.handle(now, JobEvent::Packet(0, ToMonitor::Done(0)));
    job.handle(now, JobEvent::Ended(1, KILLED));
    job.started(1, 777);
    asks(&mut job, now, 1, 0);
    let actions = asks(&mut job, now, 2, 0);
    assert!(
        matches!(&actions[0], JobAction::Say(text) if text.contains("rank 0 has ended its program already"))
    );
    assert!(job.ending());
}

/// The ranks of a lost host have died; but not those of one that could not be reached at first.
#[test]
fn ranks_of_a_lost_host_have_died() {
    for (on_death, joined) in
        [(OnDeath::Shrink(9), true), (OnDeath::Heal(9), true), (OnDeath::Heal(9), false)]
    {
        let mut job = Job::on_hosts(["a", "b", "b", "b"].map(String::from).into_iter());
        job.on_death(on_death);
        let now = Instant::now();
        (0..4).filter(|rank| joined || *rank == 0).for_each(|rank| {
            job.started(rank, 100 + rank as i32);
            job.handle(now, JobEvent::Packet(rank, ToMonitor::Joined));
        });
        if joined {
            job.handle(now, JobEvent::Packet(3, ToMonitor::Done(0)));
        }
        let actions = job.handle(now, JobEvent::HostLost("b".into(), "silence".into()));
        assert_eq!(actions[0], JobAction::Say("host b is lost: silence".into()));
        let expected = match on_death {
            _ if !joined => tells([0]),
            OnDeath::Heal(_) => vec![
                JobAction::TellDeath(1, None),
                JobAction::Replace(1, 0),
                JobAction::TellDeath(2, None),
                JobAction::Replace(2, 0),
            ],
            _ => vec![JobAction::TellDeath(1, None), JobAction::TellDeath(2, None)],
        };
        assert_eq!(actions[1..], expected);
        assert_eq!(job.ending(), !joined);
        job.moves(1, "a");
        job.started(1, 7);
        assert_eq!(job.name(1), "rank 1 (pid 7 on a)");
    }
}

#[test]
fn who_gives_a_world_up_is_made_known_in_it() {
    let (mut job, now) = survivors(3, u32::MAX);
    job.handle(now, JobEvent::Ended(0, KILLED));
    let gives_up = |epoch| JobEvent::Packet(2, ToMonitor::GaveUp(epoch));
    assert_eq!(job.handle(now, gives_up(0)), [JobAction::TellGaveUp(2)]);
    asks(&mut job, now, 1, 0);
    asks(&mut job, now, 2, 0);
    assert_eq!((job.number_in_world(2), job.number_in_world(0)), (Some(1), None));
    assert_eq!(
        (job.handle(now, gives_up(0)), job.handle(now, gives_up(1))),
        (vec![], vec![JobAction::TellGaveUp(1)])
    );
}
