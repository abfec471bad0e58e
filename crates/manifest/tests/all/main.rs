//! Manifests, configurations and user data, as files have them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accepted;
mod api_server;
mod argo_graph;
mod bad_input;
mod beside_fields;
mod cloud_config;
mod cluster_objects;
mod config_forms;
mod config_templates;
mod config_without_kind;
mod configurations;
mod devices;
mod different_nodes;
mod foreign_devices;
mod kubeadm_patches;
mod kubelet_config;
mod kubelet_config_written;
mod made_objects;
mod manifests;
mod never_panics;
mod objects;
mod operators;
mod other_makers;
mod patch;
mod pods;
mod readers;
mod scenarios;
mod templates;
mod unknown_fields;
mod workload_notes;
