//! Lines of the log on their way to standard error.
//!
//! Threads that log put their lines into a bounded queue, and one thread writes them. A full disk, a closed pipe or a
//! reader that has stopped costs lines, which are counted; no thread of the daemon waits or fails for it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use prometheus_client::metrics::counter::Counter;

/// The most bytes that wait. Further lines are lost until some of them are written.
const MOST_WAITING: usize = 1 << 20;

/// The queue. Clones are the same queue.
#[derive(Clone)]
pub(super) struct Lines(Arc<Queue>);

struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    lost: Counter,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    /// Of all lines that wait.
    bytes: usize,
    /// Whether a line has been taken out and is not written yet.
    is_writing: bool,
}

impl Lines {
    /// Starts the thread that writes to `out`. It runs until the program ends. After lines were lost and others can be
    /// written again, the thread calls `tell` with the number of lost lines that it has not reported yet;
    /// `tell` may log.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        tell: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let queue =
            Arc::new(Queue { waiting: Mutex::default(), changed: Condvar::new(), lost: Counter::default() });
        let lines = Self(queue.clone());
        thread::Builder::new().name("log".to_owned()).spawn(move || queue.write_all_to(out, tell))?;
        Ok(lines)
    }

    /// How many lines were lost.
    pub(super) fn lost(&self) -> Counter {
        self.0.lost.clone()
    }

    /// Returns when every line is written or lost, at the latest after `patience`.
    pub(super) fn finish(&self, patience: Duration) {
        let mut waiting = self.0.waiting();
        let is_busy = |waiting: &mut Waiting| waiting.is_writing || !waiting.lines.is_empty();
        // What is not written by then is lost.
        self.0.changed.wait_while_for(&mut waiting, is_busy, patience);
    }
}

/// Takes one line a call.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.add(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }

    fn add(&self, line: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.bytes + line.len() > MOST_WAITING {
            self.lost.inc();
            return;
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line.to_vec());
        drop(waiting);
        self.changed.notify_all();
    }

    /// The next line, as soon as there is one.
    fn next(&self) -> Vec<u8> {
        let mut waiting = self.waiting();
        loop {
            if let Some(line) = waiting.lines.pop_front() {
                waiting.bytes -= line.len();
                waiting.is_writing = true;
                return line;
            }
            self.changed.wait(&mut waiting);
        }
    }

    fn write_all_to(&self, mut out: impl Write, tell: impl Fn(u64)) {
        let mut cut = Cut::No;
        let mut told = 0;
        loop {
            let line = self.next();
            match write(&mut out, &line, &mut cut) {
                Ok(()) => {
                    let lost = self.lost.get();
                    // The notice needs room in the queue itself.
                    if lost > told && self.waiting().bytes <= MOST_WAITING / 2 {
                        tell(lost - told);
                        told = lost;
                    }
                }
                Err(_) => {
                    self.lost.inc();
                }
            }
            self.waiting().is_writing = false;
            self.changed.notify_all();
        }
    }
}

/// Whether only the beginning of the last line was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    Yes,
    No,
}

/// Writes a line. One that was cut before ends first, so that the two are not taken for one.
fn write(out: &mut impl Write, line: &[u8], cut: &mut Cut) -> io::Result<()> {
    if *cut == Cut::Yes {
        out.write_all(b"\n")?;
        *cut = Cut::No;
    }
    let mut left = line;
    while !left.is_empty() {
        let written = match out.write(left) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other,
        };
        match written {
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(error) => {
                *cut = if left.len() < line.len() { Cut::Yes } else { Cut::No };
                return Err(error);
            }
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A disk with so many bytes left.
    struct Disk(usize, Vec<u8>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0);
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= count;
            self.1.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_was_cut_is_ended_before_the_next_one() {
        let mut disk = Disk(9, Vec::new());
        let mut cut = Cut::No;
        assert!(write(&mut disk, b"first\n", &mut cut).is_ok());
        for _ in 0..2 {
            assert!(write(&mut disk, b"second\n", &mut cut).is_err());
        }
        assert_eq!(cut, Cut::Yes);
        disk.0 = 100;
        assert!(write(&mut disk, b"third\n", &mut cut).is_ok());
        assert_eq!(String::from_utf8_lossy(&disk.1), "first\nsec\nthird\n");
    }

    /// A pipe whose reader takes a line only when it is let.
    struct Stopped(Sender<Vec<u8>>, Receiver<()>);

    impl Write for Stopped {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.1.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.0.send(line.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_stopped_costs_the_lines_that_do_not_fit_the_queue() {
        let (written, lines) = channel();
        let (read, may_read) = channel();
        let mut log =
            Lines::start(Stopped(written, may_read), |_| {}).unwrap_or_else(|error| panic!("{error}"));
        // One line is in the writer's hands and the queue holds so many.
        let line = vec![b'x'; MOST_WAITING / 4];
        assert!(log.write_all(b"first").is_ok());
        while !(log.0.waiting().is_writing) {
            thread::yield_now();
        }
        for _ in 0..10 {
            assert!(log.write_all(&line).is_ok());
        }
        assert_eq!(log.lost().get(), 6);
        log.finish(Duration::from_millis(1));
        assert_eq!(log.0.waiting().lines.len(), 4, "the end does not wait for the reader");

        for _ in 0..5 {
            assert!(read.send(()).is_ok());
        }
        log.finish(Duration::from_mins(1));
        assert_eq!(lines.try_iter().count(), 5);
        // The reader has gone.
        drop(read);
        assert!(log.write_all(&line).is_ok());
        log.finish(Duration::from_mins(1));
        assert_eq!(log.lost().get(), 7);
    }

    #[test]
    fn a_reader_that_comes_back_reads_how_many_lines_were_lost() {
        let (written, lines) = channel();
        let (read, may_read) = channel();
        let log = std::sync::OnceLock::<Lines>::new();
        let log: &'static std::sync::OnceLock<Lines> = Box::leak(Box::new(log));
        let notice = |lost: u64| format!("{lost:0>100} lines were lost").into_bytes();
        let tell = move |lost| {
            if let Some(log) = log.get() {
                log.0.add(&notice(lost));
            }
        };
        let lines_of =
            Lines::start(Stopped(written, may_read), tell).unwrap_or_else(|error| panic!("{error}"));
        let queue = log.get_or_init(|| lines_of).0.clone();
        queue.add(b"first");
        while !queue.waiting().is_writing {
            thread::yield_now();
        }
        // Lines that are shorter than the notice fill the queue to its end.
        let count = MOST_WAITING / 8;
        for _ in 0..count + 10 {
            queue.add(b"waiting\n");
        }
        assert_eq!(queue.lost.get(), 10);
        for _ in 0..count + 2 {
            assert!(read.send(()).is_ok());
        }
        let mut seen: Vec<Vec<u8>> = (0..count + 2).map_while(|_| lines.recv().ok()).collect();
        assert_eq!(seen.iter().filter(|line| line.ends_with(b"lost")).count(), 1, "told once");
        seen.retain(|line| line.ends_with(b"lost"));
        assert_eq!(seen, [notice(10)]);
        assert_eq!(queue.lost.get(), 10, "the notice itself is not lost");
        // Lines are written as before.
        queue.add(b"next");
        assert!(read.send(()).is_ok());
        assert_eq!(lines.recv().ok().as_deref(), Some(&b"next"[..]));
    }
}
