//! Which plugins are accepted, and whose connection is closed.

use device_manager::{
    Connected, ConnectionId, Connections, Gone, PluginOptions, RegisterError, ReplacedPlugins, RpcCode,
    RpcError, SocketConnections, check_announced, check_request, is_extended_resource,
};

use crate::fixture::gpu;

#[test]
fn names_are_those_of_extended_resources() {
    let long = |length: usize| "a".repeat(length);
    let domain = |length: usize| {
        let mut name = "abcdefg.".repeat(length / 8);
        name.push_str(&long(length - name.len()));
        name
    };
    for (name, valid) in [
        ("vendor.io/gpu".to_owned(), true),
        ("a/GPU_1.x-y".to_owned(), true),
        ("1.2.3.4/0".to_owned(), true),
        ("kubernetes.io.evil/x".to_owned(), true),
        (format!("{}.io/x", long(64)), true),
        (format!("{}/x", domain(244)), true),
        (format!("{}/x", domain(245)), false),
        (format!("v.io/{}", long(63)), true),
        (format!("v.io/{}", long(64)), false),
        (String::new(), false),
        ("gpu".to_owned(), false),
        ("/gpu".to_owned(), false),
        ("v.io/".to_owned(), false),
        ("v.io/a/b".to_owned(), false),
        ("kubernetes.io/x".to_owned(), false),
        ("my-kubernetes.io/x".to_owned(), false),
        ("requests.v.io/x".to_owned(), false),
        ("Vendor.io/x".to_owned(), false),
        ("-v.io/x".to_owned(), false),
        ("v..io/x".to_owned(), false),
        ("v_v.io/x".to_owned(), false),
        ("v.io/-x".to_owned(), false),
        ("v.io/x.".to_owned(), false),
        (" v.io/x".to_owned(), false),
        ("é.io/x".to_owned(), false),
        ("v.io/é".to_owned(), false),
    ] {
        assert_eq!(is_extended_resource(&name), valid, "{name}");
    }
}

#[test]
fn refusals_have_the_kubelets_texts() {
    let called = |version, name| check_request(version, name).map_err(|error| error.to_string());
    assert_eq!(called("v1beta1", "vendor.io/gpu"), Ok(gpu()));
    let versions = "is not supported by kubelet. Supported version is [\"v1beta1\"]";
    assert_eq!(called("", "gpu"), Err(format!("requested API version \"\" {versions}")));
    assert_eq!(called("v1\"\n\\", "gpu"), Err(format!("requested API version \"v1\\\"\\n\\\\\" {versions}")));
    assert_eq!(called("v1beta1", "gpu"), Err("the ResourceName \"gpu\" is invalid".to_owned()));
    for (name, quoted) in [
        ("é/\t", r"é/\t"),
        ("\u{1}\u{7f}'", r"\x01\x7f'"),
        ("\u{200b}\u{e000}", r"\u200b\ue000"),
        ("\u{10ffff}", r"\U0010ffff"),
    ] {
        assert_eq!(called("v1beta1", name), Err(format!("the ResourceName \"{quoted}\" is invalid")));
    }
    let found = |versions: &[&str], name| check_announced(versions, name).map_err(|error| error.to_string());
    assert_eq!(found(&["v1", "v1beta1"], "vendor.io/gpu"), Ok(gpu()));
    let among = "manager version, v1beta1, is not among plugin supported versions";
    assert_eq!(found(&["v1", "v2"], "gpu"), Err(format!("{among} [v1 v2]")));
    assert_eq!(found(&[], "gpu"), Err(format!("{among} []")));
    assert_eq!(
        found(&["v1beta1"], "gpu"),
        Err("invalid name of device plugin socket: the ResourceName \"gpu\" is invalid".to_owned())
    );
    let options = RegisterError::Options(RpcError { code: RpcCode(12), message: "no".to_owned() });
    assert_eq!(
        options.to_string(),
        "failed to get device plugin options: rpc error: code = Unimplemented desc = no"
    );
}

/// As in the kubelet: when the old one of two plugins goes, the new one is closed.
#[test]
fn an_upgrade_on_another_socket_ends_with_the_old_plugin() {
    let mut connections = Connections::default();
    connections.connecting(&gpu(), ConnectionId(1));
    connections.connecting(&gpu(), ConnectionId(2));
    assert_eq!(connections.current(&gpu()), Some(ConnectionId(2)));
    // The stream of the first has ended.
    assert_eq!(connections.gone(&gpu()), Some(ConnectionId(2)));
    // That of the second, since it was closed.
    assert_eq!(connections.gone(&gpu()), None);
}

