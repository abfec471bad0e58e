//! Servers that answer well, slowly, too much, too early and not at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead as _, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use http_exchange::{ExchangeError, Request, Timed};

/// The most bytes of a body that these clients take.
const LARGEST: usize = 1 << 20;

/// A connection whose other end has answered already, and what was sent on it.
struct Answered<'a> {
    answer: &'a [u8],
    sent: Vec<u8>,
}

impl Read for Answered<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.answer.read(buffer)
    }
}

impl Write for Answered<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.sent.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The status and body of an answer, or why it is none.
fn read(answer: &[u8]) -> Result<(u16, String), ExchangeError> {
    let connection = Answered { answer, sent: Vec::new() };
    let response = Request::new("GET", "/").exchange(connection, LARGEST)?;
    Ok((response.status, String::from_utf8(response.body).unwrap()))
}

#[test]
fn a_request_is_written_with_its_fields_and_length() {
    let mut connection = Answered { answer: b"HTTP/1.1 204 No Content\r\n\r\n", sent: Vec::new() };
    let fields = [("X-File", "a.yaml"), ("X-Bad", "a\r\nHost: elsewhere")];
    let request = Request { host: "here", fields: &fields, ..Request::new("POST", "/a?b=c").with_body(b"d") };
    assert_eq!(request.exchange(&mut connection, 0).unwrap().status, 204);
    let expected = "POST /a?b=c HTTP/1.1\r\nHost: here\r\nConnection: close\r\nX-File: a.yaml\r\nContent-Length: 1\r\n\r\nd";
    assert_eq!(String::from_utf8(connection.sent).unwrap(), expected);
}

#[test]
fn an_answer_is_whole_or_an_error_wherever_it_is_cut() {
    for whole in [
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nTrailer: z\r\n\r\n",
    ] {
        assert_eq!(read(whole.as_bytes()).unwrap(), (200, "abc".to_owned()), "{whole:?}");
        assert_eq!(read(format!("{whole}more").as_bytes()).unwrap(), (200, "abc".to_owned()), "{whole:?}");
        for cut in 0..whole.len() {
            let error = read(&whole.as_bytes()[..cut]).unwrap_err();
            assert!(matches!(error, ExchangeError::BrokeOff), "{cut} of {whole:?}: {error}");
        }
    }
}

#[test]
fn what_is_no_answer_says_why() {
    for (answer, expected) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 "),
        ("HTTP/1.1 304 Not Modified\r\n\r\n", "304 "),
        ("HTTP/1.1 200 OK\r\n\r\nok\n", "the answer has no length"),
        ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "the answer is not HTTP"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "the answer is not HTTP"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", "the answer is not HTTP"),
        ("HTTP/1.1\r\n\r\n", "the answer is not HTTP"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
        ("", "the answer broke off"),
    ] {
        let found = match read(answer.as_bytes()) {
            Ok((status, body)) => format!("{status} {body}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{answer:?}");
    }
    let endless = [b"HTTP/1.1 200 OK\r\n".as_slice(), &b"a: b\r\n".repeat(1 << 16)].concat();
    assert!(matches!(read(&endless), Err(ExchangeError::NotHttp)));
}

#[test]
fn a_body_is_no_larger_than_allowed() {
    let answer =
        |body: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n{}", "x".repeat(body));
    assert_eq!(read(answer(LARGEST).as_bytes()).unwrap().1.len(), LARGEST);
    assert_eq!(
        read(answer(LARGEST + 1).as_bytes()).unwrap_err().to_string(),
        "the answer is larger than 1 MiB"
    );
}

/// What is answered by a server that sends this first, and then the rest again and again.
fn timed(first: &'static [u8], again: &'static [u8]) -> String {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        // One that closes with an unread request resets the connection.
        let asked = theirs.read(&mut [0; 1024]);
        let mut sent = asked.and_then(|_| theirs.write_all(first));
        while sent.is_ok() && !again.is_empty() {
            sent = theirs.write_all(again);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let connection = Timed::new(ours, Duration::from_millis(250));
    let answer = Request::new("GET", "/v1/status").exchange(connection, LARGEST);
    server.join().unwrap();
    answer.map_or_else(|error| error.to_string(), |answer| String::from_utf8(answer.body).unwrap())
}

#[test]
fn a_server_that_sends_for_ever_is_given_up() {
    assert_eq!(timed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", b""), "ok");
    assert_eq!(
        timed(b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n", b"x"),
        "no whole answer within 250ms"
    );
    assert_eq!(timed(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), "no whole answer within 250ms");
    assert_eq!(timed(b"", b"x"), "no whole answer within 250ms");
}

#[test]
fn an_answer_that_comes_before_all_is_read_is_one() {
    let body = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let _ = theirs.read(&mut [0]);
            let _ = theirs.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-length: 3\r\n\r\nno\n");
        });
        let request = Request::new("POST", "/v1/pods").with_body(&body);
        let answer = request.exchange(Timed::new(ours, Duration::from_mins(1)), LARGEST).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (409, b"no\n".as_slice()));
        server.join().unwrap();
    }
}

/// As chromedriver does.
#[test]
fn a_server_that_keeps_its_connection_open_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let read = stream.read(&mut [0; 1024]).unwrap();
        assert!(read > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        // Open until the client has gone.
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let connection = Timed::new(TcpStream::connect(address).unwrap(), Duration::from_mins(1));
    let answer = Request::new("GET", "/").exchange(connection, LARGEST).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"ok".as_slice()));
    server.join().unwrap();
}

#[test]
fn lines_of_a_stream_are_read_as_they_come() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        let read = theirs.read(&mut [0; 1024]).unwrap();
        assert!(read > 0);
        theirs.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n").unwrap();
        // The rest comes once the first line has been read.
        assert_eq!(theirs.read(&mut [0; 1]).unwrap(), 1);
        theirs.write_all(b"8\r\ndata: 2\n\r\n0\r\n\r\n").unwrap();
    });
    let mut answering = ours.try_clone().unwrap();
    let mut body = Request::new("GET", "/v1/events").open(ours).unwrap().body;
    let mut line = String::new();
    body.read_line(&mut line).unwrap();
    answering.write_all(b"+").unwrap();
    body.read_line(&mut line).unwrap();
    assert_eq!(line, "data: 1\ndata: 2\n");
    assert_eq!(body.read_line(&mut line).unwrap(), 0);
    server.join().unwrap();
}
