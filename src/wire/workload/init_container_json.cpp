#include "wire/workload/init_container_json.hpp"

#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

StringMap cpu_and_memory(const StringMap& amounts) {
    StringMap out;
    for (const char* resource : {"cpu", "memory"}) {
        const auto amount = amounts.find(resource);
        if (amount != amounts.end()) out.insert(*amount);
    }
    return out;
}

}  // namespace

void write_mount(JsonWriter& w, std::string_view volume, std::string_view path, bool read_only) {
    w.object([&] {
        w.member("name", volume);
        w.member("mountPath", path);
        if (read_only) w.member("readOnly", true);
    });
}

void write_init_amounts(JsonWriter& w, const PodTemplate& pod) {
    const StringMap limits = cpu_and_memory(pod.limits);
    const StringMap requests = cpu_and_memory(pod.requests);
    if (limits.empty()) return;
    w.object("resources", [&] {
        write_map(w, "limits", limits);
        if (!requests.empty()) write_map(w, "requests", requests);
    });
}

void write_init_security(JsonWriter& w, int user) {
    w.object("securityContext", [&] {
        w.member("runAsUser", user);
        w.member("runAsGroup", user);
        w.member("runAsNonRoot", true);
        w.member("allowPrivilegeEscalation", false);
        w.object("capabilities", [&] { w.array("drop", [&] { w.item("ALL"); }); });
        w.object("seccompProfile", [&] { w.member("type", "RuntimeDefault"); });
    });
}

}  // namespace tessera::workload
