#include "wire/mps/mps_folder_json.hpp"

#include <limits>

#include "wire/mps/mps_members.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

Result<std::int64_t> pid_of(const JsonField& at) {
    return at["pid"].number(0, std::numeric_limits<std::int32_t>::max());
}

Result<int> read_count(const JsonField& at) {
    if (!at.present()) return 0;
    TRY(const auto count, at.number(0, std::numeric_limits<int>::max()));
    return static_cast<int>(count);
}

struct PodFaults {
    PodUid pod;
    int count = 0;
};

Result<PodFaults> read_pod_faults(const JsonField& at) {
    PodFaults faults;
    TRY(auto pod, at["pod"].text());
    faults.pod = PodUid(std::move(pod));
    TRY(faults.count, read_count(at["count"]));
    return faults;
}

}  // namespace

std::string write_mps_settings(const MpsSettings& settings) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        mps::write_settings(w, settings);
    });
    return w.take() + "\n";
}

std::string write_mps_state(const MpsState& state) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        mps::write_state(w, state);
    });
    return w.take() + "\n";
}

std::string write_mps_grant(const MpsGrant& grant) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        mps::write_grant(w, grant);
    });
    return w.take() + "\n";
}

std::string write_mps_reported(const MpsReported& reported) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsFolderVersion);
        w.member("pid", reported.pid);
        w.member("faultUnixNs", reported.fault_unix_ns);
        w.member("serversLost", reported.servers_lost);
        w.array("faults", [&] {
            for (const auto& of : reported.faults) {
                w.object([&] {
                    w.member("pod", of.first.str());
                    w.member("count", of.second);
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<MpsSettings> read_mps_settings(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    // The daemon counts in MiB, and a limit of none would be no limit.
    return mps::read_settings(root, 1, kMiB);
}

Result<MpsGrant> read_mps_grant(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    return mps::read_grant(root);
}

Result<MpsReported> read_mps_reported(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    MpsReported reported;
    TRY(reported.pid, pid_of(root));
    TRY(reported.fault_unix_ns, root["faultUnixNs"].number(0, kMostNumber));
    TRY(reported.servers_lost, read_count(root["serversLost"]));
    TRY(auto faults, root["faults"].each_or_none(read_pod_faults));
    for (PodFaults& one : faults)
        reported.faults.insert_or_assign(std::move(one.pod), one.count);
    return reported;
}

Result<MpsState> read_mps_state(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsFolderVersion));
    return mps::read_state(root);
}

}  // namespace tessera
