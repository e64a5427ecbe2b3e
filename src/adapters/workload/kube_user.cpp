#include "adapters/workload/kube_user.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/data_volume_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr ObjectKind kClaims{"/api/v1", "persistentvolumeclaims", "persistentvolumeclaims"};

}  // namespace

Result<Caller> read_caller(HttpClient& http) {
    TRY(const auto self, kube_review(http, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                     write_self_review(), kDeadline));
    auto user = read_self_review(self.root());
    if (!user) return fail(Code::unavailable, "the API server does not say which user this is");
    TRY(const auto admin,
        kube_review(http, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    write_admin_review(), kDeadline));
    return Caller{*std::move(user), read_access_review(admin.root())};
}

Result<std::vector<workload::DataVolume>> read_data_volumes(HttpClient& http,
                                                            const std::string& ns) {
    std::vector<workload::DataVolume> out;
    TRY_VOID(
        each_item(http, path_of(kClaims, ns), "list persistentvolumeclaims", [&](JsonValue json) {
            auto volume = workload::read_data_volume(json);
            if (volume.is_bound) out.push_back(std::move(volume));
        }));
    std::ranges::sort(out, {}, [](const workload::DataVolume& volume) {
        return std::tie(volume.ns, volume.name);
    });
    return out;
}

}  // namespace tessera
