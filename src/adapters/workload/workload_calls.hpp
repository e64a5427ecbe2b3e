// Requests to the API server about the objects of serving and training jobs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// A kind of objects, such as {"/apis/apps/v1", "deployments", "deployments.apps"}.
struct ObjectKind {
    std::string_view api;
    std::string_view resource;
    std::string_view right;  // as RBAC names it
};

inline constexpr ObjectKind kDeployments{"/apis/apps/v1", "deployments", "deployments.apps"};
inline constexpr ObjectKind kJobs{"/apis/batch/v1", "jobs", "jobs.batch"};
inline constexpr ObjectKind kScalers{"/apis/autoscaling/v2", "horizontalpodautoscalers",
                                     "horizontalpodautoscalers.autoscaling"};
inline constexpr ObjectKind kTrainingRuntimes{"/apis/trainer.kubeflow.org/v1alpha1",
                                              "trainingruntimes",
                                              "trainingruntimes.trainer.kubeflow.org"};
inline constexpr ObjectKind kTrainJobs{"/apis/trainer.kubeflow.org/v1alpha1", "trainjobs",
                                       "trainjobs.trainer.kubeflow.org"};
inline constexpr ObjectKind kServices{"/api/v1", "services", "services"};
inline constexpr ObjectKind kConfigMaps{"/api/v1", "configmaps", "configmaps"};
inline constexpr ObjectKind kSecrets{"/api/v1", "secrets", "secrets"};
inline constexpr ObjectKind kPods{"/api/v1", "pods", "pods"};
inline constexpr ObjectKind kHttpRoutes{"/apis/gateway.networking.k8s.io/v1", "httproutes",
                                        "httproutes.gateway.networking.k8s.io"};
inline constexpr ObjectKind kGateways{"/apis/gateway.networking.k8s.io/v1", "gateways",
                                      "gateways.gateway.networking.k8s.io"};

// The path of the kind in a namespace, or in all if `ns` is empty.
std::string path_of(const ObjectKind& kind, const std::string& ns);
// Calls `read` with each object of the kind that has this label; `value` empty: with any value. As
// each_item(), with the right to list the kind.
Result<> each_labelled(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                       std::string_view label, const std::string& value, const ReadItem& read);

// Adds to permission_denied which right is missing.
Error with_right(Error error, std::string_view verb, const ObjectKind& kind, const std::string& ns);

// Sends a JSON patch. conflict, with a text that names `what`, if a test of the patch fails.
Result<> json_patch_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                           const std::string& name, std::string patch, std::string_view what);

// Returns the uid of the new object. conflict if there is one of its name.
Result<std::string> create_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                                  std::string body);
// The same. If the object of its name is about to be deleted, as one of a job that was just
// deleted, this waits up to half a minute.
Result<std::string> create_anchor(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                                  const std::string& name, const std::string& body);
// The object that owns the others of a job.
struct Anchor {
    std::string name;
    std::string uid;
};

// Creates an object that the anchor owns, and returns whether it did: false if the anchor owns it
// already. If an anchor of the same name that is gone owned it, the API server is about to delete
// it: then this waits, up to half a minute. conflict if it belongs to anything else.
Result<bool> create_owned(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                          const std::string& name, const std::string& body, const Anchor& anchor);

// Until an object that is about to go is gone, and how often to look.
inline constexpr std::chrono::seconds kGone{30};
inline constexpr std::chrono::milliseconds kGonePoll{200};

// The object of this name; nothing if there is none.
Result<std::optional<JsonDocument>> read_object(HttpClient& http, const ObjectKind& kind,
                                                const std::string& ns, const std::string& name);

// The conflict of a job with an object that has the name it needs.
Error held_by_another(const ObjectKind& kind, const std::string& ns, const std::string& name);

// The nodes with their GPUs. permission_denied without the right to list nodes.
Result<std::vector<NodeInventory>> read_nodes(HttpClient& http);

// Deletes the object of this name if `owner`, a uid, owns it.
Result<> remove_owned(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                      const std::string& name, const std::string& owner);

// Deletes the object with this uid, and in the background what it owns.
Result<> delete_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                       const std::string& name, const std::string& uid);

}  // namespace tessera
