#include "adapters/guard/told_refusals.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "adapters/os/text_file.hpp"
#include "base/log.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

constexpr const char* kTold = "told";

void write(const fs::path& region, const std::string& text) {
    const auto noted = write_text_file(region / kTold, text);
    if (!noted) log_event(Event::share_trouble, {{"reason", noted.error().text}});
}

}  // namespace

std::int64_t told_refusals(const fs::path& region) {
    const auto text = read_text_file(region / kTold);
    if (!text) return 0;
    std::int64_t count = 0;
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, count);
    return read.ec == std::errc{} ? count : kAllRefusals;
}

void note_told_refusals(const fs::path& region) {
    write(region, "all\n");
}

void note_grown_limit(const fs::path& region, std::int64_t refusals) {
    std::error_code none;
    if (fs::exists(region / kTold, none)) write(region, std::to_string(refusals) + "\n");
}

void note_new_count(const fs::path& region) {
    std::error_code none;
    if (told_refusals(region) != kAllRefusals) fs::remove(region / kTold, none);
}

}  // namespace tessera
