#include "domain/workload/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/dns_name.hpp"

namespace tessera::workload {
namespace {

// Of a Service, whose name is a DNS label.
constexpr std::size_t kLongestName = 63;

Result<> check_part(std::string_view flag, const std::string& text) {
    if (is_dns_label(text)) return {};
    return fail(Code::invalid_argument,
                fmt::format("{}: \"{}\" is not a name of a-z, 0-9 and -, which begins and ends "
                            "with a letter or digit",
                            flag, text));
}

}  // namespace

const ServingTypeRow& row_of(ServingType type) {
    return *std::ranges::find(kServingTypes, type, &ServingTypeRow::type);
}

Result<ServingType> parse_serving_type(std::string_view text) {
    if (text == "tf") return ServingType::tensorflow;
    for (const ServingTypeRow& row : kServingTypes) {
        if (text == row.command || text == row.word) return row.type;
    }
    return fail(
        Code::invalid_argument,
        fmt::format("--type: \"{}\" is not tf-serving, triton-serving or custom-serving", text));
}

std::string ServingName::object() const {
    return fmt::format("{}{}{}-{}", name, version.empty() ? "" : "-", version, row_of(type).app);
}

Result<> check_serving_name(const ServingName& id) {
    if (id.name.empty()) return fail(Code::invalid_argument, "--name: is missing");
    TRY_VOID(check_part("--name", id.name));
    if (!id.version.empty()) TRY_VOID(check_part("--version", id.version));
    const std::size_t length = id.object().size();
    if (length <= kLongestName) return {};
    const std::size_t others = length - id.name.size();
    return fail(
        Code::invalid_argument,
        fmt::format("--name: \"{}\" has {} characters, and may have at most {}: the name of "
                    "the Service, {}, is limited to {}",
                    id.name, id.name.size(), kLongestName > others ? kLongestName - others : 0,
                    id.object(), kLongestName));
}

std::string files_name(const Serving& job) {
    // FNV-1a, 64 bits.
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](std::string_view text) {
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        hash = (hash ^ 0xff) * 0x100000001b3;  // ends the text: no byte of UTF-8
    };
    for (const File& file : job.pod.files) {
        add(file.path);
        add(file.content);
    }
    return fmt::format("{}-{:016x}", job.id.object(), hash);
}

}  // namespace tessera::workload
