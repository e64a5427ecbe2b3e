// The parts of Kubernetes objects that only `tessera migrate gpushare` reads and writes, in
// addition to kube_objects.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/migration/facts.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// A v1.Node, without its pods. `agent`: the spec of the pods of Tessera's DaemonSet; absent if
// there is none.
migration::Node read_migration_node(JsonValue node, JsonValue agent);
// A v1.Pod. `ns`: where Tessera runs; a pod elsewhere is none of Tessera's. gpushare's programs are
// known by their image or by the label of their manifests.
migration::Pod read_migration_pod(JsonValue pod, std::string_view ns);
// An apps/v1 DaemonSet: Tessera's agents.
migration::DaemonSet read_agents(JsonValue daemon_set);
// An apps/v1 DaemonSet; nothing if it is not gpushare's device plugin.
std::optional<migration::DaemonSet> read_old_plugin(JsonValue daemon_set);
// Whether the API server trusts each webhook of a MutatingWebhookConfiguration.
bool is_webhook_trusted(JsonValue configuration);
// Whether the pods of Tessera's Deployment have a kube-scheduler (mode: scheduler).
bool has_own_scheduler(JsonValue deployment);

// A merge patch of a Node of this version. Without `removes_report`.
std::string write_node_change(std::string_view version, const migration::NodeChange& change);

}  // namespace tessera
