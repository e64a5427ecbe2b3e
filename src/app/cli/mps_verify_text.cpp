#include "app/cli/mps_verify_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

void write_container(JsonWriter& w, const MpsContainer& of) {
    w.member("pod", of.grant.name.str());
    w.member("container", of.grant.container);
    w.member("node", of.node.str());
    w.member("gpu", of.grant.gpu.str());
}

}  // namespace

Result<MpsContainer> find_mps_container(const MpsReport& node, const RunningPod& pod,
                                        const std::string& container) {
    std::vector<MpsContainer> found;
    for (const MpsGpuReport& gpu : node.gpus) {
        for (const MpsGrant& grant : gpu.grants) {
            const bool is_asked_for = container.empty() || grant.container == container;
            const bool runs =
                std::ranges::find(pod.containers, grant.container) != pod.containers.end();
            if (grant.pod != pod.uid || !is_asked_for || !runs) continue;
            found.push_back({node.node, grant, gpu.multiprocessors});
            found.back().grant.name = pod.name;
        }
    }
    if (found.empty()) {
        return fail(Code::not_found,
                    fmt::format("pod {} has no running container{} with NVIDIA MPS; tessera mps "
                                "status lists those that have it",
                                pod.name.str(), container.empty() ? "" : " " + container));
    }
    if (found.size() > 1) {
        std::vector<std::string> names;
        names.reserve(found.size());
        for (const MpsContainer& one : found)
            names.push_back(one.grant.container);
        return fail(Code::invalid_argument,
                    fmt::format("pod {} has several containers with NVIDIA MPS ({}); name one with "
                                "--container",
                                pod.name.str(), fmt::join(names, ", ")));
    }
    if (!found.front().grant.has_probe) {
        return fail(Code::unsupported,
                    fmt::format("container {} of pod {} started with an older release of Tessera, "
                                "without the program that this command runs in it; create the pod "
                                "again",
                                found.front().grant.container, pod.name.str()));
    }
    return found.front();
}

std::string mps_verify_table(const MpsContainer& of, const std::vector<MpsFinding>& findings) {
    std::string rows = "CHECK\tGRANTED\tFOUND\tRESULT\n";
    for (const MpsFinding& finding : findings) {
        rows += fmt::format("{}\t{}\t{}\t{}\n", finding.check, finding.granted, finding.found,
                            finding.is_ok ? "ok" : "FAILED");
    }
    return fmt::format("pod {}, container {}, on {} of {}\n", of.grant.name.str(),
                       of.grant.container, of.grant.gpu.str(), of.node.str()) +
           align_tabs_and_trim(rows);
}

std::string mps_verify_json(const MpsContainer& of, const std::vector<MpsFinding>& findings) {
    JsonWriter w;
    w.object([&] {
        write_container(w, of);
        w.member("ok", is_well(findings));
        w.array("checks", [&] {
            for (const MpsFinding& finding : findings) {
                w.object([&] {
                    w.member("check", finding.check);
                    w.member("granted", finding.granted);
                    w.member("found", finding.found);
                    w.member("ok", finding.is_ok);
                });
            }
        });
    });
    return w.take();
}

std::string mps_sweep_table(const std::vector<MpsSweepStep>& steps) {
    constexpr std::int64_t kWidth = 40;
    std::int64_t most = 1;
    for (const MpsSweepStep& step : steps)
        most = std::max(most, step.probe.blocks_per_s);
    std::string rows = "THREADS%\tMULTIPROCESSORS\tBLOCKS/S\tTHROUGHPUT\n";
    for (const MpsSweepStep& step : steps) {
        // As a fraction, because a program in the container may have printed any number.
        const double part =
            static_cast<double>(step.probe.blocks_per_s) / static_cast<double>(most);
        rows += fmt::format("{}\t{}\t{}\t{}\n", step.threads.value, step.probe.used_multiprocessors,
                            step.probe.blocks_per_s,
                            std::string(static_cast<std::size_t>(part * kWidth), '#'));
    }
    return align_tabs_and_trim(rows);
}

std::string mps_sweep_json(const MpsContainer& of, const std::vector<MpsSweepStep>& steps) {
    JsonWriter w;
    w.object([&] {
        write_container(w, of);
        w.array("steps", [&] {
            for (const MpsSweepStep& step : steps) {
                w.object([&] {
                    w.member("threadsPercent", step.threads.value);
                    w.member("multiprocessors", step.probe.used_multiprocessors);
                    w.member("blocksPerSecond", step.probe.blocks_per_s);
                });
            }
        });
    });
    return w.take();
}

}  // namespace tessera
