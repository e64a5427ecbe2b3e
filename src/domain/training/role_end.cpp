#include "domain/training/role_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tessera::workload {
namespace {

// Why the others have to end; empty while the outcome is open.
std::string reason_of(const TrainingStatus& job) {
    if (job.anchor().succeeded) return fmt::format("the job {} succeeded", job.anchor().object);
    const auto failed = std::ranges::find_if(job.roles, &RoleStatus::failed);
    return failed == job.roles.end() ? std::string()
                                     : fmt::format("the job {} failed", failed->object);
}

std::optional<RoleEnding> ending_of(const TrainingStatus& job, const RoleStatus& role) {
    const bool is_anchor = &role == &job.anchor();
    const bool has_ended = role.succeeded || role.failed;
    if (is_anchor) return has_ended ? std::nullopt : std::optional(RoleEnding::fail);
    if (job.clean == CleanPolicy::all && !role.failed) return RoleEnding::remove;
    const bool is_over = has_ended || role.suspended;
    return is_over ? std::nullopt : std::optional(RoleEnding::suspend);
}

}  // namespace

std::vector<RoleEnd> roles_to_end(const TrainingStatus& job) {
    std::vector<RoleEnd> out;
    const std::string why = reason_of(job);
    if (why.empty() || job.clean == CleanPolicy::none) return out;
    for (const RoleStatus& role : job.roles) {
        if (const auto how = ending_of(job, role))
            out.push_back({.object = role.object, .uid = role.uid, .how = *how, .why = why});
    }
    return out;
}

}  // namespace tessera::workload
