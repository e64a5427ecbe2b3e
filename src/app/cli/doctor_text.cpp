#include "app/cli/doctor_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

using doctor::Finding;
using doctor::Status;

Status worst_of(std::span<const Finding> findings) {
    Status worst = Status::ok;
    for (const Finding& finding : findings)
        worst = std::max(worst, finding.status);
    return worst;
}

}  // namespace

std::string doctor_text(std::span<const Finding> findings) {
    std::string out;
    for (const Finding& finding : findings) {
        out += fmt::format("{:<8} {:<14} {}", status_name(finding.status), finding.check,
                           finding.found);
        if (!finding.fix.empty()) out += " -> " + finding.fix;
        out += '\n';
    }
    return out;
}

std::string doctor_json(std::span<const Finding> findings) {
    JsonWriter w;
    w.object([&] {
        w.member("version", 1);
        w.member("status", status_name(worst_of(findings)));
        w.array("checks", [&] {
            for (const Finding& finding : findings) {
                w.object([&] {
                    w.member("check", finding.check);
                    w.member("status", status_name(finding.status));
                    w.member("found", finding.found);
                    w.member("fix", finding.fix);
                });
            }
        });
    });
    return w.take();
}

int doctor_exit_status(std::span<const Finding> findings) {
    return worst_of(findings) == Status::failed ? 1 : 0;
}

}  // namespace tessera
