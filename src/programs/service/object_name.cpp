#include "programs/service/object_name.hpp"

#include <fmt/format.h>

namespace tessera {

Result<ObjectName> read_object_name(const std::string& row, const std::string& text) {
    if (text.empty()) return ObjectName{};
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
        ObjectName object{text.substr(0, slash), text.substr(slash + 1)};
        const bool is_good = !object.ns.empty() && !object.name.empty() &&
                             object.name.find('/') == std::string::npos;
        if (is_good) return object;
    }
    return fail(Code::invalid_argument, fmt::format("{}: \"{}\" is not NAMESPACE/NAME", row, text));
}

}  // namespace tessera
