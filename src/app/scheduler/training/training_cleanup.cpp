#include "app/scheduler/training/training_cleanup.hpp"

#include <utility>
#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr int kRoundsAfterError = 10;
constexpr int kRoundsAfterRefusal = 60;
constexpr int kRoundsUntilFailed = 10;

}  // namespace

void TrainingCleanup::follow(const std::stop_token& stop) {
    ports_.roles.follow_roles(
        [this](TrainingRoleChanges changes) { take(std::move(changes)); },
        [](const Error& error) { log_event(Event::api_error, {{"reason", error.text}}); }, stop);
}

// Deletions come first, as in informers.cpp.
void TrainingCleanup::take(TrainingRoleChanges changes) {
    const MutexLock lock(mutex_);
    for (const std::string& uid : changes.deleted)
        roles_.erase(uid);
    for (workload::TrainingStatus& role : changes.upserted) {
        std::string uid = role.uid();
        roles_.insert_or_assign(std::move(uid), std::move(role));
    }
    if (changes.listed) {
        std::erase_if(roles_,
                      [&](const auto& role) { return !changes.listed->contains(role.first); });
    }
    is_changed_ |= !changes.upserted.empty();
}

std::vector<workload::TrainingStatus> TrainingCleanup::changed_roles() {
    std::vector<workload::TrainingStatus> out;
    const MutexLock lock(mutex_);
    if (!std::exchange(is_changed_, false)) return out;
    out.reserve(roles_.size());
    for (const auto& [uid, role] : roles_) {
        if (!role.name.empty()) out.push_back(role);
    }
    return out;
}

void TrainingCleanup::look_again() {
    const MutexLock lock(mutex_);
    is_changed_ = true;
}

void TrainingCleanup::forget_gone() {
    const MutexLock lock(mutex_);
    const auto is_gone = [this](const auto& entry)
                             TESSERA_REQUIRES(mutex_) { return !roles_.contains(entry.first); };
    std::erase_if(failed_since_, is_gone);
    std::erase_if(refused_until_, is_gone);
}

bool TrainingCleanup::waits(const workload::TrainingStatus& job) {
    const std::string& uid = job.uid();
    if (!may_still_succeed(job)) {
        failed_since_.erase(uid);
        return false;
    }
    const auto since = failed_since_.emplace(uid, round_).first;
    return round_ - since->second < kRoundsUntilFailed;
}

Result<> TrainingCleanup::end(const workload::TrainingStatus& job, const workload::RoleEnd& role) {
    const auto refused = refused_until_.find(role.uid);
    if (refused != refused_until_.end() && round_ < refused->second) {
        look_again();
        return {};
    }
    refused_until_.erase(role.uid);
    TRY_VOID(ports_.fence.begin(TrainingRoles::kEndTakes));
    const auto ended = ports_.roles.end(job.ns, role);
    if (ended) {
        log_event(Event::training_role_ended,
                  {{"namespace", job.ns}, {"job", role.object}, {"reason", role.why}});
        return {};
    }
    if (ended.error().code == Code::not_found) return {};
    log_event(Event::training_role_not_ended,
              {{"namespace", job.ns}, {"job", role.object}, {"reason", ended.error().text}});
    if (ended.error().code == Code::unavailable) return fail(ended.error());
    // This Job's fault: the others are not left out for it.
    refused_until_.insert_or_assign(role.uid, round_ + kRoundsAfterRefusal);
    look_again();
    return {};
}

Result<> TrainingCleanup::end_roles(const workload::TrainingStatus& job,
                                    const std::stop_token& stop) {
    for (const workload::RoleEnd& role : roles_to_end(job)) {
        if (stop.stop_requested()) return fail(Code::unavailable, "the controller stops");
        TRY_VOID(end(job, role));
    }
    return {};
}

void TrainingCleanup::run_round(const std::stop_token& stop) {
    ++round_;
    if (round_ < next_round_ || !ports_.fence.leads()) return;
    forget_gone();
    for (const auto& [key, job] : workload::joined_roles(changed_roles())) {
        if (waits(job)) {
            look_again();
        } else if (!end_roles(job, stop)) {
            next_round_ = round_ + kRoundsAfterError;
            look_again();
            return;
        }
    }
}

}  // namespace tessera
