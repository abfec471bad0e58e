//! Lines of a kubelet's log that tell of its decisions: pods that it refused, its starts, and starts that failed.
//!
//! A log is read line by line, and lines that tell nothing are passed over, so that its length costs time alone. Lines come as
//! journals print them (`Nov 26 10:21:03 HOST kubelet[PID]: I1126 …`), with times in ISO 8601 or in fractions of a second, or as the
//! kubelet writes them, as text or as JSON.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use admission_report::KubeletRefusal;

use crate::json_line;

/// The most bytes of a line that are looked at.
const MAX_LINE: u64 = 64 << 10;
/// The same of a line with the machine, which the largest one known has an eighth of.
const MAX_MACHINE_LINE: u64 = 4 << 20;
/// The most lines of a kind that are kept of a log: the last ones.
const MAX_KEPT: usize = 2000;

/// A log, as far as it tells of a kubelet's decisions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LogRead {
    /// The file, as it is shown.
    pub path: String,
    /// Lines that were looked at.
    pub lines: u64,
    /// Whether the log is longer, and was read from a place towards its end.
    pub is_end_alone: bool,
    /// When the first and the last line were written, as it is written there.
    pub span: Option<(String, String)>,
    /// Pods that were refused, in the order of the lines.
    pub refusals: Vec<LogRefusal>,
    /// Starts of a kubelet.
    pub starts: Vec<KubeletStart>,
    /// Starts that failed.
    pub failures: Vec<StartFailure>,
    /// The last line of each kind that has the machine, as cAdvisor counts it and as its CPU manager does.
    pub machine: Vec<MachineLine>,
    /// Whether any line was written by a kubelet.
    pub has_kubelet: bool,
    /// Whether any line says something, and not what a journal says of itself (`-- No entries --`).
    pub has_entries: bool,
}

/// Where a line is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LinePlace {
    /// Its number, from 1; of a log that was read towards its end, from where that began.
    pub line: u64,
    /// When it was written, as it is written there; empty: it has no time.
    pub time: String,
    /// The host whose journal it is of; empty: it has none.
    pub host: String,
}

/// A line with the machine on which a kubelet started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineLine {
    /// Where the line is.
    pub place: LinePlace,
    /// The line.
    pub text: String,
}

/// A pod that a kubelet refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRefusal {
    /// Where the line is.
    pub place: LinePlace,
    /// Namespace of the pod.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID; empty where the line does not have it.
    pub uid: String,
    /// The kubelet's reason and message.
    pub said: KubeletRefusal,
}

/// A kubelet that started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeletStart {
    /// Where the line is.
    pub place: LinePlace,
    /// Its version, as it is written.
    pub version: String,
}

/// A kubelet that did not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartFailure {
    /// Where the line is.
    pub place: LinePlace,
    /// Why.
    pub error: String,
}

impl LogRead {
    /// Whether nothing is written in it: it is empty, or a journal that says that it has no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.has_entries
    }

    /// The hosts of the lines that are kept.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &str> {
        let refusals = self.refusals.iter().map(|refusal| &refusal.place);
        let starts = self.starts.iter().map(|start| &start.place);
        let failures = self.failures.iter().map(|failure| &failure.place);
        let machine = self.machine.iter().map(|line| &line.place);
        let all = refusals.chain(starts).chain(failures).chain(machine);
        let hosts = all.map(|place| place.host.as_str());
        hosts.filter(|host| !host.is_empty())
    }

    /// Reads a log. What is wrong with the stream ends it.
    pub(crate) fn of(path: &str, stream: &mut impl BufRead, is_end_alone: bool) -> (Self, io::Result<()>) {
        let mut log = Self { path: path.to_owned(), is_end_alone, ..Self::default() };
        let mut kept = Kept::default();
        let read = log.lines(stream, &mut kept);
        let Kept { refusals, starts, failures, machine } = kept;
        log.refusals = refusals.into();
        log.starts = starts.into();
        log.failures = failures.into();
        log.machine = machine.into_iter().flatten().collect();
        (log, read)
    }

    fn lines(&mut self, stream: &mut impl BufRead, kept: &mut Kept) -> io::Result<()> {
        let mut line = Vec::new();
        let mut last = Vec::new();
        loop {
            line.clear();
            let read = stream.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            self.lines += 1;
            if read as u64 == MAX_LINE {
                if MACHINE.iter().any(|word| text(&line).contains(word)) {
                    stream.by_ref().take(MAX_MACHINE_LINE).read_until(b'\n', &mut line)?;
                }
                if line.last() != Some(&b'\n') {
                    pass_line(stream)?;
                }
            }
            if self.lines <= 2 && self.span.is_none() {
                let time = time_of(&text(&line));
                self.span = (!time.is_empty()).then(|| (time.clone(), time));
            }
            std::mem::swap(&mut line, &mut last);
            let line = text(&last);
            self.has_entries = self.has_entries || is_entry(&line);
            self.has_kubelet = self.has_kubelet || is_of_kubelet(&line);
            if tells(&line) {
                match json_line::klog_text(&line) {
                    Some((spoken, written)) => kept.take(&spoken, dated(place(&line, self.lines), written)),
                    None => kept.take(&line, place(&line, self.lines)),
                }
            }
        }
        let end = time_of(&text(&last));
        if let Some((_, last)) = self.span.as_mut().filter(|_| !end.is_empty()) {
            *last = end;
        }
        Ok(())
    }
}

