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
// The driver's UUID ("GPU-8f6c…"), or "index:N" for a GPU of a node whose agent publishes no UUIDs.
using GpuUuid = Id<struct GpuUuidTag>;

// A pod as a person names it. It is no identity: a name is used again, a PodUid is not.
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
