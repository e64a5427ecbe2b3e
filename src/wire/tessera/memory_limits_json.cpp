#include "wire/tessera/memory_limits_json.hpp"

#include <limits>

#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

Result<GpuMemoryLimit> read_limit(const JsonField& at) {
    TRY(auto gpu, at["gpu"].text());
    TRY(const auto memory, at["memoryBytes"].number(1, std::numeric_limits<std::int64_t>::max()));
    return GpuMemoryLimit{GpuUuid(std::move(gpu)), {memory}};
}

}  // namespace

std::string write_memory_limits(const ContainerMemoryLimits& limits) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMemoryLimitsVersion);
        w.member("cgroup", limits.cgroup);
        w.array("limits", [&] {
            for (const GpuMemoryLimit& limit : limits.limits) {
                w.object([&] {
                    w.member("gpu", limit.gpu.str());
                    w.member("memoryBytes", limit.memory.count);
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<ContainerMemoryLimits> read_memory_limits(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMemoryLimitsVersion));
    ContainerMemoryLimits limits;
    TRY(limits.cgroup, root["cgroup"].text());
    if (!limits.cgroup.starts_with('/')) return root["cgroup"].fault("is no absolute path");
    TRY(limits.limits, root["limits"].each_or_none(read_limit));
    if (limits.limits.empty()) return root["limits"].fault("has no entry");
    return limits;
}

}  // namespace tessera