/// Whether a line of a log says something.
fn is_entry(line: &str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with("-- ") && line.ends_with(" --"))
}

/// A place with the time of a JSON line, unless a journal has written one before it.
fn dated(place: LinePlace, written: String) -> LinePlace {
    let time = if place.time.is_empty() { written } else { place.time };
    LinePlace { time, ..place }
}

fn time_of(line: &str) -> String {
    let place = place(line, 0);
    match json_line::klog_text(line) {
        Some((_, written)) => dated(place, written).time,
        None => place.time,
    }
}

fn text(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line)
}

/// Passes over the rest of a line.
fn pass_line(stream: &mut impl BufRead) -> io::Result<()> {
    loop {
        let there = stream.fill_buf()?;
        if there.is_empty() {
            return Ok(());
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(there.len(), |end| end + 1);
        stream.consume(passed);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// The last lines of each kind.
#[derive(Default)]
struct Kept {
    refusals: VecDeque<LogRefusal>,
    starts: VecDeque<KubeletStart>,
    failures: VecDeque<StartFailure>,
    /// By the words that are looked for.
    machine: [Option<MachineLine>; MACHINE.len()],
}

fn push<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() == MAX_KEPT {
        kept.pop_front();
    }
    kept.push_back(one);
}

/// Words of which a line that is kept has one.
const WORDS: [&str; 7] = [
    "dmission denied",
    "reason=\"",
    "\"reason\":",
    "reason: '",
    "kubeletVersion",
    "ailed to run ",
    COMMAND_FAILED,
];
/// Messages with which a kubelet ends: the parts that it starts last, each with the error.
const LAST_WORDS: [&str; 3] =
    ["Failed to start ContainerManager", "Failed to start cAdvisor", "Failed to initialize internal modules"];
/// With which its command ends.
const COMMAND_FAILED: &str = "command failed";
/// The same of lines with the machine.
const MACHINE: [&str; 2] = [" Machine: {", "etected CPU topology"];

/// Whether a line may tell something.
fn tells(line: &str) -> bool {
    WORDS.iter().chain(&LAST_WORDS).chain(&MACHINE).any(|word| line.contains(word))
}

/// Whether a line is one of a kubelet's log.
pub(crate) fn is_of_kubelet(line: &str) -> bool {
    let klog = line.find(['I', 'W', 'E', 'F']).is_some_and(|at| {
        let day = line.get(at + 1..at + 5).unwrap_or_default();
        day.len() == 4 && day.bytes().all(|byte| byte.is_ascii_digit())
    });
    line.contains("kubelet[")
        || line.contains("kubenswrapper[")
        || klog && line.contains(".go:")
        || json_line::is_one(line)
}

impl Kept {
    fn take(&mut self, line: &str, place: LinePlace) {
        if let Some(refusal) = refusal(line, &place) {
            // The kubelet writes a line for the decision and one for its event.
            let is_same = |last: &LogRefusal| {
                (&last.namespace, &last.name, &last.said)
                    == (&refusal.namespace, &refusal.name, &refusal.said)
            };
            match self
                .refusals
                .iter_mut()
                .rev()
                .take(16)
                .find(|last| is_same(last) && (last.uid.is_empty() || refusal.uid.is_empty()))
            {
                Some(last) if last.uid.is_empty() => last.uid = refusal.uid,
                Some(_) => {}
                None => push(&mut self.refusals, refusal),
            }
        } else if let Some(version) = field(line, "kubeletVersion") {
            push(&mut self.starts, KubeletStart { place, version });
        } else if let Some(error) = failure(line) {
            push(&mut self.failures, StartFailure { place, error });
        } else if let Some(at) = MACHINE.iter().position(|word| line.contains(word))
            && let Some(last) = self.machine.get_mut(at)
        {
            *last = Some(MachineLine { place, text: line.trim_end().to_owned() });
        }
    }
}

fn refusal(line: &str, place: &LinePlace) -> Option<LogRefusal> {
    let of = |namespace: &str, name: &str, uid: String, said| {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Some(LogRefusal { place: place.clone(), namespace, name, uid, said })
    };
    if let Some(reason) = field(line, "reason") {
        let is_event = field(line, "kind").is_some_and(|kind| kind == "Pod");
        let pod = if is_event { field(line, "object") } else { field(line, "pod") }?;
        let said = KubeletRefusal::of_status(&reason, &field(line, "message").unwrap_or_default());
        let denied =
            || KubeletRefusal { reason: reason.clone(), message: field(line, "message").unwrap_or_default() };
        let said = said.or_else(|| line.contains("dmission denied").then(denied))?;
        let (namespace, name) = pod.split_once('/')?;
        return of(namespace, name, field(line, "podUID").unwrap_or_default(), said);
    }
    // Event(v1.ObjectReference{Kind:"Pod", Namespace:"ran", …}): type: 'Warning' reason: 'TopologyAffinityError' Resources …
    let (object, rest) = line.split_once("ObjectReference{")?.1.split_once("reason: '")?;
    let (reason, message) = rest.split_once('\'')?;
    let member = |name: &str| Some(object.split_once(&format!("{name}:\""))?.1.split('"').next()?.to_owned());
    let said = KubeletRefusal::of_status(reason, message.trim())?;
    (member("Kind")? == "Pod").then_some(())?;
    of(&member("Namespace")?, &member("Name")?, member("UID").unwrap_or_default(), said)
}

/// Why a kubelet has ended, if a line says that it has.
fn failure(line: &str) -> Option<String> {
    let of_part = LAST_WORDS.iter().find_map(|words| Some(line.split_once(words)?.1));
    let of_run = || {
        let after = line.split_once("ailed to run ")?.1;
        after.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("kubelet")).then_some(after)
    };
    let is_of_command = line.contains(COMMAND_FAILED) && line.contains(&format!("] \"{COMMAND_FAILED}\""));
    let Some(after) = of_part.or_else(of_run) else {
        return field(line, "err").filter(|_| is_of_command);
    };
    // Before v1.21 the error comes behind the message.
    let written = || {
        let error = after.split_once(": ").filter(|_| of_part.is_none()).map_or(after, |(_, error)| error);
        let error = error.trim_start_matches(['"', ':']).trim();
        // One that was cut has no end.
        let error = error.strip_prefix("err=\"").unwrap_or(error);
        (!error.is_empty()).then(|| error.to_owned())
    };
    let error = field(line, "err").or_else(written)?;
    Some(error.strip_prefix("failed to run Kubelet: ").map(str::to_owned).unwrap_or(error))
}

/// The value of `KEY="VALUE"`, with what Go has escaped as it was.
fn field(line: &str, key: &str) -> Option<String> {
    let start = format!("{key}=\"");
    let mut from = 0;
    let at = loop {
        let at = line.get(from..)?.find(&start)? + from;
        // A key stands behind a blank or a bracket, and is not the end of another one.
        let before = line.get(..at)?.chars().next_back();
        if before.is_none_or(|letter| !letter.is_ascii_alphanumeric()) {
            break at + start.len();
        }
        from = at + start.len();
    };
    let mut value = String::new();
    let mut letters = line.get(at..)?.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(value),
            '\\' => match letters.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other => value.push(other),
            },
            letter => value.push(letter),
        }
    }
    None
}

