#include "adapters/mps/mps_enforcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "adapters/os/proc_table.hpp"
#include "adapters/os/process_mounts.hpp"
#include "adapters/os/text_file.hpp"
#include "base/log.hpp"
#include "domain/container_start/mount_conflicts.hpp"
#include "domain/mps/client_environment.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";

MpsGrant grant_for(const EnforcedContainer& container, const EnforcedShare& share) {
    return {.pod = container.pod,
            .container = container.container,
            .name = container.name,
            .gpu = share.gpu,
            .threads = share.cores,
            .memory = share.memory,
            .user_id = container.user_id};
}

}  // namespace

std::string MpsEnforcer::fault(ShareResource resource) const {
    if (resource == ShareResource::compute) return {};
    return "MPS limits the memory of single processes only";
}

Result<> MpsEnforcer::can_enforce(ShareResource resource, const EnforcedContainer& container,
                                  const std::vector<EnforcedShare>& shares) const {
    if (resource == ShareResource::memory) return fail(Code::unsupported, fault(resource));
    if (shares.size() != 1 || !shares.front().mps)
        return fail(Code::unsupported, "the pod does not ask for it (tessera.dev/isolation)");
    const MpsGrant grant = grant_for(container, shares.front());
    const std::vector<MpsGrant> all = grants();
    if (const MpsGrant* other = of_another_user(grant, all)) {
        return fail(Code::unavailable,
                    fmt::format("container {} runs as user {}, and another container on its GPU as "
                                "user {}: MPS serves one user at a time, so its programs would "
                                "wait. Give the pods that share a GPU by MPS the same "
                                "securityContext.runAsUser",
                                grant.container, *grant.user_id, *other->user_id));
    }
    return {};
}

Result<ContainerEdits> MpsEnforcer::prepare(const EnforcedContainer& container,
                                            const std::vector<EnforcedShare>& shares,
                                            ShareResources) {
    MpsGrant grant = grant_for(container, shares.front());
    grant.shares_memory = shares_memory_;
    std::error_code no_probe;
    grant.has_probe = fs::exists(probe_, no_probe);
    const fs::path file = grant_file(container.pod, container.container);
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) {
        return fail(Code::unavailable,
                    fmt::format("{}: {}", file.parent_path().string(), error.message()));
    }
    TRY_VOID(write_text_file(file, write_mps_grant(grant)));
    return ContainerEdits{
        .env = mps_client_env(grant), .cdi_devices = {}, .mounts = mounts_of(grant)};
}

ShareResources MpsEnforcer::enforces(const PodUid& pod, const std::string& container) const {
    return {.memory = false, .compute = grant_of(pod, container).has_value()};
}

void MpsEnforcer::release(const PodUid& pod, const std::string& container) {
    std::error_code error;
    fs::remove(grant_file(pod, container), error);
}

Result<bool> MpsEnforcer::update(const PodUid& pod, const std::string& container,
                                 const std::vector<EnforcedShare>& shares) {
    const auto grant = grant_of(pod, container);
    if (!grant) return false;
    if (shares.size() == 1 && shares.front().cores == grant->threads) return false;
    return fail(Code::conflict, fmt::format("container {}: a program keeps the limits of MPS with "
                                            "which it started; create the pod again",
                                            container));
}

Result<> MpsEnforcer::verify(const EnforcedContainer& container, std::int64_t pid) const {
    const auto grant = grant_of(container.pod, container.container);
    if (!grant) {
        return fail(Code::unavailable,
                    fmt::format("container {}: what it was granted of MPS cannot be read",
                                container.container));
    }
    auto seen = ProcessMounts::read(pid);
    if (!seen) return fail(seen.error().in("container " + container.container));
    return seen->check(mounts_of(*grant), container.container,
                       "by which its programs reach NVIDIA MPS");
}

ShareUsage MpsEnforcer::usage() const {
    ShareUsage all;
    for (const MpsGrant& grant : grants()) {
        all.uses.push_back({.pod = grant.pod,
                            .name = grant.name,
                            .container = grant.container,
                            .gpu = grant.gpu,
                            .limit = grant.memory,
                            .cores = grant.threads,
                            .cores_limit = grant.threads});
    }
    return all;
}

std::set<PodUid> MpsEnforcer::pods() const {
    std::set<PodUid> pods;
    for (const fs::path& pod : paths_in(folder_.grants()))
        pods.insert(PodUid(pod.filename().string()));
    return pods;
}

bool MpsEnforcer::is_in_use(const PodUid& pod) const {
    ProcTable processes;
    return std::ranges::any_of(process_ids(),
                               [&](pid_t pid) { return processes.pod_of(pid) == pod; });
}

void MpsEnforcer::cleanup(const PodUid& pod) {
    std::error_code error;
    fs::remove_all(folder_.grants() / pod.str(), error);
}

std::vector<std::string> MpsEnforcer::mount_points() const {
    std::vector<std::string> points;
    for (const FileMount& mount : mounts_of({.shares_memory = shares_memory_, .has_probe = true}))
        points.push_back(mount.destination);
    return points;
}

bool MpsEnforcer::is_ours(const std::string& source) const {
    return is_at_or_below(normalized_path(source), normalized_path(path_.string())) ||
           normalized_path(source) == normalized_path(probe_.string());
}

std::vector<MpsGrant> MpsEnforcer::grants() const {
    std::vector<MpsGrant> out;
    for (const fs::path& pod : paths_in(folder_.grants())) {
        for (const fs::path& file : paths_in(pod)) {
            const std::string name = file.filename();
            if (!name.ends_with(kSuffix)) continue;
            auto grant = grant_of(PodUid(pod.filename().string()),
                                  name.substr(0, name.size() - kSuffix.size()));
            if (grant) out.push_back(*std::move(grant));
        }
    }
    return out;
}

fs::path MpsEnforcer::grant_file(const PodUid& pod, const std::string& container) const {
    return folder_.grants() / pod.str() / fmt::format("{}{}", container, kSuffix);
}

std::optional<MpsGrant> MpsEnforcer::grant_of(const PodUid& pod,
                                              const std::string& container) const {
    const std::string path = grant_file(pod, container);
    const auto text = read_text_file_up_to(path, kMostMpsFileBytes);
    if (!text) return std::nullopt;
    auto grant = read_mps_grant(*text);
    if (!grant) {
        log_event(Event::mps_folder_error, {{"path", path}, {"reason", grant.error().text}});
        return std::nullopt;
    }
    grant->pod = pod;
    grant->container = container;
    return *std::move(grant);
}

// The folder of the pipes is the same for all daemons that the GPU has in the container's life.
std::vector<FileMount> MpsEnforcer::mounts_of(const MpsGrant& grant) const {
    std::vector<FileMount> mounts{{.source = folder_.paths(grant.gpu).tenants(),
                                   .destination = std::string(kMpsPipesInContainer)}};
    if (grant.has_probe)
        mounts.push_back({.source = probe_, .destination = std::string(kMpsProbeInContainer)});
    if (grant.shares_memory) {
        mounts.push_back({.source = folder_.shared_memory(),
                          .destination = std::string(kSharedMemoryFolder),
                          .read_only = false});
    }
    return mounts;
}

}  // namespace tessera
