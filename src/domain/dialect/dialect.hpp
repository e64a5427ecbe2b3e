// Dialects: the ways in which users write a GPU request. A dialect is one value of this type, in a
// file of its own in this folder, and one row of all_dialects(). docs/internals/extending.md shows
// how to add one.
//
// The functions of a dialect are pure, and any thread may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_map.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/request/container_spec.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

// What a pod says about GPUs, before a dialect reads it.
struct GpuTexts {
    // Init containers first. Containers without a limit of a dialect are among them only if the pod
    // has an annotation that requests GPUs (Dialect::annotations).
    std::vector<ContainerSpec> containers;
    // The labels and annotations that a dialect names in `annotations` or `hints`.
    StringMap labels;
    StringMap annotations;
    // The texts of kCoresLimit and kGpuMemoryLimit, in any dialect.
    std::optional<std::string> cores_limit = {};
    std::optional<std::string> memory_limit = {};
};

// A pod's annotation, in any dialect: the compute limit. It is the most percent of each GPU that a
// container with a share gets.
inline constexpr std::string_view kCoresLimit = "tessera.dev/gpu-cores-limit";

// A pod's annotation: the most memory of each GPU that a container with a share may use while other
// pods leave it free, in bytes ("6Gi"). `tessera.dev/gpu-memory` is what it is guaranteed. Only an
// equal limit is supported yet.
inline constexpr std::string_view kGpuMemoryLimit = "tessera.dev/gpu-memory-limit";

// The annotations of a pod that a former scheduler placed.
class FormerAnnotations {
  public:
    // An entry of a JSON object of objects of integers: {"outer": {"inner": value}}.
    struct Number {
        std::string_view outer;
        std::string_view inner;
        std::int64_t value = 0;
    };

    virtual ~FormerAnnotations() = default;

    [[nodiscard]] virtual std::optional<std::string> text(std::string_view key) const = 0;
    // Calls `take` for each entry of the annotation's JSON object; never if it is not one.
    virtual void each_number(std::string_view key,
                             const std::function<void(const Number&)>& take) const = 0;
};

// A list of devices that a device plugin registers with kubelet for one resource.
struct DeviceList {
    std::string_view resource;
    std::string_view separator;  // in a device's id, between the GPU's UUID and a number
    // How many devices a GPU has. The node's agent was configured with `slots_per_gpu`.
    std::int64_t (*count)(const NodeInventory& node, const Gpu& gpu, int slots_per_gpu);
    std::string_view fix;  // how to shorten a list that is too long for one message to kubelet
    // The name of the plugin's socket in kubelet's folder; empty: made from the resource.
    std::string_view socket = {};
};

// Memory that kubelet and kube-scheduler count as a sum of the node.
struct CountedMemory {
    std::string_view resource;
    // The bytes of one unit, on a node that counts gpushare's memory in `of_node`.
    Bytes (*unit)(MemoryUnit of_node);
};

// Functions that may be null are optional.
struct Dialect {
    std::string_view name;  // in the configuration and in allocations
    std::string_view summary;

    // A pod requests GPUs in this dialect if a container has one of these limits, or if the pod has
    // one of these annotations.
    std::span<const std::string_view> resources;
    std::span<const std::string_view> annotations;
    // Labels and annotations of the pod that `read` uses beside them.
    std::span<const std::string_view> hints;

    // The request of a pod in this dialect: only containers that request GPUs, in the order of
    // `texts`. Errors are invalid_argument. They name the container and the resource, or the
    // annotation, and say what to write instead.
    Result<ContainerRequests> (*read)(const GpuTexts& texts) = nullptr;

    // A limit that a container needs beside the ones that it has, and whose amount is obvious. The
    // admission webhook adds it. Nothing if there is none. May be null.
    std::optional<std::pair<std::string, std::string>> (*missing_limit)(
        const ContainerSpec& container) = nullptr;

