#include "wire/tessera/node_gpus_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kByGuard = "guard";
constexpr std::string_view kByNothing = "none";

constexpr std::string_view kHealthy = "healthy";
constexpr std::string_view kUnhealthy = "unhealthy";
constexpr std::string_view kNotShareable = "not-shareable";

std::string_view health_of(GpuCondition condition) {
    switch (condition) {
        case GpuCondition::healthy:
            return kHealthy;
        case GpuCondition::unhealthy:
            return kUnhealthy;
        case GpuCondition::not_shareable:
            return kNotShareable;
    }
    return kUnhealthy;
}

// An unknown value counts as a fault: nothing is placed on that GPU.
GpuCondition read_condition(std::string_view health) {
    if (health == kHealthy) return GpuCondition::healthy;
    return health == kNotShareable ? GpuCondition::not_shareable : GpuCondition::unhealthy;
}

tl::unexpected<Error> bad(std::string_view field, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("tessera.dev/gpus: {}: {}", field, why));
}

// The indices of other GPUs, as a bit set.
Result<std::uint64_t> read_peers(JsonValue json, std::string_view field) {
    if (json.present() && !json.is_array()) return bad(field, "is not a list of indices");
    std::uint64_t peers = 0;
    for (const JsonValue peer : json.elements()) {
        const auto index = peer.integer();
        if (!index || *index < 0 || *index > kMostLinkedIndex)
            return bad(field, "has an entry that is not a GPU index from 0 to 63");
        peers |= std::uint64_t{1} << static_cast<unsigned>(*index);
    }
    return peers;
}

void write_peers(JsonWriter& w, std::string_view field, std::uint64_t peers) {
    if (peers == 0) return;
    w.array(field, [&] {
        for (std::uint64_t left = peers; left != 0; left &= left - 1)
            w.item(std::int64_t{std::countr_zero(left)});
    });
}

Result<GpuLinks> read_links(JsonValue json) {
    GpuLinks links;
    if (json["numa"].present()) {
        const auto numa = json["numa"].integer();
        if (!numa || *numa < 0 || *numa > 1024) return bad("numa", "is not a NUMA node number");
        links.numa = static_cast<int>(*numa);
    }
    TRY(links.pcie, read_peers(json["pcie"], "pcie"));
    TRY(links.nvlink, read_peers(json["nvlink"], "nvlink"));
    return links;
}

Result<std::vector<PodUid>> read_offenders(JsonValue json) {
    std::vector<PodUid> out;
    for (const JsonValue uid : json.elements())
        out.emplace_back(std::string(uid.text_or("")));
    const bool has_empty = std::ranges::any_of(out, [](const PodUid& uid) { return uid.empty(); });
    if (has_empty || out.size() > kMostMpsOffenders || (json.present() && !json.is_array()))
        return bad("mpsOffenders", "is not a list of up to 64 uids of pods");
    return out;
}

Result<Gpu> read_gpu(JsonValue json) {
    Gpu gpu;
    gpu.uuid = GpuUuid(json["uuid"].text_or(""));
    if (gpu.uuid.empty()) return bad("uuid", "missing");
    const auto index = json["index"].integer();
    if (!index || *index < 0 || *index > 1024) return bad("index", "missing or out of range");
    gpu.index = static_cast<int>(*index);
    gpu.minor = static_cast<int>(std::clamp<std::int64_t>(
        json["minor"].integer().value_or(kMinorUnknown), kMinorUnknown, 1'000'000));
    gpu.model = json["model"].text_or("");
    const auto memory = json["memory"].integer();
    const std::int64_t reserved = json["reserved"].integer().value_or(0);
    gpu.condition = read_condition(json["health"].text_or(kHealthy));
    // Only a GPU that is not offered may have an unknown size.
    const std::int64_t least = gpu.usable() ? 1 : 0;
    if (!memory || *memory < least || *memory > kMostGpuMemory.count) {
        return bad("memory", "missing or out of range");
    }
    if (reserved < 0 || reserved > *memory - least) return bad("reserved", "out of range");
    gpu.memory = {*memory};
    gpu.reserved = {reserved};
    gpu.over_limit = {json["overLimit"].integer().value_or(0)};
    if (gpu.over_limit < Bytes{} || gpu.over_limit > gpu.capacity())
        return bad("overLimit", "out of range");
    gpu.reason = json["reason"].text_or("");
    gpu.offers_mps = json["mps"].is_true();
    gpu.limits_memory = json["memoryLimits"].is_true();
    TRY(gpu.mps_offenders, read_offenders(json["mpsOffenders"]));
    TRY(gpu.links, read_links(json));
    return gpu;
}

}  // namespace

