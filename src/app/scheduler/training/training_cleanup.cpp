#include "app/scheduler/training/training_cleanup.hpp"

#include <utility>
#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr int kRoundsAfterError = 10;

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
        std::string uid = role.anchor().uid;
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

bool TrainingCleanup::end_roles(const workload::TrainingStatus& job, const std::stop_token& stop) {
    for (const workload::RoleEnd& role : roles_to_end(job)) {
        if (stop.stop_requested() || !ports_.fence.begin(TrainingRoles::kEndTakes)) return false;
        const auto ended = ports_.roles.end(job.ns, role);
        if (ended) {
            log_event(Event::training_role_ended,
                      {{"namespace", job.ns}, {"job", role.object}, {"reason", role.why}});
        } else if (ended.error().code != Code::not_found) {
            log_event(
                Event::training_role_not_ended,
                {{"namespace", job.ns}, {"job", role.object}, {"reason", ended.error().text}});
            return false;
        }
    }
    return true;
}

void TrainingCleanup::run_round(const std::stop_token& stop) {
    if (rounds_to_wait_ > 0) {
        --rounds_to_wait_;
        return;
    }
    if (!ports_.fence.leads()) return;
    for (const auto& [key, job] : workload::joined_roles(changed_roles())) {
        if (end_roles(job, stop)) continue;
        rounds_to_wait_ = kRoundsAfterError;
        const MutexLock lock(mutex_);
        is_changed_ = true;
        return;
    }
}

}  // namespace tessera
