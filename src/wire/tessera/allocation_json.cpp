#include "wire/tessera/allocation_json.hpp"

#include <fmt/format.h>

#include <array>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

// Each resize adds one. No pod comes near this limit, and adding never overflows.
constexpr std::int64_t kMostRevisions = std::int64_t{1} << 50;

constexpr std::array<std::string_view, 3> kKinds = {"app", "init", "sidecar"};

tl::unexpected<Error> bad(std::string_view field, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("allocation: {}: {}", field, why));
}

Result<std::string> text_of(JsonValue object, std::string_view field) {
    const auto text = object[field].text();
    if (!text || text->empty()) return bad(field, "missing");
    return std::string(*text);
}

Result<std::int64_t> integer_of(JsonValue object, std::string_view field, std::int64_t most) {
    const auto value = object[field].integer();
    if (!value) return bad(field, "missing");
    if (*value < 0 || *value > most) return bad(field, "out of range");
    return *value;
}

Result<GpuShare> read_share(JsonValue json) {
    GpuShare share;
    TRY(auto uuid, text_of(json, "uuid"));
    share.uuid = GpuUuid(std::move(uuid));
    TRY(const auto index, integer_of(json, "index", 1'000'000));
    share.index = static_cast<int>(index);
    TRY(share.memory.count, integer_of(json, "memory", std::int64_t{1} << 50));
    TRY(const auto cores, integer_of(json, "cores", 100));
    share.cores = {static_cast<int>(cores)};
    share.whole = json["whole"].is_true();
    if (json["cores_limit"].present()) {
        TRY(const auto cores_limit, integer_of(json, "cores_limit", kNoCoresLimit.value));
        if (cores_limit < 1 || cores_limit < cores) return bad("cores_limit", "out of range");
        share.cores_limit = {static_cast<int>(cores_limit)};
    }
    share.mps = json["mps"].is_true();
    return share;
}

Result<ContainerAllocation> read_container(JsonValue json) {
    ContainerAllocation container;
    TRY(container.container, text_of(json, "name"));
    const std::string kind = json["kind"].text_or("app");
    for (std::size_t i = 0; i <= kKinds.size(); ++i) {
        if (i == kKinds.size()) return bad("kind", "is not app, init or sidecar");
        if (kKinds[i] != kind) continue;
        container.kind = static_cast<ContainerKind>(i);
        break;
    }
    for (const JsonValue share : json["gpus"].elements()) {
        if (container.gpus.size() == kMaxGpusPerContainer) return bad("gpus", "too many");
        TRY(auto read, read_share(share));
        container.gpus.push_back(std::move(read));
    }
    if (container.gpus.empty()) return bad("gpus", "missing");
    return container;
}

Result<const Dialect*> read_dialect(std::string_view name, const Dialects& dialects) {
    if (const Dialect* dialect = dialects.find(name)) return dialect;
    return bad("dialect", fmt::format("\"{}\" is unknown", name.substr(0, 32)));
}

}  // namespace

std::string write_allocation(const Allocation& allocation) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kAllocationVersion);
        w.member("pod", allocation.pod.str());
        w.member("node", allocation.node.str());
        w.member("dialect", allocation.dialect->name);
        if (allocation.revision > 0) w.member("revision", allocation.revision);
        w.array("containers", [&] {
            for (const ContainerAllocation& container : allocation.containers) {
                w.object([&] {
                    w.member("name", container.container);
                    w.member("kind", kKinds.at(static_cast<std::size_t>(container.kind)));
                    w.array("gpus", [&] {
                        for (const GpuShare& share : container.gpus) {
                            w.object([&] {
                                w.member("uuid", share.uuid.str());
                                w.member("index", share.index);
                                w.member("memory", share.memory.count);
                                w.member("cores", share.cores.value);
                                if (share.whole) w.member("whole", true);
                                if (share.cores_limit != kNoCoresLimit)
                                    w.member("cores_limit", share.cores_limit.value);
                                if (share.mps) w.member("mps", true);
                            });
                        }
                    });
                });
            }
        });
    });
    return w.take();
}

Result<Allocation> read_allocation(std::string_view text, const Dialects& dialects) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("allocation"));
    const JsonValue root = document->root();
    const auto version = root["version"].integer();
    if (!version || *version < 1) return bad("version", "missing");
    if (*version > kAllocationVersion) {
        return fail(Code::unsupported,
                    fmt::format("allocation: version {} is newer than {}; upgrade Tessera",
                                *version, kAllocationVersion));
    }
    Allocation allocation;
    TRY(auto pod, text_of(root, "pod"));
    allocation.pod = PodUid(std::move(pod));
    TRY(auto node, text_of(root, "node"));
    allocation.node = NodeName(std::move(node));
    TRY(const auto name, text_of(root, "dialect"));
    TRY(allocation.dialect, read_dialect(name, dialects));
    if (root["revision"].present()) {
        TRY(allocation.revision, integer_of(root, "revision", kMostRevisions));
    }
    for (const JsonValue container : root["containers"].elements()) {
        TRY(auto read, read_container(container));
        allocation.containers.push_back(std::move(read));
    }
    if (allocation.containers.empty()) return bad("containers", "missing");
    return allocation;
}

PodUid pod_of_allocation(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    return PodUid(document ? document->root()["pod"].text_or("") : "");
}

}  // namespace tessera
