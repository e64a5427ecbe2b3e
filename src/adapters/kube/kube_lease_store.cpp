#include "adapters/kube/kube_lease_store.hpp"

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/lease_json.hpp"

namespace tessera {
namespace {

// Less than the interval of a leader's renewals.
constexpr std::chrono::milliseconds kDeadline{1'500};

}  // namespace

KubeLeaseStore::KubeLeaseStore(HttpClient& api, std::string ns, std::string name)
    : api_(api),
      ns_(std::move(ns)),
      name_(std::move(name)),
      leases_path_("/apis/coordination.k8s.io/v1/namespaces/" + ns_ + "/leases") {}

Result<std::optional<Lease>> KubeLeaseStore::read() {
    const auto body =
        kube_call(api_, {.method = "GET", .path = leases_path_ + "/" + name_}, kDeadline);
    if (!body && body.error().code == Code::not_found) return std::optional<Lease>();
    if (!body) return fail(body.error());
    TRY(const auto document, JsonDocument::parse(*body));
    return read_lease(document.root());
}

// A patch keeps the labels and annotations of other programs, such as Helm. It names the version,
// so it replaces exactly that one.
Result<Lease> KubeLeaseStore::write(const Lease& lease) {
    const bool is_new = lease.version.empty();
    TRY(const auto body,
        kube_call(api_,
                  {.method = is_new ? "POST" : "PATCH",
                   .path = is_new ? leases_path_ : leases_path_ + "/" + name_,
                   .body = write_lease(name_, ns_, lease),
                   .content_type = is_new ? "application/json" : "application/merge-patch+json"},
                  kDeadline));
    TRY(const auto document, JsonDocument::parse(body));
    return read_lease(document.root());
}

}  // namespace tessera
