// Enforces the GPU shares of containers on their processes: memory, compute, or both.
//
// An enforcer is inside the container (a library that the agent mounts: see files()), or outside it
// (a limit of the driver by cgroup path or pod, an MPS namespace by user id). The agent chooses an
// enforcer for memory and one for compute for each container (app/agent/enforcement/enforcers.hpp).
//
// The life of a container's enforcement: can_enforce, prepare, apply, verify, then update and
// verify while it runs, and cleanup when its pod is over. What an enforcer prepared survives the
// agent: an agent that starts again finds it by pods() and enforces(), and calls recover().
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/gpu_request.hpp"
#include "ports/container_files.hpp"
#include "ports/container_runtime.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

// What of a GPU share an enforcer limits.
enum class ShareResource { memory, compute };

struct ShareResources {
    bool memory = false;
    bool compute = false;

    [[nodiscard]] bool any() const { return memory || compute; }

    friend bool operator==(const ShareResources&, const ShareResources&) = default;
};

struct EnforcedShare {
    GpuUuid gpu;
    Bytes memory;                         // limit (hard)
    Percent cores;                        // guarantee: percent of the GPU's time; 0: no guarantee
    Percent cores_limit = kNoCoresLimit;  // the most that it gets
    // Guaranteed memory (soft limit), at most `memory`. Empty: all of `memory` is guaranteed. No
    // dialect requests less yet, so it is always empty today.
    std::optional<Bytes> memory_request = {};
    bool mps = false;  // as GpuShare::mps: MPS is to limit the compute, and nothing else
    // With MPS: of the GPU's multiprocessors, the most that a process may have; 0: not known.
    int most_multiprocessors = 0;

    friend bool operator==(const EnforcedShare&, const EnforcedShare&) = default;
};

// Identifies a container, and has what an enforcer needs to find its processes.
struct EnforcedContainer {
    PodUid pod;
    PodName name;
    std::string container;
    // A file of the node: a list of libraries to preload that is merged with ours. Empty: none.
    std::string preload_list = {};
    // As RuntimeContainer::cgroup_path and user_id, in can_enforce(), prepare() and apply(). The
    // path changes when the container starts again. Empty: the runtime does not say, or kubelet's
    // record identifies containers. An enforcer that needs one of them says so in can_enforce().
    std::string cgroup_path = {};
    std::optional<std::uint32_t> user_id = {};
};

// The name of the enforcer by the driver's memory limits (adapters/memory_limits).
inline constexpr std::string_view kDriverEnforcer = "driver";

// Any thread may call, also for the same container.
class Enforcer {
  public:
    virtual ~Enforcer() = default;

    // As in tessera.dev/enforced-by, for example "guard". No other enforcer has this name.
    [[nodiscard]] virtual std::string_view name() const = 0;
    // Why it can limit this resource for no container of this node, and what to do; empty if it
    // can. It does not change while the agent runs.
    [[nodiscard]] virtual std::string fault(ShareResource resource) const = 0;
    // Whether programs see a share that this enforcer limits as the whole memory of the GPU
    // (cuMemGetInfo, cuDeviceTotalMem).
    [[nodiscard]] virtual bool shows_share() const { return false; }
    // Whether it can limit this resource for the container. An error says why not, and what to do,
    // for the pod's event; it repeats fault() if there is one.
    [[nodiscard]] virtual Result<> can_enforce(ShareResource resource,
                                               const EnforcedContainer& container,
                                               const std::vector<EnforcedShare>& shares) const = 0;

    // The container is about to be created, and is to be limited to its shares from its start on.
    // `what` has at least one resource, for each of which can_enforce() holds. It may limit the
    // other one no tighter than the shares say, and must not limit compute for which it was not
    // asked. Called again for each start of the container, and then replaces what was prepared.
    // Must return within a second.
    //
    // Returns what the container needs for it: files, CDI devices and environment variables. Two
    // enforcers of one agent use different variables and mount points. An error says what to do,
    // for the pod's event.
    virtual Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                           const std::vector<EnforcedShare>& shares,
                                           ShareResources what) = 0;
    // The prepared container is created, its cgroup exists, and its program has not run. Sets the
    // limits that need this. `pid` is its first process on the node, 0 if the runtime does not say.
    // Called again if an error kept the container from its start, and never where kubelet's record
    // identifies containers: see `cgroup_path`. Errors and time as prepare().
    virtual Result<> apply(const EnforcedContainer& container, std::int64_t pid) = 0;
    // `what` of the last prepare() of the container, also of an earlier agent's; none if there was
    // none, or after release() or cleanup().
    [[nodiscard]] virtual ShareResources enforces(const PodUid& pod,
                                                  const std::string& container) const = 0;
    // Drops what was prepared for an earlier start of the container, because other enforcers limit
    // it from now on.
    virtual void release(const PodUid& pod, const std::string& container) = 0;

    // Called once by each agent, as soon as it knows which pods there are; prepare() may have been
    // called before. `known`: the pods that the API server or kubelet knows and that are not over.
    // `orphans`: the others of pods(). Puts the limits of known pods into force again if they were
    // lost, for example with a daemon that has restarted. It removes nothing: processes of orphans
    // may live, so the agent calls cleanup() for each orphan once no process uses it.
    virtual void recover(const std::set<PodUid>& known, const std::set<PodUid>& orphans) = 0;
    // Gives the processes of a prepared container these shares from now on, for the resources of
    // its prepare(). They keep memory that is above a new limit. False if they have these shares
    // already, or if nothing is prepared.
    virtual Result<bool> update(const PodUid& pod, const std::string& container,
                                const std::vector<EnforcedShare>& shares) = 0;
    // Reads back whether what prepare() set up is in force for the process `pid` of the node, which
    // is of that container. conflict if not: the text says what is wrong, for the pod's event.
    // unavailable if it cannot be read now.
    [[nodiscard]] virtual Result<> verify(const EnforcedContainer& container,
                                          std::int64_t pid) const = 0;
    // The use of all prepared containers, as the enforcer measures it.
    [[nodiscard]] virtual ShareUsage usage() const = 0;
    // The pods for which anything is prepared or kept, by this agent or an earlier one.
    [[nodiscard]] virtual std::set<PodUid> pods() const = 0;
    // Whether a process of the pod is known to use what was prepared. False if it cannot tell.
    [[nodiscard]] virtual bool is_in_use(const PodUid& pod) const = 0;
    // Removes all that was prepared or kept for the pod. The cgroups of its containers may be gone.
    virtual void cleanup(const PodUid& pod) = 0;

    // Null for an enforcer outside the container.
    [[nodiscard]] virtual const ContainerFiles* files() const { return nullptr; }
};

}  // namespace tessera
