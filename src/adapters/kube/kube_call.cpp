#include "adapters/kube/kube_call.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/os/pause.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

Code code_of(int status) {
    switch (status) {
        case 400:
        case 422:
            return Code::invalid_argument;
        case 401:
            return Code::unauthenticated;
        case 403:
            return Code::permission_denied;
        case 404:
            return Code::not_found;
        case 409:
            return Code::conflict;
        case 410:
            return Code::expired;
        default:
            return Code::unavailable;
    }
}

// Whether the API server did nothing, because it has too many requests or begins to serve a kind of
// objects, and wants to be asked again soon. Source: Kubernetes, "API Priority and Fairness".
bool is_busy(const HttpResponse& response) {
    constexpr int kMostPause = 2;
    return response.status == 429 && response.retry_after_s > 0 &&
           response.retry_after_s <= kMostPause;
}

}  // namespace

Error kube_error(const HttpResponse& response, std::string_view path) {
    std::string text = fmt::format("API server answers {} to {}: {}", response.status,
                                   path.substr(0, path.find('?')), status_message(response.body));
    if (response.status == 401) text += "; it does not accept the credentials: get new ones";
    return {code_of(response.status), std::move(text)};
}

Result<std::string> kube_call(HttpClient& http, const HttpRequest& request,
                              std::chrono::milliseconds deadline, const std::stop_token& stop) {
    const auto end = steady_clock::now() + deadline;
    while (true) {
        const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
        TRY(HttpResponse response, http.send(request, left, stop));
        if (response.status >= 200 && response.status < 300) return std::move(response.body);
        const std::chrono::seconds pause(response.retry_after_s);
        const bool is_repeated = is_busy(response) && steady_clock::now() + pause < end;
        if (!is_repeated) return fail(kube_error(response, request.path));
        pause_for(pause, stop);
    }
}

Result<std::string> kube_post(HttpClient& http, const std::string& path, std::string object,
                              std::chrono::milliseconds deadline) {
    return kube_call(http,
                     {.method = "POST",
                      .path = path,
                      .body = std::move(object),
                      .content_type = "application/json"},
                     deadline);
}

Result<JsonDocument> kube_review(HttpClient& http, const std::string& path, std::string question,
                                 std::chrono::milliseconds deadline) {
    TRY(const std::string body, kube_post(http, path, std::move(question), deadline));
    return JsonDocument::parse(body);
}

Result<> kube_merge_patch(HttpClient& http, const std::string& path, std::string patch,
                          std::chrono::milliseconds deadline) {
    TRY_VOID(kube_call(http,
                       {.method = "PATCH",
                        .path = path,
                        .body = std::move(patch),
                        .content_type = "application/merge-patch+json"},
                       deadline));
    return {};
}

}  // namespace tessera
