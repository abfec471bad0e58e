//! How much of the server each user may have at once: connections, requests in progress, and work.
//!
//! The kernel names the user of a connection on the unix socket when the connection is accepted, so every connection is
//! accepted at once and counted for its user. [`limits`] is the table of all limits.
//!
//! A user with too many connections is not made to wait, and is not turned away: its connection that has been without a
//! request for longest is closed for the new one. There always is one, since a user may have fewer requests in progress
//! than connections. A queue would let idle connections keep others out until they time out; turning the new connection
//! away would let idle ones keep out the user's own health checks. What is closed is what costs its client least.
//!
//! A request takes its share when its body is there, and not before: a client that sends slowly takes a connection and
//! nothing else. Of bodies, the first 64 KiB belong to the connection, and the rest counts against the bytes of its user. Where
//! these run out, the connection that has been sending for longest is closed.
//!
//! A request beyond its user's share is answered with 503 and `Retry-After`. Paths such as `/healthz` need no share
//! ([`Service::always`](crate::Service::always)): they are answered as long as connections are accepted, which is always.
//!
//! Each user has a share, and all users together have one, since one person can have thousands of user ids
//! (user namespaces). Root and the user that the program runs as share with no other user, so that no other
//! keeps them waiting. TCP does not identify its users: all of them are one user, and all that send the token
//! are another. A client certificate does: all clients with an accepted one are one user, whose connections are
//! not those of TCP.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// For whom something is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Who {
    /// Root, or the user that the program runs as, on the unix socket.
    Owner(u32),
    /// Any other user on the unix socket.
    User(u32),
    /// Everybody on TCP without the token.
    Tcp,
    /// Everybody on TCP with the token. Their connections are those of [`Who::Tcp`], since the token comes later.
    Holder,
    /// Everybody with a client certificate that is accepted.
    Certified,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) | Self::User(user) => write!(f, "user {user}"),
            Self::Tcp => f.write_str("TCP without the token"),
            Self::Holder => f.write_str("TCP with the token"),
            Self::Certified => f.write_str("TCP with a client certificate"),
        }
    }
}

impl Who {
    /// Whether requests of theirs may change something.
    #[must_use]
    pub const fn may_change(self) -> bool {
        matches!(self, Self::Owner(_) | Self::Holder | Self::Certified)
    }

    /// Those who have a limit together.
    pub(crate) const fn group(self) -> Group {
        match self {
            Self::Owner(_) => Group::Owners,
            Self::User(_) => Group::Users,
            Self::Tcp => Group::Tcp,
            Self::Holder => Group::Holders,
            Self::Certified => Group::Certified,
        }
    }
}

/// See [`Who`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Group {
    Owners,
    Users,
    Tcp,
    Holders,
    Certified,
}

/// How many at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// For one user.
    pub(crate) each: usize,
    /// For all users of a group together.
    pub(crate) together: usize,
}

const fn share(each: usize, together: usize) -> Share {
    Share { each, together }
}

/// What a group may have at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// A connection costs a file descriptor and about 20 KiB.
    pub(crate) connections: Share,
    /// A request in progress may hold an answer of some 10 KiB until its client has read it. Less than connections.
    pub(crate) requests: Share,
    /// Reading and deciding on what may be changed. Costs a thread, and memory for a body of 1 MiB and its pods.
    pub(crate) changes: Share,
    /// Explaining, listing, and answers of any size. Costs a thread, a CPU and memory for the answer.
    pub(crate) looks: Share,
    /// Bytes of bodies, without the first [`OWN`] of each connection. A body that is alone is received whatever its length.
    pub(crate) bytes: Share,
}

const MIB: usize = 1 << 20;
/// So many bytes of a body are not counted: connections bound them.
const OWN: usize = 64 << 10;

