// One request to the API server.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "adapters/http/http.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Returns the body of a 2xx answer. Any other answer is an error with the server's message. Its
// status decides the code: conflict, not_found, unauthenticated, permission_denied, expired or
// unavailable. If the server is too busy for any request and names a short time, the request is
// sent again after it, within `deadline`.
Result<std::string> kube_call(HttpClient& http, const HttpRequest& request,
                              std::chrono::milliseconds deadline, const std::stop_token& stop = {});
// Posts an object, which is JSON text, and returns the body of the answer. Errors as kube_call.
Result<std::string> kube_post(HttpClient& http, const std::string& path, std::string object,
                              std::chrono::milliseconds deadline);
// The same, with the answer parsed: for a review, whose answer has a status.
Result<JsonDocument> kube_review(HttpClient& http, const std::string& path, std::string question,
                                 std::chrono::milliseconds deadline);
// Sends a merge patch (RFC 7396). Errors as kube_call.
Result<> kube_merge_patch(HttpClient& http, const std::string& path, std::string patch,
                          std::chrono::milliseconds deadline);
// The error for such an answer to a request for `path`.
Error kube_error(const HttpResponse& response, std::string_view path);

}  // namespace tessera
