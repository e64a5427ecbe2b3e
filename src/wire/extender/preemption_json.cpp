#include "wire/extender/preemption_json.hpp"

#include "wire/kube/kube_objects.hpp"
#include "wire/text/json.hpp"

namespace tessera {

Result<PreemptionArgs> read_preemption_args(std::string_view body, const Dialects& dialects) {
    if (body.empty()) return fail(Code::invalid_argument, "EOF");
    TRY(const auto document, JsonDocument::parse(body));
    const JsonValue root = document.root();
    if (!root.any_case("Pod").is_object()) return fail(Code::invalid_argument, "Pod: missing");
    PreemptionArgs args;
    args.pod = read_pod(root.any_case("Pod"), nullptr, dialects);
    const JsonValue meta = root.any_case("NodeNameToMetaVictims");
    const JsonValue nodes = meta.is_object() ? meta : root.any_case("NodeNameToVictims");
    if (!nodes.is_object()) return fail(Code::invalid_argument, "NodeNameToMetaVictims: missing");
    for (const auto& [name, victims] : nodes.members()) {
        NodeVictims out{NodeName(std::string(name)), {}, 0};
        out.pdb_violations = victims.any_case("NumPDBViolations").integer().value_or(0);
        for (const JsonValue pod : victims.any_case("Pods").elements()) {
            const auto uid = pod.any_case("UID").text();
            out.pods.emplace_back(uid ? std::string(*uid) : pod["metadata"]["uid"].text_or(""));
        }
        args.nodes.push_back(std::move(out));
    }
    return args;
}

std::string write_preemption_result(const std::vector<NodeVictims>& nodes) {
    JsonWriter w;
    w.object([&] {
        w.object("NodeNameToMetaVictims", [&] {
            for (const NodeVictims& victims : nodes) {
                w.object(victims.node.str(), [&] {
                    w.array("Pods", [&] {
                        for (const PodUid& uid : victims.pods)
                            w.object([&] { w.member("UID", uid.str()); });
                    });
                    w.member("NumPDBViolations", victims.pdb_violations);
                });
            }
        });
    });
    return w.take();
}

}  // namespace tessera
