#include "domain/doctor/judgement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::doctor {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

Judgement unread(const Error& error) {
    if (error.code == Code::permission_denied) {
        return {Status::skipped, "needs the right to " + error.text, ""};
    }
    return {Status::failed, error.text,
            "check the state of the API server (kubectl get --raw /readyz?verbose)"};
}

std::string Faults::text() const {
    const std::size_t named = std::min(all_.size(), kNamed);
    std::string out = fmt::format(
        "{}", fmt::join(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(named), "; "));
    if (all_.size() > named) out += fmt::format("; and {} more", all_.size() - named);
    return out;
}

}  // namespace tessera::doctor
