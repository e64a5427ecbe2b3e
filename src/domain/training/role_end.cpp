#include "domain/training/role_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tessera::workload {
namespace {

// Why the others have to end; empty while the outcome is open.
std::string reason_of(const TrainingStatus& job) {
    if (job.first().succeeded) return fmt::format("the job {} succeeded", job.first().object);
    // Not one that failed because it was ended.
    const auto failed = std::ranges::find_if(
        job.roles, [](const RoleStatus& role) { return role.failed && !role.was_ended; });
    if (failed != job.roles.end()) return fmt::format("the job {} failed", failed->object);
    return job.first().failed ? fmt::format("the job {} failed", job.first().object)
                              : std::string();
}

std::optional<RoleEnding> ending_of(const TrainingStatus& job, const RoleStatus& role) {
    const bool is_anchor = &role == &job.first();
    const bool has_ended = role.succeeded || role.failed;
    // A deadline takes effect only when a suspended Job goes on, so once is enough.
    if (role.was_ended && role.suspended) return std::nullopt;
    if (is_anchor) return has_ended ? std::nullopt : std::optional(RoleEnding::fail);
    if (job.clean == CleanPolicy::all && !role.failed) return RoleEnding::remove;
    if (has_ended || role.suspended) return std::nullopt;
    // A queue lets a Job go on that it has admitted, however often it is suspended.
    return role.was_ended ? RoleEnding::fail : RoleEnding::suspend;
}

}  // namespace

bool may_still_succeed(const TrainingStatus& job) {
    const bool is_decided = job.first().succeeded || job.first().failed;
    return !is_decided && std::ranges::any_of(job.roles, &RoleStatus::failed);
}

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
