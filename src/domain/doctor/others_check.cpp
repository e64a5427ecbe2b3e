#include "domain/doctor/others_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace tessera::doctor {
namespace {

enum class Reach { anywhere, its_node };

struct Stranger {
    const char* in_image;  // a part of path_of(image)
    Reach reach;
    const char* what;
};
constexpr auto kStrangers = std::to_array<Stranger>({
#define STRANGER(part, reach, what) {part, Reach::reach, what},
#include "domain/doctor/strangers.def"
#undef STRANGER
});

// The driver whose ResourceSlices offer NVIDIA's GPUs (kubernetes-sigs/dra-driver-nvidia-gpu).
constexpr std::string_view kDraDriver = "gpu.nvidia.com";

// An image without tag and digest, between slashes: "/registry/name/".
std::string path_of(const std::string& image) {
    const std::string path = image.substr(0, image.find('@'));
    const std::size_t slash = path.rfind('/');
    const std::size_t colon = path.find(':', slash == std::string::npos ? 0 : slash);
    return "/" + path.substr(0, colon) + "/";
}

bool runs(const std::vector<std::string>& images, const Stranger& stranger) {
    return std::ranges::any_of(images, [&](const std::string& image) {
        return path_of(image).find(stranger.in_image) != std::string::npos;
    });
}

}  // namespace

Judgement others(const Facts& facts) {
    if (!facts.nodes) return unread(facts.nodes.error());
    Faults faults;
    std::set<NodeName> ours;
    for (const Node& node : *facts.nodes) {
        if (!node.has_report) continue;
        ours.insert(node.inventory.name);
        for (const auto& [resource, amount] : node.foreign_amounts) {
            faults.add(fmt::format("{} also offers {} {}: the same GPUs", node.inventory.name.str(),
                                   amount, resource));
        }
    }
    for (const Slice& slice : facts.slices.value_or(std::vector<Slice>())) {
        if (slice.driver != kDraDriver || !ours.contains(slice.node)) continue;
        faults.add(fmt::format("{} also offers its GPUs by ResourceSlices of {}", slice.node.str(),
                               slice.driver));
    }
    for (const Pod& pod : facts.pods.value_or(std::vector<Pod>())) {
        if (pod.info.finished || pod.info.node.empty()) continue;
        for (const Stranger& stranger : kStrangers) {
            const bool concerns_us =
                stranger.reach == Reach::anywhere || ours.contains(pod.info.node);
            if (!concerns_us || !runs(pod.images, stranger)) continue;
            faults.add(fmt::format("{} ({}) runs on {}", stranger.what, pod.info.name.str(),
                                   pod.info.node.str()));
        }
    }
    if (faults.any()) {
        return {Status::failed, faults.text(),
                "take it off these nodes: two programs that assign the same GPU assign it twice "
                "(docs/compat/gpushare.md: how to replace gpushare)"};
    }
    if (!facts.pods) return unread(facts.pods.error());
    if (!facts.slices) return unread(facts.slices.error());
    return {Status::ok, "no other plugin on our nodes, no other extender", ""};
}

const char* other_gpu_program(const std::vector<std::string>& images) {
    const auto* at = std::ranges::find_if(
        kStrangers, [&](const Stranger& stranger) { return runs(images, stranger); });
    return at == kStrangers.end() ? nullptr : at->what;
}

}  // namespace tessera::doctor