    // What an agent's node shows to kubelet.
    std::span<const DeviceList> device_lists;
    // Adds plain amounts that no plugin counts, for people and quotas. GPUs that are not usable
    // count, because kubelet compares the amounts with what pods use already. May be null.
    void (*add_amounts)(const NodeInventory& node, StringMap& amounts) = nullptr;
    // Null if memory is not counted as a sum of the node.
    const CountedMemory* counted_memory = nullptr;

    // Adds the annotations of a placed pod that users of this dialect rely on, beside Tessera's
    // own. `unix_ns` is the time of the decision. May be null.
    void (*annotate)(const Allocation& allocation, const NodeInventory& node, std::int64_t unix_ns,
                     StringMap& out) = nullptr;
    // All keys that it may add.
    std::span<const std::string_view> written_annotations = {};
    // Adds the variables of a container that users of this dialect rely on. `gpus` are the
    // container's, in the order of its share, with the memory that programs see there; never
    // empty. May be null.
    void (*add_env)(const Allocation& allocation, const ContainerAllocation& container,
                    const NodeInventory& node, std::span<const Gpu> gpus,
                    std::vector<std::pair<std::string, std::string>>& env) = nullptr;

    // For clusters that Tessera takes over. Each may be null.
    //
    // The allocation that the former scheduler of this dialect wrote; nothing if there is none.
    std::optional<LegacyAllocation> (*former_allocation)(const FormerAnnotations& from) = nullptr;
    // Takes what the former device plugin of this dialect published: amounts by resource, without
    // those that are no whole number. Only if no agent serves the node (`has_agent`) may it fill
    // the GPUs and set the source to legacy.
    void (*read_former_node)(const std::map<std::string_view, std::int64_t>& capacity,
                             bool has_agent, NodeInventory& node) = nullptr;
    // A variable that the former device plugin gave to every container that it started, and that
    // the agent's answers to kubelet do not contain. Empty: none.
    std::string_view former_variable;
};

// The dialects that a program knows, in the order in which messages name them. Some of them may be
// switched off: pods that request GPUs in one of those are refused, and nodes do not show its
// resources. Pods that have an allocation keep it.
class Dialects {
  public:
    // All are switched on. The values live as long as the program.
    explicit Dialects(std::vector<const Dialect*> rows);

    // The same dialects, of which only the named ones are switched on. invalid_argument if a name
    // is unknown or none is given; the text lists the names.
    [[nodiscard]] Result<Dialects> only(std::span<const std::string> names) const;

    // Those that are switched on.
    [[nodiscard]] std::span<const Dialect* const> on() const { return on_; }
    [[nodiscard]] bool is_on(const Dialect& dialect) const;
    // All, also those that are switched off.
    [[nodiscard]] std::span<const Dialect* const> all() const { return all_; }
    // Null if the name is unknown.
    [[nodiscard]] const Dialect* find(std::string_view name) const;
    // The dialect that has the resource, or the annotation that requests GPUs. Null if none has.
    [[nodiscard]] const Dialect* of_resource(std::string_view resource) const;
    [[nodiscard]] const Dialect* of_annotation(std::string_view annotation) const;
    // Whether a former device plugin sets this variable (Dialect::former_variable).
    [[nodiscard]] bool is_former_variable(std::string_view variable) const;

  private:
    std::vector<const Dialect*> all_;
    std::vector<const Dialect*> on_;
};

// Every dialect of Tessera, all switched on.
const Dialects& all_dialects();

// The request of a pod, in its dialect; empty if it requests no GPU. Errors are invalid_argument;
// in addition to those of Dialect::read they report:
// - two dialects in one pod
// - a dialect that is switched off
// - a compute limit that is no percent, is below the cores of a container, or has no share
// - a memory limit that differs from the memory of a share
Result<ContainerRequests> parse_container_requests(const GpuTexts& texts,
                                                   const Dialects& dialects = all_dialects());

}  // namespace tessera
