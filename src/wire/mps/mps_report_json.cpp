#include "wire/mps/mps_report_json.hpp"

#include "wire/mps/mps_members.hpp"

namespace tessera {
namespace {

Result<MpsGrant> read_container(const JsonField& at) {
    TRY(MpsGrant grant, mps::read_grant(at));
    TRY(auto pod, at["pod"].text());
    grant.pod = PodUid(std::move(pod));
    TRY(grant.container, at["container"].text());
    return grant;
}

Result<MpsGpuReport> read_gpu(const JsonField& at) {
    MpsGpuReport gpu;
    TRY(gpu.state, mps::read_state(at));
    TRY(gpu.grants, at["containers"].each_or_none(read_container));
    return gpu;
}

}  // namespace

std::string write_mps_report(const MpsReport& report) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsReportVersion);
        w.member("node", report.node.str());
        w.member("offered", report.is_offered);
        w.member("supervised", report.is_supervised);
        w.array("gpus", [&] {
            for (const MpsGpuReport& gpu : report.gpus) {
                w.object([&] {
                    mps::write_state(w, gpu.state);
                    w.array("containers", [&] {
                        for (const MpsGrant& grant : gpu.grants) {
                            w.object([&] {
                                w.member("pod", grant.pod.str());
                                w.member("container", grant.container);
                                mps::write_grant(w, grant);
                            });
                        }
                    });
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<MpsReport> read_mps_report(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsReportVersion));
    MpsReport report;
    TRY(auto node, root["node"].text());
    report.node = NodeName(std::move(node));
    TRY(report.is_offered, root["offered"].yes_or_no());
    TRY(report.is_supervised, root["supervised"].yes_or_no());
    TRY(report.gpus, root["gpus"].each_or_none(read_gpu));
    return report;
}

}  // namespace tessera
