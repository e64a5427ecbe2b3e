// What a route of a daemon gets and answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tessera {

// A request before its body is read.
struct RequestHead {
    std::string_view method;
    std::string_view path;  // without the query
    bool has_certificate = false;
    std::string token;
    std::string certificate_name{};
};

struct RouteAnswer {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::string location;
    std::string allow;
    std::string authenticate;
    int retry_after_s = 0;  // after this time the same request may have an answer; 0: not said
    bool failed = false;    // counted as an error of the verb, whatever the status
};

inline RouteAnswer plain_answer(int status, std::string text) {
    return {.status = status, .body = std::move(text), .content_type = "text/plain; charset=utf-8"};
}

}  // namespace tessera
