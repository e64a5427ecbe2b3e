// Who holds the processes of a container to its shares of cards.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/usage/share_use.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

struct HeldShare {
    GpuUuid card;
    Bytes memory;
    Percent cores;                 // of its time that the container is sure of; 0: of none
    Percent ceiling = kNoCeiling;  // and the most it gets

    friend bool operator==(const HeldShare&, const HeldShare&) = default;
};

struct HeldContainer {
    PodUid pod;
    PodName name;
    std::string container;
    // A file of the node whose list of libraries to preload is to be merged with ours; empty: none.
    std::string preload_list = {};
};

// What a pod's user knows of a container's limit on a card.
struct ToldLimit {
    static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

    Bytes limit;
    std::int64_t refusals = 0;  // so many of them, the first ones, are no news; kAll: none will be

    friend bool operator==(const ToldLimit&, const ToldLimit&) = default;
};

// Any thread.
class ShareHolder {
  public:
    virtual ~ShareHolder() = default;

    // Where in a container the files stand that hold() gives it: normalized absolute paths, the
    // same for every container.
    [[nodiscard]] virtual std::vector<std::string> mount_points() const = 0;
    // Whether a file of the node, by its path there, is one that hold() gives. Those of containers
    // that an agent with another folder started are not.
    [[nodiscard]] virtual bool is_ours(const std::string& source) const = 0;
    // What the container needs in it to be held, also when it starts again. An error says what to
    // do, for the pod's event.
    virtual Result<std::vector<FileMount>> hold(const HeldContainer& container,
                                                const std::vector<HeldShare>& shares) = 0;
    // Whether the process `pid` of the node finds in its mount namespace what hold() gave its
    // container, and nothing that covers it. conflict where it does not, with the path;
    // unavailable where its mounts cannot be read.
    [[nodiscard]] virtual Result<> check_mounted(const HeldContainer& container,
                                                 std::int64_t pid) const = 0;
    // Which container of the pod the process is of, by the accounts that it finds in its mount
    // namespace. Nothing where it finds none, or they cannot be read.
    [[nodiscard]] virtual std::optional<std::string> container_of(const PodUid& pod,
                                                                  std::int64_t pid) const = 0;
    // Of all containers that are held now.
    [[nodiscard]] virtual std::vector<ShareUse> uses() const = 0;
    // The pods of which something is kept, and that nothing be kept of one.
    [[nodiscard]] virtual std::set<PodUid> pods() const = 0;
    virtual void forget(const PodUid& pod) = 0;
    // Whether a process of the pod lives that is held.
    [[nodiscard]] virtual bool is_in_use(const PodUid& pod) const = 0;

    // Of those, the pods whose containers an agent of another release holds: uses() does not have
    // them, and nothing can be said of them.
    [[nodiscard]] virtual std::set<PodUid> unreadable() const = 0;

    // Kept with what holds the container, for as long. Nothing where nothing was noted.
    [[nodiscard]] virtual std::optional<ToldLimit> told(const ShareUse& use) const = 0;
    virtual void note_told(const ShareUse& use, const ToldLimit& told) = 0;
    // The same of damaged accounts, by container.
    [[nodiscard]] virtual bool is_damage_told(const ShareUse& use) const = 0;
    virtual void note_damage_told(const ShareUse& use, bool is_told) = 0;
};

}  // namespace tessera
