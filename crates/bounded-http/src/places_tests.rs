//! Tests of the shares: by hand, and a model that draws what clients do.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{
    Book, FEWEST, Full, Group, MIB, OWN, READING, Reach, SILENT, SILENT_CERTIFIED, Seat, Who, limits,
};

const ENOUGH: usize = 4096;
const NOBODY: Who = Who::User(65534);

#[test]
fn a_user_with_too_many_connections_loses_its_own_idle_ones() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let (root, _) = book.sit(Who::Owner(0), now);
    let (other, _) = book.sit(Who::User(7), now);
    let seats: Vec<Seat> = (0..32).map(|_| book.sit(NOBODY, now).0).collect();
    assert_eq!(book.begin(seats[0], NOBODY, now), Ok(()));
    for at in 1..1500 {
        let (_, closed) = book.sit(NOBODY, now);
        let closed = closed.unwrap_or_else(|| panic!("connection {at} closes none"));
        assert!(closed != seats[0] && closed != root && closed != other, "{at}");
    }
    assert_eq!(book.seats.len(), 34);
}

#[test]
fn requests_have_a_share_and_a_connection_is_left() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let seats: Vec<Seat> = (0..32).map(|_| book.sit(NOBODY, now).0).collect();
    let begun = seats.iter().map(|seat| book.begin(*seat, NOBODY, now));
    assert_eq!(begun.flatten().count(), 16);
    let (root, _) = book.sit(Who::Owner(0), now);
    assert_eq!(book.begin(root, Who::Owner(0), now), Ok(()));
    book.rest(seats[0], now);
    assert_eq!(book.begin(seats[31], NOBODY, now), Ok(()));
    assert_eq!(book.begin(seats[0], NOBODY, now), Err(Full));
}

#[test]
fn many_users_are_one_crowd_and_the_one_with_most_gives_way() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let quiet = book.sit(Who::User(1), now).0;
    for user in 100..104 {
        for _ in 0..32 {
            book.sit(Who::User(user), now);
        }
    }
    assert_eq!(book.seats.len(), 128);
    assert!(book.seats.contains_key(&quiet));
    let (_, closed) = book.sit(Who::User(2), now);
    assert!(closed.is_some_and(|closed| closed != quiet));
}

#[test]
fn who_has_the_token_does_not_wait_for_who_has_not() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let seats: Vec<Seat> = (0..64).map(|_| book.sit(Who::Tcp, now).0).collect();
    assert_eq!(seats.iter().filter(|seat| book.begin(**seat, Who::Tcp, now).is_ok()).count(), 24);
    let (seat, _) = book.sit(Who::Tcp, now);
    assert_eq!(book.begin(seat, Who::Tcp, now), Err(Full));
    assert_eq!(book.begin(seat, Who::Holder, now), Ok(()));
}

#[test]
fn who_does_not_speak_or_does_not_read_is_gone_in_the_end() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let [silent, working, reading] = [(); 3].map(|()| book.sit(NOBODY, now).0);
    assert_eq!(book.begin(working, NOBODY, now), Ok(()));
    assert_eq!(book.begin(reading, NOBODY, now), Ok(()));
    book.answer(reading, now);
    assert_eq!(book.overdue(now), []);
    assert_eq!(book.overdue(now + SILENT), [silent]);
    assert_eq!(book.overdue(now + READING), [reading]);
    assert_eq!(book.overdue(now + Duration::from_hours(1)), []);
    book.rest(working, now);
    assert_eq!(book.overdue(now + SILENT), [working]);
}

#[test]
fn a_slow_body_takes_no_share_and_gives_way_to_connections() {
    let (mut book, now) = (Book::new(Reach::Tcp, 64), Instant::now());
    let slow: Vec<Seat> = (0..64).map(|_| book.sit(Who::Tcp, now).0).collect();
    for seat in &slow {
        book.receive(*seat, Who::Tcp, now);
        assert_eq!(book.grow(*seat, OWN), Ok(Vec::new()));
    }
    let (quick, closed) = book.sit(Who::Tcp, now);
    assert_eq!(closed, Some(slow[0]), "the one that has been sending for longest");
    book.receive(quick, Who::Tcp, now);
    assert_eq!((book.grow(quick, OWN), book.begin(quick, Who::Tcp, now)), (Ok(Vec::new()), Ok(())));
    assert_eq!(book.grow(slow[0], OWN), Err(Full), "it has lost its place");
    assert_eq!(book.requests(Who::Tcp).each, 24, "a server of TCP alone has the whole share");
}

