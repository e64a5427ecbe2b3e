#include "adapters/kube/kube_call.hpp"

#include <fmt/format.h>

#include <utility>

#include "wire/kube/kube_objects.hpp"

namespace tessera {
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

}  // namespace

Error kube_error(const HttpResponse& response, std::string_view path) {
    std::string text = fmt::format("API server answers {} to {}: {}", response.status,
                                   path.substr(0, path.find('?')), status_message(response.body));
    if (response.status == 401) text += "; it does not accept the credentials: get new ones";
    return {code_of(response.status), std::move(text)};
}

Result<std::string> kube_call(HttpClient& http, const HttpRequest& request,
                              std::chrono::milliseconds deadline, const std::stop_token& stop) {
    TRY(HttpResponse response, http.send(request, deadline, stop));
    if (response.status >= 200 && response.status < 300) return std::move(response.body);
    return fail(kube_error(response, request.path));
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