std::string write_node_gpus(const NodeGpusReport& gpus) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kNodeGpusVersion);
        w.member("unit", unit_name(gpus.unit));
        w.member("identity", gpus.identity);
        w.member("shares", gpus.shares == EnforcementMode::guard ? kByGuard : kByNothing);
        if (!gpus.enforcement_fault.empty()) w.member("enforcementFault", gpus.enforcement_fault);
        if (!gpus.injection_fault.empty()) w.member("injectionFault", gpus.injection_fault);
        w.array("gpus", [&] {
            for (const Gpu& gpu : gpus.gpus) {
                w.object([&] {
                    w.member("uuid", gpu.uuid.str());
                    w.member("index", gpu.index);
                    if (gpu.minor != kMinorUnknown) w.member("minor", gpu.minor);
                    w.member("model", gpu.model);
                    w.member("memory", gpu.memory.count);
                    w.member("reserved", gpu.reserved.count);
                    if (gpu.over_limit != Bytes{}) w.member("overLimit", gpu.over_limit.count);
                    w.member("health", health_of(gpu.condition));
                    if (!gpu.usable()) w.member("reason", gpu.reason);
                    if (gpu.offers_mps) w.member("mps", true);
                    if (gpu.limits_memory) w.member("memoryLimits", true);
                    if (!gpu.mps_offenders.empty()) {
                        w.array("mpsOffenders", [&] {
                            for (const PodUid& uid : gpu.mps_offenders)
                                w.item(uid.str());
                        });
                    }
                    if (gpu.links.numa != kNumaUnknown) w.member("numa", gpu.links.numa);
                    write_peers(w, "pcie", gpu.links.pcie);
                    write_peers(w, "nvlink", gpu.links.nvlink);
                });
            }
        });
    });
    return w.take();
}

Result<NodeGpusReport> read_node_gpus(std::string_view text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("tessera.dev/gpus"));
    const JsonValue root = document->root();
    const auto version = root["version"].integer();
    if (!version || *version < 1) return bad("version", "missing");
    if (*version > kNodeGpusVersion) {
        return fail(Code::unsupported, fmt::format("tessera.dev/gpus: version {} is newer than {}; "
                                                   "upgrade the controller before the agents",
                                                   *version, kNodeGpusVersion));
    }
    NodeGpusReport out;
    const std::string unit = root["unit"].text_or("GiB");
    if (unit != "GiB" && unit != "MiB") return bad("unit", "is not GiB or MiB");
    out.unit = unit == "GiB" ? MemoryUnit::gib : MemoryUnit::mib;
    out.identity = root["identity"].text_or("");
    // If the agent says nothing, or an unknown value, the shares count as not enforced.
    out.shares =
        root["shares"].text_or("") == kByGuard ? EnforcementMode::guard : EnforcementMode::none;
    out.enforcement_fault = root["enforcementFault"].text_or("");
    out.injection_fault = root["injectionFault"].text_or("");
    std::set<GpuUuid> seen;
    for (const JsonValue json : root["gpus"].elements()) {
        TRY(auto gpu, read_gpu(json));
        if (!seen.insert(gpu.uuid).second) return bad("uuid", gpu.uuid.str() + " appears twice");
        out.gpus.push_back(std::move(gpu));
    }
    // A GPU that fell off the bus may keep an index that the driver has since given to another GPU.
    std::ranges::sort(out.gpus, {}, [](const Gpu& gpu) { return std::tie(gpu.index, gpu.uuid); });
    return out;
}

}  // namespace tessera
