#include "adapters/http/response_writer.hpp"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <iterator>
#include <string>

namespace tessera {
namespace {

// A value with the end of a line would begin another field, or the body. It may come from a
// request.
void add(std::string& head, std::string_view name, std::string_view value) {
    constexpr std::string_view kNoValue("\r\n\0", 3);
    const bool is_value = !value.empty() && value.find_first_of(kNoValue) == value.npos;
    if (is_value) fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
}

}  // namespace

std::string_view reason_of(int status) {
    using namespace boost::beast::http;
    const auto reason = obsolete_reason(int_to_status(static_cast<unsigned>(status)));
    return {reason.data(), reason.size()};
}

bool write_response(SocketStream& stream, const HttpResponse& response, const ResponseForm& form) {
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
    if (form.closes) {
        add(head, "Connection", "close");
    } else {
        // A client of HTTP/1.0 closes the connection unless this header asks it not to.
        if (form.is_http_1_0) add(head, "Connection", "keep-alive");
        add(head, "Keep-Alive", fmt::format("timeout={}", form.idle.count()));
    }
    add(head, "Location", response.location);
    add(head, "Allow", response.allow);
    add(head, "WWW-Authenticate", response.authenticate);
    add(head, "Retry-After",
        response.retry_after_s > 0 ? std::to_string(response.retry_after_s) : form.retry_after);
    add(head, "Content-Type", response.content_type);
    add(head, "Content-Length", std::to_string(response.body.size()));
    head += "\r\n";
    if (!stream.write(head)) return false;
    return form.has_no_body || stream.write(response.body);
}

}  // namespace tessera
