#include "gpusim/mps/limits.hpp"

#include <cstring>

#include "gpusim/mps/settings.hpp"

namespace gpusim::mps {

unsigned multiprocessors_of(unsigned all, double percentage) {
    if (percentage >= 100) return all;
    const auto pairs = static_cast<unsigned>(all * percentage / 200);
    const unsigned part = pairs > 0 ? 2 * pairs : 2;
    return part < all ? part : all;
}

double lower_percentage(double percentage, const char* text) {
    Settings own;
    if (text == nullptr || set_active_thread_percentage(own, text) == Change::invalid)
        return percentage;
    return own.active_thread_percentage < percentage ? own.active_thread_percentage : percentage;
}

bool next_pinned_limit(const char*& text, PinnedLimit& limit) {
    while (text != nullptr && (*text == ' ' || *text == ','))
        text++;
    if (text == nullptr || *text == '\0') return false;
    const char* comma = std::strchr(text, ',');
    const char* end = comma != nullptr ? comma : text + std::strlen(text);
    const auto length = static_cast<std::size_t>(end - text);
    const auto* equals = static_cast<const char*>(std::memchr(text, '=', length));
    const char* stop = equals != nullptr ? equals : end;
    limit.device = text;
    limit.length = static_cast<std::size_t>(stop - text);
    limit.bytes = equals != nullptr ? parse_limit(equals + 1) : 0;
    text = end;
    return true;
}

int ordinal_of(const PinnedLimit& limit) {
    constexpr std::size_t kMostDigits = 4;
    if (limit.length == 0 || limit.length > kMostDigits) return -1;
    int ordinal = 0;
    for (std::size_t i = 0; i < limit.length; i++) {
        const char digit = limit.device[i];
        if (digit < '0' || digit > '9') return -1;
        ordinal = 10 * ordinal + (digit - '0');
    }
    return ordinal;
}

}  // namespace gpusim::mps