/// The time and host of a line.
fn place(line: &str, number: u64) -> LinePlace {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let is_digit = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_clock = |text: &str| {
        text.len() >= 8
            && text.as_bytes().get(2) == Some(&b':')
            && is_digit(text.get(..2).unwrap_or_default())
    };
    let of = |time: String, host: Option<&str>| LinePlace {
        line: number,
        time,
        host: host.unwrap_or_default().to_owned(),
    };
    if let Some(day) = first
        .get(1..)
        .filter(|day| day.len() == 4 && is_digit(day) && first.starts_with(['I', 'W', 'E', 'F']))
    {
        let clock = words.next().filter(|clock| is_clock(clock)).unwrap_or_default();
        let (month, day) = day.split_at(2);
        return of(format!("{month}-{day} {clock}"), None);
    }
    if first.get(4..5) == Some("-") && first.contains('T') {
        return of(first.to_owned(), words.next());
    }
    let (day, clock) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if first.len() == 3 && is_digit(day) && is_clock(clock) {
        return of(format!("{first} {day} {clock}"), words.next());
    }
    of(String::new(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENIED: &str = "Nov 26 10:21:03 w-1 kubelet[22]: I1126 10:21:03.338123      22 kubelet.go:2357] \"Pod admission denied\" podUID=\"u-1\" pod=\"ran/du-0\" reason=\"UnexpectedAdmissionError\" message=\"Allocate failed due to \\\"x\\\", which is unexpected\"\n";

    fn read(text: &str) -> LogRead {
        let (log, read) = LogRead::of("kubelet.log", &mut text.as_bytes(), false);
        read.unwrap();
        log
    }

    #[test]
    fn a_refusal_is_one_whether_its_line_or_its_event_is_read() {
        let event = "I1126 10:21:03.338200      22 event.go:307] \"Event occurred\" object=\"ran/du-0\" fieldPath=\"\" kind=\"Pod\" apiVersion=\"v1\" type=\"Warning\" reason=\"UnexpectedAdmissionError\" message=\"Allocate failed due to \\\"x\\\", which is unexpected\"\n";
        let log = read(&format!("{DENIED}{event}"));
        let [refusal] = log.refusals.as_slice() else { panic!("{log:?}") };
        assert_eq!(
            (refusal.namespace.as_str(), refusal.name.as_str(), refusal.uid.as_str()),
            ("ran", "du-0", "u-1")
        );
        assert_eq!(refusal.said.message, "Allocate failed due to \"x\", which is unexpected");
        let LinePlace { line, time, host } = &refusal.place;
        assert_eq!((*line, time.as_str(), host.as_str()), (1, "Nov 26 10:21:03", "w-1"));
        assert_eq!(read(event).refusals.len(), 1);
        let old = "Jul 01 09:00:00 w-1 kubelet[1]: I0701 09:00:00.1 1 event.go:291] Event(v1.ObjectReference{Kind:\"Pod\", Namespace:\"ran\", Name:\"du-1\", UID:\"u-2\", APIVersion:\"v1\"}): type: 'Warning' reason: 'TopologyAffinityError' Resources cannot be allocated with Topology locality\n";
        let log = read(old);
        assert_eq!(
            (log.refusals[0].uid.as_str(), log.refusals[0].said.reason.as_str()),
            ("u-2", "TopologyAffinityError")
        );
    }

    #[test]
    fn starts_and_failed_starts_are_kept_and_all_else_is_passed_over() {
        let log = read(
            "2026-11-26T10:21:03+0000 w-1 kubelet[1]: I1126 10:21:03.1 1 server.go:467] \"Kubelet version\" kubeletVersion=\"v1.36.3\"\n\
             2026-11-26T10:21:04+0000 w-1 kubelet[1]: E1126 10:21:04.1 1 run.go:72] \"command failed\" err=\"failed to run Kubelet: start cpu manager error: x\"\n\
             2026-11-26T10:21:05+0000 w-1 kubelet[1]: I1126 10:21:05.1 1 kubelet.go:1] \"Node became not ready\" reason=\"KubeletNotReady\" pod=\"a/b\"\n",
        );
        assert_eq!(log.starts[0].version, "v1.36.3");
        assert_eq!(log.failures[0].error, "start cpu manager error: x");
        assert!(log.refusals.is_empty());
        let span = log.span.unwrap();
        assert_eq!(
            (span.0.as_str(), span.1.as_str()),
            ("2026-11-26T10:21:03+0000", "2026-11-26T10:21:05+0000")
        );
    }

    #[test]
    fn a_part_that_does_not_start_is_a_failed_start_as_text_and_as_json() {
        // scylladb/scylla-operator#1265, siderolabs/talos#7504 with the address that talosctl prints, and the form before v1.21.
        let error = "start cpu manager error: configured policy \"static\" differs from state checkpoint policy \"none\"";
        let quoted = error.replace('"', "\\\"");
        let json = format!(
            "{{\"ts\":1690001513203.121,\"caller\":\"kubelet/kubelet.go:1480\",\"msg\":\"Failed to start ContainerManager\",\"err\":\"{quoted}\"}}\n"
        );
        let klog = format!(
            "E0525 05:33:16.571404   14083 kubelet.go:1480] \"Failed to start ContainerManager\" err=\"{quoted}\"\n"
        );
        for (text, time, host) in [
            (format!("May 25 05:33:16 w-1 kubelet[14083]: {klog}"), "May 25 05:33:16", "w-1"),
            (klog, "05-25 05:33:16.571404", ""),
            (json.clone(), "1690001513203.121", ""),
            (format!("192.168.88.209: {json}"), "1690001513203.121", ""),
            (format!("May 25 05:33:16 w-1 kubelet[14083]: {json}"), "May 25 05:33:16", "w-1"),
            (
                format!(
                    "F0525 05:33:16.5   14083 kubelet.go:1372] Failed to start ContainerManager {error}\n"
                ),
                "05-25 05:33:16.5",
                "",
            ),
            (
                format!("E0525 05:33:16.5   14083 run.go:74] \"command failed\" err=\"{quoted}\"\n"),
                "05-25 05:33:16.5",
                "",
            ),
        ] {
            let log = read(&text);
            let [failure] = log.failures.as_slice() else { panic!("{text}: {log:?}") };
            assert_eq!(failure.error, error, "{text}");
            assert_eq!((failure.place.time.as_str(), failure.place.host.as_str()), (time, host), "{text}");
            assert!(log.has_kubelet && !log.is_empty() && log.span.is_some(), "{text}: {log:?}");
        }
    }

    #[test]
    fn a_refusal_in_json_is_read_as_the_same_line() {
        let log = read(
            "{\"ts\":1690001513203.121,\"caller\":\"kubelet/kubelet.go:2320\",\"msg\":\"Pod admission denied\",\"podUID\":\"u-1\",\"pod\":{\"name\":\"app\",\"namespace\":\"ran\"},\"reason\":\"SMTAlignmentError\",\"message\":\"SMT Alignment Error\",\"v\":2}\n",
        );
        let [refusal] = log.refusals.as_slice() else { panic!("{log:?}") };
        assert_eq!((refusal.namespace.as_str(), refusal.name.as_str()), ("ran", "app"));
        assert_eq!((refusal.uid.as_str(), refusal.said.reason.as_str()), ("u-1", "SMTAlignmentError"));
    }

    #[test]
    fn a_line_that_is_not_understood_is_one_and_json_of_others_is_not_the_kubelets() {
        assert!(read("").is_empty() && read("-- No entries --\n").is_empty());
        for line in [
            "something else\n",
            "{\"ts\":1.5,\"caller\":\"cut.go:1\",\"msg\":\"Failed to start ContainerMan",
            "{\"level\":\"info\",\"ts\":1690001513.2,\"caller\":\"embed/etcd.go:1\",\"msg\":\"command failed\"}\n",
        ] {
            let log = read(line);
            assert!(!log.is_empty() && !log.has_kubelet && log.failures.is_empty(), "{line}: {log:?}");
        }
    }

    #[test]
    fn the_last_refusals_of_many_are_kept_and_long_lines_are_cut() {
        let many =
            (0..3 * MAX_KEPT).map(|at| DENIED.replace("du-0", &format!("du-{at}"))).collect::<String>();
        let long = format!("{}\n", "x".repeat(1 << 20));
        let log = read(&format!("{long}{many}"));
        assert_eq!(log.refusals.len(), MAX_KEPT);
        assert_eq!(log.lines, 3 * MAX_KEPT as u64 + 1);
        assert_eq!(log.refusals.last().unwrap().name, format!("du-{}", 3 * MAX_KEPT - 1));
    }
}
