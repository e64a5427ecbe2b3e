#include "domain/doctor/judgement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera::doctor {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

Judgement unread(const Error& error) {
    if (error.code == Code::permission_denied) {
        return {Status::skipped, "needs the right to " + error.text,
                "run it as an administrator of the cluster"};
    }
    return {Status::failed, error.text,
            "check the state of the API server (kubectl get --raw /readyz?verbose)"};
}

bool is_not_installed(const Facts& facts) {
    const auto is_missing = [](const Result<Workload>& workload) {
        return !workload && workload.error().code == Code::not_found;
    };
    return is_missing(facts.controller) && is_missing(facts.agents);
}

void Faults::add(std::string fault, std::string_view fix) {
    add(std::move(fault));
    if (std::ranges::find(fixes_, fix) == fixes_.end()) fixes_.emplace_back(fix);
}

std::string Faults::fixes() const {
    return fmt::format("{}", fmt::join(fixes_, "; "));
}

std::string Faults::text() const {
    const std::size_t named = std::min(all_.size(), kNamed);
    std::string out = fmt::format(
        "{}", fmt::join(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(named), "; "));
    if (all_.size() > named) out += fmt::format("; and {} more", all_.size() - named);
    return out;
}

}  // namespace tessera::doctor
