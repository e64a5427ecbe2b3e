#include "wire/mps/mps_folder_json.hpp"

#include <array>
#include <limits>

#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostMemory = std::int64_t{1} << 50;  // more than any GPU has

constexpr std::array kPhases = {
    JsonWord<MpsPhase>{"starting", MpsPhase::starting},
    JsonWord<MpsPhase>{"ready", MpsPhase::ready},
    JsonWord<MpsPhase>{"failed", MpsPhase::failed},
    JsonWord<MpsPhase>{"stopping", MpsPhase::stopping},
};

void write_settings(JsonWriter& w, const MpsSettings& settings) {
    w.member("threadsPercent", settings.threads.value);
    w.member("memoryBytes", settings.memory.count);
}

Result<MpsSettings> settings_of(const JsonField& root, std::int64_t least_threads,
                                std::int64_t least_memory) {
    TRY(const auto threads, root["threadsPercent"].number(least_threads, 100));
    TRY(const auto memory, root["memoryBytes"].number(least_memory, kMostMemory));
    return MpsSettings{.threads = {static_cast<int>(threads)}, .memory = {memory}};
}

}  // namespace

std::string_view mps_phase_name(MpsPhase phase) {
    return word_of(kPhases, phase);
}

std::string write_mps_settings(const MpsSettings& settings) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        write_settings(w, settings);
    });
    return w.take() + "\n";
}

std::string write_mps_state(const MpsState& state) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("gpu", state.gpu.str());
        w.member("phase", mps_phase_name(state.phase));
        if (!state.reason.empty()) w.member("reason", state.reason);
        w.member("pid", state.pid);
        write_settings(w, state.settings);
        w.member("protectsSettings", state.protects_settings);
        w.member("failures", state.failures);
        w.member("checkedUnixNs", state.checked_unix_ns);
    });
    return w.take() + "\n";
}

std::string write_mps_grant(const MpsGrant& grant) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("gpu", grant.gpu.str());
        write_settings(w, {.threads = grant.threads, .memory = grant.memory});
        if (grant.user_id) w.member("userId", std::int64_t{*grant.user_id});
    });
    return w.take() + "\n";
}

Result<MpsSettings> read_mps_settings(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    // The daemon counts in MiB, and a limit of none would be no limit.
    return settings_of(root, 1, kMiB);
}

Result<MpsGrant> read_mps_grant(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsGrant grant;
    TRY(auto gpu, root["gpu"].text());
    grant.gpu = GpuUuid(std::move(gpu));
    TRY(const MpsSettings settings, settings_of(root, 1, 0));
    grant.threads = settings.threads;
    grant.memory = settings.memory;
    if (root["userId"].present()) {
        TRY(const auto user, root["userId"].number(0, std::numeric_limits<std::uint32_t>::max()));
        grant.user_id = static_cast<std::uint32_t>(user);
    }
    return grant;
}

Result<MpsState> read_mps_state(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsState state;
    TRY(auto gpu, root["gpu"].text());
    state.gpu = GpuUuid(std::move(gpu));
    TRY(state.phase, root["phase"].one_of(kPhases));
    TRY(state.reason, root["reason"].text_or_empty());
    TRY(state.pid, root["pid"].number(0, std::numeric_limits<std::int32_t>::max()));
    TRY(state.settings, settings_of(root, 0, 0));
    TRY(state.protects_settings, root["protectsSettings"].yes_or_no());
    TRY(const auto failures, root["failures"].number(0, std::numeric_limits<int>::max()));
    state.failures = static_cast<int>(failures);
    TRY(state.checked_unix_ns, root["checkedUnixNs"].number(0, kMostNumber));
    return state;
}

}  // namespace tessera
