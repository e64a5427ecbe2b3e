// Strong ids: strings that do not convert into each other, so that a pod's name is never passed
// where its uid is meant.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace tessera {

template <class Tag>
class Id {
  public:
    Id() = default;
    explicit Id(std::string text) : text_(std::move(text)) {}

    [[nodiscard]] const std::string& str() const { return text_; }
    [[nodiscard]] bool empty() const { return text_.empty(); }

    friend auto operator<=>(const Id&, const Id&) = default;

  private:
    std::string text_;
};

using PodUid = Id<struct PodUidTag>;
using NodeName = Id<struct NodeNameTag>;
// The UUID that the driver reports ("GPU-8f6c…"). For a GPU whose UUID is not known it is
// uuid_of_index() or unidentified_gpu() (domain/cluster/node.hpp).
using GpuUuid = Id<struct GpuUuidTag>;

// A pod's namespace and name (client-go: NamespacedName). It is no identity: a later pod may have
// the same name, but never the same PodUid.
struct PodName {
    std::string ns;
    std::string name;

    [[nodiscard]] std::string str() const { return ns + "/" + name; }
    friend auto operator<=>(const PodName&, const PodName&) = default;
};

}  // namespace tessera

template <class Tag>
struct std::hash<tessera::Id<Tag>> {
    std::size_t operator()(const tessera::Id<Tag>& id) const {
        return std::hash<std::string>{}(id.str());
    }
};
