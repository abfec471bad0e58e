//! The program as its users meet it: commands, the daemon, and clusters around it.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(feature = "serve")]
#[path = "support/api_double.rs"]
mod api_double;
mod capture;
mod claims_of_cluster;
mod command_line;
mod controllers;
mod daemon;
mod deploy;
mod described;
mod distributions;
mod examples;
mod exported;
mod exposition;
mod faults;
mod field;
mod first_command;
mod fleet_in_cluster;
mod given_options;
mod help_examples;
#[path = "support/in_cluster.rs"]
mod in_cluster;
mod kubectl_plugin;
mod kubelet;
mod kubelet_node;
mod kubelet_releases;
mod kubelet_statuses;
mod machine_archives;
#[path = "support/machine_root.rs"]
mod machine_root;
mod machineinfo;
mod metrics;
mod node_file;
mod node_in_cluster;
mod nrt;
mod nrt_object;
mod observe;
mod observe_claims;
mod observe_cluster;
mod observe_kubelet;
mod observe_pods;
mod observe_restart;
mod openapi;
mod pictures;
mod pictures_of_decisions;
mod pictures_of_pods;
mod plugin_excess;
mod proposals;
mod proposals_in_forms;
mod publish_nrt;
mod readme;
mod resource_slices;
mod running_kubelet;
mod scenarios;
mod scheduler_in_cluster;
mod schema;
mod serve;
mod serve_claims;
mod serve_commands;
mod serve_deferred;
mod serve_events;
mod serve_files;
mod serve_http;
mod serve_kept;
mod serve_log;
mod serve_moves;
mod serve_readers;
mod serve_release;
mod serve_reload;
mod serve_repair;
mod serve_resize;
mod state_repair;
mod this_node;
mod tree;
mod unusual_machines;
mod width;
