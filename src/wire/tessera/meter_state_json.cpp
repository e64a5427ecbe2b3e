#include "wire/tessera/meter_state_json.hpp"

#include <limits>
#include <utility>

#include "domain/budget/gpu_duration.hpp"
#include "wire/tessera/metered_share_json.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void write_shares(JsonWriter& w, std::string_view key, const std::vector<MeteredShare>& shares) {
    w.array(key, [&] {
        for (const MeteredShare& share : shares)
            w.object([&] { write_metered_share(w, share); });
    });
}

void write_pod(JsonWriter& w, const PodUid& uid, const PodMeter& meter) {
    w.object([&] {
        w.member("podUid", uid.str());
        w.member("namespace", meter.pod.name.ns);
        w.member("pod", meter.pod.name.name);
        w.member("chargedToNs", meter.charged_to_ns);
        w.member("runningNs", meter.running_ns);
        w.member("openFrom", meter.open.from_s);
        w.member("openTo", meter.open.to_s);
        write_shares(w, "shares", meter.pod.shares);
        write_shares(w, "most", meter.most);
    });
}

// What UsageMeter relies on: the part that is open is of one interval, and before what was charged.
Result<> check_open(const JsonField& at, const PodMeter& meter) {
    const Window& open = meter.open;
    if (open.seconds() == 0) return {};
    if (open.from_s / kIntervalSeconds != (open.to_s - 1) / kIntervalSeconds)
        return at["openTo"].fault("is not of the interval that openFrom is of");
    if (open.to_s > meter.charged_to_ns / kNanosPerSecond)
        return at["openTo"].fault("is later than chargedToNs");
    return {};
}

Result<std::pair<PodUid, PodMeter>> read_pod(const JsonField& at) {
    PodMeter meter;
    TRY(auto uid, at["podUid"].text());
    TRY(meter.pod.name.ns, at["namespace"].text());
    TRY(meter.pod.name.name, at["pod"].text());
    TRY(meter.charged_to_ns, at["chargedToNs"].number(0, kMost));
    TRY(meter.running_ns, at["runningNs"].number(0, kMost));
    TRY(meter.open.from_s, at["openFrom"].number(0, kEndOfTime));
    TRY(meter.open.to_s, at["openTo"].number(0, kEndOfTime));
    TRY(meter.pod.shares, at["shares"].each(read_metered_share));
    TRY(meter.most, at["most"].each(read_metered_share));
    TRY_VOID(check_open(at, meter));
    return std::pair{PodUid(std::move(uid)), std::move(meter)};
}

}  // namespace

std::string write_meter_state(const MeterState& state) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMeterStateVersion);
        w.member("boot", state.boot);
        w.array("pods", [&] {
            for (const auto& [uid, meter] : state.pods)
                write_pod(w, uid, meter);
        });
    });
    return w.take() + "\n";
}

Result<MeterState> read_meter_state(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMeterStateVersion));
    MeterState state;
    TRY(state.boot, root["boot"].text());
    TRY(auto pods, root["pods"].each(read_pod));
    for (auto& pod : pods) {
        const std::string uid = pod.first.str();
        if (!state.pods.insert(std::move(pod)).second)
            return root["pods"].fault(uid + " is there twice");
    }
    return state;
}

}  // namespace tessera
