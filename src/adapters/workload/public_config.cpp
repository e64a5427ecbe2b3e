#include "adapters/workload/public_config.hpp"

#include <chrono>

#include "adapters/kube/kube_call.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::string_view kFix =
    "--mpi-shell-image: is missing, and the ConfigMap tessera of the namespace kube-public, which "
    "the Helm chart makes, does not name the image; write the image of tessera-controller";

}  // namespace

Result<std::string> read_tessera_image(HttpClient& http) {
    const auto body = kube_call(
        http, {.method = "GET", .path = "/api/v1/namespaces/kube-public/configmaps/tessera"},
        kDeadline);
    if (!body &&
        (body.error().code == Code::not_found || body.error().code == Code::permission_denied)) {
        return fail(body.error().code, std::string(kFix) + ": " + body.error().text);
    }
    if (!body) return fail(body.error());
    TRY(const auto document, JsonDocument::parse(*body));
    std::string image = document.root()["data"]["image"].text_or("");
    if (image.empty()) return fail(Code::not_found, std::string(kFix));
    return image;
}

}  // namespace tessera
