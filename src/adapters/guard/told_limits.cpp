#include "adapters/guard/told_limits.hpp"

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
    log_event(Event::share_trouble, {{"reason", error.text}});
}

// A line per card: its UUID, the limit in bytes, and how many refusals there had been.
using ByCard = std::map<std::string, ToldLimit>;

ByCard read_all(const fs::path& region) {
    ByCard all;
    const auto text = read_text_file(region / "told");
    if (!text) return all;
    std::istringstream lines(*text);
    std::string card;
    ToldLimit told;
    while (lines >> card >> told.limit.count >> told.refusals)
        all.emplace(card, told);
    return all;
}

}  // namespace

std::optional<ToldLimit> read_told_limit(const fs::path& region, const GpuUuid& card) {
    const ByCard all = read_all(region);
    const auto of = all.find(card.str());
    return of == all.end() ? std::nullopt : std::optional(of->second);
}

void note_told_limit(const fs::path& region, const GpuUuid& card, const ToldLimit& told) {
    ByCard all = read_all(region);
    all[card.str()] = told;
    std::string text;
    for (const auto& [uuid, of] : all)
        text += fmt::format("{} {} {}\n", uuid, of.limit.count, of.refusals);
    const auto noted = write_text_file(region / "told", text);
    if (!noted) report(noted.error());
}

bool read_told_damage(const fs::path& region) {
    std::error_code none;
    return fs::exists(region / kDamage, none);
}

void note_told_damage(const fs::path& region, bool is_told) {
    if (is_told) {
        const auto noted = write_text_file(region / kDamage, "");
        if (!noted) report(noted.error());
        return;
    }
    std::error_code error;
    fs::remove(region / kDamage, error);
    if (error) report({Code::unavailable, (region / kDamage).string() + ": " + error.message()});
}

}  // namespace tessera