#[test]
fn after_a_failed_registration_nobody_notices_the_end_of_the_one_before() {
    let mut connections = Connections::default();
    connections.connecting(&gpu(), ConnectionId(1));
    connections.connecting(&gpu(), ConnectionId(2));
    connections.failed(&gpu());
    assert_eq!(connections.gone(&gpu()), None);
    assert_eq!(connections.resources().count(), 0);
}

const fn plugin(id: u64) -> Connected {
    let options = PluginOptions { preferred_allocation: false, pre_start: id > 1 };
    Connected { connection: ConnectionId(id), options }
}

fn connect(connections: &mut SocketConnections, socket: &str, id: u64) -> Result<(), RegisterError> {
    connections.connecting(&gpu(), socket, ConnectionId(id));
    let replaced = ReplacedPlugins::KeepOpen;
    let connected = connections.connected(&gpu(), socket, plugin(id), replaced);
    if connected.is_err() {
        connections.failed(&gpu(), socket, ConnectionId(id), replaced);
    }
    connected.map(drop)
}

#[test]
fn plugins_of_a_resource_go_one_by_one() {
    let mut connections = SocketConnections::default();
    for (id, socket) in [(1, "a"), (2, "b"), (3, "c")] {
        assert_eq!(connect(&mut connections, socket, id), Ok(()));
    }
    assert_eq!(connections.sockets(&gpu()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(connections.gone(&gpu(), "c"), Gone::Replaced { closed: ConnectionId(3), by: plugin(2) });
    assert_eq!(connections.gone(&gpu(), "c"), Gone::Unnoticed);
    assert_eq!(connections.gone(&gpu(), "a"), Gone::Replaced { closed: ConnectionId(1), by: plugin(2) });
    assert_eq!(connections.gone(&gpu(), "b"), Gone::Last(ConnectionId(2)));
    assert_eq!(connect(&mut connections, "b", 4), Ok(()), "a path is free when its plugin has gone");
}

/// As in the kubelet: the failed attempt makes it forget whose end it should notice.
#[test]
fn a_plugin_that_registers_again_is_stuck() {
    let mut connections = SocketConnections::default();
    assert_eq!(connect(&mut connections, "a", 1), Ok(()));
    let again = connect(&mut connections, "a", 2).map_err(|error| error.to_string());
    assert_eq!(again, Err("device plugin already connected: a".to_owned()));
    assert_eq!(connections.gone(&gpu(), "a"), Gone::Unnoticed);
    assert_eq!(connections.sockets(&gpu()).count(), 1);
    assert!(connect(&mut connections, "a", 3).is_err());
    // Another one is unharmed.
    assert_eq!(connect(&mut connections, "b", 4), Ok(()));
    assert_eq!(connections.first(&gpu()), Some("b"));
    assert_eq!(connections.gone(&gpu(), "b"), Gone::Replaced { closed: ConnectionId(4), by: plugin(1) });
}

#[test]
fn a_plugin_that_registers_again_takes_its_own_place_where_plugins_are_replaced() {
    let mut connections = SocketConnections::default();
    let mut connect = |socket, id| {
        connections.connecting(&gpu(), socket, ConnectionId(id));
        connections.connected(&gpu(), socket, plugin(id), ReplacedPlugins::Close)
    };
    assert_eq!(connect("a", 1), Ok(None));
    assert_eq!(connect("b", 2), Ok(None));
    assert_eq!(connect("a", 3), Ok(Some(ConnectionId(1))));
    // An attempt that fails changes nothing.
    connections.connecting(&gpu(), "a", ConnectionId(4));
    connections.failed(&gpu(), "a", ConnectionId(4), ReplacedPlugins::Close);
    assert_eq!(connections.client(&gpu(), "a"), Some(ConnectionId(3)));
    assert_eq!(connections.gone(&gpu(), "a"), Gone::Replaced { closed: ConnectionId(3), by: plugin(2) });
    assert_eq!(connections.gone(&gpu(), "b"), Gone::Last(ConnectionId(2)));
    assert_eq!(connections.clients().count(), 0);
}