/// The table of limits. `share(each, together)`.
pub(crate) const fn limits(group: Group) -> Limits {
    match group {
        // A container runtime and tools of one administrator; pods wait for slow device plugins.
        Group::Owners => Limits {
            connections: share(256, 256),
            requests: share(192, 192),
            changes: share(4, 4),
            looks: share(4, 4),
            bytes: share(64 * MIB, 64 * MIB),
        },
        // Monitoring and people who look. Two CPUs at most are busy for them, and an answer about 100 pods, or of the last
        // 1,000 decisions, takes 10 MiB.
        Group::Users => Limits {
            connections: share(32, 128),
            requests: share(16, 64),
            changes: share(0, 0),
            looks: share(1, 2),
            bytes: share(4 * MIB, 16 * MIB),
        },
        Group::Tcp => Limits {
            connections: share(64, 64),
            requests: share(24, 24),
            changes: share(0, 0),
            looks: share(1, 1),
            bytes: share(16 * MIB, 16 * MIB),
        },
        Group::Holders => Limits {
            connections: share(0, 0),
            requests: share(24, 24),
            changes: share(2, 2),
            looks: share(2, 2),
            bytes: share(32 * MIB, 32 * MIB),
        },
        // A few programs of the cluster that ask one question after the other.
        Group::Certified => Limits {
            connections: share(64, 64),
            requests: share(24, 24),
            changes: share(4, 4),
            looks: share(4, 4),
            bytes: share(128 * MIB, 128 * MIB),
        },
    }
}

/// Who can connect to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Users of this host on the unix socket, and TCP.
    Host,
    /// TCP alone.
    Tcp,
    /// TCP, with client certificates and without.
    #[cfg_attr(not(any(feature = "tls", test)), expect(dead_code, reason = "certificates need TLS"))]
    Tls,
}

impl Reach {
    /// Connections of everybody together.
    const fn connections(self) -> usize {
        let tcp = limits(Group::Tcp).connections.together;
        match self {
            Self::Host => {
                limits(Group::Owners).connections.together + limits(Group::Users).connections.together + tcp
            }
            Self::Tcp => tcp,
            Self::Tls => limits(Group::Certified).connections.together + tcp,
        }
    }
}
/// So many are the fewest of a group: one in progress with the token and one without, and one that may be closed.
const FEWEST: usize = 3;

/// How long a connection may be without a request in progress. The head of a request has 10 s ([`HEAD`](crate::HEAD)).
pub const SILENT: Duration = Duration::from_secs(15);
/// The same of connections with a client certificate: longer than programs written in Go keep one (90 s), so that the client
/// closes it, and never finds it closed while it sends.
pub(crate) const SILENT_CERTIFIED: Duration = Duration::from_mins(2);
/// How long a body may take to come in.
pub const BODY: Duration = Duration::from_secs(10);
/// How long a client may take to read an answer, or the next part of one that has no length. Clients are on this host, and the
/// longest answers are tens of MiB.
pub const READING: Duration = Duration::from_secs(30);

/// A connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Seat(u64);

/// What a connection does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// No request is in progress, or one that needs no share.
    Nothing,
    /// A body of theirs comes in, for [`BODY`] at most.
    Receiving(Who),
    /// A request of theirs is worked on. The routes bound how long.
    Request(Who),
    /// It is answered.
    Answer(Who),
}

impl Doing {
    /// Whose request takes a share.
    const fn who(self) -> Option<Who> {
        match self {
            Self::Nothing | Self::Receiving(_) => None,
            Self::Request(who) | Self::Answer(who) => Some(who),
        }
    }

    /// Whose body it is.
    const fn sender(self) -> Option<Who> {
        match self {
            Self::Receiving(who) => Some(who),
            other => other.who(),
        }
    }
}

#[derive(Debug)]
struct Seated {
    who: Who,
    doing: Doing,
    since: Instant,
    /// Bytes of the body that have come.
    body: usize,
}

impl Seated {
    /// Those that are not the connection's own.
    const fn counted(&self) -> usize {
        self.body.saturating_sub(OWN)
    }
}

/// All connections and what they do.
#[derive(Debug)]
pub(crate) struct Book {
    reach: Reach,
    /// Connections that all may have together, at most [`Reach::connections`].
    connections: usize,
    next: u64,
    seats: BTreeMap<Seat, Seated>,
}

