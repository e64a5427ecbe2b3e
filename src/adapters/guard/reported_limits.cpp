#include "adapters/guard/reported_limits.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>
#include <system_error>

#include "adapters/os/text_file.hpp"
#include "base/log.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kDamage = "told-damage";

void report(const Error& error) {
    log_event(Event::share_error, {{"reason", error.text}});
}

// One line per GPU: its UUID, the limit in bytes, and the number of refusals at that time.
using ByGpu = std::map<std::string, ReportedLimit>;

ByGpu read_all(const fs::path& region) {
    ByGpu all;
    const auto text = read_text_file(region / "told");
    if (!text) return all;
    std::istringstream lines(*text);
    std::string gpu;
    ReportedLimit reported;
    while (lines >> gpu >> reported.limit.count >> reported.refusals)
        all.emplace(gpu, reported);
    return all;
}

}  // namespace

std::optional<ReportedLimit> read_reported_limit(const fs::path& region, const GpuUuid& gpu) {
    const ByGpu all = read_all(region);
    const auto of = all.find(gpu.str());
    return of == all.end() ? std::nullopt : std::optional(of->second);
}

void note_reported_limit(const fs::path& region, const GpuUuid& gpu,
                         const ReportedLimit& reported) {
    ByGpu all = read_all(region);
    all[gpu.str()] = reported;
    std::string text;
    for (const auto& [uuid, of] : all)
        text += fmt::format("{} {} {}\n", uuid, of.limit.count, of.refusals);
    const auto noted = write_text_file(region / "told", text);
    if (!noted) report(noted.error());
}

bool read_reported_damage(const fs::path& region) {
    std::error_code none;
    return fs::exists(region / kDamage, none);
}

void note_reported_damage(const fs::path& region, bool is_reported) {
    if (is_reported) {
        const auto noted = write_text_file(region / kDamage, "");
        if (!noted) report(noted.error());
        return;
    }
    std::error_code error;
    fs::remove(region / kDamage, error);
    if (error) report({Code::unavailable, (region / kDamage).string() + ": " + error.message()});
}

}  // namespace tessera
