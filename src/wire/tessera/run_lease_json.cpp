#include "wire/tessera/run_lease_json.hpp"

#include <fmt/format.h>

#include <limits>

#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
// More memory than this is no GPU's, and some leases of it can be added.
constexpr std::int64_t kMostMemory = std::int64_t{1} << 50;
constexpr std::size_t kMostCommandBytes = 200;

void write_share(JsonWriter& w, const RunLease& lease) {
    w.member("gpu", lease.gpu.str());
    w.member("gpuIndex", lease.gpu_index);
    w.member("memoryBytes", lease.memory.count);
    w.member("coresPercent", lease.cores.value);
    w.member("coresLimitPercent", lease.cores_limit.value);
    w.member("pid", lease.pid);
}

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string write_run_lease(const RunLease& lease) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kRunLeaseVersion);
        write_share(w, lease);
        w.member("startTicks", lease.start_ticks);
        w.member("startedUnixNs", lease.started_unix_ns);
        w.member("command", lease.command);
    });
    return w.take() + "\n";
}

Result<RunLease> read_run_lease(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kRunLeaseVersion));
    RunLease lease;
    TRY(auto gpu, root["gpu"].text());
    lease.gpu = GpuUuid(std::move(gpu));
    TRY(const auto index, root["gpuIndex"].number(0, 1'000));
    lease.gpu_index = static_cast<int>(index);
    TRY(lease.memory.count, root["memoryBytes"].number(1, kMostMemory));
    TRY(const auto cores, root["coresPercent"].number(0, 100));
    lease.cores = {static_cast<int>(cores)};
    TRY(const auto limit, root["coresLimitPercent"].number(1, 100));
    lease.cores_limit = {static_cast<int>(limit)};
    TRY(lease.pid, root["pid"].number(1, std::numeric_limits<std::int32_t>::max()));
    TRY(lease.start_ticks, root["startTicks"].number(0, kMostNumber));
    TRY(lease.started_unix_ns, root["startedUnixNs"].number(0, kMostNumber));
    TRY(lease.command, root["command"].text());
    return lease;
}

std::string command_text(std::string_view words) {
    std::string text;
    for (const char c : words) {
        const bool is_control = static_cast<unsigned char>(c) < 0x20U || c == 0x7F;
        text += is_control ? ' ' : c;
    }
    if (text.size() > kMostCommandBytes) {
        std::size_t end = kMostCommandBytes;
        while (end > 0 && is_continuation(text[end]))
            end--;
        text.resize(end);
        text += "...";
    }
    if (is_utf8(text)) return text;
    for (char& c : text) {
        if (static_cast<unsigned char>(c) >= 0x80U) c = '?';
    }
    return text;
}

std::string write_run_list(std::span<const LiveRun> runs) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kRunLeaseVersion);
        w.array("runs", [&] {
            for (const LiveRun& run : runs) {
                w.object([&] {
                    w.member("id", run.id);
                    write_share(w, run.lease);
                    w.member("programAlive", run.is_program_alive);
                    w.member("uid", run.uid);
                    w.member("usedBytes", run.used.count);
                    w.member("refusals", run.refusals);
                    w.member("damaged", run.is_damaged);
                    w.member("startedUnixNs", run.lease.started_unix_ns);
                    w.member("command", run.lease.command);
                });
            }
        });
    });
    return w.take() + "\n";
}

}  // namespace tessera
