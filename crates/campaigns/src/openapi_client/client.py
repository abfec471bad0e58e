"""Uses a node by a client that was generated from its description: applies, explains and deletes pods."""

import sys

from topolet_client import AuthenticatedClient, Client
from topolet_client.api.default import admit_pods, delete_pod, describe_pod, explain_pods, is_ready, list_events, list_pods, show_status
from topolet_client.models import AdmitPodsDryRun, Error, Manifest

address, token = sys.argv[1:]
reader = Client(base_url=address)
holder = AuthenticatedClient(base_url=address, token=token)


def pod(name, cpus):
    amounts = {"cpu": str(cpus), "memory": "2Gi"}
    container = {"name": "app", "image": "x", "resources": {"limits": amounts, "requests": amounts}}
    return Manifest.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"containers": [container]},
        }
    )


def has(is_so, what, answer):
    print(("✔ " if is_so else "✘ ") + what)
    if not is_so:
        sys.exit(f"{what}: it answers {answer}")


ready = is_ready.sync(client=reader)
has(ready.status == "ok", "the node is ready", ready)

refused = admit_pods.sync_detailed(client=reader, body=pod("web", 4))
has(refused.status_code == 403 and isinstance(refused.parsed, Error), "without the token nothing is admitted", refused)

dry = admit_pods.sync(client=reader, body=pod("web", 4), dry_run=AdmitPodsDryRun.ALL)
has(dry.dry_run and dry.decisions[0].admitted, "a dry run needs no token", dry)

admitted = admit_pods.sync(client=holder, body=pod("web", 4)).decisions[0]
cpus = admitted.containers[0].exclusive_cpus
has(admitted.admitted and admitted.qos_class == "Guaranteed" and cpus, f"pod shop/web is admitted on CPUs {cpus}", admitted)

pods = list_pods.sync(client=reader, namespace="shop").pods
has([one.name for one in pods] == ["web"], "it is listed", pods)

described = describe_pod.sync("shop", "web", client=reader)
has(described.pod.status == "Admitted", "it is described", described)

explained = explain_pods.sync(client=reader, body=pod("large", 60))
refusal = explained.decisions[0].refusal
has(
    not explained.decisions[0].admitted and refusal.reason == "TopologyAffinityError" and refusal.would_fit,
    f"60 CPUs: {refusal.reason}, {refusal.would_fit[0].change.value}: {refusal.would_fit[0].detail}",
    explained,
)

again = admit_pods.sync_detailed(client=holder, body=pod("web", 6))
has(again.status_code == 409 and "another manifest" in again.parsed.message, "another manifest of the same name is refused", again)

deleted = delete_pod.sync("shop", "web", client=holder)
has(deleted.pod == "shop/web", "it is deleted", deleted)

missing = delete_pod.sync_detailed("shop", "web", client=holder)
has(missing.status_code == 404 and isinstance(missing.parsed, Error), "it is not here any more", missing)

status = show_status.sync(client=reader)
has(status.pods == [] and status.problems == [], "nothing runs, and nothing is wrong", status)

events = list_events.sync(client=reader).events
has([event.reason for event in events] == ["Admitted", "Ended"], "both are events", events)
