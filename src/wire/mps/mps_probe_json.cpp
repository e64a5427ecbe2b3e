#include "wire/mps/mps_probe_json.hpp"

#include <limits>

#include "wire/mps/mps_members.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

Result<Bytes> read_bytes(const JsonField& at) {
    TRY(const auto count, at.number(0, kMostBytes));
    return Bytes{count};
}

}  // namespace

Result<MpsProbe> read_mps_probe(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsProbeVersion));
    TRY(const auto error, root["error"].text_or_empty());
    if (!error.empty()) return fail(Code::conflict, error);
    MpsProbe probe;
    TRY(const auto device, root["deviceMultiprocessors"].number(0, mps::kMostMultiprocessors));
    TRY(const auto used, root["usedMultiprocessors"].number(0, mps::kMostMultiprocessors));
    probe.device_multiprocessors = static_cast<int>(device);
    probe.used_multiprocessors = static_cast<int>(used);
    TRY(probe.blocks_per_s,
        root["blocksPerSecond"].number(0, std::numeric_limits<std::int64_t>::max()));
    TRY(probe.total, read_bytes(root["totalBytes"]));
    TRY(probe.free, read_bytes(root["freeBytes"]));
    TRY(probe.is_limited, root["limited"].yes_or_no());
    if (root["filledBytes"].present()) {
        TRY(probe.filled, read_bytes(root["filledBytes"]));
    }
    return probe;
}

}  // namespace tessera
