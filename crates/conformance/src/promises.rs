//! What is said of a kubelet before it is asked, and what it then does.

pub mod fate;
