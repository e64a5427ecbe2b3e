#include "gpusim/state/size_text.hpp"

#include <cstring>

namespace gpusim {
namespace {

struct Unit {
    const char* suffix;
    unsigned shift;
};

constexpr Unit kUnits[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
constexpr std::uint64_t kMaxSize = INT64_MAX;

}  // namespace

bool parse_size(const char* text, std::uint64_t* bytes) {
    if (*text < '0' || *text > '9') return false;
    std::uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        const auto digit = static_cast<std::uint64_t>(*text - '0');
        if (number > (kMaxSize - digit) / 10) return false;
        number = number * 10 + digit;
    }
    for (const Unit& unit : kUnits) {
        if (std::strcmp(text, unit.suffix) != 0) continue;
        if (number > (kMaxSize >> unit.shift)) return false;
        *bytes = number << unit.shift;
        return true;
    }
    return false;
}

}  // namespace gpusim