#[test]
fn large_bodies_give_way_to_newer_ones_and_those_worked_on_keep_theirs() {
    let (mut book, now) = (Book::new(Reach::Tcp, 64), Instant::now());
    let most = limits(Group::Tcp).bytes.each;
    let seats = [(); 3].map(|()| book.sit(Who::Tcp, now).0);
    for seat in seats {
        book.receive(seat, Who::Tcp, now);
    }
    let [first, second, third] = seats;
    assert_eq!(book.grow(first, 4 * most), Ok(Vec::new()), "it is alone");
    assert_eq!(book.grow(second, OWN), Ok(Vec::new()), "that much is its own");
    assert_eq!(book.grow(second, most), Ok(vec![first]));
    assert_eq!(book.begin(second, Who::Tcp, now), Ok(()));
    assert_eq!(book.grow(third, OWN), Ok(Vec::new()));
    assert_eq!(book.grow(third, most), Err(Full), "the other one is worked on");
    book.rest(second, now);
    assert_eq!(book.grow(third, most), Ok(Vec::new()));
}

#[test]
fn the_user_with_most_bytes_gives_way() {
    let (mut book, now) = (Book::new(Reach::Host, ENOUGH), Instant::now());
    let send = |book: &mut Book, user: u32, bytes: usize| {
        let who = Who::User(user);
        let (seat, _) = book.sit(who, now);
        book.receive(seat, who, now);
        (seat, book.grow(seat, OWN + bytes))
    };
    let (quiet, grown) = send(&mut book, 1, MIB);
    assert_eq!(grown, Ok(Vec::new()));
    let loud: Vec<Seat> = (2..6).map(|user| send(&mut book, user, 4 * MIB).0).collect();
    assert!(book.seats.contains_key(&quiet) && loud.iter().any(|seat| !book.seats.contains_key(seat)));
    let bytes: usize = book.seats.values().map(super::Seated::counted).sum();
    assert!(bytes <= limits(Group::Users).bytes.together, "{bytes}");
}

#[test]
fn who_shows_a_certificate_has_places_of_its_own_and_keeps_its_connection() {
    let (mut book, now) = (Book::new(Reach::Tls, 128), Instant::now());
    let (known, _) = book.sit(Who::Tcp, now);
    assert_eq!(book.recognise(known, Who::Certified, now), None);
    for _ in 0..1000 {
        let (seat, closed) = book.sit(Who::Tcp, now);
        assert_ne!(closed, Some(known));
        let _ = book.begin(seat, Who::Tcp, now);
    }
    assert_eq!(book.begin(known, Who::Certified, now), Ok(()));
    book.rest(known, now);
    assert!(!book.overdue(now + SILENT).contains(&known));
    assert_eq!(book.overdue(now + SILENT_CERTIFIED), [known]);
    assert_eq!(book.recognise(known, Who::Certified, now), None, "it is gone");
    assert_eq!(book.begin(known, Who::Certified, now), Err(Full));
}

/// A user that acts.
fn who() -> impl Strategy<Value = Who> {
    prop_oneof![Just(Who::Owner(0)), (1..9_u32).prop_map(Who::User), Just(Who::Tcp)]
}

proptest! {
    /// Whatever clients do: connections are bounded, and there is one to close for each that comes.
    #[test]
    fn connections_are_bounded(
        files in prop::sample::select(vec![0_usize, 20, 64, 1024, ENOUGH]),
        acts in prop::collection::vec((who(), any::<bool>(), any::<bool>()), 0..600),
    ) {
        let (mut book, now) = (Book::new(Reach::Host, files), Instant::now());
        for (at, (who, works, has_token)) in acts.into_iter().enumerate() {
            let (seat, _) = book.sit(who, now);
            if works {
                let who = if who == Who::Tcp && has_token { Who::Holder } else { who };
                let _ = book.begin(seat, who, now);
            }
            // One too many would stay; counting them takes the time of this test.
            if at % 16 != 0 {
                continue;
            }
            let most = limits(who.group()).connections.together.min(book.connections(who).together);
            let there = book.seats.values().filter(|seated| seated.who.group() == who.group()).count();
            prop_assert!(there <= most, "{there} of {most}");
        }
        prop_assert!(book.seats.len() <= Reach::Host.connections().min(files) + 3 * FEWEST);
    }
}

#[test]
fn a_user_has_more_connections_than_requests() {
    for group in [Group::Owners, Group::Users, Group::Tcp, Group::Certified] {
        let of = limits(group);
        assert!(of.connections.each > of.requests.each && of.connections.together > of.requests.together);
    }
    let both = limits(Group::Tcp).requests.together + limits(Group::Holders).requests.together;
    assert!(limits(Group::Tcp).connections.together > both);
}
