#include "app/workload/half_made.hpp"

#include <fmt/format.h>

namespace tessera {

Error after_failure(Error error, std::string_view anchor, const std::function<Result<>()>& remove) {
    const bool is_final = error.code == Code::invalid_argument ||
                          error.code == Code::permission_denied || error.code == Code::conflict;
    if (!is_final) {
        error.text += "; run the same command again to complete the job";
        return error;
    }
    const auto removed = remove();
    error.text += removed ? fmt::format("; the {} was deleted again", anchor)
                          : fmt::format("; the {} is left: {}", anchor, removed.error().text);
    return error;
}

Error being_deleted(std::string_view kind, const std::string& name) {
    return {Code::conflict,
            fmt::format("the {} {} is being deleted; try again when it is gone", kind, name)};
}

}  // namespace tessera