/// A request is beyond its user's share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl Book {
    /// For a program that may have so many connections to clients open.
    pub(crate) fn new(reach: Reach, connections: usize) -> Self {
        let connections = reach.connections().min(connections);
        Self { reach, connections, next: 0, seats: BTreeMap::new() }
    }

    /// The share of connections, less if files are few.
    fn connections(&self, who: Who) -> Share {
        let Share { each, together } = limits(who.group()).connections;
        let scaled = |limit: usize| (limit * self.connections / self.reach.connections()).max(FEWEST);
        share(scaled(each), scaled(together))
    }

    /// The share of requests: one connection at least has none.
    fn requests(&self, who: Who) -> Share {
        let Share { each, together } = limits(who.group()).requests;
        let connections = match who {
            Who::Owner(_) | Who::User(_) | Who::Certified => self.connections(who),
            // They have the same connections.
            Who::Tcp | Who::Holder => {
                let Share { each, together } = self.connections(Who::Tcp);
                share(each.div_ceil(2), together.div_ceil(2))
            }
        };
        share(each.min(connections.each - 1), together.min(connections.together - 1))
    }

    /// A new connection, and the one that is closed for it.
    pub(crate) fn sit(&mut self, who: Who, now: Instant) -> (Seat, Option<Seat>) {
        let closed = self.make_room(who);
        let seat = Seat(self.next);
        self.next += 1;
        self.seats.insert(seat, Seated { who, doing: Doing::Nothing, since: now, body: 0 });
        (seat, closed)
    }

    /// The client of a connection has shown who it is, by a certificate. Gives the connection that is closed for it.
    #[cfg_attr(not(any(feature = "tls", test)), expect(dead_code, reason = "certificates need TLS"))]
    pub(crate) fn recognise(&mut self, seat: Seat, who: Who, now: Instant) -> Option<Seat> {
        let mut seated = self.seats.remove(&seat)?;
        let closed = self.make_room(who);
        (seated.who, seated.since) = (who, now);
        self.seats.insert(seat, seated);
        closed
    }

    /// Closes a connection if `who` may have no more.
    fn make_room(&mut self, who: Who) -> Option<Seat> {
        let Share { each, together } = self.connections(who);
        let of_group = self.seats.values().filter(|seated| seated.who.group() == who.group());
        let mut by_user = BTreeMap::<Who, usize>::new();
        for seated in of_group {
            *by_user.entry(seated.who).or_default() += 1;
        }
        let closed = if by_user.get(&who).is_some_and(|count| *count >= each) {
            self.oldest(|other| other == who)
        } else if by_user.values().sum::<usize>() >= together {
            // The user with the most connections loses one.
            let most = by_user.iter().max_by_key(|(_, count)| **count).map(|(user, _)| *user);
            let of_most = most.and_then(|most| self.oldest(|other| other == most));
            of_most.or_else(|| self.oldest(|other| other.group() == who.group()))
        } else {
            None
        };
        if let Some(closed) = closed {
            self.seats.remove(&closed);
        }
        closed
    }

    /// The connection that has been without a whole request for longest.
    fn oldest(&self, is_candidate: impl Fn(Who) -> bool) -> Option<Seat> {
        let idle =
            self.seats.iter().filter(|(_, seated)| seated.doing.who().is_none() && is_candidate(seated.who));
        idle.min_by_key(|(seat, seated)| (seated.since, **seat)).map(|(seat, _)| *seat)
    }

    /// The head of a request is there, of `who`, and its body comes.
    pub(crate) fn receive(&mut self, seat: Seat, who: Who, now: Instant) {
        if let Some(seated) = self.seats.get_mut(&seat) {
            (seated.doing, seated.since) = (Doing::Receiving(who), now);
        }
    }

    /// More of the body has come: `body` bytes in all. Gives the connections that are closed for it.
    ///
    /// # Errors
    /// Bodies that are worked on take all bytes of its user, or the connection has been closed.
    pub(crate) fn grow(&mut self, seat: Seat, body: usize) -> Result<Vec<Seat>, Full> {
        let seated = self.seats.get_mut(&seat).ok_or(Full)?;
        seated.body = body;
        let (Some(who), 1..) = (seated.doing.sender(), seated.counted()) else { return Ok(Vec::new()) };
        let Share { each, together } = limits(who.group()).bytes;
        let mut closed = Vec::new();
        loop {
            let mut by_user = BTreeMap::<Who, usize>::new();
            let senders = self.seats.values().filter_map(|seated| Some((seated.doing.sender()?, seated)));
            let senders = senders.filter(|(sender, _)| sender.group() == who.group());
            for (sender, seated) in senders.filter(|(_, seated)| seated.counted() > 0) {
                *by_user.entry(sender).or_default() += seated.counted();
            }
            let others = |of: Who| {
                let all = self.seats.iter().filter(move |(other, _)| **other != seat);
                all.filter(move |(_, seated)| seated.counted() > 0 && seated.doing.sender() == Some(of))
            };
            let own = by_user.get(&who).copied().unwrap_or_default();
            let crowded = if own > each && others(who).next().is_some() {
                who
            } else if by_user.values().sum::<usize>() <= together || by_user.len() == 1 {
                return Ok(closed);
            } else {
                // Of those with equally many not the one who sends.
                let most = by_user.iter().max_by_key(|(user, bytes)| (**bytes, **user != who));
                most.map_or(who, |(most, _)| *most)
            };
            let receiving = others(crowded).filter(|(_, seated)| seated.doing == Doing::Receiving(crowded));
            let longest = receiving.min_by_key(|(other, seated)| (seated.since, **other));
            let longest = longest.map(|(longest, _)| *longest).ok_or(Full)?;
            self.seats.remove(&longest);
            closed.push(longest);
        }
    }

    /// A request begins, of `who` by its head.
    ///
    /// # Errors
    /// `who` has as many in progress as it may, or the connection has been closed.
    pub(crate) fn begin(&mut self, seat: Seat, who: Who, now: Instant) -> Result<(), Full> {
        let Share { each, together } = self.requests(who);
        let working = || self.seats.values().filter_map(|seated| seated.doing.who());
        let own = working().filter(|other| *other == who).count();
        let all = working().filter(|other| other.group() == who.group()).count();
        if own >= each || all >= together {
            return Err(Full);
        }
        let seated = self.seats.get_mut(&seat).ok_or(Full)?;
        (seated.doing, seated.since) = (Doing::Request(who), now);
        Ok(())
    }

    /// Its answer is there.
    pub(crate) fn answer(&mut self, seat: Seat, now: Instant) {
        if let Some(seated) = self.seats.get_mut(&seat)
            && let Some(who) = seated.doing.who()
        {
            (seated.doing, seated.since) = (Doing::Answer(who), now);
        }
    }

    /// Nothing is in progress any more.
    pub(crate) fn rest(&mut self, seat: Seat, now: Instant) {
        if let Some(seated) = self.seats.get_mut(&seat) {
            (seated.doing, seated.since, seated.body) = (Doing::Nothing, now, 0);
        }
    }

    /// The connection has ended.
    pub(crate) fn leave(&mut self, seat: Seat) {
        self.seats.remove(&seat);
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Closes connections that are silent, or whose clients do not read.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<Seat> {
        let is_over = |seated: &Seated| {
            let patience = match seated.doing {
                Doing::Nothing if seated.who == Who::Certified => SILENT_CERTIFIED,
                Doing::Nothing => SILENT,
                Doing::Answer(_) => READING,
                Doing::Receiving(_) | Doing::Request(_) => return false,
            };
            now.saturating_duration_since(seated.since) >= patience
        };
        let over = self.seats.iter().filter(|(_, seated)| is_over(seated)).map(|(seat, _)| *seat);
        let over: Vec<Seat> = over.collect();
        for seat in &over {
            self.seats.remove(seat);
        }
        over
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
