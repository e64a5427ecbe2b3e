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

constexpr const char* kLimits = "reported";

const char* file_of(ContainerNotice notice) {
    return notice == ContainerNotice::damaged_accounts ? "reported-damage" : "reported-context";
}

void report(const Error& error) {
    log_event(Event::share_error, {{"reason", error.text}});
}

// One line per GPU: its UUID, the limit in bytes, and the number of refusals at that time.
using ByGpu = std::map<std::string, ReportedLimit>;

ByGpu read_all(const fs::path& folder) {
    ByGpu all;
    const auto text = read_text_file(folder / kLimits);
    if (!text) return all;
    std::istringstream lines(*text);
    std::string gpu;
    ReportedLimit reported;
    while (lines >> gpu >> reported.limit.count >> reported.refusals)
        all.emplace(gpu, reported);
    return all;
}

void write(const fs::path& path, const std::string& text) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);  // if it fails, the write says why
    const auto written = write_text_file(path, text);
    if (!written) report(written.error());
}

}  // namespace

fs::path ReportedLimitFiles::folder_of(const ShareUse& use) const {
    return pods_ / use.pod.str() / use.container;
}

std::optional<ReportedLimit> ReportedLimitFiles::reported(const ShareUse& use) const {
    const ByGpu all = read_all(folder_of(use));
    const auto of = all.find(use.gpu.str());
    return of == all.end() ? std::nullopt : std::optional(of->second);
}

void ReportedLimitFiles::note_reported(const ShareUse& use, const ReportedLimit& reported) {
    const fs::path folder = folder_of(use);
    ByGpu all = read_all(folder);
    all[use.gpu.str()] = reported;
    std::string text;
    for (const auto& [uuid, of] : all)
        text += fmt::format("{} {} {}\n", uuid, of.limit.count, of.refusals);
    write(folder / kLimits, text);
}

bool ReportedLimitFiles::is_reported(ContainerNotice notice, const ShareUse& use) const {
    std::error_code none;
    return fs::exists(folder_of(use) / file_of(notice), none);
}

void ReportedLimitFiles::note_reported(ContainerNotice notice, const ShareUse& use,
                                       bool is_reported) {
    const fs::path path = folder_of(use) / file_of(notice);
    if (is_reported) return write(path, "");
    std::error_code error;
    fs::remove(path, error);
    if (error) report({Code::unavailable, path.string() + ": " + error.message()});
}

}  // namespace tessera
