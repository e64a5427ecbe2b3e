#include "wire/kube/lease_json.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

// metav1.MicroTime.
std::string micro_time(std::int64_t unix_ns) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const auto seconds = static_cast<std::time_t>(unix_ns / kSecond);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds),
                       unix_ns % kSecond / 1'000);
}

}  // namespace

// The times are for human readers and are not read back.
Lease read_lease(JsonValue json) {
    const JsonValue spec = json["spec"];
    Lease lease;
    lease.holder = spec["holderIdentity"].text_or("");
    lease.url = json["metadata"]["annotations"][key::kUrl].text_or("");
    lease.duration_s = spec["leaseDurationSeconds"].integer().value_or(0);
    lease.transitions = spec["leaseTransitions"].integer().value_or(0);
    lease.version = json["metadata"]["resourceVersion"].text_or("");
    return lease;
}

std::string write_lease(std::string_view name, std::string_view ns, const Lease& lease) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "coordination.k8s.io/v1");
        w.member("kind", "Lease");
        w.object("metadata", [&] {
            w.member("name", name);
            w.member("namespace", ns);
            if (!lease.version.empty()) w.member("resourceVersion", lease.version);
            w.object("annotations", [&] { w.member(key::kUrl, lease.url); });
        });
        w.object("spec", [&] {
            w.member("holderIdentity", lease.holder);
            w.member("leaseDurationSeconds", lease.duration_s);
            w.member("leaseTransitions", lease.transitions);
            w.member("acquireTime", micro_time(lease.acquired_ns));
            w.member("renewTime", micro_time(lease.renewed_ns));
        });
    });
    return w.take();
}

}  // namespace tessera
