// Jobs of which the anchor was created, and another object was not.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// The error for the user. After an error for which the same command would fail again, `remove`
// deletes the anchor. After another one the job may be complete already. `anchor`: "deployment",
// "job".
Error after_failure(Error error, std::string_view anchor, const std::function<Result<>()>& remove);

}  // namespace tessera
