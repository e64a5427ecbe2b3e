#include "domain/autoscaling/request_counter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostName = 200;
constexpr int kMostPort = 65'535;

bool is_of_path(char c) {
    return is_alnum(c) || std::string_view("/_.-~").find(c) != std::string_view::npos;
}

}  // namespace

bool is_metric_name(std::string_view text) {
    return !text.empty() && text.size() <= kMostName && !is_digit(text.front()) &&
           std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '_' || c == ':'; });
}

std::string to_string(const RequestCounter& counter) {
    return fmt::format("{}{} {}", counter.port, counter.path, counter.metric);
}

Result<RequestCounter> parse_request_counter(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::size_t blank = text.find(' ');
    const bool has_parts = slash != std::string_view::npos && blank != std::string_view::npos &&
                           slash < blank && blank <= kMostName;
    if (has_parts) {
        const std::string_view path = text.substr(slash, blank - slash);
        const std::string_view metric = text.substr(blank + 1);
        const auto port = parse_digits(text.substr(0, slash), kMostPort);
        if (port && *port > 0 && std::ranges::all_of(path, is_of_path) && is_metric_name(metric))
            return RequestCounter{*port, std::string(path), std::string(metric)};
    }
    return fail(Code::invalid_argument,
                "tessera.dev/request-counter: is not PORT/PATH METRIC, such as 8002/metrics "
                "nv_inference_request_success");
}

}  // namespace tessera
