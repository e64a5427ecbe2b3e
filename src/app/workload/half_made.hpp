// Jobs of which only a part is there: the anchor was created, and another object was not, or the
// anchor is being deleted.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// The error for the user. After an error for which the same command would fail again, `remove`
// deletes the anchor. After another one the job may be complete already. `anchor`: "deployment",
// "job".
Error after_failure(Error error, std::string_view anchor, const std::function<Result<>()>& remove);

// The error for a job of a name that is being deleted. `kind`: "serving job", "training job".
Error being_deleted(std::string_view kind, const std::string& name);

}  // namespace tessera
