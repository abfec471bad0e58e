//! What a kubelet reads of the host that it runs on.

use std::fs;
use std::net::{ToSocketAddrs as _, UdpSocket};

use kubelet_status::HostFacts;
use nix::sys::utsname::uname;

/// The host as it is now, which reaches the API server at `server`.
pub(super) fn read(server: &str) -> HostFacts {
    let first_line = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().next().unwrap_or_default().trim().to_owned()
    };
    let name = uname().ok();
    let of_name = |part: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
        name.as_ref().map(|name| part(name).to_string_lossy().into_owned()).unwrap_or_default()
    };
    HostFacts {
        machine_id: first_line("/etc/machine-id"),
        system_uuid: first_line("/sys/class/dmi/id/product_uuid"),
        boot_id: first_line("/proc/sys/kernel/random/boot_id"),
        kernel: of_name(|name| name.release()),
        os_image: os_image(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        architecture: go_architecture(&of_name(|name| name.machine())).to_owned(),
        addresses: own_address(server).into_iter().collect(),
    }
}

/// `PRETTY_NAME` of a text like `/etc/os-release`.
fn os_image(text: &str) -> String {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("Linux").trim_matches(['"', '\'']).to_owned()
}

/// As Go calls what `uname -m` prints.
fn go_architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" | "i586" | "i386" => "386",
        "armv7l" | "armv6l" => "arm",
        other => other,
    }
}

/// The address from which packets go to the API server. None is sent.
fn own_address(server: &str) -> Option<String> {
    let place = server.split_once("://").map_or(server, |(_, place)| place);
    let place = place.split('/').next().unwrap_or_default();
    let with_port = if place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        place.to_owned()
    } else {
        format!("{place}:443")
    };
    let to = with_port.to_socket_addrs().ok()?.next()?;
    let from = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_kubelet() {
        for (text, expected) in [
            ("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n", "Debian GNU/Linux 13 (trixie)"),
            ("PRETTY_NAME='Alpine'\n", "Alpine"),
            ("", "Linux"),
        ] {
            assert_eq!(os_image(text), expected);
        }
        assert_eq!(
            [go_architecture("x86_64"), go_architecture("aarch64"), go_architecture("s390x")],
            ["amd64", "arm64", "s390x"]
        );
    }

    #[test]
    fn the_address_is_that_on_the_way_to_the_server() {
        assert_eq!(own_address("https://127.0.0.1:6443").as_deref(), Some("127.0.0.1"));
        assert_eq!(own_address("https://[::1]:6443/path").as_deref(), Some("::1"));
        assert_eq!(own_address("https://127.0.0.1").as_deref(), Some("127.0.0.1"));
    }
}
