// Writes HTTP/1 responses to a stream.
#pragma once

#include <chrono>
#include <string_view>

#include "adapters/http/http.hpp"
#include "adapters/http/socket_stream.hpp"

namespace tessera {

struct ResponseForm {
    bool is_http_1_0 = false;   // the version of the request
    bool closes = false;        // the connection is closed afterwards
    bool has_no_body = false;   // of HEAD: the header alone is sent
    std::chrono::seconds idle;  // for the header Keep-Alive: until an idle connection is closed
    std::string_view retry_after{};  // the value of that header; empty: none
};

// "Not Found" for 404.
std::string_view reason_of(int status);

// The body is not copied if it is large. False if the stream fails.
bool write_response(SocketStream& stream, const HttpResponse& response, const ResponseForm& form);

}  // namespace tessera
